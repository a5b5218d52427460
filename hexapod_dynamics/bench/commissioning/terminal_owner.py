"""The owner at the terminal: questions on stdout, answers from stdin; anything but yes, and the end of stdin,
means no.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from hexapod_dynamics.bench.commissioning.owner import Answer, Attitude, Expected

YES, AGAIN = ("y", "yes"), ("r", "a", "again", "repeat")


class TerminalOwner:
    """An `Owner` who reads and types. permit_all: motions are permitted without a question, but what the owner
    sees is asked.
    """

    def __init__(
        self, permit_all: bool = False, say: Callable[[str], object] = print, answers: TextIO | None = None
    ) -> None:
        self._permit_all, self._say, self._answers = permit_all, say, answers or sys.stdin

    def tell(self, text: str) -> None:
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
