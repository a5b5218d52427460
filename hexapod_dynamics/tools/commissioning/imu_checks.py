"""Checks of the IMU: whether it answers and measures, and how it is mounted.

With the chip at rest the specific force points up. While the body is level, the direction of this force in chip
axes is the body's z axis; while it is nose down by p, the direction is `z cos p - x sin p`, and the difference
yields the body's x axis. Both axes determine the mounting.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY, Mpu6050, Sample, UnexpectedAnswer, open_bus
from hexapod_dynamics.drivers.imu.reader import sample_of
from hexapod_dynamics.drivers.servos.board.protocol import ImuValues, Report
from hexapod_dynamics.drivers.servos.board.servos import BoardServos
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.se3 import roll_pitch_yaw, rotation_vector
from hexapod_dynamics.tools.commissioning.bench import Attitude, Bench
from hexapod_dynamics.tools.commissioning.findings import CheckError, Finding
from hexapod_dynamics.tools.commissioning.servo_checks import END_IT, check_file, check_port, find_users


class BoardSensor:
    """Gives the samples of an open board, each once; OSError if none arrives within half a second."""

    def __init__(self, board: BoardServos) -> None:
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
        while not self.rate > 0.0 and time.monotonic() < end:
            self.read()

    @property
    def rate(self) -> float:
        """Samples a second; 0 while it is not known."""
        return self._board.clock.rate

    def read(self) -> Sample:
        """Wait for the next sample and return it."""
        with self._new:
            self._sample = None
            if not self._new.wait_for(lambda: self._sample is not None, 0.5) or self._sample is None:
                raise OSError("the STM32 board has sent no IMU sample for 0.5 s")
            return self._sample


@contextmanager
def open_sensor(bench: Bench) -> Iterator[Mpu6050 | BoardSensor]:
    """A context with the IMU, set up: the chip on its I2C bus, or that of the board, whose port is opened first if the
    check `port` was not chosen. Raises CheckError, also where the IMU is lost within the context.
    """
    if not bench.i2c:
        if not isinstance(bench.bus, BoardServos):
            raise CheckError("IMU", "source: board, and no board", "give servos the protocol `board` in the file")
        if not bench.bus.is_open:
            list(check_port(bench))
        board = BoardSensor(bench.bus)
        try:
            board.start()
            yield board
        except OSError as error:
            remedy = "the board reports by itself once its IMU has started: power the board off and on"
            raise CheckError("STM32 board", str(error), remedy) from error
        return
    path = bench.i2c if not bench.i2c.isdigit() else f"/dev/i2c-{bench.i2c}"
    check_file(path, "i2c")
    others = find_users(path)
    if others:
        raise CheckError(path, f"used by {', '.join(others)}", END_IT)
    try:
        bus = open_bus(bench.i2c)
    except DeviceError as error:
        raise CheckError(path, str(error), "see the message") from error
    try:
        chip = Mpu6050(bus, bench.imu)
        chip.start()
        yield chip
    except UnexpectedAnswer as error:
        remedy = "a clone, a brown-out, or another program that uses the chip (the node imu, jethexa_bringup)?"
        raise CheckError("MPU6050", str(error), remedy) from error
    except OSError as error:
        remedy = "i2cdetect -y -r 1 shows 68 where the chip is; bus number, address, cable? errno 121: no answer"
        raise CheckError("MPU6050", str(error), remedy) from error
    finally:
        bus.close()


def measure_force(sensor: Mpu6050 | BoardSensor) -> tuple[np.ndarray, float]:
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


def check_imu(bench: Bench) -> Iterator[Finding]:
    """Set the chip up, check its identity and its values at rest. Moves nothing."""
    with open_sensor(bench) as sensor:
        mean, spread = measure_force(sensor)
        if isinstance(sensor, BoardSensor):
            yield Finding("identity", f"samples of the STM32 board at {sensor.rate:.0f} Hz")
        else:
            yield Finding("identity", f"WHO_AM_I 0x{sensor.identity or 0:02x}; {sensor.warning}".rstrip("; "))
    norm, remedy = float(np.linalg.norm(mean)), ""
    seen = f"specific force {norm:.2f} m/s^2, standard deviation {spread:.2f}"
    if spread == 0.0:
        seen, remedy = f"{seen}: the chip sleeps", "power the board off and on"
    elif not 6.0 < norm < 13.0:  # the offset of a chip can be 2.4 m/s^2
        remedy = (
            f"at rest it is {STANDARD_GRAVITY:.2f} m/s^2: scale of a clone, or a defect? run the check again at rest"
        )
    yield Finding("values", seen, remedy)


def check_axes(bench: Bench) -> Iterator[Finding]:
    """Ask the operator to hold the robot in three attitudes, and assess them. Commands no motion."""
    forces: dict[Attitude, np.ndarray] = {}
    with open_sensor(bench) as sensor:
        for attitude in Attitude:
            if not bench.operator.ask_to_hold(attitude):
                yield Finding("mounting", f"left out at: {attitude.instruction}", skipped=True)
                return
            forces[attitude], spread = measure_force(sensor)
            if spread > 0.6:  # [m/s^2] of a robot that is held still by hand
                seen = f"it moved (standard deviation {spread:.1f} m/s^2)"
                raise CheckError("mounting", seen, "hold it still for a second after the answer; rest it on a box")
    yield assess_axes(forces, bench.robot.imu.rotation)


TILT = math.radians(10.0)  # the least by which an attitude must differ from level
TOLERANCE = math.radians(25.0)  # [rad] between the measured mounting and that of the file


def compute_mounting(level: npt.ArrayLike, nose_down: npt.ArrayLike) -> np.ndarray:
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


def format_rpy(rotation: np.ndarray) -> str:
    """The mounting as `imu.rpy_deg` of a robot file: right angles if it is near to them."""
    right = np.round(rotation) + 0.0  # no negative zeros
    is_rotation = np.array_equal(right @ right.T, np.eye(3))
    near = right if is_rotation and np.linalg.norm(rotation_vector(right.T @ rotation)) <= TOLERANCE else rotation
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
        found = compute_mounting(level, nose_down)
    except DeviceError as error:
        return Finding("mounting", str(error), "tilt it by 20 to 45 degrees, and hold it until the answer")
    side = found @ right_down / np.linalg.norm(right_down)
    if side[1] < math.sin(TILT):
        remedy = (
            "right side down must raise y: was it tilted to the right, and to the nose before? run this check again"
        )
        return Finding("mounting", f"the attitudes do not fit together ({seen})", remedy)
    if np.linalg.norm(rotation_vector(found.T @ rotation)) > TOLERANCE:
        remedy = f"write {format_rpy(found)} into the robot file and run this check again"
        return Finding("mounting", f"base_link: {seen} m/s^2", remedy)
    return Finding("mounting", f"base_link: {seen} m/s^2: gravity on +z, nose down gives a positive pitch")
