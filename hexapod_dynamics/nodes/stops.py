"""What stops and releases the robot, beside joint commands: services, the local socket, a game pad, a button.

The services are `emergency_stop`, `~/torque`, `~/release` and `~/follow`; only they end a stop. The local socket
(`ros2 run hexapod_dynamics stop`, the space bar of the launch) and the board's button send the stop in their own
threads; the rest is done between two ticks. The stop state persists over a crash of the node.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from hexapod_dynamics.drivers.gpio import StopButton
from hexapod_dynamics.drivers.servos.supervisor import StopState
from hexapod_dynamics.drivers.stop_socket import StopSocket
from hexapod_dynamics.errors import HexapodError
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Joy
from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from hexapod_dynamics.nodes.servos import ServosNode
    from hexapod_dynamics.ros.crash_recovery import SessionState
    from hexapod_dynamics.ros.tick_loop import TickLoop
    from rclpy.logging import RcutilsLogger

Request: TypeAlias = SetBool.Request | Trigger.Request
Response: TypeAlias = SetBool.Response | Trigger.Response
PATIENCE = 5.0  # [s] for which a stop that was sent may wait for a tick to end
# frame_id of the `joy` messages that `servos` publishes itself; joy_node's is "joy"
BOARD_PAD, REMOTE = "board_game_pad", "board_remote_control"
_LOST = {  # by frame_id: what is lost, and the remedy
    BOARD_PAD: ("game pad of the board", "check its batteries and its receiver"),
    REMOTE: ("remote control", "switch it on, or bring it nearer"),
}
_OTHER = ("game pad", "check its connection, and that autorepeat_rate of joy_node is 2 Hz or more")


class GamePad:
    """The stop button of a game pad that publishes `joy` (sensor_msgs/Joy).

    button: index in `buttons`, negative for none. press() is called when the button goes down. The remote control of
    the board has a stop switch of its own (board_outputs), whatever the index is.
    """

    def __init__(self, loop: TickLoop, button: int, press: Callable[[], None]) -> None:
        self._button, self._press = button, press
        self._received, self._source, self._down, self.reason = math.inf, "", False, ""
        if button >= 0:
            loop.subscribe(Joy, "joy", self._on_joy, QoSProfile(depth=10))

    def _on_joy(self, message: Joy) -> None:
        self._received, self._source = time.monotonic(), message.header.frame_id
        count, remote = len(message.buttons), self._source == REMOTE
        known = self._button < count or remote
        self.reason = "" if known else f"the game pad has {count} buttons, none of index {self._button}"
        down = known and not remote and message.buttons[self._button] != 0
        if down and not self._down:
            self._press()
        self._down = down

    def is_pressed(self) -> bool:
        """Whether the button is down in the last message of the game pad."""
        return self._down and not self._is_lost(time.monotonic())

    def _is_lost(self, now: float) -> bool:
        return now - self._received > 1.0

    def assess(self, now: float) -> tuple[str, list[str]]:
        """Return level and texts at the monotonic time `now` [s]."""
        if self._is_lost(now):
            silence = f"no joy message for {now - self._received:.0f} s, it cannot stop the robot"
            source, remedy = _LOST.get(self._source, _OTHER)
            return "warn", [f"{source} lost: {silence}; {remedy}"]
        return ("warn", [self.reason]) if self.reason else ("ok", [])


def restore_stop(stored: SessionState, logger: RcutilsLogger) -> StopState:
    """Return the StopState from before a crash, from a SessionState; if it cannot be read, an emergency stop; if
    it is missing, one that holds the pose.
    """
    known, values = None, stored.load()
    try:
        known = StopState.from_values(values)
    except HexapodError as error:
        stored.mark_unreadable(error)
    if stored.lost:
        stop = StopState.lost(None if values is None else known, stored.problem)
    elif stored.unreadable or known is None:
        stop = StopState.unreadable(stored.problem)
    else:
        stop = known
    # Stored at the start, because an existing file can be written to even when the disk is full.
    stored.save(stop.to_values())
    if stop != StopState():
        frozen = "emergency stop, " if stop.frozen else ""
        logger.warning(f"restarted; the state is now: {frozen}{stop.mode} ({stop.reason})")
    return stop


class Stops:
    """All that stops and releases the robot of a node `servos`.

    Each service answers when the stop state is on the disk. Their callbacks are reentrant: one that waits for the disk
    does not delay others. on_stop(): called after each request of an emergency stop by the service.
    """

    def __init__(self, node: ServosNode, on_stop: Callable[[], object]) -> None:
        self._control, self._loop, self._log = node.control, node.loop, node.get_logger()
        self._session_state, self._on_stop, values = node.session_state, on_stop, node.values
        self._pad = GamePad(node.loop, values.read("stop_joy_button", int), self._on_pad)
        self._button: StopButton | None = None
        self.switches: dict[str, Callable[[], bool]] = {"stop button of the game pad": self._pad.is_pressed}
        pin, level = values.read("stop_button_pin", int), values.read("stop_button_level", str)
        if pin >= 0:
            self._button = button = StopButton(pin, level, lambda: self.stop_by("stop button of the board"))
            node.ending.callback(button.close)
            self.switches["stop button of the board"] = lambda: button.pressed
        local = StopSocket(node.get_namespace(), self.stop)
        node.ending.callback(local.close)
        if local.fault:
            self._log.warning(local.fault)
        group = ReentrantCallbackGroup()
        for kind, name, action in (
            (SetBool, "emergency_stop", self._emergency_stop),
            (SetBool, "~/torque", self._torque),
            (Trigger, "~/release", self._release),
            (Trigger, "~/follow", lambda _request: self._control.resume()),
        ):
            node.create_service(kind, name, partial(self._serve, action), callback_group=group)

    def stop(self) -> tuple[bool, str]:
        """Stop at once, from any thread but the one that ticks; return (success, message) once it is on the disk."""
        sent = "the stop was sent" if self.freeze() else "the port took no stop: it follows as soon as it can"
        try:
            success, message = self._loop.call(lambda: self._control.emergency_stop(True), PATIENCE)
        except TimeoutError:
            return False, f"{sent}, but the node has not confirmed it within {PATIENCE:g} s"
        except CancelledError:
            return False, f"{sent}, but the node is ending: call again"
        failure = self._session_state.wait()
        return success, f"{message}; a restart of this node may lose it: {failure}" if failure else message

    def freeze(self) -> bool:
        """Send the stop, from any thread, and return whether it was sent; `stop` must be called afterwards."""
        return self._control.chain.freeze()

    def stop_by(self, what: str) -> None:
        """Stop at once and log who has requested it; not to be called from a callback or a tick."""
        self._log.warning(f"{what}: {self.stop()[1]}")

    def _refuse_resume(self) -> str:
        """Return why the emergency stop cannot end now, else an empty text."""
        on = [name for name, is_on in self.switches.items() if is_on()]
        return f"the {' and the '.join(on)} is on: release it first" if on else ""

    def assess(self, now: float) -> tuple[str, list[str]]:
        """Return level and texts for /diagnostics at the monotonic time `now` [s]."""
        level, words = self._pad.assess(now)
        if self._button is not None and self._button.fault:
            return "error", [*words, self._button.fault]
        return level, words

    def _on_pad(self) -> None:
        self._log.warning(f"game pad: {self._control.emergency_stop(True)[1]}")

    # Services ---------------------------------------------------------------------------------------------------------

    async def _serve(
        self, action: Callable[[Request], tuple[bool, str]], request: Request, response: Response
    ) -> Response:
        """Answer a request when its state is on the disk; meanwhile the node works."""
        response.success, response.message = action(request)
        failure = await self._session_state.wait_until_stored()
        if failure:
            response.message += f"; a restart of this node would lose this state: {failure}"
        return response

    def _emergency_stop(self, request: SetBool.Request) -> tuple[bool, str]:
        refusal = "" if request.data else self._refuse_resume()
        answer = (False, refusal) if refusal else self._control.emergency_stop(request.data)
        self._on_stop()
        return answer

    def _torque(self, request: SetBool.Request) -> tuple[bool, str]:
        control = self._control
        if request.data:
            refusal = control.stand()
            done = "torque is on, following joint_commands"
            if not control.is_following:
                done = "holding where it stands; ~/follow lets joint_commands move the robot"
        else:
            refusal, done = control.sit_down("requested by ~/torque", time.monotonic()), "switching torque off"
            if control.sitting is not None:
                done = f"sitting down first, torque off in {control.sitting.until_done:.1f} s; ~/release: at once"
        return not refusal, refusal or done

    def _release(self, _request: Trigger.Request) -> tuple[bool, str]:
        refusal = self._control.disable_torque()
        return not refusal, refusal or "torque off; /diagnostics names each servo that has not confirmed it"
