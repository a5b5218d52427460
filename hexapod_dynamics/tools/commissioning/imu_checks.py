"""Checks of the IMU: whether it answers and measures, and how it is mounted.

With the chip at rest the specific force points up. While the body is level, the direction of this force in chip
axes is the body's z axis; while it is nose down by p, the direction is `z cos p - x sin p`, and the difference
yields the body's x axis. Both axes determine the mounting.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY, Mpu6050, Sample, UnexpectedAnswer
from hexapod_dynamics.drivers.imu.reader import sample_of
from hexapod_dynamics.drivers.servos.board_port import BoardPort
from hexapod_dynamics.drivers.servos.board_protocol import ImuValues, Report
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.se3 import roll_pitch_yaw, rotation_rpy
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, not_run, passed
from hexapod_dynamics.tools.commissioning.owner import Attitude, Owner

_PATIENCE = 0.5  # [s] for the next sample


class BoardSensor:
    """Gives the samples of an open board, each once; OSError if none arrives within half a second."""

    def __init__(self, board: BoardPort) -> None:
        self.identity: int | None = None
        self.warning = ""
        self._board = board
        self._new = threading.Condition()
        self._sample: Sample | None = None
        board.listener = self._on_report

    def _on_report(self, report: Report, _stamp: float) -> None:
        """Keep the newest sample."""
        if isinstance(report, ImuValues):
            with self._new:
                self._sample = sample_of(report.values)
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


SAMPLES, PERIOD = 50, 0.01  # a mean value, [s] between two samples
REST = 0.6  # [m/s^2] largest standard deviation of a robot that is held still by hand
NORMS = (6.0, 13.0)  # [m/s^2] of the specific force at rest; the offset of a chip can be 2.4 m/s^2
LEAST_TILT = math.radians(10.0)
TOLERANCE = math.radians(25.0)  # [rad] between the measured mounting and that of the file
_RIGHT_ANGLES = [
    (rotation_rpy(*np.radians(angles)), angles)
    for angles in sorted(
        itertools.product((0, 90, 180, -90), (0, 90, -90), (0, 90, 180, -90)),
        key=lambda a: [a[1] != 0, np.abs(a).sum()],
    )
]


def mean_force(sensor: Mpu6050 | BoardSensor, samples: int = SAMPLES) -> tuple[np.ndarray, float]:
    """Mean specific force (3,) [m/s^2], chip axes, and its largest standard deviation; OSError if the chip is lost."""
    values = np.empty((samples, 3))
    for k in range(samples):
        for left in (2, 1, 0):
            try:
                values[k] = sensor.read().acceleration
                break
            except OSError:
                if not left:
                    raise
        time.sleep(PERIOD)
    return values.mean(axis=0), float(values.std(axis=0).max())


def check_chip(sensor: Mpu6050 | BoardSensor) -> list[Finding]:
    """Set the chip up, check its identity and its values at rest. Moves nothing."""
    try:
        sensor.start()
        mean, spread = mean_force(sensor)
    except OSError as error:
        remedy = (
            "i2cdetect -y -r 1 shows 68 where the chip is; bus number, address, cable? errno 121: it does not answer"
        )
        if isinstance(error, UnexpectedAnswer):
            remedy = "a clone, a brown-out, or another program that uses the chip (the node imu, jethexa_bringup)?"
        if isinstance(sensor, BoardSensor):
            remedy = "the board reports by itself once its IMU has started: power the board off and on"
            return [failed("imu", "STM32 board", str(error), remedy)]
        return [failed("imu", "MPU6050", str(error), remedy)]
    seen = f"WHO_AM_I 0x{sensor.identity or 0:02x}; {sensor.warning}".rstrip("; ")
    seen = sensor.warning if isinstance(sensor, BoardSensor) else seen
    findings = [passed("imu", "identity", seen)]
    norm = float(np.linalg.norm(mean))
    seen = f"specific force {norm:.2f} m/s^2, standard deviation {spread:.2f}"
    if spread == 0.0:
        findings.append(failed("imu", "values", f"{seen}: the chip sleeps", "power the board off and on"))
    elif not NORMS[0] < norm < NORMS[1]:
        remedy = (
            f"at rest it is {STANDARD_GRAVITY:.2f} m/s^2: scale of a clone, or a defect? run the check again at rest"
        )
        findings.append(failed("imu", "values", seen, remedy))
    else:
        findings.append(passed("imu", "values", seen))
    return findings


def mounting(level: npt.ArrayLike, nose_down: npt.ArrayLike) -> np.ndarray:
    """Rotation (3, 3) body <- chip from the specific force (3,) in chip axes, level and nose down.

    Raises DeviceError if the two directions differ by less than 10 degrees.
    """
    up = np.asarray(level, float) / np.linalg.norm(level)
    tilted = np.asarray(nose_down, float) / np.linalg.norm(nose_down)
    forward = (tilted @ up) * up - tilted
    if np.linalg.norm(forward) < math.sin(LEAST_TILT):
        raise DeviceError(f"the IMU turned by {math.degrees(np.linalg.norm(forward)):.0f} degrees only")
    forward = forward / np.linalg.norm(forward)
    return np.array([forward, np.cross(up, forward), up])


def angle_between(first: np.ndarray, second: np.ndarray) -> float:
    """Angle [rad] between two rotations (3, 3)."""
    return math.acos(min(1.0, max(-1.0, 0.5 * (float(np.trace(first.T @ second)) - 1.0))))


def rpy_text(rotation: np.ndarray) -> str:
    """The mounting as `imu.rpy_deg` of a robot file: right angles if it is near to them."""
    right, angles = min(_RIGHT_ANGLES, key=lambda each: round(angle_between(each[0], rotation), 6))
    if angle_between(right, rotation) > TOLERANCE:
        angles = tuple(np.round(np.degrees(roll_pitch_yaw(rotation)), 0) + 0.0)
    return f"imu.rpy_deg: [{', '.join(f'{angle:.1f}' for angle in angles)}]"


def assess_axes(forces: Mapping[Attitude, np.ndarray], rotation: npt.ArrayLike) -> list[Finding]:
    """Compare the mounting `rotation` (3, 3) body <- chip of the robot file with what was measured in three attitudes.

    forces: for each Attitude the mean specific force (3,) [m/s^2] in chip axes.
    """
    level, nose_down, right_down = (forces[attitude] for attitude in Attitude)
    body = np.array([level, nose_down, right_down]) @ np.asarray(rotation, float).T
    seen = "; ".join(
        f"{name} x {v[0]:+.1f} y {v[1]:+.1f} z {v[2]:+.1f}"
        for name, v in zip(("level:", "nose down:", "right down:"), body, strict=True)
    )
    try:
        found = mounting(level, nose_down)
    except DeviceError as error:
        return [failed("axes", "mounting", str(error), "tilt it by 20 to 45 degrees, and hold it until the answer")]
    side = found @ right_down / np.linalg.norm(right_down)
    if side[1] < math.sin(LEAST_TILT):
        remedy = (
            "right side down must raise y: was it tilted to the right, and to the nose before? run this check again"
        )
        return [failed("axes", "mounting", f"the attitudes do not fit together ({seen})", remedy)]
    if angle_between(found, np.asarray(rotation, float)) > TOLERANCE:
        remedy = f"write {rpy_text(found)} into the robot file and run this check again"
        return [failed("axes", "mounting", f"base_link: {seen} m/s^2", remedy)]
    return [passed("axes", "mounting", f"base_link: {seen} m/s^2: gravity on +z, nose down gives a positive pitch")]


def check_axes(sensor: Mpu6050 | BoardSensor, owner: Owner, rotation: npt.ArrayLike) -> list[Finding]:
    """Ask the owner to hold the robot in three attitudes, and assess them. Commands no motion."""
    forces: dict[Attitude, np.ndarray] = {}
    try:
        if sensor.identity is None:
            sensor.start()
        for attitude in Attitude:
            if not owner.holds(attitude):
                return [not_run("axes", "mounting", f"left out at: {attitude.instruction}")]
            mean, spread = mean_force(sensor)
            if spread > REST:
                remedy = "hold it still for a second after the answer; rest it on a box"
                return [failed("axes", "mounting", f"it moved (standard deviation {spread:.1f} m/s^2)", remedy)]
            forces[attitude] = mean
    except OSError as error:
        return [failed("axes", "MPU6050", str(error), "see the check `imu`")]
    return assess_axes(forces, rotation)
