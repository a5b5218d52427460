"""Inputs and requests of the node `view`: the newest messages, and the requests of a person on the page."""

import math
import time

from geometry_msgs.msg import Quaternion, Wrench
from hexapod_dynamics.ros.malformed import subscribe
from hexapod_dynamics.view.commands import Commands
from hexapod_dynamics.view.drive_seat import page_name
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_srvs.srv import SetBool, Trigger

NEWEST = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)


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
        """Return the newest message of a topic if it arrived within this time [s], else None."""
        at, message = self._messages.get(topic, (-math.inf, None))
        return message if time.monotonic() - at <= within else None


class RosCommands(Commands):
    """Sends the requests of the panel; answers of services are shown as a line in the panel."""

    def __init__(self, node, seat, aim_camera, set_prediction_back=lambda: None):
        """aim_camera(client, view): places the camera of a page."""
        self._node, self._seat, self._aim_camera = node, seat, aim_camera
        self._set_back = set_prediction_back
        self.stopped = False  # whether the emergency stop is on
        self.answer = ""
        self._emergency = node.create_client(SetBool, "emergency_stop")
        self._tell = node.create_client(SetParametersAtomically, "set_morphology")
        self._gait = {name: node.create_client(Trigger, name) for name in ("stand", "sit", "get_up")}
        self._break = node.create_client(SetParametersAtomically, "simulator/set_damage")
        self._push = node.create_publisher(Wrench, "simulator/push", 1)
        self._put = node.create_publisher(Quaternion, "simulator/set_attitude", 1)

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

    def set_prediction_back(self):
        """Draw the prediction at the simulated robot; the prediction of the node `dynamics` stays what it is."""
        self._set_back()

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

    def push(self, sideways):
        """Publish simulator/push."""
        message = Wrench()
        message.force.y = sideways
        self._push.publish(message)

    def put(self, roll):
        """Publish simulator/set_attitude."""
        self._put.publish(Quaternion(x=math.sin(roll / 2), w=math.cos(roll / 2)))

    def _set(self, client, values):
        request = SetParametersAtomically.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        self._call(client, request, lambda r: (r.result.successful, r.result.reason))

    def _call(self, client, request, read):
        if not client.service_is_ready():
            self.answer = f"nobody offers the service {client.srv_name}: is the node running?"
            return
        # This text stays if the node was killed: ROS lists a killed server for 10 s, and requests to it are lost.
        self.answer = f"{client.srv_name}: no answer yet; if this stays, ask again"
        client.call_async(request).add_done_callback(lambda future: self._take(client, *read(future.result())))

    def _take(self, client, done, text):
        self.answer = f"{client.srv_name}: {'done' if done else 'refused'}{f' ({text})' if text else ''}"
