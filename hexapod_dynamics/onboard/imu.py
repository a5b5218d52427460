"""What the node `imu` does: from raw samples of the chip to calibrated ones with an attitude."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hexapod_dynamics.drivers.imu.attitude import CalibratedImu
from hexapod_dynamics.onboard.inputs import Faults, ImuInput, ImuReading
from hexapod_dynamics.robot import Robot


class Imu:
    """Calibrates samples in chip axes and estimates the attitude; times are seconds on one clock.

    The gyroscope is calibrated once the robot has rested for a second; before that there is no attitude.
    """

    def __init__(
        self,
        robot: Robot,
        rate: float = 100.0,
        time_constant: float = 3.0,
        memory: Path | None = None,
        faults: Faults | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.faults = faults or Faults()
        self.calibrated = CalibratedImu(rate, robot.imu.rotation, time_constant, True, memory, tell)
        self._raw = ImuInput(robot.imu.rotation, self.faults, "imu/data_raw")
        self._data = ImuInput(robot.imu.rotation, self.faults)
        self.check_clock = self._raw.check_clock

    def sample(self, t: float, acceleration: Sequence[float], angular_velocity: Sequence[float]) -> ImuReading | None:
        """Return what a sample (3,) [m/s^2], (3,) [rad/s] of the time t [s] tells; None if it is not used."""
        raw = self._raw.read(t, None, acceleration, angular_velocity)
        if raw.chip_force is None or raw.chip_rate is None:
            return None
        force, rate, quaternion = self.calibrated.accept(raw.chip_force, raw.chip_rate, t)
        return self._data.read(t, quaternion if self.calibrated.calibrated else None, force, rate)
