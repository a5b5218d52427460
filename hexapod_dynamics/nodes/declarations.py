"""Calls `set_morphology` for the decisions of the damage detector, and repeats a call that gets no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hexapod_dynamics.detection.decisions import Decision
from hexapod_dynamics.nodes.morphology_messages import request_of
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.task import Future

# Time [s] without an answer after which the service is called again. For 10 s ROS still lists a killed server: the
# client is "ready" all the time, and a request that is sent before the respawned damage_manager is discovered is lost.
ANSWER_TIMEOUT = 1.0
# Number of calls for one decision. After that, DecisionMaker repeats the decision while its evidence lasts.
MAX_CALLS = 5


@dataclass(eq=False)
class _Call:
    """A decision without an answer: number of calls, their futures, monotonic time [s] of the next call."""

    decision: Decision
    again: float = 0.0
    futures: list[Future] = field(default_factory=list)


class DeclarationClient:
    """The decisions that `set_morphology` has not answered yet; declaring one twice has no additional effect."""

    def __init__(self, node: Node) -> None:
        self._client = node.create_client(SetParametersAtomically, "set_morphology")
        self._log = node.get_logger()
        self._open: list[_Call] = []

    def declare(self, decision: Decision, now: float) -> None:
        """Call the service with the values of a Decision; now: monotonic time [s]."""
        if not self._client.service_is_ready():
            self._log.error(f"{decision.name} is not declared: no service set_morphology; is damage_manager up?")
            return
        for call in [call for call in self._open if call.decision.key == decision.key]:
            self._end(call)
        self._open.append(_Call(decision))
        self._ask(self._open[-1], now)

    def update(self, now: float) -> None:
        """Call again for each decision that has not been answered in time."""
        for call in [call for call in self._open if now >= call.again]:
            name = call.decision.name
            if len(call.futures) < MAX_CALLS:
                self._log.warning(f"set_morphology has not answered for {ANSWER_TIMEOUT} s: {name} is declared again")
                self._ask(call, now)
            else:
                self._log.error(f"{name} is not declared: set_morphology does not answer; is damage_manager up?")
                self._end(call)

    def follow(self, values: Mapping[str, object]) -> None:
        """Drop the decisions that are contained in {name: value} of the topic `morphology`: only their answer was
        lost.
        """
        for call in list(self._open):
            if all(values.get(name) == value for name, value in call.decision.key):
                self._end(call)

    def _ask(self, call: _Call, now: float) -> None:
        call.again = now + ANSWER_TIMEOUT
        call.futures.append(self._client.call_async(request_of(call.decision.values)))
        call.futures[-1].add_done_callback(lambda future: self._on_answer(call, future))

    def _on_answer(self, call: _Call, future: Future) -> None:
        if call not in self._open:
            return
        self._end(call)
        if future.exception() is not None:
            self._log.error(f"{call.decision.name} is not declared: {future.exception()}")
            return
        result = future.result().result
        if not result.successful:
            self._log.error(f"{call.decision.name} is refused: {result.reason}")
        elif result.reason:  # such as: it cannot be stored
            self._log.warning(f"{call.decision.name} is declared, but: {result.reason}")

    def _end(self, call: _Call) -> None:
        self._open.remove(call)
        for future in call.futures:
            self._client.remove_pending_request(future)
