"""The IMU behind an STM32 board, with the same methods as an IMU chip, as far as the checks call them."""

from __future__ import annotations

import threading
import time

from hexapod_dynamics.drivers.board.imu import sample_of
from hexapod_dynamics.drivers.board.port import BoardListener, BoardPort
from hexapod_dynamics.drivers.imu.mpu6050 import Sample

_PATIENCE = 0.5  # [s] for the next sample


class BoardSensor(BoardListener):
    """Gives the samples of an open board, each once; OSError if none arrives within half a second."""

    def __init__(self, board: BoardPort) -> None:
        self.identity: int | None = None
        self.warning = ""
        self._board = board
        self._new = threading.Condition()
        self._sample: Sample | None = None
        board.listener = self

    def on_imu(self, values: tuple[float, ...], stamp: float) -> None:
        """Keep the newest sample."""
        with self._new:
            self._sample = sample_of(values)
            self._new.notify()

    def start(self) -> None:
        """Wait until a sample and the rate of the samples are known."""
        self.read()
        end = time.monotonic() + 3.0
        while not self._board.health.imu_rate > 0.0 and time.monotonic() < end:
            self.read()
        self.identity = 0
        self.warning = f"samples of the STM32 board at {self._board.health.imu_rate:.0f} Hz"

    def read(self) -> Sample:
        """Wait for the next sample and return it."""
        with self._new:
            self._sample = None
            if not self._new.wait_for(lambda: self._sample is not None, _PATIENCE) or self._sample is None:
                raise OSError(f"the STM32 board has sent no IMU sample for {_PATIENCE} s")
            return self._sample
