"""What all servos on a serial link share: the port, its timing, and its interruption."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.drivers.servos.interface import ServoInterface
from hexapod_dynamics.drivers.servos.serial_link import SerialLink
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_counts import CountScale


class SerialServos(ServoInterface):
    """Servos behind a SerialLink; a subclass passes link, servo ids, highest possible id and counts to `_use`."""

    def _use(self, link: SerialLink, ids: Sequence[int], highest_id: int, counts: CountScale) -> None:
        for servo_id in ids:
            if not 0 <= servo_id <= highest_id:
                raise DeviceError(
                    f"servo id {servo_id} is outside 0..{highest_id}: give the joint another one in the robot file"
                )
        self._link, self.port, self.ids = link, link.port, tuple(ids)
        self.reply_timeout, self.patience = link.reply_timeout, link.patience
        self.counts, self.resolution = counts, 1.0 / counts.per_radian

    def quantise(self, angles: np.ndarray) -> np.ndarray:
        """Angles (n,) [rad] of the nearest counts; NaN stays NaN."""
        return self.counts.quantise(angles)

    @property
    def is_open(self) -> bool:
        """Whether the port is open."""
        return self._link.is_open

    def open(self) -> None:
        """Open the port for this process alone."""
        self._link.open()

    def close(self) -> None:
        """Close the port after everything queued has been transmitted."""
        self._link.close()

    def release(self) -> None:
        """Close the port and release all other hardware."""
        self._link.release()

    @property
    def output_end(self) -> float:
        """Monotonic time [s] at which everything that was sent so far has left the port."""
        return self._link.wire_free

    @property
    def busy_time(self) -> float:
        """Time [s] of all bytes that were sent and received."""
        return (self._link.bytes_sent + self._link.bytes_received) * self._link.byte_time

    @property
    def late_wakes(self) -> int:
        """Number of waits that ended late, through no fault of a servo."""
        return self._link.late_wakes

    @property
    def late_answers_pending(self) -> bool:
        """Whether bytes other than an answer have arrived since the last good answer."""
        return self._link.strays > 0

    def drain(self) -> None:
        """Wait until everything has left the port."""
        self._link.drain()

    @property
    def interrupted(self) -> bool:
        """Whether `stop_now` was called and `resume` was not."""
        return self._link.interrupted

    def resume(self) -> None:
        """Send again, after `stop_now`."""
        self._link.interrupted = False

    def discard_output(self) -> None:
        """Drop everything that is queued and has not left the port."""
        self._link.discard_output()
