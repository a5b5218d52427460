"""Shows any running robot in the browser, over ROS topics alone: 3-D, damage, drive, stop, hypotheses, plots.

Where there is a simulated robot its true state is solid and the prediction is a translucent ghost; on a real robot the
solid one stands at the predicted pose with the measured joints. A click on a leg of the simulated robot breaks it.
"""

import math
import os
import threading
import time
import traceback
from collections import deque

import numpy as np
from scipy.spatial.transform import Rotation

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist
from hexapod_dynamics.bench.view.drive_seat import DriveSeat, page_name
from hexapod_dynamics.bench.view.panel import NOBODY, Commands, Panel
from hexapod_dynamics.bench.view.scene import JETHEXA_REACH, RobotFigure, Surroundings, aim, aim_page, serve
from hexapod_dynamics.control.support import FORCE_SCALE
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.nodes.morphology_messages import values_of
from hexapod_dynamics.parameters.view import PARAMETERS
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.malformed import subscribe
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, declare_all, steady_timer
from hexapod_dynamics.ros.running import run
from hexapod_dynamics.simulation import Ground, Truth
from nav_msgs.msg import Odometry, Path
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

NEWEST = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
ANOTHER_SIZE = 0.3  # share by which a robot's reach differs before the camera is placed anew
SPEED_OVER = 1.5  # [s] over which the speed is averaged: the body sways within a step
SHOWN = 5  # most probable hypotheses
SUPPORT_EVERY = 3  # pictures; the browser takes new shapes more slowly than new poses
SUPPORT_OLD = 1.0  # [s] older support is not drawn
WAITING = "waiting for the robot: neither predicted_state nor simulator/odom is published (same ROS_DOMAIN_ID?)"
STOPPED = 'EMERGENCY STOP: the pose is frozen until "allow motion"'
FAILURE_SHOWN = 5.0  # [s] for which a failure of the drawing is shown
SILENT_AFTER = 2.0  # [s] without a pose the robot is lost


class LatestMessages:
    """The newest message of some topics, with its arrival time."""

    def __init__(self, node):
        self._node, self._messages = node, {}

    def subscribe(self, kind, topic, qos=NEWEST):
        """Keep the newest message of a topic; return the subscription."""

        def keep(message):
            self._messages[topic] = time.monotonic(), message

        return subscribe(self._node, kind, topic, keep, qos)

    def get(self, topic, within=math.inf):
        """Return the newest message of a topic that came within this time [s], or None."""
        at, message = self._messages.get(topic, (-math.inf, None))
        return message if time.monotonic() - at <= within else None


class RosCommands(Commands):
    """Sends what the panel asks for; answers of services become a line in the panel."""

    def __init__(self, node, seat, aim_camera):
        """aim_camera(client, view): places the camera of a page."""
        self._node, self._seat, self._aim_camera = node, seat, aim_camera
        self.stopped = False  # whether the emergency stop is on
        self.answer = ""
        self._emergency = node.create_client(SetBool, "emergency_stop")
        self._tell = node.create_client(SetParametersAtomically, "set_morphology")
        self._gait = {name: node.create_client(Trigger, name) for name in ("stand", "sit")}
        self._break = node.create_client(SetParametersAtomically, "simulator/set_damage")

    def drive(self, client, twist):
        """Repeat this twist as cmd_vel, while the page of this client is open."""
        if self.stopped and any(twist):
            problem = 'the emergency stop is on; "allow motion" ends it'
        else:
            problem = self._seat.command(client, twist, time.monotonic())
        if problem:
            self.answer = f"{page_name(client)}: not driven: {problem}"
        return self._seat.twist

    def take_over(self, client):
        """Give the controls to the page of this client."""
        self._seat.take_over(client, time.monotonic())

    def call_gait(self, service):
        """Call a service of the gait; driving ends."""
        self._seat.stand()
        self._call(self._gait[service], Trigger.Request(), lambda r: (r.success, r.message))

    def aim(self, client, view):
        """Place the camera of a page."""
        self._aim_camera(client, view)

    def emergency_stop(self, engaged):
        """Call the service emergency_stop; driving ends either way."""
        self._seat.stand()
        self._call(self._emergency, SetBool.Request(data=engaged), lambda r: (r.success, r.message))

    def break_part(self, values):
        """Call simulator/set_damage."""
        self._set(self._break, values)

    def tell(self, values):
        """Call set_morphology."""
        self._set(self._tell, values)

    def _set(self, client, values):
        request = SetParametersAtomically.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        self._call(client, request, lambda r: (r.result.successful, r.result.reason))

    def _call(self, client, request, read):
        if not client.service_is_ready():
            self.answer = f"nobody offers the service {client.srv_name}: is the node running?"
            return
        # Stays if the node was killed: ROS knows a killed server for 10 s, and a request to it is lost.
        self.answer = f"{client.srv_name}: no answer yet; if this stays, ask again"
        client.call_async(request).add_done_callback(lambda future: self._take(client, *read(future.result())))

    def _take(self, client, done, text):
        self.answer = f"{client.srv_name}: {'done' if done else 'refused'}{f' ({text})' if text else ''}"


class View(GuardedNode):
    """The node; its drawing runs in a thread of its own."""

    def __init__(self):
        super().__init__("view")
        values = declare_all(self, PARAMETERS)
        self._newest = LatestMessages(self)
        newest = self._newest.subscribe
        newest(String, "robot_description", LATCHED)
        newest(String, "simulator/robot_description", LATCHED)
        newest(String, "simulator/truth", LATCHED)
        newest(ParameterEvent, "morphology", LATCHED)
        newest(ParameterEvent, "simulator/damage", LATCHED)
        newest(Odometry, "predicted_state")
        newest(JointState, "predicted_joint_states")
        newest(JointState, "joint_states")
        newest(Odometry, "simulator/odom")
        newest(JointState, "simulator/joint_states")
        newest(Path, "predicted_path")
        newest(DiagnosticArray, "damage_hypotheses", 10)
        newest(DiagnosticStatus, "gait_state", LATCHED)
        self._stopped, self._servos = "", f"{self.get_namespace()}/servos".lstrip("/")
        subscribe(self, DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._cmd_vel = self.create_publisher(Twist, "cmd_vel", 10)
        self._seat = DriveSeat()
        self._commands = RosCommands(self, self._seat, self._aim_camera)
        names = [name for name in values["names"] if name]
        self._page = serve(values["port"], values["host"], names=names, title=self._robot_title(""))
        self._page.on_alive = lambda client: self._seat.receive_sign_of_life(client, time.monotonic())
        self._server = self._page.server
        self._server.on_client_disconnect(lambda client: self._seat.leave(client.client_id))
        self._robot = RobotFigure(self._server, "robot", on_click=self._clicked)
        self._ghost = RobotFigure(self._server, "prediction", opacity=0.25)
        self._surroundings = Surroundings(self._server)
        self._panel = Panel(self._server, self._commands)
        self._panel.title(self._page.title)
        self._page.on_drive, self._page.on_stop = self._panel.drive_by_axes, self._panel.emergency_stop
        self._driving = None  # what the panel shows of it
        self._failures, self._failure = 0, (-math.inf, "")  # of the drawing: how many, time [s] and text of the last
        self._broken = None  # the exception for which the node ends
        self._before, self._met = None, False  # when the plots began; whether there was a robot
        self._places = deque()  # (time, x, y) over the last SPEED_OVER seconds
        self._aimed = JETHEXA_REACH  # [m] reach of the robot that the camera was placed for
        self._shown_support = None
        self._support = None  # the subscription of that name
        self._truth, self._ground = "", Ground()
        self._period, self._closing = 1.0 / values["rate"], threading.Event()
        Diagnostics(self, "browser view", self._diagnose)
        steady_timer(self, 0.1, self._repeat_command)
        steady_timer(self, 0.2, self._attend)
        self._thread = threading.Thread(target=self._draw_all, daemon=True)
        self._thread.start()
        print(f"open {self._page.url} ({self._page.title})", flush=True)

    def close(self):
        """End the drawing and the web page."""
        self._closing.set()
        self._thread.join(2.0)
        self._page.stop()

    def _robot_title(self, robot):
        """Return what robot this is, for the page's title and its first line."""
        domain = os.environ.get("ROS_DOMAIN_ID") or "0"
        return ", ".join(filter(None, (robot, f"namespace {self.get_namespace()}", f"domain {domain}")))

    def _repeat_command(self):
        """A cmd_vel is repeated, or the gait stops by itself; a robot nobody drives from here is left alone."""
        if self._broken is not None:
            raise self._broken
        twist = self._seat.next_command(time.monotonic())
        if twist is not None:
            message = Twist()
            message.linear.x, message.linear.y, message.angular.z = (float(value) for value in twist)
            self._cmd_vel.publish(message)
        self._show_driver()

    def _show_driver(self):
        driver, ended = self._seat.driver, self._seat.ended
        text = ended or (NOBODY if driver is None else f"{page_name(driver)} drives")
        driving = text, not any(self._seat.twist), driver is not None and len(self._server.get_clients()) > 1
        if driving != self._driving:
            self._driving = driving
            self._panel.driving(text, stands=driving[1], may_take_over=driving[2])

    def _attend(self):
        """Subscribe to `support` while somebody looks at it: `dynamics` computes it for subscribers only."""
        wanted = self._panel.shows_support and bool(self._server.get_clients())
        if wanted and self._support is None:
            self._support = self._newest.subscribe(MarkerArray, "support")
        elif self._support is not None and not wanted:
            self.destroy_subscription(self._support)
            self._support = None

    def _on_diagnostics(self, message):
        """Take from the status of `servos` whether the emergency stop is on, whoever has pressed it."""
        for status in message.status:
            if status.name == self._servos:
                frozen = any(v.key == "emergency stop" and v.value.lower() == "true" for v in status.values)
                self._stopped, self._commands.stopped = STOPPED if frozen else "", frozen
                if frozen and any(self._seat.twist):
                    self._seat.stand()  # nothing walks on when the stop ends

    def _aim_camera(self, client, view):
        handle = self._server.get_clients().get(client)
        shown = self._newest.get("simulator/odom", SILENT_AFTER) or self._newest.get("predicted_state", SILENT_AFTER)
        yaw = 0.0
        if shown is not None:
            o = shown.pose.pose.orientation
            yaw = Rotation.from_quat([o.x, o.y, o.z, o.w]).as_euler("zyx")[0]
        if handle is not None:
            aim_page(handle, self._robot.reach, view, yaw)

    def _clicked(self, link):
        leg = link.rpartition("_")[2]
        if self._simulated() and f"legs.{leg}" in self._values("morphology"):
            self._commands.break_part({f"legs.{leg}": False})

    def _simulated(self):
        return self._newest.get("simulator/odom", SILENT_AFTER) is not None

    def _values(self, topic):
        message = self._newest.get(topic)
        return values_of(message.new_parameters) if message is not None else {}

    def _draw_all(self):
        ticks, due = 0, time.monotonic()
        while not self._closing.is_set():
            due = max(due + self._period, time.monotonic())
            if self._server.get_clients():
                try:
                    with self._server.atomic():
                        self._draw(ticks)
                except Exception as error:  # of whatever message: the page and /diagnostics say so, the next is drawn
                    self._report_failure(error)
                ticks += 1
            self._closing.wait(due - time.monotonic())

    def _report_failure(self, error):
        """Report on the page and in the log that the drawing failed; the node ends if the page cannot show it."""
        text = f"{type(error).__name__}: {error}"
        self._failures, self._failure = self._failures + 1, (time.monotonic(), text)
        details = "" if isinstance(error, HexapodError) else f"\n{''.join(traceback.format_exception(error))}"
        self.get_logger().error(f"the view cannot draw: {text}{details}", throttle_duration_sec=5.0)
        try:
            self._panel.status(self._failure_line(), self._stopped, self._commands.answer)
        except Exception as broken:  # raised again in the thread of the node
            self._broken = broken
            self._closing.set()

    def _failure_line(self):
        """Return what the page says about a failure of the last seconds, or an empty text."""
        at, text = self._failure
        return f"**the view cannot draw all**: {text}" if time.monotonic() - at < FAILURE_SHOWN else ""

    def _diagnose(self):
        failed = self._failure_line()
        driver = self._seat.driver
        values = {
            "pages": len(self._server.get_clients()),
            "drives": "nobody" if driver is None else page_name(driver),
            "refused requests": sum(self._page.refused.values()),
            "dropped messages": sum(self._page.dropped.values()),
            "failures of drawing": self._failures,
        }
        return ("error", failed.replace("*", ""), values) if failed else ("ok", "shown in the browser", values)

    def _draw(self, ticks):
        told = self._newest.get("robot_description")
        true = self._newest.get("simulator/robot_description") if self._simulated() else None
        for figure, description in ((self._robot, true or told), (self._ghost, told or true)):
            if description is not None:
                figure.load(description.data)
        self._page.title = self._robot_title(self._robot.robot_name)
        self._panel.title(self._page.title)
        reach = self._robot.reach
        if abs(reach / self._aimed - 1.0) > ANOTHER_SIZE:
            self._aimed = reach
            aim(self._server, reach)
        predicted = self._newest.get("predicted_state", SILENT_AFTER)
        true = self._newest.get("simulator/odom", SILENT_AFTER)
        shown = true or predicted
        self._robot.visible = shown is not None
        self._ghost.visible = true is not None and predicted is not None
        if shown is not None:
            joints = self._newest.get("simulator/joint_states" if true is not None else "joint_states")
            self._place(self._robot, shown, joints)
            if self._panel.follows:
                place = shown.pose.pose.position
                self._surroundings.follow((place.x, place.y))
        if self._ghost.visible:
            self._place(self._ghost, predicted, self._newest.get("predicted_joint_states"))
        if ticks % SUPPORT_EVERY == 0:
            self._draw_support()
        if ticks % 5 == 0:
            path = self._newest.get("predicted_path", SILENT_AFTER)
            points = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in path.poses] if path else []
            self._surroundings.path(points)
            self._sample(shown, true, predicted)
        if ticks % 12 == 0:
            self._tell_panel(shown)
            if shown is not None:
                self._draw_ground(shown.pose.pose.position)

    def _describe_gait(self):
        """Return what the gait does and why, in one line; empty while it publishes nothing."""
        state = self._newest.get("gait_state")
        if state is None:
            return ""
        values = {pair.key: pair.value for pair in state.values}
        why = values.get("why", "")
        return f"**{state.message}**" + (f": {why}" if why and why not in state.message else "")

    def _draw_ground(self, place):
        message = self._newest.get("simulator/truth") if self._simulated() else None
        text = message.data if message is not None else ""
        if text != self._truth:
            self._truth, self._ground = text, Truth.parse(text).ground()
        self._surroundings.ground(self._ground, (place.x, place.y))

    def _draw_support(self):
        message = self._newest.get("support", SUPPORT_OLD) if self._support is not None else None
        if message is self._shown_support:
            return
        self._shown_support = message
        feet, forces, corners, spheres = [], [], [], {}
        for marker in message.markers if message is not None else ():
            if marker.action != Marker.ADD:
                continue
            points = np.array([(p.x, p.y, p.z) for p in marker.points])
            colour = tuple(int(255 * part) for part in (marker.color.r, marker.color.g, marker.color.b))
            if marker.type == Marker.ARROW:
                feet.append(points[0])
                forces.append((points[1] - points[0]) / FORCE_SCALE)
            elif marker.type == Marker.LINE_STRIP:
                corners = points[:-1]
            elif marker.type == Marker.SPHERE:
                place = marker.pose.position
                spheres[marker.ns] = (place.x, place.y, place.z), colour
        self._surroundings.forces(feet, forces)
        self._surroundings.polygon(corners)
        self._surroundings.spheres(spheres)

    @staticmethod
    def _place(figure, odometry, joints):
        p, o = odometry.pose.pose.position, odometry.pose.pose.orientation
        figure.move((p.x, p.y, p.z), (o.x, o.y, o.z, o.w))
        if joints is not None:
            figure.turn(dict(zip(joints.name, joints.position, strict=False)))

    def _sample(self, shown, true, predicted):
        if shown is None:
            return
        now, o, place = time.monotonic(), shown.pose.pose.orientation, shown.pose.pose.position
        while self._places and now - self._places[0][0] > SPEED_OVER:
            self._places.popleft()
        self._places.append((now, place.x, place.y))
        then, x, y = self._places[0]
        speed = math.dist((place.x, place.y), (x, y)) / (now - then) if now - then > 0.5 * SPEED_OVER else math.nan
        up = Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix()[2, 2]
        error = math.nan
        if true is not None and predicted is not None:
            a, b = true.pose.pose.position, predicted.pose.pose.position
            error = 100 * math.dist((a.x, a.y, a.z), (b.x, b.y, b.z))
        tilt = math.degrees(math.acos(float(np.clip(up, -1.0, 1.0))))
        self._panel.sample(now - self._started(), tilt, 100 * speed, error)

    def _started(self):
        if self._before is None:
            self._before = time.monotonic()
        return self._before

    def _tell_panel(self, shown):
        told = self._values("morphology")
        if told:
            self._panel.told.follow(told)
        broken = self._values("simulator/damage")
        self._panel.simulated.visible = bool(broken)
        if broken:
            self._panel.simulated.follow(broken)
        if shown is None:
            state = f"**robot lost**: no pose for {SILENT_AFTER:.0f} s" if self._met else WAITING
        elif not self._robot.has_robot:
            state = "no robot_description yet: is the node robot_description running?"
        else:
            state = "connected"
        self._met = self._met or shown is not None
        failed = self._failure_line()
        state = f"{failed}\n\n{state}" if failed else state
        self._panel.status(state, self._stopped, self._commands.answer, self._describe_gait())
        array = self._newest.get("damage_hypotheses")
        if array is not None:
            self._panel.hypotheses(sorted((_hypothesis(s) for s in array.status), key=lambda h: -h[1])[:SHOWN])
        self._panel.draw_plots()


def _hypothesis(status):
    values = {pair.key: pair.value for pair in status.values}
    try:
        probability = float(values.get("probability", "nan"))
    except ValueError:
        probability = math.nan
    return status.name, probability if math.isfinite(probability) else 0.0, values.get("evidence", "")


def main(args=None):
    """Run the node."""
    run(View, args)


if __name__ == "__main__":
    main()
