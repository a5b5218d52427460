"""Tries a manoeuvre that turns a robot over in MuJoCo, from STAR on the back, under several conditions.

The conditions are servos, masses, ground and speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.gait.recovery.get_up import HOLD, ROLL_SPEED, STAR, TUCK, TUCKS, UPRIGHT
from hexapod_dynamics.gait.recovery.manoeuvres import POSES, Manoeuvre, joint_poses, pose_angles
from hexapod_dynamics.gait.recovery.motion import LIMIT_MARGIN
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Truth
from hexapod_dynamics.tools.get_up_search.fallen_robot import TICK, TIMESTEP

SATURATION = 0.2  # [s] uninterrupted time of a servo at its limit above which it costs
SERVES = 0.9  # cost below which a manoeuvre works under all conditions
FALLS_BACK = 0.3  # cost of a manoeuvre that falls back under all conditions under which it need not serve


@dataclass(frozen=True)
class Condition:
    """One condition of a trial.

    truth: as for `Truth.parse`. slope [degrees]: inclination, uphill at slope_yaw [degrees] from the robot's x axis.
    spread [rad]: initial deviation of the joints from STAR. speed [rad/s]: replaces the trial's. must: whether a
    manoeuvre has to turn the robot over; where it need not, falling back costs.
    """

    truth: str
    slope: float = 0.0
    slope_yaw: float = 0.0
    spread: float = 0.0
    speed: float | None = None
    must: bool = True


# Servos, masses and ground as they may be.
USUAL_CONDITIONS = (
    Condition("friction=0.7"),
    Condition("servos=real,seed=11,friction=0.55,mass=1.1"),
    Condition("servos=real,seed=12,friction=0.9,mass=0.95,stiffness=0.85", spread=0.05),
    Condition("servos=real,seed=13,friction=0.6,mass=1.0,stiffness=1.15", slope=5.0, slope_yaw=70.0),
    Condition("servos=real,seed=14,friction=0.8,mass=1.05", slope=5.0, slope_yaw=-110.0),
    Condition("servos=real,seed=15,friction=0.45,mass=0.9", spread=0.1),
    Condition("servos=real,seed=16,friction=0.75,mass=1.15,stiffness=0.85", spread=0.05),
    Condition("servos=real,seed=17,friction=0.5,mass=1.15", slope=4.0, slope_yaw=180.0, spread=0.05),
    Condition("servos=real,seed=18,friction=1.0,mass=1.0", slope=4.0, spread=0.05),
    Condition("servos=real,seed=21,friction=0.7,mass=1.1,payload=0.6,payload_x=0.03,payload_y=0.02"),
    Condition("servos=real,seed=22,friction=0.55,mass=1.0,payload=0.5,payload_x=-0.03,payload_y=-0.03", spread=0.05),
    Condition("servos=real,seed=19,friction=0.55,mass=1.05", spread=0.05, speed=5.0),
    Condition("servos=real,seed=20,friction=0.85,mass=0.95", slope=4.0, slope_yaw=90.0, speed=5.0),
)


def _yield_hard_conditions() -> Iterator[Condition]:
    """Yield conditions as hardly any robot has: weak servos, more payload [kg] than is allowed, and off the middle.

    A manoeuvre that only just serves under the usual ones falls back in some of a hundred falls; under these it does
    so often.
    """
    ranges = {"friction": (0.5, 0.95), "mass": (0.9, 1.15), "stiffness": (0.7, 0.95), "payload": (0.3, 0.9)}
    ranges |= {"payload_x": (-0.03, 0.03), "payload_y": (-0.03, 0.03)}
    for seed in range(31, 43):
        draw = np.random.default_rng(seed).uniform
        truth = ",".join(f"{name}={draw(*bounds):.3f}" for name, bounds in ranges.items())
        yield Condition(f"servos=real,seed={seed},{truth}", spread=0.05, speed=None if seed % 4 else 5.0, must=False)


CONDITIONS = (*USUAL_CONDITIONS, *_yield_hard_conditions())


class RollTrial:
    """Executes manoeuvres on a robot on its back, without the legs `lost`, no joint faster than speed [rad/s]."""

    def __init__(
        self, robot: Robot, lost: Iterable[str], speed: float, conditions: Iterable[Condition] = CONDITIONS
    ) -> None:
        self.robot, self.lost, self.speed = robot, tuple(lost), speed
        morphology = Morphology.whole(robot).without(*self.lost)
        limits = np.array([joint.planned_range for joint in robot.joints])
        self._low, self._high = limits[:, 0] + LIMIT_MARGIN, limits[:, 1] - LIMIT_MARGIN
        self._moving = morphology.moving_mask
        self._star = np.clip(pose_angles(robot, STAR, STAR), self._low, self._high)
        self._tuck = np.clip(pose_angles(robot, TUCK, TUCK), self._low, self._high)
        self._starts: list[tuple[MujocoSimulator, np.ndarray, float]] = []
        self._hard: list[tuple[MujocoSimulator, np.ndarray, float]] = []
        for k, one in enumerate(conditions):
            truth = Truth.parse(one.truth)
            ground = Ground(friction=truth.friction, slope=one.slope, slope_yaw=one.slope_yaw) if one.slope else None
            physics = MujocoSimulator(robot, morphology, timestep=TIMESTEP, truth=truth, ground=ground)
            off = np.random.default_rng(k).uniform(-one.spread, one.spread, robot.joint_count)
            (self._starts if one.must else self._hard).append(
                (physics, np.clip(self._star + off, self._low, self._high), one.speed or speed)
            )

    def cost(self, manoeuvre: Manoeuvre, least: float = np.inf) -> float:
        """Return the cost: the number of conditions from the first failed one on, plus a measure of its failure. A
        value below SERVES means that it works under all conditions under which it must; it is then lower for gentler
        and shorter manoeuvres, and for those that do not fall back under the others.

        least: cost of the best manoeuvre so far; a manoeuvre that is too long to be better is not executed, and
        costs SERVES.
        """
        cost = sum(lasts for _, lasts in self._moves(manoeuvre, self.speed)) * 0.1 / 2.5  # 2.5 s: as SATURATION
        if cost >= least:
            return SERVES + cost - least
        longest = 0.0
        for k, (physics, start, speed) in enumerate(self._starts):
            up, highest, saturated, _ = self._roll(physics, start, manoeuvre, speed)
            if up < UPRIGHT:
                return len(self._starts) - k + 1.0 - 0.6 * up - 0.4 * highest
            if speed == self.speed:
                longest = max(longest, saturated)
        cost += 0.1 * longest / SATURATION
        if self._hard and cost < least:
            rolls = [self._roll(physics, start, manoeuvre, speed) for physics, start, speed in self._hard]
            # How much of the way was lost beyond 0.15; all of it where the robot is not upright at the end.
            lost = [1.0 if up < UPRIGHT else np.clip((back - 0.15) / 0.85, 0.0, 1.0) for up, *_, back in rolls]
            cost += FALLS_BACK * float(np.mean(lost))
        return min(0.99 * SERVES, cost)

    def _moves(self, manoeuvre: Manoeuvre, speed: float) -> list[tuple[np.ndarray, float]]:
        """Return the joint angles (n,) [rad] of each pose and of the tucked legs at the end, and how long [s] each move
        takes at `speed` [rad/s], in the poses at ROLL_SPEED at most.
        """
        targets = np.clip([*joint_poses(self.robot, manoeuvre, self._star), self._tuck], self._low, self._high)
        ways = np.abs(np.diff(targets, axis=0, prepend=self._star[None]))[:, self._moving].max(axis=1)
        speeds = [*[min(speed, ROLL_SPEED)] * POSES, speed]
        lasts = np.maximum((*manoeuvre.times, TUCKS), ways / speeds)
        return list(zip(targets, lasts.tolist(), strict=True))

    def _roll(
        self, physics: MujocoSimulator, start: np.ndarray, manoeuvre: Manoeuvre, speed: float
    ) -> tuple[float, float, float, float]:
        """Return the upward component of the body's z axis at the end, and its largest value; the longest uninterrupted
        time [s] of a servo at its torque limit; by how much the component has gone back on the way.
        """
        physics.reset(rotation=np.diag([1.0, -1.0, -1.0]), joints=start)
        here, limit = self._star, 0.99 * self.robot.servo.torque_limit
        at_limit, longest, highest, back, up = np.zeros(len(start)), 0.0, -1.0, 0.0, -1.0
        for k, (target, lasts) in enumerate(self._moves(manoeuvre, speed)):
            ticks = max(1, round(lasts / TICK))
            for tick in range(ticks + (round(HOLD / TICK) if k == POSES else 0)):
                physics.command(here + min(1.0, (tick + 1) / ticks) * (target - here), TICK)
                physics.step(round(TICK / TIMESTEP))
                at_limit = np.where(np.abs(physics.joint_torques) >= limit, at_limit + TICK, 0.0)
                longest = max(longest, float(at_limit.max()))
                up = float(physics.rotation[2, 2])
                highest = max(highest, up)
                back = max(back, highest - up)
            here = target
        return up, highest, longest, back
