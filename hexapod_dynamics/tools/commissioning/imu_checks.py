"""Checks of the IMU: whether it answers and measures, and how it is mounted.

With the chip at rest the specific force points up. While the body is level, the direction of this force in chip
axes is the body's z axis; while it is nose down by p, the direction is `z cos p - x sin p`, and the difference
yields the body's x axis. Both axes determine the mounting.
"""

from __future__ import annotations

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
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, not_run, passed
from hexapod_dynamics.tools.commissioning.owner import Attitude, Owner


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
            if not self._new.wait_for(lambda: self._sample is not None, 0.5) or self._sample is None:
                raise OSError("the STM32 board has sent no IMU sample for 0.5 s")
            return self._sample


TILT = math.radians(10.0)  # the least by which an attitude must differ from level
TOLERANCE = math.radians(25.0)  # [rad] between the measured mounting and that of the file


def mean_force(sensor: Mpu6050 | BoardSensor) -> tuple[np.ndarray, float]:
    """Mean specific force (3,) [m/s^2] of half a second, chip axes, and its largest standard deviation; OSError if the
    chip is lost.
    """
    values = np.empty((50, 3))
    for row in values:
        for left in (2, 1, 0):
            try:
                row[:] = sensor.read().acceleration
                break
            except OSError:
                if not left:
                    raise
        time.sleep(0.01)
    return values.mean(axis=0), float(values.std(axis=0).max())


def check_chip(sensor: Mpu6050 | BoardSensor) -> list[Finding]:
    """Set the chip up, check its identity and its values at rest. Moves nothing."""
    of_board = isinstance(sensor, BoardSensor)
    try:
        sensor.start()
        mean, spread = mean_force(sensor)
    except OSError as error:
        if of_board:
            remedy = "the board reports by itself once its IMU has started: power the board off and on"
        elif isinstance(error, UnexpectedAnswer):
            remedy = "a clone, a brown-out, or another program that uses the chip (the node imu, jethexa_bringup)?"
        else:
            remedy = (
                "i2cdetect -y -r 1 shows 68 where the chip is; bus number, address, cable? errno 121: it does not "
                "answer"
            )
        return [failed("STM32 board" if of_board else "MPU6050", str(error), remedy)]
    identity = f"WHO_AM_I 0x{sensor.identity or 0:02x}; {sensor.warning}".rstrip("; ")
    findings = [passed("identity", sensor.warning if of_board else identity)]
    norm = float(np.linalg.norm(mean))
    seen = f"specific force {norm:.2f} m/s^2, standard deviation {spread:.2f}"
    if spread == 0.0:
        findings.append(failed("values", f"{seen}: the chip sleeps", "power the board off and on"))
    elif not 6.0 < norm < 13.0:  # the offset of a chip can be 2.4 m/s^2
        remedy = "scale of a clone, or a defect? run the check again at rest"
        findings.append(failed("values", seen, f"at rest it is {STANDARD_GRAVITY:.2f} m/s^2: {remedy}"))
    else:
        findings.append(passed("values", seen))
    return findings


def mounting(level: npt.ArrayLike, nose_down: npt.ArrayLike) -> np.ndarray:
    """Rotation (3, 3) body <- chip from the specific force (3,) in chip axes, level and nose down.

    Raises DeviceError if the two directions differ by less than 10 degrees.
    """
    up = np.asarray(level, float) / np.linalg.norm(level)
    tilted = np.asarray(nose_down, float) / np.linalg.norm(nose_down)
    forward = (tilted @ up) * up - tilted
    size = np.linalg.norm(forward)
    if size < math.sin(TILT):
        raise DeviceError(f"the IMU turned by {math.degrees(size):.0f} degrees only")
    forward = forward / size
    return np.array([forward, np.cross(up, forward), up])


def angle_between(first: np.ndarray, second: np.ndarray) -> float:
    """Angle [rad] between two rotations (3, 3)."""
    return math.acos(min(1.0, max(-1.0, 0.5 * (float(np.trace(first.T @ second)) - 1.0))))


def rpy_text(rotation: np.ndarray) -> str:
    """The mounting as `imu.rpy_deg` of a robot file: right angles if it is near to them."""
    right = np.round(rotation) + 0.0  # no negative zeros
    is_rotation = np.array_equal(right @ right.T, np.eye(3))
    near = right if is_rotation and angle_between(right, rotation) <= TOLERANCE else rotation
    angles = np.round(np.degrees(roll_pitch_yaw(near)), 0) + 0.0
    return f"imu.rpy_deg: [{', '.join(f'{angle:.1f}' for angle in angles)}]"


def assess_axes(forces: Mapping[Attitude, np.ndarray], rotation: npt.ArrayLike) -> Finding:
    """Compare the mounting `rotation` (3, 3) body <- chip of the robot file with what was measured in three attitudes.

    forces: for each Attitude the mean specific force (3,) [m/s^2] in chip axes.
    """
    level, nose_down, right_down = (forces[attitude] for attitude in Attitude)
    body = np.array([level, nose_down, right_down]) @ np.asarray(rotation, float).T
    names = "level:", "nose down:", "right down:"
    seen = "; ".join(f"{name} x {v[0]:+.1f} y {v[1]:+.1f} z {v[2]:+.1f}" for name, v in zip(names, body, strict=True))
    try:
        found = mounting(level, nose_down)
    except DeviceError as error:
        return failed("mounting", str(error), "tilt it by 20 to 45 degrees, and hold it until the answer")
    side = found @ right_down / np.linalg.norm(right_down)
    if side[1] < math.sin(TILT):
        remedy = (
            "right side down must raise y: was it tilted to the right, and to the nose before? run this check again"
        )
        return failed("mounting", f"the attitudes do not fit together ({seen})", remedy)
    if angle_between(found, np.asarray(rotation, float)) > TOLERANCE:
        remedy = f"write {rpy_text(found)} into the robot file and run this check again"
        return failed("mounting", f"base_link: {seen} m/s^2", remedy)
    return passed("mounting", f"base_link: {seen} m/s^2: gravity on +z, nose down gives a positive pitch")


def check_axes(sensor: Mpu6050 | BoardSensor, owner: Owner, rotation: npt.ArrayLike) -> list[Finding]:
    """Ask the owner to hold the robot in three attitudes, and assess them. Commands no motion."""
    forces: dict[Attitude, np.ndarray] = {}
    try:
        if sensor.identity is None:
            sensor.start()
        for attitude in Attitude:
            if not owner.holds(attitude):
                return [not_run("mounting", f"left out at: {attitude.instruction}")]
            forces[attitude], spread = mean_force(sensor)
            if spread > 0.6:  # [m/s^2] of a robot that is held still by hand
                remedy = "hold it still for a second after the answer; rest it on a box"
                return [failed("mounting", f"it moved (standard deviation {spread:.1f} m/s^2)", remedy)]
    except OSError as error:
        return [failed("MPU6050", str(error), "see the check `imu`")]
    return [assess_axes(forces, rotation)]
