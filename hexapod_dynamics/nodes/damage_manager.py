"""Holds the declared damage (onboard.declarations): parameters, service `set_morphology`, topic `morphology`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.nodes.morphology_messages import make_morphology_event, read_values
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.onboard.declarations import Declarations
from hexapod_dynamics.parameters.damage_manager import list_parameters
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, declare
from hexapod_dynamics.ros.tick_loop import TickLoop
from rcl_interfaces.msg import ParameterEvent, SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

# Depth of the queues of requests and answers; a request that does not fit gets no answer. On a loaded computer ROS 2
# Humble lost up to a third of 300 requests a second with a depth of 200; with this depth no loss was observed.
SERVICE = QoSProfile(depth=2000)
REMEDY = "declare the damage again with set_morphology"


class DamageManager(RobotNode):
    """Holds one Morphology in three forms that always agree: its parameters, the latched topic, the diagnostics."""

    def __init__(self) -> None:
        super().__init__("damage_manager")
        self.session_state: SessionState = SessionState(self)
        self._declarations = Declarations(self.robot)
        self._unknown = ""  # reason why the damage declared before a restart is not known
        self._following = False  # whether `_follow` is setting parameters
        self._publisher = self.create_publisher(ParameterEvent, "morphology", LATCHED)
        # Only the newest message counts, and only when a joint is locked: it is read at that moment, and in each tick
        # so that its age is known. The message does not wake this node.
        self.loop = TickLoop(self, 0.2)
        self.subscribe_measured("joint_states", self._declarations.measure)
        self._declare()
        self._restore()
        self._follow({})
        self.add_on_set_parameters_callback(self._on_set)
        # Its own group: while an answer waits for the disk, the node works on.
        group = ReentrantCallbackGroup()
        self._service = self.create_service(
            SetParametersAtomically, "set_morphology", self._serve, qos_profile=SERVICE, callback_group=group
        )
        self._diagnostics = Diagnostics(self, self.robot.name, self._diagnose)
        self._publish()

    @property
    def _morphology(self) -> Morphology:
        return self._declarations.morphology

    def _declare(self) -> None:
        given = {}
        for parameter in list_parameters(self._morphology):
            start = declare(self, parameter)
            if start != parameter.default:
                given[parameter.name] = start
        if given:
            self._declarations.change(time.monotonic(), given)

    def _restore(self) -> None:
        stored = self.session_state
        values = stored.load()
        if values is not None:
            try:
                self._declarations.morphology = Morphology.from_parameters(self.robot, values)
                self.get_logger().warning(
                    f"restarted after a crash; restored the declared damage: {self._morphology.describe()}"
                )
                stored.post(self._morphology.parameters())
                return
            except MorphologyError as error:
                self.get_logger().warning(f"the state stored before a crash is not used ({error}): {REMEDY}")
                self._unknown = f"the declared damage from before a restart is not known ({error}): {REMEDY}"
        elif stored.unreadable or stored.lost:
            self.get_logger().warning(REMEDY)
            self._unknown = f"the declared damage from before a restart is not known ({stored.problem}): {REMEDY}"

    def _follow(self, stored: Mapping[str, object]) -> None:
        """Set the parameters to the values of the morphology; `stored`: values that the caller is about to set.

        Raises MorphologyError if the parameters do not accept the values; then none of them has changed.
        """
        wanted = self._morphology.parameters() | dict(stored)
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

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        """Check a change of parameters and adopt it if it is possible, else reject it with a reason."""
        known = self._morphology.parameters()
        values = {p.name: p.value for p in parameters if p.name in known}
        if self._following or not values:
            return SetParametersResult(successful=True)
        before = self._morphology
        try:
            self.loop.poll()
            self._declarations.morphology = self._declarations.check(time.monotonic(), values)
            self._follow(values)
        except MorphologyError as error:
            self._declarations.morphology = before
            return SetParametersResult(successful=False, reason=str(error))
        self._declarations.note_change(time.monotonic())
        self._unknown = ""
        self.session_state.post(self._morphology.parameters())
        self._publish()
        return SetParametersResult(successful=True)

    async def _serve(
        self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        """Serve set_morphology: names and types are checked first, then the change as in `_on_set`.

        The answer is given when the change is on the disk, so that no crash forgets what was answered.
        """
        self._declarations.check_rate(time.monotonic())
        values = read_values(request.parameters)
        self.loop.poll()
        self._declarations.check(time.monotonic(), values)
        response.result = self.set_parameters_atomically([Parameter(n, value=v) for n, v in values.items()])
        failure = await self.session_state.wait_until_stored() if response.result.successful else ""
        if failure:
            response.result.reason = f"a restart of this node would lose the declared damage: {failure}"
        return response

    def _publish(self) -> None:
        self._publisher.publish(make_morphology_event(self, self._morphology))
        self._diagnostics.publish()

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        now, failure = time.monotonic(), self.session_state.failure
        words = [self._unknown] if self._unknown else []
        words += [f"a restart of this node would lose the declared damage: {failure}"] if failure else []
        words += [*self.session_state.assess(now)[1], *self.faults.list_recent(now)]
        level = "error" if self._unknown else "ok" if self._morphology.is_intact and not words else "warn"
        return level, "; ".join([*words, self._morphology.describe()]), {**self.faults.counts()}
