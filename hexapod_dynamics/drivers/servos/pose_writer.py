"""Puts poses on the servo bus: a latched move for every servo whose target has changed, then one start for all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hexapod_dynamics.drivers.servos import lx_frames
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.servos.servo_bus import ServoBus
from hexapod_dynamics.drivers.servos.servo_map import PoseFrames, ServoMap

_ANY = 1 << 30  # larger than any change of counts
_LONGEST = 0.5  # [s] longest duration of a late pose
_CATCH_UP = 1.1  # times the allowed speed, so that a delay is caught up slowly


class PoseWriter:
    """Remembers the last command of each servo. sent: (n,) counts, -1 if unknown."""

    def __init__(
        self, bus: ServoBus, servo_map: ServoMap, settings: ChainSettings, frames: PoseFrames | None = None
    ) -> None:
        n = len(servo_map)
        self.sent = np.full(n, -1, np.int64)
        self._bus, self._settings = bus, settings
        self._frames = frames or PoseFrames(servo_map)
        self._time = np.full(n, -np.inf)
        # The present motion of the servos: counts at its start, monotonic time of its start, duration.
        self._from, self._begin, self._took = np.zeros(n), np.zeros(n), np.ones(n)

    def forget(self, joints: Any = slice(None)) -> None:
        """Send the next target of these joints (index or mask, default all) even if it has not changed."""
        self.sent[joints] = -1

    def write(
        self,
        counts: np.ndarray,
        duration: float,
        state: ChainState,
        cancelled: Callable[[], bool],
        speed: np.ndarray | None = None,
    ) -> bool:
        """Send counts (n,), -1 = leave alone, to be reached in `duration` [s]; False when nothing had to be sent.

        cancelled: called after the wait; if it returns True (emergency stop, torque off), nothing is sent. A servo
        whose count has not changed is left alone, and refreshed now and then, because writes are never acknowledged.
        Waits until earlier frames have been sent. speed (n,) [counts/s]: the duration is extended, to at most 0.5 s, if
        a servo would be faster.
        """
        backlog = self._bus.wire_free - time.monotonic()
        if backlog > 0.001:
            time.sleep(backlog)
        if cancelled():
            return False
        now, settings = time.monotonic(), self._settings
        age, changes = now - self._time, np.abs(counts - self.sent)
        # When reads starve, small changes may wait a cycle or two: each one's 0.9 ms of wire buys half a read.
        oldest = now - np.min(state.stamp, initial=now, where=state.known)
        small = next((change for limit, change in settings.starving if oldest > limit), 0)
        least = np.where(age < settings.defer_interval, small, 0)
        # A servo that does not answer may still receive, or be broken off: it is moved less often, so that the wire is
        # there for the others. Written at the pace of the others, nine of 18 took half of the time for reads.
        least[state.silent & (age < settings.silent_write_interval)] = _ANY
        chosen = ((changes > least) | (age > settings.refresh_interval)) & ~state.gone & (counts >= 0)
        if not chosen.any():
            return False
        begin = now + (1 + np.count_nonzero(chosen)) * lx_frames.MOVE_SIZE * self._bus.byte_time  # all are out then
        here = self._from + (self.sent - self._from) * np.clip((begin - self._begin) / self._took, 0.0, 1.0)
        durations = np.full(len(counts), duration)
        if speed is not None:
            # A pose that is sent late holds the motion of all the time since the one before; in one period the servos
            # would catch up at a speed that nobody has allowed. All arrive together, but for those that do not answer.
            moved = chosen & (self.sent >= 0)
            needed = np.where(moved, np.minimum(np.abs(counts - here) / (_CATCH_UP * speed), _LONGEST), 0.0)
            durations[:] = np.max(needed, initial=duration, where=~state.silent)
            durations = np.where(state.silent, np.maximum(needed, duration), durations)
        self._bus.send(self._frames.build(counts, durations, chosen))
        self._from[chosen] = np.where(self.sent >= 0, here, counts)[chosen]
        self._begin[chosen], self._took[chosen] = begin, durations[chosen]
        self.sent[chosen] = counts[chosen]
        self._time[chosen] = now
        return True
