"""Decides when a contact probe presses a foot down to find out whether it exists.

Reasons for a probe: the banks have suspected the foot for a long time without being sure; or another foot was
declared lost, and both together explain the measurements slightly better. The second foot may not have carried any
load yet, because the body leans onto the first.

The gait stops on all feet and presses the suspected one down (`Gait.contact_probe`). An existing foot tilts the body
by 3 to 4 degrees, a lost one by less than 1. Model and hypotheses execute the same commands.
"""

from __future__ import annotations

import math

from hexapod_dynamics.detection.hypotheses import leg_of_group
from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits


class Probe:
    """Stores the suspected foot and the time of the last contact probe. Times: seconds on one clock.

    count: number of requested contact probes.
    """

    def __init__(self, limits: DetectorLimits = LIMITS) -> None:
        self._limits = limits
        self._last = -math.inf
        self._doubted: tuple[str, float] | None = None  # leg, time from which it may be pressed
        self.count = 0

    def doubt(self, time: float, leg: str | None) -> None:
        """Probe a leg as soon as the gait uses the declaration made at `time` [s]; None: no leg."""
        self._doubted = None if leg is None else (leg, time + self._limits.probe_changed)

    def asks(self, time: float, suspect: tuple[str, float, float] | None, undecided: str | None = None) -> str | None:
        """Return the leg to probe now, or None; suspect: (group, probability, since) of DecisionMaker; undecided:
        leg of which the banks are sure, but which they cannot decide.
        """
        if self._doubted is not None and time >= self._doubted[1]:
            doubted, self._doubted = self._doubted[0], None
            return self._press(time, doubted)
        rested = time - self._last >= self._limits.probe_pause
        if undecided is not None and rested:
            return self._press(time, undecided)
        if suspect is None or time - suspect[2] < self._limits.probe_suspected or not rested:
            return None
        leg = leg_of_group(suspect[0])
        return None if leg is None else self._press(time, leg)

    def _press(self, time: float, leg: str) -> str:
        self._last = time
        self.count += 1
        return leg
