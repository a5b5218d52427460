"""Tests whether a foot that was declared lost is there: while the robot walks without this leg, it is put down for a
moment. A foot that is there meets the ground, and pushes the femur up.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait.adaptive import AdaptiveGait
from hexapod_dynamics.gait.interface import PUT_DOWN, Gait
from hexapod_dynamics.gait.legs import neutral_foothold
from hexapod_dynamics.gait.modes import Mode
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Morphology, Robot

SPEED = 1.5  # [rad/s] of its joints, as in a swing
CLEAR = 0.11  # [m] from where it is put down to the footholds of the others, of which half a stride is 40 mm


class FootTrial:
    """Puts the foot of a leg down that an AdaptiveGait holds up; times are seconds on one clock. leg: its name."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._driven = Morphology.whole(robot).driven_mask
        self._begun, self._stopped = 0.0, False
        self._ground = np.zeros(3)  # height [m] over x and y in base_link: the factors of x, y and 1
        self.leg: str | None = None

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared morphology; a running trial ends."""
        self._driven = morphology.driven_mask
        self.stop()
        if self.leg is not None and not self._driven[self._joints].all():
            self.leg = None

    def start(self, time: float, leg: str, gait: Gait) -> bool:
        """Start the trial of a leg (by name) at `time` [s]; return False, and do nothing, if another one runs, if the
        gait does not walk on its feet without this leg, if one of its joints is damaged, or if another foot comes near.
        """
        if self.leg is not None or leg not in self._robot.leg_names or not isinstance(gait, AdaptiveGait):
            return False
        plan, self._joints = gait.plan, list(self._robot.leg_joints(leg))
        if plan is None or plan.kind == "row" or leg in plan.legs or gait.data.state.mode != Mode.WALK:
            return False
        self._walking = {name: self._robot.leg_names.index(name) for name in plan.legs}
        rows = gait.data.legs
        self._place = neutral_foothold(rows[self._robot.leg_names.index(leg)])
        apart = np.linalg.norm(rows["foothold"][list(self._walking.values())] - self._place, axis=1)
        if not self._driven[self._joints].all() or apart.min() < CLEAR:
            return False
        self._kinematics = {name: LegKinematics.from_robot(self._robot, name) for name in (leg, *plan.legs)}
        self._at = gait.position[self._joints]
        self.leg, self._begun, self._stopped = leg, time, False
        return True

    def stop(self) -> None:
        """Let the leg go back to where the gait holds it."""
        self._stopped = True

    def step(
        self, time: float, period: float, gait: Gait, positions: np.ndarray, velocities: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return set-points and their rates (n,) [rad], [rad/s]: those given, but of the leg those of the trial."""
        if self.leg is None:
            return positions, velocities
        positions, velocities, held = positions.copy(), velocities.copy(), positions[self._joints]
        height = next((height for until, height in PUT_DOWN if time - self._begun < until), None)
        if height is None or not gait.walking:
            self.stop()
        target = held
        if not self._stopped and height is not None and isinstance(gait, AdaptiveGait):
            target = self._aim(gait, height)
        move = np.clip(target - self._at, -SPEED * period, SPEED * period)
        self._at = self._at + move
        positions[self._joints], velocities[self._joints] = self._at, move / period
        if self._stopped and np.array_equal(self._at, held):
            self.leg = None
        return positions, velocities

    def _aim(self, gait: AdaptiveGait, height: float) -> np.ndarray:
        """Return the joint angles (3,) [rad] of the leg with its foot at a height [m] above the ground, which is where
        the feet stand.
        """
        standing = [
            self._kinematics[name].to_base(self._kinematics[name].forward(gait.data.position[3 * i : 3 * i + 3]))
            for name, i in self._walking.items()
            if gait.data.feet["in_air"][i] == 0.0
        ]
        if len(standing) >= 3:
            at = np.array(standing)
            self._ground = np.linalg.lstsq(np.c_[at[:, :2], np.ones(len(at))], at[:, 2], rcond=None)[0]
        kinematics, (x, y) = self._kinematics[str(self.leg)], self._place
        return kinematics.nearest(kinematics.to_leg([x, y, self._ground @ [x, y, 1.0] + height]))[0]
