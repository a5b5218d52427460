"""Shows any running robot in the browser, by ROS topics only: 3-D, damage, drive, stop, hypotheses, plots.

A click on a leg of the simulated robot breaks it.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial

import numpy as np

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist
from hexapod_dynamics.damage import list_losses
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.nodes.morphology_messages import read_values
from hexapod_dynamics.nodes.view_picture import SILENT_AFTER, Picture
from hexapod_dynamics.nodes.view_requests import LatestMessages, RosCommands
from hexapod_dynamics.parameters.displays import VIEW_PARAMETERS
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, declare_all, steady_timer
from hexapod_dynamics.view.drive_seat import DriveSeat, page_name
from hexapod_dynamics.view.panel import NOBODY_LABEL, Entry, EventList, HypothesisBars, Panel
from hexapod_dynamics.view.scene import aim_camera, find_leg, prepare_scene
from hexapod_dynamics.view.web_page import WebPage
from nav_msgs.msg import Odometry, Path
from rcl_interfaces.msg import ParameterEvent
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

WAITING = "waiting for the robot: neither predicted_state nor simulator/odom is published (same ROS_DOMAIN_ID?)"
STOPPED = 'EMERGENCY STOP: the pose is frozen until "allow motion"'
TELL_EVERY = 0.5  # [s] between two updates of what the panel says


class View(GuardedNode):
    """The node; its drawing runs in a thread of its own."""

    def __init__(self) -> None:
        super().__init__("view")
        values = declare_all(self, VIEW_PARAMETERS)
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
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._cmd_vel = self.create_publisher(Twist, "cmd_vel", 10)
        self._seat = DriveSeat()
        self._commands = RosCommands(self, self._seat, self._aim_camera, lambda: self._picture.set_prediction_back())
        host, port, names = values.read("host", str), values.read("port", int), values.read_texts("names")
        self._page = WebPage(host, port, names, self._robot_title(""))
        self.ending.callback(self._page.stop)
        self._page.on_alive = lambda client: self._seat.receive_sign_of_life(client, time.monotonic())
        self._server = self._page.server
        prepare_scene(self._server)
        self._server.on_client_disconnect(lambda client: self._seat.leave(client.client_id))
        self._picture = Picture(self._server, self._newest, self._on_click)
        self._panel = Panel(self._server, self._commands)
        self._panel.title(self._page.title)
        self._page.on_drive, self._page.on_stop = self._panel.drive_by_axes, self._panel.emergency_stop
        self._driving: tuple[str, bool, bool] | None = None  # who drives, as shown in the panel
        # of the drawing: their number, time [s] and text of the last
        self._failures, self._failure = 0, (-math.inf, "")
        self._broken: Exception | None = None  # the exception for which the node ends
        self._met = False  # whether there was a robot
        self._support: Subscription | None = None  # the subscription to `support`
        self._bars, self._events = HypothesisBars(), EventList()
        self._period, self._closing = 1.0 / values.read("rate", float), threading.Event()
        Diagnostics(self, "browser view", self._diagnose)
        steady_timer(self, 0.1, self._repeat_command)
        steady_timer(self, 0.2, self._attend)
        self._thread = threading.Thread(target=self._draw_all, daemon=True)
        self._thread.start()
        self.ending.callback(self._end_drawing)
        print(f"open {self._page.url} ({self._page.title})", flush=True)

    def _end_drawing(self) -> None:
        self._closing.set()
        self._thread.join(2.0)

    def _robot_title(self, robot: str) -> str:
        """Return the name of the robot, for the page's title and its first line."""
        domain = os.environ.get("ROS_DOMAIN_ID") or "0"
        return ", ".join(filter(None, (robot, f"namespace {self.get_namespace()}", f"domain {domain}")))

    def _repeat_command(self) -> None:
        """Repeat cmd_vel, because the gait stops without it; do nothing while no page drives the robot."""
        if self._broken is not None:
            raise self._broken
        twist = self._seat.next_command(time.monotonic())
        if twist is not None:
            message = Twist()
            message.linear.x, message.linear.y, message.angular.z = (float(value) for value in twist)
            self._cmd_vel.publish(message)
        self._show_driver()

    def _show_driver(self) -> None:
        driver, ended = self._seat.driver, self._seat.ended
        text = ended or (NOBODY_LABEL if driver is None else f"{page_name(driver)} drives")
        driving = text, not any(self._seat.twist), driver is not None and len(self._server.get_clients()) > 1
        if driving != self._driving:
            self._driving = driving
            self._panel.driving(text, stands=driving[1], may_ask=driving[2])

    def _attend(self) -> None:
        """Subscribe to `support` while a page shows it, because `dynamics` computes it for subscribers only."""
        wanted = self._panel.shows_support.value and bool(self._server.get_clients())
        if wanted and self._support is None:
            self._support = self._newest.subscribe(MarkerArray, "support")
        elif self._support is not None and not wanted:
            self.destroy_subscription(self._support)
            self._support = None

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        """Read from the status of `servos` whether the emergency stop is on, whoever has requested it."""
        for status in message.status:
            if status.name == self._servos:
                frozen = any(v.key == "emergency stop" and v.value.lower() == "true" for v in status.values)
                self._stopped, self._commands.stopped = STOPPED if frozen else "", frozen
                if frozen and any(self._seat.twist):
                    self._seat.stand()  # so that the robot does not walk on when the stop ends

    def _aim_camera(self, client: int, view: str) -> None:
        handle, shown = self._server.get_clients().get(client), self._picture.now
        yaw = 0.0 if shown is None else shown.rotation.as_euler("zyx")[0]
        if handle is not None:
            aim_camera(handle, self._picture.robot.reach, view, yaw)

    def _on_click(self, link: str) -> None:
        leg = find_leg(link)
        if self._picture.simulated and f"legs.{leg}" in self._values("simulator/damage"):
            self._panel.simulated.change({f"legs.{leg}": False})

    def _values(self, topic: str) -> dict[str, bool | float]:
        message = self._newest.get(topic)
        return read_values(message.new_parameters) if message is not None else {}

    def _draw_all(self) -> None:
        ticks, begin = 0, time.monotonic()
        while not self._closing.is_set():
            begin = max(begin + self._period, time.monotonic())
            try:
                due = partial(is_due, ticks, self._period)
                self._picture.update()
                if due(0.2):
                    self._sample()
                if due(TELL_EVERY):
                    self._note_events()
                if self._server.get_clients():
                    with self._server.atomic():
                        self._draw(due)
            except Exception as error:  # the page and the diagnostics report it; the next message is drawn
                self._report_failure(error)
            ticks += 1
            self._closing.wait(begin - time.monotonic())

    def _report_failure(self, error: Exception) -> None:
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

    def _failure_line(self) -> str:
        """Return the page's message about a failure of the last seconds, or an empty text."""
        at, text = self._failure
        return f"**the view cannot draw all**: {text}" if time.monotonic() - at < 5.0 else ""

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        failed = self._failure_line()
        driver = self._seat.driver
        values = {
            "pages": len(self._server.get_clients()),
            "drives": "no page" if driver is None else page_name(driver),
            "refused requests": sum(self._page.refused.values()),
            "dropped messages": sum(self._page.dropped.values()),
            "failures of drawing": self._failures,
        }
        return ("error", failed.replace("*", ""), values) if failed else ("ok", "shown in the browser", values)

    def _draw(self, due: Callable[[float], bool]) -> None:
        panel, picture = self._panel, self._picture
        picture.draw(
            due,
            ago=panel.picture_age,
            follows=panel.follows.value,
            support=self._support is not None,
            names=panel.shows_names.value,
        )
        self._page.title = self._robot_title(picture.robot.robot_name)
        panel.title(self._page.title)
        if due(TELL_EVERY):
            self._update_panel()

    def _describe_gait(self) -> str:
        """Return the action of the gait and its reason in one line; empty while it publishes nothing."""
        state = self._newest.get("gait_state")
        if state is None:
            return ""
        values = {pair.key: pair.value for pair in state.values}
        why = values.get("why", "")
        self._panel.followed.content = describe_command(values.get("followed", ""))
        return f"**{state.message}**" + (f": {why}" if why and why not in state.message else "")

    def _sample(self) -> None:
        """Add a sample to the plots, whether a page is open or not."""
        shown = self._picture.now
        if shown is None:
            return
        tilt = math.degrees(math.acos(float(np.clip(shown.rotation.as_matrix()[2, 2], -1.0, 1.0))))
        speed = self._picture.past.speed(1.5)  # [s]: the body sways within a step
        self._panel.plots.add(shown.time, tilt, 100 * speed, 100 * self._picture.error)

    def _update_panel(self) -> None:
        declared = self._values("morphology")
        if declared:
            self._panel.declared.follow(declared)
        broken = self._values("simulator/damage")
        self._panel.show_simulation_controls(bool(broken))
        if broken:
            self._panel.simulated.follow(broken)
        found = self._picture.now is not None
        if not found:
            state = f"**robot lost**: no pose for {SILENT_AFTER:.0f} s" if self._met else WAITING
        elif not self._picture.robot.urdf:
            state = "no robot_description yet: is the node robot_description running?"
        else:
            state = "*connected*"  # emphasised: a page that has lost the view hides it
        self._met = self._met or found
        state = "\n\n".join(filter(None, (self._failure_line(), state, self._picture.hidden, self._ago_line())))
        self._panel.status(state, self._stopped, self._commands.answer, self._describe_gait())
        array = self._newest.get("damage_hypotheses")
        if array is not None:
            entries = [_entry(status) for status in array.status]
            self._panel.hypotheses.content = self._bars.draw(entries, time.monotonic())
        self._panel.events.content = self._events.draw()
        self._panel.plots.draw()

    def _ago_line(self) -> str:
        ago = self._panel.picture_age
        return f"**the picture is {ago:.1f} s old**: move the slider time to 0 for now" if ago else ""

    def _note_events(self) -> None:
        """Add changes to the list of events, with the time of the nodes' log, whether a page is open or not."""
        at, gait = self.get_clock().now().nanoseconds * 1e-9, self._newest.get("gait_state")
        declared, broken = self._values("morphology"), self._values("simulator/damage")
        if broken:
            self._events.note_parts(at, "broken in the simulation", list_losses(broken))
        if declared:
            self._events.note_parts(at, "declared", list_losses(declared))
        if gait is not None:
            self._events.note(at, "gait", gait.message)
        self._events.note(at, "emergency stop", "on" if self._stopped else "off")


def is_due(ticks: int, period: float, every: float) -> bool:
    """Whether what is to be done `every` so many seconds is done with picture number `ticks`, one in `period` [s]."""
    return ticks % max(1, round(every / period)) == 0


def _entry(status: DiagnosticStatus) -> Entry:
    values = {pair.key: pair.value for pair in status.values}
    try:
        probability = float(values.get("probability", "nan"))
    except ValueError:
        probability = math.nan
    states = {DiagnosticStatus.OK: "possible", DiagnosticStatus.WARN: "suspected"}
    probability = probability if math.isfinite(probability) else 0.0
    return Entry(status.name, probability, values.get("evidence", ""), states.get(status.level, "declared"))


def describe_command(text: str) -> str:
    """Return in words the command that the gait follows, from its value of `gait_state`; empty without one."""
    numbers = re.findall(r"-?\d+\.\d+", text)
    if len(numbers) != 3:
        return ""
    vx, vy, wz = map(float, numbers)
    sideways = f", {100 * abs(vy):.1f} cm/s to the {'left' if vy > 0 else 'right'}" if vy else ""
    turn = f", turning {abs(math.degrees(wz)):.0f} deg/s {'left' if wz > 0 else 'right'}" if wz else ""
    return f"speed {100 * vx:.1f} cm/s{sideways}{turn}"
