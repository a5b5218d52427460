"""The estimated load on the body in the node `dynamics`: topics `payload`, `payload_wrench`; service
`dynamics/tare`.
"""

import time

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
from hexapod_dynamics.estimation.payload import HEIGHT, PayloadEstimator
from hexapod_dynamics.gait.interface import SWAYS
from hexapod_dynamics.ros.node_functions import LATCHED, LEVELS, frame, text_of
from std_srvs.srv import Trigger

# Period [s] of the checks for a full time window, so that the computation is not in every tick of the fast loop.
LOOK = 0.05
# A mass is reported if it is larger than this multiple of its standard deviation.
SEEN = 2.0
# Time [s] for which a `gait_state` holds: the gait publishes it once a second.
FRESH = 3.0


class PayloadReport:
    """Feeds a PayloadEstimator with the data of an Observer, adds the load to the Observer's model, and publishes
    it.
    """

    def __init__(self, node, observer, command_delay, command_period):
        self._node, self._observer = node, observer
        self.estimator = PayloadEstimator(
            node.robot, command_delay=command_delay, command_period=command_period, tare_first=True
        )
        self.payload = self.estimator.estimate()
        self._sent = None  # set-points that were processed last
        self._swaying = None  # while the body sways for weighing: time of the last gait_state, period of the steps [s]
        self._status = DiagnosticStatus(name="payload", hardware_id=node.robot.name)
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = frame(node, "base_link")
        self._publisher = node.create_publisher(DiagnosticStatus, "payload", LATCHED)
        self._wrench_publisher = node.create_publisher(WrenchStamped, "payload_wrench", LATCHED)
        node.create_service(Trigger, "~/tare", self._on_tare)

    # ---- in ----------------------------------------------------------------------------------------------------------

    def take_command(self, at):
        """Process the set-points that the Observer has just computed from a command, at the monotonic time `at`
        [s].
        """
        setpoints = self._observer.commands.setpoints
        if setpoints is not None and setpoints is not self._sent:
            self._sent = setpoints
            self.estimator.command(at, setpoints)

    def hear_gait(self, message):
        """Take the period of the steps from gait_state while the body sways: its commands do not repeat then."""
        period = next((float(pair.value) for pair in message.values if pair.key == SWAYS), None)
        self._swaying = None if period is None else (time.monotonic(), period)

    def set_following(self, following):
        """Discard the measurements of a time in which the servos do not execute the commands."""
        if not following:
            self.estimator.restart()

    def restore(self, values):
        """Restore the load from before a crash of the node: values (3,) of `stored`; else the load would be tared."""
        if isinstance(values, list) and len(values) == 3 and all(isinstance(value, float) for value in values):
            self.estimator.resume(values)

    def stored(self):
        """Return the load, to be stored for a restart of the node."""
        return list(self.payload.expected) if self.estimator.tared else None

    # ---- out ---------------------------------------------------------------------------------------------------------

    def look(self):
        """Process a full time window if the robot walks; publish after a step cycle.

        The load is not estimated while the robot stands: friction holds joints that do not move, even if the load
        changes. The first and the last window of a cycle are checked for whether the robot walks.
        """
        windows = self.estimator.windows
        if not windows.due:
            return
        if windows.at_edge:
            period = self._period()
            if period is None:
                windows.clear()
                return
            self.estimator.set_period(period)
        if self.estimator.update():
            self.publish()

    def _period(self):
        """Return the period of the steps [s], None if the robot does not walk steadily."""
        if self._swaying is not None and time.monotonic() - self._swaying[0] < FRESH:
            return self._swaying[1]
        return self._observer.commands.history.lag

    def publish(self):
        """Publish the present estimate."""
        payload = self.payload = self.estimator.estimate()
        mass, x, y = payload.expected
        self._observer.load.set(mass, (x, y, mass * HEIGHT))
        status, values = self._status, self.values()
        level, status.message = self.assess()
        status.level = LEVELS[level]
        status.values = [KeyValue(key=key, value=text_of(value)) for key, value in values.items()]
        self._publisher.publish(status)
        force, torque = self._wrench.wrench.force, self._wrench.wrench.torque
        weight = payload.wrench(self._observer.rotation[2], self._node.robot.gravity).tolist()
        force.x, force.y, force.z, torque.x, torque.y, torque.z = weight
        self._wrench.header.stamp = self._node.get_clock().now().to_msg()
        self._wrench_publisher.publish(self._wrench)

    def assess(self):
        """Return level and message."""
        payload = self.payload
        if payload.reason:
            return "ok", f"cannot tell: {payload.reason}"
        if abs(payload.mass) < SEEN * payload.mass_deviation:
            return "ok", "nothing beyond what it weighed at the tare"
        return "ok", f"carries {payload.mass:.2f} +- {payload.mass_deviation:.2f} kg"

    def values(self):
        """Return the estimate as diagnostic values."""
        payload = self.payload
        return {
            "mass [kg]": payload.mass,
            "standard deviation of the mass [kg]": payload.mass_deviation,
            "x [mm]": 1e3 * payload.x,
            "y [mm]": 1e3 * payload.y,
            "standard deviation of x [mm]": 1e3 * payload.x_deviation,
            "standard deviation of y [mm]": 1e3 * payload.y_deviation,
            "mass to reckon with [kg]": payload.expected[0],
            "first moment x to reckon with [kg m]": payload.expected[1],
            "first moment y to reckon with [kg m]": payload.expected[2],
            "tared": payload.tared,
            "cannot tell": payload.reason,
        }

    def _on_tare(self, _, answer):
        answer.success = self.estimator.tare()
        answer.message = "what the robot weighs now is nothing" if answer.success else self.estimator.estimate().reason
        if answer.success:
            self.publish()
        return answer
