"""The STM32 board's functions besides the servos: IMU samples, game pad or remote as `joy`, keys, buzzer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hexapod_dynamics.drivers.servos.board import protocol as frames
from hexapod_dynamics.drivers.servos.interface import BusError
from hexapod_dynamics.nodes.stops import BOARD_PAD, REMOTE
from hexapod_dynamics.runtime_directory import device_directory
from sensor_msgs.msg import Joy
from std_msgs.msg import Bool

if TYPE_CHECKING:
    from hexapod_dynamics.drivers.servos.board.servos import BoardServos
    from hexapod_dynamics.nodes.servos import ServosNode

REMOTE_SWITCH = "stop switch of the remote control"
# Tones of the buzzer: four in the 2 s for which the robot announces that it will move by itself.
BEEP = frames.beep(1900, 0.15, 0.35, 4)


class BoardOutputs:
    """Publishes what the board reports; called by the thread that reads its port."""

    def __init__(self, node: ServosNode, servos: BoardServos) -> None:
        self._node, self._stops, self._key = node, node.stops, node.values.read("stop_board_button", int)
        self._sender = frames.ImuSender(device_directory(node.get_namespace()) / frames.SOCKET)
        node.ending.callback(self._sender.close)
        self._joy, self._next_joy = node.create_publisher(Joy, "joy", 10), 0.0
        self._last: tuple[list[float], list[int]] | None = None
        self._remote_until, self._remote_lost, self._remote_stops = 0.0, True, False
        self._stops.switches[REMOTE_SWITCH] = self.is_stopping
        self._board = servos
        self._board.listener = self.on_report
        node.create_subscription(Bool, "buzzer", self._on_buzzer, 1)

    def _on_buzzer(self, message: Bool) -> None:
        if not message.data:
            return
        try:
            self._board.send(BEEP)
        except BusError as error:
            self._node.get_logger().warning(f"the buzzer does not sound: {error}", throttle_duration_sec=5.0)

    def on_report(self, report: frames.Report, stamp: float) -> None:
        """Pass on what the board has reported at the monotonic time `stamp` [s]."""
        if isinstance(report, frames.ImuValues):
            self._sender.send(report.values, stamp)
        elif isinstance(report, frames.Button) and report == (self._key, frames.PRESSED):
            self._stop_by("key of the STM32 board")
        elif isinstance(report, frames.Remote):
            self._on_remote(report)
        elif isinstance(report, frames.Pad) and time.monotonic() >= self._remote_until:  # a remote control comes first
            self._publish_joy(frames.joy_values(report), BOARD_PAD)

    def _stop_by(self, what: str) -> None:
        """Send the stop; the rest is done in another thread, because this one reads the port."""
        self._stops.freeze()
        threading.Thread(target=self._stops.stop_by, args=(what,), daemon=True).start()

    def is_stopping(self) -> bool:
        """Whether the stop switch of the remote control is on, in a report of the last second."""
        return self._remote_stops and time.monotonic() < self._remote_until

    def _on_remote(self, remote: frames.Remote) -> None:
        """Publish the remote control; when its signal is lost, once that everything is released, then nothing.

        Its own switch stops the robot without the topic, whatever button of a game pad is configured to stop.
        """
        was_on, self._remote_stops = self._remote_stops, remote.is_stopping
        if self._remote_stops and not was_on:
            self._stop_by(REMOTE_SWITCH)
        if not remote.lost:
            self._remote_until = time.monotonic() + 1.0  # the gamepad is not published meanwhile
        elif self._remote_lost:
            return
        else:
            self._node.get_logger().warning("the signal of the remote control is lost: the robot stands")
        self._remote_lost = remote.lost
        self._publish_joy(frames.remote_values(remote), REMOTE)

    def _publish_joy(self, values: tuple[list[float], list[int]], source: str) -> None:
        """Publish axes and buttons of the source: each change at once, unchanged values every 20 ms."""
        now = time.monotonic()
        if values == self._last and now < self._next_joy:
            return
        self._last, self._next_joy = values, now + 0.02
        message = Joy()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.header.frame_id, (message.axes, message.buttons) = source, values
        self._joy.publish(message)
