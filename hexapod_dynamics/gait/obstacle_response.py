"""Response of a blind gait that makes no progress: it lifts its feet higher, then higher still, steps back and
tries again at another angle and with other feet first, and finally stops.

Each attempt ends when the obstacle still sets the robot back, or does so again (`Progress`). A robot that has
stopped does not walk until it is commanded to stand or to walk in another direction.
"""

from __future__ import annotations

import copy
import math

from hexapod_dynamics.gait.progress import LEGS_LOST, SLOW, WHOLE, Progress

AS_FELT, RAISE, CLIMB, BACK, STOP = range(5)
# Number of times in a row that it steps back; duration [s], speed [m/s] and turn rate [rad/s] of stepping back, first
# to its left.
BACKS, BACK_FOR, BACK_SPEED, BACK_TURN = 2, 1.8, 0.05, 0.15
CLIMBED = 10.0  # [s] without being set back after which an obstacle has been passed
# Number of consecutive attempts, too slow for a detectable setback and each followed by an obstacle within FREE [s],
# after which it gives up.
UNFELT, FREE = 3, 30.0
OTHER_WAY = math.cos(math.radians(45.0))  # cosine of the angle between two directions


class ObstacleResponse:
    """Chooses the response `does`: AS_FELT (lift by the measured roughness), RAISE (lift as on rough ground),
    CLIMB, BACK or STOP.
    """

    def __init__(self) -> None:
        self.progress = Progress()
        self.does = AS_FELT
        self._free_for = 0.0  # [s]
        # number of attempts to climb that were too slow to be detected; whether the present one was detected
        self._unfelt, self._was_felt = 0, True
        self._stopped = (0.0, 0.0)  # commanded direction in which the robot met the obstacle
        # number of times it has stepped back; duration of the present step back [s]
        self.backs, self._back_for = 0, 0.0

    def copy(self) -> ObstacleResponse:
        """Return an independent copy."""
        return copy.deepcopy(self)

    def change_plan(self) -> None:
        """Discard the history, because the legs that walk change; a robot that has stopped may try again with
        them.
        """
        self.progress.restart()
        self.does, self._free_for, self._unfelt, self.backs = AS_FELT, 0.0, 0, 0

    def commanded(self, vx: float, vy: float) -> bool:
        """Process a command [m/s]: one to stand, or to walk in another direction than to the obstacle, ends STOP
        and BACK; return whether it did.
        """
        if self.does not in (BACK, STOP):
            return False
        x, y = self._stopped
        size = math.hypot(x, y) * math.hypot(vx, vy)
        ends = size == 0.0 or x * vx + y * vy < OTHER_WAY * size
        if ends:
            self.change_plan()
        return ends

    @property
    def way_back(self) -> tuple[float, float, float]:
        """Twist [m/s, m/s, rad/s] of a robot that steps back."""
        x, y = self._stopped
        share = -BACK_SPEED / math.hypot(x, y)
        return share * x, share * y, BACK_TURN if self.backs % 2 else -BACK_TURN

    def update(
        self,
        dt: float,
        acceleration: tuple[float, float],
        planned: tuple[float, float],
        twist: tuple[float, float],
        period: float,
        phase: float,
        *,
        walks: bool,
        raised: bool,
        whole: bool,
        slow: bool = False,
    ) -> None:
        """Advance by dt [s].

        acceleration ... walks, slow: see `Progress.update`; raised: whether the feet are lifted as on rough ground;
        whole: whether all legs walk.
        """
        if self.does == STOP:
            return
        if self.does == BACK:
            self._back_for += dt if walks else 0.0
            if self._back_for > BACK_FOR:
                self.does, self._free_for, self._was_felt = CLIMB, 0.0, True
            return
        limits = WHOLE if whole else LEGS_LOST
        self.progress.update(dt, acceleration, planned, twist, period, phase, walks, limits, slow)
        if self.progress.hindered:
            if self.does == AS_FELT and not raised:
                self.does = RAISE
            elif self.does != CLIMB and self._unfelt < UNFELT:
                self.does, self._was_felt = CLIMB, True
            else:
                self._stopped, self._back_for = twist, 0.0
                self.does, self.backs = (BACK, self.backs + 1) if self.backs < BACKS else (STOP, self.backs)
            self.progress.restart()
            self._free_for = 0.0
            return
        self._free_for = 0.0 if self.progress.is_set_back else self._free_for + dt
        if self.does == CLIMB:
            self._was_felt &= slow or math.hypot(*twist) >= SLOW
        if self._free_for > FREE:
            self._unfelt = self.backs = 0
        if self._free_for > CLIMBED and self.does != AS_FELT:
            self._unfelt = self._unfelt + 1 if self.does == CLIMB and not self._was_felt else 0
            self.does, self._free_for = AS_FELT, 0.0
            if self._unfelt == 0:
                self.backs = 0
