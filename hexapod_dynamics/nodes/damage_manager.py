"""Holds the declared damage: parameters, the service `set_morphology`, the topic `morphology`."""

import time
from collections import deque

from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.nodes.morphology_messages import changed, values_of, whole_set
from hexapod_dynamics.onboard.faults import Faults
from hexapod_dynamics.onboard.joint_input import JointInput
from hexapod_dynamics.parameters.damage_manager import parameters_of
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.node_functions import FOREIGN, LATCHED, Diagnostics, declare, load_robot
from hexapod_dynamics.ros.running import run
from hexapod_dynamics.ros.tick_loop import TickLoop
from rcl_interfaces.msg import ParameterEvent, SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

# Joint angles older than this [s] are not used for the angle of a newly locked joint.
OLDEST = 2.0
# Largest number of changes within WINDOW [s]: after each change every node plans again, and the change is stored.
# Further changes are refused.
MOST_CHANGES, WINDOW = 20, 1.0
# Depth of the queues of requests and answers; a request that does not fit gets no answer. On a loaded computer ROS 2
# Humble lost up to a third of 300 requests a second with a depth of 200; with this depth no loss was observed.
SERVICE = QoSProfile(depth=2000)


class DamageManager(GuardedNode):
    """Holds one Morphology in three forms that always agree: its parameters, the latched topic, the diagnostics."""

    def __init__(self):
        super().__init__("damage_manager")
        self.robot = load_robot(self)
        self._session_state = SessionState(self)
        self._morphology = Morphology.whole(self.robot)
        self._measured, self._measured_at = {}, 0.0  # the last joint_states: {joint: angle}, monotonic time [s]
        self._faults = Faults()
        self._joints = JointInput(self.robot, self._faults)
        self._unknown = ""  # reason why the damage declared before a restart is not known
        self._changed_at = deque(maxlen=MOST_CHANGES)  # monotonic times [s] of the last changes
        self._following = False  # whether `_follow` is setting parameters
        self._publisher = self.create_publisher(ParameterEvent, "morphology", LATCHED)
        # Only the newest message counts, and only when a joint is locked: it is read at that moment, and in each tick
        # so that its age is known. The message does not wake this node.
        self.loop = TickLoop(self, 0.2)
        self.loop.subscribe(JointState, "joint_states", self._on_joints, FOREIGN, newest=True)
        self._declare()
        self._restore()
        self._follow({})
        self.add_on_set_parameters_callback(self._on_set)
        self._service = self.create_service(SetParametersAtomically, "set_morphology", self._serve, qos_profile=SERVICE)
        self._diagnostics = Diagnostics(self, self.robot.name, self._look, every=self.loop.every)
        self._publish()

    def forget(self):
        """Delete the stored state, because this node will not be started again."""
        self._session_state.forget()

    def _on_joints(self, message):
        names, positions = message.name, message.position.tolist()
        if self._joints.as_many("joint_states", names, positions):
            readings = self._joints.readings("joint_states", names, positions, others=True)
            self._measured = {self.robot.joint_names[joint]: angle for joint, angle in readings}
            self._measured_at = time.monotonic()

    @property
    def _angles(self):
        """Present joint angles [rad] by name, from a recent joint_states, else empty."""
        self.loop.poll()
        return self._measured if time.monotonic() - self._measured_at < OLDEST else {}

    def _declare(self):
        given = {}
        for parameter in parameters_of(self._morphology):
            start = declare(self, parameter)
            if start != parameter.default:
                given[parameter.name] = start
        if given:
            self._morphology = changed(self._morphology, given, self._angles)

    def _restore(self):
        stored = self._session_state
        values, remedy = stored.load(), "declare the damage again with set_morphology"
        if values is not None:
            try:
                self._morphology = Morphology.from_parameters(self.robot, values)
                self.get_logger().warning(
                    f"respawned after a crash with the morphology of before: {self._morphology.describe()}"
                )
                stored.post(self._morphology.parameters())
                return
            except MorphologyError as error:
                self.get_logger().warning(f"the state stored before a crash is not used ({error}): {remedy}")
                self._unknown = f"the declared damage from before a restart is not known ({error}): {remedy}"
        elif stored.unreadable or stored.lost:
            self.get_logger().warning(remedy)
            self._unknown = f"the declared damage from before a restart is not known ({stored.problem}): {remedy}"

    def _follow(self, stored):
        """Set the parameters to the values of the morphology; `stored`: values that the caller is about to set.

        Raises MorphologyError if the parameters do not accept the values; then none of them has changed.
        """
        wanted = self._morphology.parameters() | stored
        late = [
            Parameter(name, value=value)
            for name, value in wanted.items()
            if name not in stored and self.get_parameter(name).value != value
        ]
        if late:
            self._following = True
            try:
                result = self.set_parameters_atomically(late)
            finally:
                self._following = False
            if not result.successful:
                raise MorphologyError(f"parameters did not follow the morphology: {result.reason}")

    def _on_set(self, parameters):
        """Check a change of parameters and adopt it if it is possible, else reject it with a reason."""
        if self._following:
            return SetParametersResult(successful=True)
        known = self._morphology.parameters()
        values = {p.name: p.value for p in parameters if p.name in known}
        if not values:
            return SetParametersResult(successful=True)
        before = self._morphology
        try:
            self._check_rate()
            self._morphology = changed(before, values, self._angles)
            self._follow(values)
        except MorphologyError as error:
            self._morphology = before
            return SetParametersResult(successful=False, reason=str(error))
        self._changed_at.append(time.monotonic())
        self._unknown = ""
        self._session_state.post(self._morphology.parameters())
        self._publish()
        return SetParametersResult(successful=True)

    def _check_rate(self):
        """Raise MorphologyError if there have been MOST_CHANGES changes within WINDOW."""
        if len(self._changed_at) == MOST_CHANGES and time.monotonic() - self._changed_at[0] < WINDOW:
            raise MorphologyError(
                f"{MOST_CHANGES} changes within {WINDOW:g} s are the most that are accepted; nothing has changed: "
                f"call again after {WINDOW:g} s"
            )

    def _serve(self, request, response):
        """Serve set_morphology: names and types are checked first, then the change as in `_on_set`."""
        try:
            self._check_rate()
            values = values_of(request.parameters)
            changed(self._morphology, values, self._angles)
            response.result = self.set_parameters_atomically([Parameter(n, value=v) for n, v in values.items()])
        except MorphologyError as error:
            response.result.successful, response.result.reason = False, str(error)
        return response

    def _publish(self):
        self._publisher.publish(whole_set(self, self._morphology))
        self._diagnostics.publish()

    def _look(self):
        now, trouble = time.monotonic(), self._session_state.trouble
        words = [self._unknown] if self._unknown else []
        words += [f"a restart of this node would lose the declared damage: {trouble}"] if trouble else []
        words += [*self._session_state.assess(now)[1], *self._faults.recent(now)]
        if self._morphology.is_whole:
            return ("error" if self._unknown else "warn" if words else "ok"), "; ".join([*words, "whole"]), {}
        return ("error" if self._unknown else "warn"), "; ".join([*words, self._morphology.describe()]), {}


def main(args=None):
    """Run the node."""
    run(DamageManager, args)


if __name__ == "__main__":
    main()
