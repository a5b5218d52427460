"""Puts poses on the servo bus: a set-point for every servo whose target has changed; all start together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.servos.interface import ServoInterface

_ANY = math.inf  # larger than any change
_LONGEST = 0.5  # [s] longest duration of a late pose
_CATCH_UP = 1.1  # multiple of the allowed speed, so that a delay is caught up slowly


class PoseWriter:
    """Remembers the last command of each servo. sent: (n,) [rad] from the servos' centres, NaN if unknown."""

    def __init__(self, servos: ServoInterface, settings: ChainSettings) -> None:
        n = len(servos.ids)
        self.sent = np.full(n, np.nan)
        self._servos, self._settings = servos, settings
        self._time = [-math.inf] * n
        # The present motion of the servos: angle at its start, monotonic time of its start, duration.
        self._from, self._begin, self._took = [0.0] * n, [0.0] * n, [1.0] * n

    def forget(self, joints: Any = slice(None)) -> None:
        """Send the next target of these joints (index or mask, default all) even if it has not changed."""
        self.sent[joints] = np.nan

    def write(
        self,
        targets: np.ndarray,
        duration: float,
        state: ChainState,
        cancelled: Callable[[], bool],
        speed: np.ndarray | None = None,
    ) -> bool:
        """Send targets (n,) [rad] to be reached in `duration` [s]; return False when nothing had to be sent.

        targets: as `ServoInterface.quantise` gives them; NaN leaves a servo alone.

        cancelled: called after the wait; if it returns True (emergency stop, torque off), nothing is sent. A servo
        gets an unchanged target only now and then, because writes are never acknowledged. Waits until earlier
        frames have been sent. speed (n,) [rad/s]: the duration is extended, to at most 0.5 s, if a servo would be
        faster.
        """
        backlog = self._servos.output_end - time.monotonic()
        if backlog > 0.001:
            time.sleep(backlog)
        if cancelled():
            return False
        now = time.monotonic()
        asked, sent, silent = targets.tolist(), self.sent.tolist(), state.silent.tolist()
        chosen = self._choose(asked, sent, silent, state, now)
        if True not in chosen:
            return False
        begin = now + self._servos.pose_time(chosen.count(True))  # time at which all frames have been sent
        here, durations = self._places(sent, begin), [duration] * len(asked)
        if speed is not None:
            # A late pose contains the motion of the whole time since the previous pose; executed in one period, the
            # servos would exceed the allowed speed. All servos arrive together, except those that do not answer.
            needed = [
                max(min(abs(target - place) / (_CATCH_UP * fastest), _LONGEST), duration)
                if moved and before == before  # not NaN
                else duration
                for target, place, fastest, moved, before in zip(asked, here, speed.tolist(), chosen, sent, strict=True)
            ]
            together = max((time_ for time_, alone in zip(needed, silent, strict=True) if not alone), default=duration)
            durations = [own if alone else together for own, alone in zip(needed, silent, strict=True)]
        self._servos.write_pose(asked, durations, chosen)
        for j, moved in enumerate(chosen):
            if moved:
                self._from[j] = here[j] if sent[j] == sent[j] else asked[j]
                self._begin[j], self._took[j] = begin, max(durations[j], 1e-3)
                self.sent[j], self._time[j] = asked[j], now
        return True

    def _choose(self, asked: list, sent: list, silent: list, state: ChainState, now: float) -> list[bool]:
        """Return which servos get a new target. It is a loop over numbers, because numpy takes three times as long
        for 18.
        """
        settings, gone = self._settings, state.gone.tolist()
        angles, stamps = state.angle.tolist(), state.stamp.tolist()
        oldest = 0.0
        for j, angle in enumerate(angles):
            if not (silent[j] or gone[j] or math.isnan(angle)):
                oldest = max(oldest, now - stamps[j])
        # When there is too little time for reads, small changes may wait a cycle or two: each takes 0.9 ms on the wire,
        # half of a read.
        small = next((change for limit, change in settings.starving if oldest > limit), 0.0)
        chosen = []
        for j, target in enumerate(asked):
            age = now - self._time[j]
            least = small if age < settings.defer_interval else 0.0
            # A servo that does not answer may still receive, or may have been torn off: it is commanded less often, so
            # that the wire is free for the others. At the normal pace, nine of 18 such servos took half of the time for
            # reads.
            if silent[j] and age < settings.silent_write_interval:
                least = _ANY
            # A target that is not known to have been sent (NaN) compares as neither less nor equal.
            due = not abs(target - sent[j]) <= least or age > settings.refresh_interval
            chosen.append(due and not gone[j] and target == target)
        return chosen

    def _places(self, sent: list, t: float) -> list[float]:
        """Return the positions [rad] of the servos in their present motions at the monotonic time t [s]."""
        return [
            begin + (end - begin) * min(max((t - since) / took, 0.0), 1.0)
            for begin, end, since, took in zip(self._from, sent, self._begin, self._took, strict=True)
        ]
