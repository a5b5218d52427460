"""The services of `servos` that stop and release the robot, and its stop state, which persists over a crash of the
node.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hexapod_dynamics.drivers.servos.supervisor import StopState
from hexapod_dynamics.errors import HexapodError
from rclpy.callback_groups import ReentrantCallbackGroup
from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from hexapod_dynamics.drivers.servos.supervisor import ServoSupervisor
    from hexapod_dynamics.nodes.stop_inputs import StopInputs
    from hexapod_dynamics.ros.crash_recovery import SessionState
    from rclpy.logging import RcutilsLogger
    from rclpy.node import Node


def restored_stop(stored: SessionState, logger: RcutilsLogger) -> StopState:
    """Return the StopState from before a crash, from a SessionState; if it cannot be read, an emergency stop; if
    it is missing, one that holds the pose.
    """
    stop, values = None, stored.load()
    try:
        stop = StopState.from_values(values)
    except HexapodError as error:
        stored.reject(error)
    if stored.lost:
        stop = StopState.lost(None if values is None else stop, stored.problem)
    elif stored.unreadable:
        stop = StopState.unreadable(stored.problem)
    # Stored at the start, because an existing file can be written to even when the disk is full.
    stored.save(stop.to_values())
    if stop != StopState():
        frozen = "emergency stop, " if stop.frozen else ""
        logger.warning(f"restarted; the state is now: {frozen}{stop.mode} ({stop.reason})")
    return stop


class StopServices:
    """Services emergency_stop, ~/torque, ~/release and ~/follow of a node; each answers when its state is on the disk.

    control: ServoSupervisor; stop_inputs: StopInputs; stored: SessionState; on_stop(): called after each request of an
    emergency stop. Callbacks are reentrant: a callback that waits for the disk does not delay others.
    """

    def __init__(
        self,
        node: Node,
        control: ServoSupervisor,
        stop_inputs: StopInputs,
        stored: SessionState,
        on_stop: Callable[[], object],
    ) -> None:
        self._control, self._stop_inputs, self._session_state, self._on_stop = control, stop_inputs, stored, on_stop
        group = ReentrantCallbackGroup()
        for kind, name, callback in (
            (SetBool, "emergency_stop", self._on_emergency_stop),
            (SetBool, "~/torque", self._on_torque),
            (Trigger, "~/release", self._on_release),
            (Trigger, "~/follow", self._on_follow),
        ):
            node.create_service(kind, name, callback, callback_group=group)

    async def _stored(self, response: SetBool.Response | Trigger.Response) -> SetBool.Response | Trigger.Response:
        """Return the response of a request when its state is on the disk; meanwhile the node works."""
        failure = await self._session_state.stored()
        if failure:
            response.message += f"; a restart of this node would lose this state: {failure}"
        return response

    async def _on_emergency_stop(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        refusal = "" if request.data else self._stop_inputs.refuse_resume()
        response.success, response.message = (False, refusal) if refusal else self._control.emergency_stop(request.data)
        self._on_stop()
        return await self._stored(response)

    async def _on_torque(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        control = self._control
        if request.data:
            refusal = control.stand()
            done = "torque is on, following joint_commands"
            if not control.follows:
                done = "holding where it stands; ~/follow lets joint_commands move the robot"
        else:
            refusal, done = control.sit_down("requested by ~/torque", time.monotonic()), "switching torque off"
            if control.sitting is not None:
                done = f"sitting down first, torque off in {control.sitting.until_done:.1f} s; ~/release: at once"
        response.success, response.message = not refusal, refusal or done
        return await self._stored(response)

    async def _on_release(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        refusal = self._control.disable_torque()
        done = "torque off; /diagnostics names each servo that has not confirmed it"
        response.success, response.message = not refusal, refusal or done
        return await self._stored(response)

    async def _on_follow(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self._control.resume()
        return await self._stored(response)
