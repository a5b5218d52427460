"""Waits until a robot is at rest, before anything moves; where it swings by itself, its joints give way."""

from __future__ import annotations

from enum import Enum, auto

import numpy as np

from hexapod_dynamics.gait.get_up_motion import Motion
from hexapod_dynamics.gait.get_up_state import ANNOUNCES, Phase, Sensed
from hexapod_dynamics.gait.get_up_watch import RestWatch, SwingWatch

# A robot that swings where it lies for EASES, without rest for STEADY, lets its joints give way for YIELDS [s]; then
# again, for longer.
EASES, STEADY, YIELDS = 3.0, 0.5, 0.5


class Wait(Enum):
    """What a wait has come to."""

    GOES_ON = auto()
    RESTED = auto()
    FAILED = auto()


class Waiting:
    """Waits for rest in the phases that need it; rest: what the IMU measures; eased: how often the joints have given
    way in this phase; reason: why it failed, in words.
    """

    def __init__(self, motion: Motion, dt: float) -> None:
        self._motion, self._settings = motion, motion.settings
        self.rest, self._swing = RestWatch(), SwingWatch(dt)
        self._lacks = ""  # measurements that are missing now, in words
        self.reason = ""
        self._clear()

    def begin(self, phase: Phase) -> None:
        """Begin a phase that waits."""
        self._motion.enter(phase)
        self._clear()

    def _clear(self) -> None:
        self._waited = self._lacked = self._yields = 0.0
        self.eased = 0

    def sense(self, dt: float, sensed: Sensed) -> None:
        """Process a sample of the IMU, dt [s] after the previous one."""
        self.rest.update(dt, sensed.rate, sensed.force, sensed.up)
        self._swing.update(sensed.rate)

    def lack(self, what: str) -> None:
        """Note missing measurements, in words: until they arrive the robot is not at rest."""
        self._lacks, self.rest.at_rest = what, 0.0

    def step(self, dt: float, sensed: Sensed) -> Wait:
        """Advance by dt [s]; return whether the robot has rested, or will not."""
        settings, phase = self._settings, self._motion.phase
        lacks, self._lacks = self._lacks or self._unread(sensed), ""
        if lacks and phase is Phase.ANNOUNCED:
            self._lacked += dt
            return self._fails(lacks) if self._lacked > settings.readings else Wait.GOES_ON
        self._waited += dt
        needed = settings.announce if phase in ANNOUNCES else settings.settle
        if self.rest.at_rest >= needed:
            return Wait.RESTED
        if self._waited > settings.patience + needed:
            return self._fails("the robot does not come to rest: it is being carried, held or shaken")
        if self._waited >= EASES * (self.eased + 1) and self._swings():
            self.eased += 1
            self._yields = YIELDS * self.eased
            if phase is Phase.ANNOUNCED:
                self._motion.reason = "it swings where it lies, the joints give way"
        if self._yields > 0.0:
            self._yields -= dt
            self._motion.rest_at(sensed.joints)
        return Wait.GOES_ON

    def _fails(self, reason: str) -> Wait:
        self.reason = reason
        return Wait.FAILED

    def _unread(self, sensed: Sensed) -> str:
        """Return the joints that have not been read, in words; empty if there are none."""
        unknown = self._motion.moves & ~np.isfinite(sensed.joints)
        if not unknown.any():
            return ""
        return f"{self._motion.names(unknown)}: no reading; declare what is lost (set_morphology), then ask again"

    def _swings(self) -> bool:
        """Return whether the robot swings where it lies, by itself, and does not come to rest."""
        rest = self.rest
        return rest.at_rest < STEADY and rest.in_place >= EASES and self._swing.repeats()
