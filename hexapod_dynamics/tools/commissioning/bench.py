"""What the checks work on: the robot's devices, and the person beside the robot, whom they ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TextIO

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.imu.mpu6050 import Mpu6050Settings
from hexapod_dynamics.drivers.servos.interface import ServoInterface
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap


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


@dataclass(frozen=True)
class Expected:
    """What should be seen: joints of the robot file, and their changes [rad] since permission was given.

    absolute: the values are joint angles [rad], not changes.
    """

    joints: tuple[str, ...]
    values: tuple[float, ...]
    absolute: bool = False


class Operator:
    """The person beside the robot, who reads and types on the terminal; say(text) shows a text.

    permit_all: motions are permitted without a question, but what the operator sees is asked.
    """

    def __init__(
        self, permit_all: bool = False, say: Callable[[str], object] = print, answers: TextIO | None = None
    ) -> None:
        self._permit_all, self.show, self._answers = permit_all, say, answers or sys.stdin

    def permits(self, motion: str) -> bool:
        """Ask whether this motion may begin; return False if it is to be skipped."""
        if self._permit_all:
            self.show(f"{motion}.")
            return True
        return self._ask(f"{motion}. Move it? [y/N] ") is Answer.YES

    def sees(self, question: str, expected: Expected) -> Answer:
        """Ask what is seen now; r repeats the motion."""
        return self._ask(f"{question} [y/N, r: show it again] ")

    def holds(self, attitude: Attitude) -> bool:
        """Ask the operator to hold the robot in this attitude until he or she answers; return False if it is to be
        skipped.
        """
        return self._ask(f"{attitude.instruction}, keep it still, then answer y [y/N] ") is Answer.YES

    def _ask(self, question: str) -> Answer:
        self.show(question)
        words = {"y": Answer.YES, "yes": Answer.YES} | dict.fromkeys(("r", "a", "again", "repeat"), Answer.AGAIN)
        return words.get(self._answers.readline().strip().lower(), Answer.NO)


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
