"""What stops the robot besides the service `emergency_stop`: the local socket, a game pad, a button of the board.

None of them ends a stop. The local socket (`ros2 run hexapod_dynamics stop`, the space bar of the launch) and the
board's button send the stop in their own threads; the rest is done between two ticks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from hexapod_dynamics.drivers.stop_button import StopButton
from hexapod_dynamics.drivers.stop_request import socket_path
from hexapod_dynamics.drivers.stop_socket import StopSocket
from hexapod_dynamics.errors import DeviceError, UnsafePathError
from sensor_msgs.msg import Joy

if TYPE_CHECKING:
    from hexapod_dynamics.drivers.servos.supervisor import ServoSupervisor
    from hexapod_dynamics.parameters.spec import Value
    from hexapod_dynamics.ros.tick_loop import TickLoop
    from rclpy.logging import RcutilsLogger
    from rclpy.task import Future

PATIENCE = 5.0  # [s] for which a stop that was sent may wait for a tick to end
PAD_SILENT = 1.0  # [s] without a message of the game pad after which it is reported as lost


class GamePad:
    """The stop button of a game pad that publishes `joy` (sensor_msgs/Joy).

    button: index in `buttons`, negative for none. press() is called when the button goes down.
    """

    def __init__(self, loop: TickLoop, button: int, press: Callable[[], None]) -> None:
        self._button, self._press = button, press
        self._received, self._down, self.reason = None, False, ""
        if button >= 0:
            loop.subscribe(Joy, "joy", self._on_joy, 10)

    def _on_joy(self, message: Joy) -> None:
        self._received = time.monotonic()
        count = len(message.buttons)
        self.reason = "" if self._button < count else f"the game pad has {count} buttons, none of index {self._button}"
        down = self._button < count and message.buttons[self._button] != 0
        if down and not self._down:
            self._press()
        self._down = down

    @property
    def held(self) -> bool:
        """Whether the button is down in the last message of the game pad."""
        return self._down and time.monotonic() - self._received <= PAD_SILENT

    def assess(self, now: float) -> tuple[str, list[str]]:
        """Return level and texts at the monotonic time `now` [s]."""
        if self._received is None:
            return "ok", []
        silence = now - self._received
        if silence > PAD_SILENT:
            return "warn", [
                f"game pad lost: no joy message for {silence:.0f} s, its stop button has no effect; check its "
                "connection, and that autorepeat_rate of joy_node is 2 Hz or more"
            ]
        return ("warn", [self.reason]) if self.reason else ("ok", [])


class StopInputs:
    """All inputs that stop a node `servos`, besides its service.

    control: ServoSupervisor. loop: TickLoop. values: the node's parameters by name. log, namespace: of the node.
    stored(): a Future that is done when the stop is on the disk, with the reason as its result if it is not
    (crash_recovery.SessionState).
    """

    def __init__(
        self,
        control: ServoSupervisor,
        loop: TickLoop,
        values: Mapping[str, Value],
        log: RcutilsLogger,
        namespace: str,
        stored: Callable[[], Future],
    ) -> None:
        self._control, self._loop, self._log, self._stored = control, loop, log, stored
        self._pad = GamePad(loop, values["stop_joy_button"], self._on_pad)
        self._button = self._socket = None
        if values["stop_button_pin"] >= 0:
            self._button = StopButton(values["stop_button_pin"], values["stop_button_level"], self._on_button)
        try:
            self._socket = StopSocket(socket_path(namespace), self.stop)
        except (DeviceError, UnsafePathError) as error:
            log.warning(str(error))

    def stop(self) -> tuple[bool, str]:
        """Stop at once, from any thread except the one that ticks; return (success, message) when the stop is on
        the disk.
        """
        sent = (
            "the stop was sent"
            if self._control.chain.freeze()
            else "the port took no stop: it follows as soon as it can"
        )
        try:
            success, message = self._loop.call(lambda: self._control.emergency_stop(True), PATIENCE)
        except TimeoutError:
            return False, f"{sent}, but the node has not confirmed it within {PATIENCE:g} s"
        except CancelledError:
            return False, f"{sent}, but the node is ending or not ready yet: call again"
        failure = self._wait_for_disk()
        return success, f"{message}; {failure}" if failure else message

    def freeze(self) -> None:
        """Send the stop, from any thread; `stop` must be called afterwards."""
        self._control.chain.freeze()

    def stop_by(self, what: str) -> None:
        """Stop at once and log who has requested it; not to be called from a callback or a tick."""
        self._log.warning(f"{what}: {self.stop()[1]}")

    def refuse_resume(self) -> str:
        """Return why the emergency stop cannot end now, else an empty text."""
        if self._button is not None and self._button.pressed:
            return "the stop button of the board is pressed: release it first"
        if self._pad.held:
            return "the stop button of the game pad, or the stop switch of the remote control, is on: release it first"
        return ""

    def assess(self, now: float) -> tuple[str, list[str]]:
        """Return level and texts for /diagnostics at the monotonic time `now` [s]."""
        level, words = self._pad.assess(now)
        if self._button is not None and self._button.fault:
            return "error", [*words, self._button.fault]
        return level, words

    def close(self) -> None:
        """Release the socket and the pin."""
        for each in (self._button, self._socket):
            if each is not None:
                each.close()

    def _wait_for_disk(self) -> str:
        """Return why the stop is not on the disk, else an empty text."""
        future, written = self._stored(), threading.Event()
        future.add_done_callback(lambda _: written.set())
        if not written.wait(PATIENCE):
            return f"a restart of this node may lose it: it is not on the disk after {PATIENCE:g} s"
        return f"a restart of this node may lose it: {future.result()}" if future.result() else ""

    def _on_pad(self) -> None:
        self._log.warning(f"game pad: {self._control.emergency_stop(True)[1]}")

    def _on_button(self) -> None:
        self.stop_by("stop button of the board")
