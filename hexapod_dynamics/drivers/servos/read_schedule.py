"""Order of the reads on the servo bus: positions round robin, sometimes a voltage, temperature or load state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.servos.interface import Quantity

SLOW_READS: tuple[Quantity, ...] = "voltage", "temperature", "loaded"


class ReadSchedule:
    """Chooses the next read of n joints; times are monotonic seconds."""

    def __init__(self, n: int, settings: ChainSettings) -> None:
        self.settings = settings
        self._asked = np.full(n, -np.inf)  # time of the last request of each position
        self._doubtful = np.zeros(n, bool)  # joints that are read again before their turn
        self._doubt_turn = False  # the last request was not to a joint in doubt
        self._probed = -np.inf  # monotonic [s] of the last request to any silent servo
        self._next_slow, self._slow_turn = 0.0, 0
        self._slow_index = dict.fromkeys(SLOW_READS, -1)

    def forget(self, joints: Any = slice(None)) -> None:
        """Treat these joints (mask, default all) as never read."""
        self._asked[joints] = -np.inf
        self._doubtful[joints] = False

    @property
    def in_doubt(self) -> int:
        """Number of joints that are read again before their turn."""
        return self._doubtful.tolist().count(True)

    def position(self, state: ChainState, now: float) -> tuple[int, float]:
        """Return the joint whose position is read next: the one requested longest ago, silent ones seldom; -1: none.
        Joints in doubt come first, but every second request is to another joint, so that those continue to be measured.
        """
        settings = self.settings
        silent = state.silent
        # Lists: numpy's any() and isnan() take five times as long for 18.
        if not (
            True in self._doubtful.tolist()
            or True in silent.tolist()
            or True in state.gone.tolist()
            or math.isnan(sum(state.angle.tolist()))
        ):
            index = int(self._asked.argmin())  # all alike: round robin
            return index, max(now, self._asked.item(index) + 1.0 / settings.position_rate)
        # On a bad line reads fail by chance: a servo that has only just stopped answering is asked again soon.
        new = now - state.stamp < settings.newly_silent
        pace = np.where(new, settings.newly_silent_pace, settings.silent_probe_pace)
        probes = np.where(new, settings.newly_silent_pace, settings.silent_probe_interval)
        interval = np.where(silent, probes, 1.0 / settings.position_rate)
        due = np.where(self._doubtful & ~silent, self._asked + settings.doubt_interval, self._asked + interval)
        due[np.isnan(state.angle) & ~silent & ~self._doubtful] = -np.inf  # an unknown pose is always due
        due[silent] = np.maximum(due[silent], self._probed + pace[silent])
        due[state.gone] = np.inf
        ready = due <= now
        if ready.any():
            preferred = ready & ~silent & (self._doubtful if self._doubt_turn else ~self._doubtful)
            if (ready & silent).any() and not (ready & ~silent & self._doubtful & self._doubt_turn).any():
                preferred = ready & silent  # sometimes a silent servo is read first, see silent_probe_pace
            ready = preferred if preferred.any() else ready
            # The joint requested longest ago among those that are due.
            return int(np.argmin(np.where(ready, self._asked, np.inf))), now
        index = int(np.argmin(due))
        if np.isposinf(due[index]):
            return -1, now + 0.1  # nothing left to ask
        return index, float(due[index])

    def asked(self, index: int, now: float, silent: bool = False) -> None:
        """Register a request of a joint's position."""
        self._doubt_turn = not self._doubtful[index]
        self._asked[index], self._doubtful[index] = now, False
        if silent:
            self._probed = now

    def ask_soon(self, index: int) -> None:
        """Mark a joint as in doubt: it is read again before its turn."""
        self._doubtful[index] = True

    def probe_soon(self, silent: np.ndarray) -> None:
        """Read silent joints (mask) one after the other, because one of them has answered again."""
        self._asked[silent] = -np.inf

    def slow(self, state: ChainState, now: float) -> tuple[Quantity, int]:
        """Return the next read of SLOW_READS and its joint, -1 if none is due. Every second read is of a joint
        that does not follow, mostly of its load state; the others read supply voltage, temperature and load state
        in turn.
        """
        if now < self._next_slow:
            return "loaded", -1
        suspect = np.flatnonzero(state.lagging & state.known)
        self._next_slow = now + (self.settings.suspect_interval if suspect.size else self.settings.slow_interval)
        self._slow_turn += 1
        turn = self._slow_turn // 2
        if suspect.size and self._slow_turn % 2:
            # Shift by one joint each round, so that the temperature of every joint is read.
            index = suspect[(turn + turn // suspect.size) % suspect.size]
            return "temperature" if turn % 4 == 3 else "loaded", int(index)
        kind: Quantity = "voltage" if self._slow_turn % 2 == 0 else ("temperature", "loaded")[turn % 2]
        return kind, self._next_of(kind, state)

    def _next_of(self, kind: Quantity, state: ChainState) -> int:
        n = len(self._asked)
        for step in range(1, n + 1):
            index = (self._slow_index[kind] + step) % n
            if not (state.gone[index] or state.silent[index]):
                self._slow_index[kind] = index
                return index
        return -1
