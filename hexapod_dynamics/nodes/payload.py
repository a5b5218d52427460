"""The estimated load on the body in the node `dynamics`: topics `payload`, `payload_wrench`; service
`dynamics/tare`.
"""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
from hexapod_dynamics.gait_kinds import SWAYS
from hexapod_dynamics.onboard.payload import PayloadWeighing
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.node_functions import LATCHED, LEVELS, frame, text_of
from std_srvs.srv import Trigger

# Period [s] of the checks for a full time window, so that the computation is not in every tick of the fast loop.
LOOK = 0.05


class PayloadReport:
    """Publishes a PayloadWeighing, and feeds it with `gait_state`."""

    def __init__(self, node: GuardedNode, weighing: PayloadWeighing) -> None:
        self._node, self._weighing = node, weighing
        self._status = DiagnosticStatus(name="payload", hardware_id=node.robot.name)
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = frame(node, "base_link")
        self._publisher = node.create_publisher(DiagnosticStatus, "payload", LATCHED)
        self._wrench_publisher = node.create_publisher(WrenchStamped, "payload_wrench", LATCHED)
        node.create_service(Trigger, "~/tare", self._on_tare)

    def on_gait_state(self, message: DiagnosticStatus) -> None:
        """Take the period of the steps from gait_state while the body sways."""
        period = next((float(pair.value) for pair in message.values if pair.key == SWAYS), None)
        self._weighing.set_sway_period(time.monotonic(), period)

    def update(self) -> None:
        """Process a full time window if the robot walks; publish after a step cycle."""
        if self._weighing.update(time.monotonic()):
            self.publish()

    def publish(self) -> None:
        """Publish the present estimate."""
        weighing, status = self._weighing, self._status
        level, status.message = weighing.assess()
        status.level = LEVELS[level]
        status.values = [KeyValue(key=key, value=text_of(value)) for key, value in weighing.values().items()]
        self._publisher.publish(status)
        force, torque = self._wrench.wrench.force, self._wrench.wrench.torque
        weight = weighing.wrench().tolist()
        force.x, force.y, force.z, torque.x, torque.y, torque.z = weight
        self._wrench.header.stamp = self._node.get_clock().now().to_msg()
        self._wrench_publisher.publish(self._wrench)

    def _on_tare(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        reason = self._weighing.tare()
        answer.success, answer.message = not reason, reason or "what the robot weighs now is nothing"
        if answer.success:
            self.publish()
        return answer
