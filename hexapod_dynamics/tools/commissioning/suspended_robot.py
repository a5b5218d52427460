"""A simulated robot that hangs with its feet in the air, on simulated devices, and a simulated operator who watches it.

For rehearsals of checks: joints follow their servos without dynamics; the operator tilts the robot and sees which joint
really moves, whatever the servos report. A joint may be mounted the wrong way round, the IMU in any attitude.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.devices.faults import FaultInjector
from hexapod_dynamics.devices.hardware import make_hardware
from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050
from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import rotation_rpy
from hexapod_dynamics.tools.commissioning.bench import Answer, Attitude, Expected, Operator


class SuspendedRobot:
    """Servo bus and IMU of a suspended robot, served by threads from `start` to `stop`.

    directory: of the device files. turned_round: joints whose servo is mounted the other way round. imu_rotation (3, 3)
    body <- chip, if it differs from the robot's description. loaded: whether the servos exert torque from the
    start. bus: which servo hardware, see `buses`.
    """

    def __init__(
        self,
        robot: Robot,
        directory: str | Path,
        *,
        turned_round: Collection[str] = (),
        imu_rotation: npt.ArrayLike | None = None,
        loaded: bool = False,
        angle: float = 0.1,
        bus: str = "lx",
    ) -> None:
        servo_map = ServoMap.from_robot(robot)
        self.robot, self.joints = robot, list(robot.joint_names)
        truly = [-d if name in turned_round else d for name, d in zip(self.joints, servo_map.directions, strict=True)]
        self.sensor = VirtualMpu6050()
        self.hardware = make_hardware(
            bus, servo_map.ids, truly, np.full(len(truly), angle), self.sensor, directory, loaded=loaded
        )
        self.servos, self.servo_bus = self.hardware.servos, self.hardware.servo_bus
        self.faults = FaultInjector(self.joints, self.servo_bus, self.sensor)
        self.blocked: set[str] = set()  # joints that cannot move
        self._chip = np.asarray(robot.imu.rotation if imu_rotation is None else imu_rotation, float)
        self._up = np.array([0.0, 0.0, 1.0])  # in base_link
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="suspended_robot", daemon=True)

    def start(self) -> None:
        """Make the devices and serve them."""
        self.hardware.start()
        self._thread.start()

    def stop(self) -> None:
        """Remove the devices."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(2.0)
        self.hardware.stop()

    @property
    def angles(self) -> np.ndarray:
        """True joint angles (n,) [rad]."""
        return self.servos.setpoints(time.monotonic())

    def tilt(self, roll: float, pitch: float) -> None:
        """Hold the body with roll and pitch [rad]."""
        self._up = rotation_rpy(roll, pitch, 0.0)[2]

    def _run(self) -> None:
        here = self.angles
        while not self._stopping.wait(0.005):
            now = time.monotonic()
            wanted = self.servos.setpoints(now)
            stuck = np.array([name in self.blocked for name in self.joints])
            here = np.where(stuck, here, wanted)
            self.servos.set_angles(here)
            self.sensor.set_motion(self._chip.T @ (STANDARD_GRAVITY * self._up), np.zeros(3), now)


class SimulatedOperator(Operator):
    """An Operator who looks at a SuspendedRobot, permits everything and reports what there is to see; say(text)
    shows a text.

    refuses: words; a request that contains one of them is not permitted.
    """

    def __init__(
        self, robot: SuspendedRobot, say: Callable[[str], object] = print, refuses: Collection[str] = ()
    ) -> None:
        super().__init__(say=say)
        self.robot, self._refuses, self._before = robot, refuses, robot.angles

    def permits(self, motion: str) -> bool:
        """Return True, and store the positions of the joints."""
        self._before = self.robot.angles
        permitted = not any(word in motion for word in self._refuses)
        self.show(f"{motion}. Move it? {'yes' if permitted else 'no'}")
        return permitted

    def sees(self, question: str, expected: Expected) -> Answer:
        """Compare the true angles with the expected ones: the operator sees a difference of 3 degrees, and a wrong
        joint that moves.
        """
        truth = self.robot.angles if expected.absolute else self.robot.angles - self._before
        wanted = np.zeros(len(truth)) if not expected.absolute else truth.copy()
        wanted[[self.robot.joints.index(name) for name in expected.joints]] = expected.values
        answer = Answer.YES if np.abs(truth - wanted).max() < np.radians(3.0) else Answer.NO
        self.show(f"{question} {answer.value}")
        return answer

    def holds(self, attitude: Attitude) -> bool:
        """Tilt the robot."""
        self.robot.tilt(attitude.roll, attitude.pitch)
        self.show(f"{attitude.instruction}. Done: yes")
        time.sleep(0.1)
        return True
