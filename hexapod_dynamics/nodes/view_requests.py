"""Inputs and requests of the node `view`: the newest messages, and the requests of a person on the page."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import Quaternion, Wrench
from hexapod_dynamics.nodes.morphology_messages import request_of
from hexapod_dynamics.ros.node_functions import NEWEST
from hexapod_dynamics.view.drive_seat import page_name
from rcl_interfaces.srv import SetParametersAtomically
from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from hexapod_dynamics.view.drive_seat import DriveSeat, Twist
    from rclpy.client import Client
    from rclpy.node import Node
    from rclpy.qos import QoSProfile
    from rclpy.subscription import Subscription


class LatestMessages:
    """The newest message of some topics, with its arrival time."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._messages: dict[str, tuple[float, object]] = {}

    def subscribe(self, kind: type, topic: str, qos: QoSProfile | int = NEWEST) -> Subscription:
        """Keep the newest message of a topic; return the subscription."""

        def keep(message: object) -> None:
            self._messages[topic] = time.monotonic(), message

        return self._node.create_subscription(kind, topic, keep, qos)

    def get(self, topic: str, within: float = math.inf) -> Any:
        """Return the newest message of a topic if it arrived within this time [s], else None."""
        at, message = self._messages.get(topic, (-math.inf, None))
        return message if time.monotonic() - at <= within else None


class RosCommands:
    """Sends the requests of the panel; answers of services are shown as a line in the panel."""

    def __init__(
        self,
        node: Node,
        seat: DriveSeat,
        aim: Callable[[int, str], None],
        set_prediction_back: Callable[[], None] = lambda: None,
    ) -> None:
        """aim(client, view): places the camera of a page; set_prediction_back(): draws the prediction at the robot."""
        self._seat, self.aim, self.set_prediction_back = seat, aim, set_prediction_back
        self.stopped = False  # whether the emergency stop is on
        self.answer = ""
        self._emergency = node.create_client(SetBool, "emergency_stop")
        services = ("set_morphology", "simulator/set_damage")
        self._damage = {name: node.create_client(SetParametersAtomically, name) for name in services}
        self._gait = {name: node.create_client(Trigger, name) for name in ("stand", "sit", "get_up")}
        self._push = node.create_publisher(Wrench, "simulator/push", 1)
        self._put = node.create_publisher(Quaternion, "simulator/set_attitude", 1)

    def drive(self, client: int, twist: Sequence[float]) -> Twist:
        """Walk at this twist [m/s, m/s, rad/s], repeated as cmd_vel while the page of this client is open; zero: stand.

        Returns the twist that is executed from now on; it differs if the request is refused.
        """
        if self.stopped and any(twist):
            problem = 'the emergency stop is on; "allow motion" ends it'
        else:
            problem = self._seat.command(client, twist, time.monotonic())
        if problem:
            self.answer = f"{page_name(client)}: not driven: {problem}"
        return self._seat.twist

    def give_controls(self, client: int) -> None:
        """Give the controls to the page of this client."""
        self._seat.give_controls(client, time.monotonic())

    def call_gait(self, service: str) -> None:
        """Call a service of the gait, "stand", "sit" or "get_up"; driving ends."""
        self._seat.stand()
        self._call(self._gait[service], Trigger.Request(), lambda r: (r.success, r.message))

    def emergency_stop(self, engaged: bool) -> None:
        """Call the service emergency_stop; driving ends either way."""
        self._seat.stand()
        self._call(self._emergency, SetBool.Request(data=engaged), lambda r: (r.success, r.message))

    def change(self, service: str, values: Mapping[str, bool | float]) -> None:
        """Call a service for damage, "set_morphology" or "simulator/set_damage"."""
        self._call(self._damage[service], request_of(values), lambda r: (r.result.successful, r.result.reason))

    def push(self, sideways: float) -> None:
        """Push the simulated robot to its left (positive) or right with this force [N], for a moment."""
        message = Wrench()
        message.force.y = sideways
        self._push.publish(message)

    def put(self, roll: float) -> None:
        """Put the simulated robot at rest on level ground with a roll angle [rad]: 0 upright, pi on its back."""
        self._put.publish(Quaternion(x=math.sin(roll / 2), w=math.cos(roll / 2)))

    def _call(self, client: Client, request: object, read: Callable[..., tuple[bool, str]]) -> None:
        if not client.service_is_ready():
            self.answer = f"no server for {client.srv_name}: is the node running?"
            return
        # This text stays if the node was killed: ROS lists a killed server for 10 s, and requests to it are lost.
        self.answer = f"{client.srv_name}: no answer yet; if this stays, ask again"
        client.call_async(request).add_done_callback(lambda future: self._accept(client, *read(future.result())))

    def _accept(self, client: Client, done: bool, text: str) -> None:
        self.answer = f"{client.srv_name}: {'done' if done else 'refused'}{f' ({text})' if text else ''}"
