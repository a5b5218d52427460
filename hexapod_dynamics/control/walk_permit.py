"""Decides when the robot may walk: at its default speed until the first command, and after a fall only with a new
command.

A state machine without a clock of its own; all times are seconds on the caller's monotonic clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np


class WalkPermit:
    """Decides whether the robot may walk, and whether with its default speed.

    by_itself: no command has arrived yet, so the default speed applies. fallen: the robot has not been upright since a
    fall. waiting: the robot has fallen and has not been commanded to walk since it was put upright.
    sits: a person has let it sit down. seated: that was before a restart, so that it holds its pose until it is told to
    stand. state_known: the state from before a restart is known.

    While it is waiting, only a new command is executed: a speed after a zero command, or after `pause`
    seconds without commands. A joystick that is still pushed when the robot is turned over does not start it.

    `state` and the argument of the same name restore the permit after a restart. A waiting robot then counts as fallen
    until it is measured upright.
    """

    def __init__(self, state: Mapping[str, object] | None = None, *, pause: float = 1.0) -> None:
        state = state or {}
        self.by_itself = state.get("by_itself", True) is True
        self.waiting = state.get("waiting", False) is not False
        self.fallen = self.waiting
        self.sits = self.seated = state.get("sits", False) is True
        self.state_known = True
        self._pause = pause
        self._last, self._released = -math.inf, False

    @classmethod
    def restored(cls, state: object, time: float, *, pause: float = 1.0) -> WalkPermit:
        """Return the permit for a restart at `time` [s], from the stored `state`.

        If `state` is missing or has another shape, the robot may have fallen: then only a new command is executed.
        """
        if isinstance(state, dict) and set(state) == {"by_itself", "waiting", "sits"}:
            if all(isinstance(value, bool) for value in state.values()):
                return cls(state, pause=pause)
        permit = cls({"by_itself": False, "waiting": True}, pause=pause)
        permit.fallen = permit.state_known = False  # a fall has to be measured again
        permit._last = time
        return permit

    @property
    def state(self) -> dict[str, object]:
        """Values to restore after a restart: {name: bool}."""
        return {"by_itself": self.by_itself, "waiting": self.waiting, "sits": self.sits}

    @property
    def may_walk(self) -> bool:
        """Whether commands reach the legs."""
        return not (self.waiting or self.seated)

    def sit(self, sits: bool) -> None:
        """Note that a person lets the robot sit down, or stand up."""
        self.sits, self.seated = sits, self.seated and sits

    def update_fall(self, fallen: bool, upright: bool) -> None:
        """Process the result of the fall detector: whether the robot has fallen, whether it is upright."""
        if fallen:
            if not self.fallen:  # who is told to sit after the fall stays so
                self.sit(False)
            self.fallen = self.waiting = True
            self.by_itself = self._released = False
        elif upright:
            self.fallen = False

    def command(self, time: float, twist: np.ndarray) -> bool:
        """Process a command: twist (vx, vy, wz), any units; return whether it may be executed."""
        self.by_itself = False
        if self.waiting and not self.fallen:
            stop = not any(twist)
            if not stop and (self._released or time - self._last > self._pause):
                self.waiting, self.state_known = False, True
            self._released = stop
        self._last = time
        return self.may_walk
