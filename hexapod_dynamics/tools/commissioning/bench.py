"""What the checks work on: the robot's devices, and the person beside the robot, whom they ask; in rehearsals a
simulated one, who sees which joint really moves, whatever the servos report.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TextIO

import numpy as np

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.imu.mpu6050 import Mpu6050Settings
from hexapod_dynamics.drivers.servos.interface import ServoInterface
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

if TYPE_CHECKING:
    from hexapod_dynamics.devices.suspended_robot import SuspendedRobot


class Attitude(Enum):
    """How the operator is asked to hold the robot: instruction, roll and pitch [rad] of base_link."""

    LEVEL = ("Put the robot down level, or hold it level", 0.0, 0.0)
    NOSE_DOWN = ("Hold the robot NOSE DOWN by about 30 degrees (front low, left and right level)", 0.0, 0.52)
    RIGHT_DOWN = ("Hold the robot RIGHT SIDE DOWN by about 30 degrees (front and rear level)", 0.52, 0.0)

    def __init__(self, instruction: str, roll: float, pitch: float) -> None:
        self.instruction, self.roll, self.pitch = instruction, roll, pitch


class Answer(Enum):
    """What the operator has seen."""

    YES = "yes"
    NO = "no"
    AGAIN = "again"


class Operator:
    """The person beside the robot, who reads and types on the terminal; say(text) shows a text.

    permit_all: motions are permitted without a question, but what the operator sees is asked.
    """

    def __init__(
        self, permit_all: bool = False, say: Callable[[str], object] = print, answers: TextIO | None = None
    ) -> None:
        self._permit_all, self.show, self._answers = permit_all, say, answers or sys.stdin

    def ask_permission(self, motion: str) -> bool:
        """Ask whether this motion may begin; return False if it is to be skipped."""
        if self._permit_all:
            self.show(f"{motion}.")
            return True
        return self._ask(f"{motion}. Move it? [y/N] ") is Answer.YES

    def ask_seen(self, question: str, expected: Mapping[str, float], *, absolute: bool = False) -> Answer:
        """Ask what is seen now; r repeats the motion. expected: changes [rad] of joints, by name, since permission was
        given; absolute: their angles instead.
        """
        return self._ask(f"{question} [y/N, r: show it again] ")

    def ask_to_hold(self, attitude: Attitude) -> bool:
        """Ask the operator to hold the robot in this attitude until he or she answers; return False if it is to be
        skipped.
        """
        return self._ask(f"{attitude.instruction}, keep it still, then answer y [y/N] ") is Answer.YES

    def _ask(self, question: str) -> Answer:
        self.show(question)
        words = {"y": Answer.YES, "yes": Answer.YES} | dict.fromkeys(("r", "a", "again", "repeat"), Answer.AGAIN)
        return words.get(self._answers.readline().strip().lower(), Answer.NO)


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

    def ask_permission(self, motion: str) -> bool:
        """Return True, and store the positions of the joints."""
        self._before = self.robot.angles
        permitted = not any(word in motion for word in self._refuses)
        self.show(f"{motion}. Move it? {'yes' if permitted else 'no'}")
        return permitted

    def ask_seen(self, question: str, expected: Mapping[str, float], *, absolute: bool = False) -> Answer:
        """Compare the true angles with the expected ones: the operator sees a difference of 3 degrees, and a wrong
        joint that moves.
        """
        truth = self.robot.angles if absolute else self.robot.angles - self._before
        wanted = truth.copy() if absolute else np.zeros(len(truth))
        wanted[[self.robot.joints.index(name) for name in expected]] = list(expected.values())
        answer = Answer.YES if np.abs(truth - wanted).max() < np.radians(3.0) else Answer.NO
        self.show(f"{question} {answer.value}")
        return answer

    def ask_to_hold(self, attitude: Attitude) -> bool:
        """Tilt the robot."""
        self.robot.tilt(attitude.roll, attitude.pitch)
        self.show(f"{attitude.instruction}. Done: yes")
        time.sleep(0.1)
        return True


@dataclass
class Bench:
    """The robot's devices and its operator; joints: names of the joints that may be moved, empty for all.

    bus is closed at first: the check `port` opens it. i2c: number of the I2C bus, or path of a simulated one; empty:
    the IMU is behind the STM32 board, whose port is `bus`. speed [rad/s]: of every motion. supply: voltages at which
    the pack is low and empty. obstacle: why this computer cannot use the bus, empty if it can.
    """

    robot: Robot
    bus: ServoInterface
    i2c: str
    imu: Mpu6050Settings
    operator: Operator
    joints: Sequence[str] = ()
    speed: float = 0.3
    supply: SupplyLimits = field(default_factory=SupplyLimits)
    obstacle: str = ""

    def __post_init__(self) -> None:
        self.servo_map = ServoMap.from_robot(self.robot)
