"""What a check asks of the person beside the robot; in a rehearsal a simulated owner answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TextIO


class Attitude(Enum):
    """How the owner is asked to hold the robot: instruction, roll and pitch [rad] of base_link."""

    LEVEL = ("Put the robot down level, or hold it level", 0.0, 0.0)
    NOSE_DOWN = ("Hold the robot NOSE DOWN by about 30 degrees (front low, left and right level)", 0.0, 0.52)
    RIGHT_DOWN = ("Hold the robot RIGHT SIDE DOWN by about 30 degrees (front and rear level)", 0.52, 0.0)

    def __init__(self, instruction: str, roll: float, pitch: float) -> None:
        self.instruction, self.roll, self.pitch = instruction, roll, pitch


class Answer(Enum):
    """What the owner has seen."""

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


class Owner(Protocol):
    """The person beside the robot."""

    def show(self, text: str) -> None:
        """Show a text."""

    def permits(self, motion: str) -> bool:
        """Ask whether this motion may begin; return False if it is to be skipped."""

    def sees(self, question: str, expected: Expected) -> Answer:
        """Ask what is seen now."""

    def holds(self, attitude: Attitude) -> bool:
        """Ask the owner to hold the robot in this attitude until he or she answers; return False if it is to be
        skipped.
        """


YES, AGAIN = ("y", "yes"), ("r", "a", "again", "repeat")


class TerminalOwner:
    """An `Owner` who reads and types. permit_all: motions are permitted without a question, but what the owner
    sees is asked.
    """

    def __init__(
        self, permit_all: bool = False, say: Callable[[str], object] = print, answers: TextIO | None = None
    ) -> None:
        self._permit_all, self._say, self._answers = permit_all, say, answers or sys.stdin

    def show(self, text: str) -> None:
        """Show a text."""
        self._say(text)

    def permits(self, motion: str) -> bool:
        """Ask whether this motion may begin."""
        if self._permit_all:
            self._say(f"{motion}.")
            return True
        return self._ask(f"{motion}. Move it? [y/N] ") in YES

    def sees(self, question: str, expected: Expected) -> Answer:
        """Ask what is seen; r repeats the motion."""
        answer = self._ask(f"{question} [y/N, r: show it again] ")
        return Answer.YES if answer in YES else Answer.AGAIN if answer in AGAIN else Answer.NO

    def holds(self, attitude: Attitude) -> bool:
        """Ask the owner to hold the robot in this attitude, and to answer."""
        return self._ask(f"{attitude.instruction}, keep it still, then answer y [y/N] ") in YES

    def _ask(self, question: str) -> str:
        self._say(question)
        return self._answers.readline().strip().lower()
