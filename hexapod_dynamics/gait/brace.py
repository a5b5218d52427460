"""Braces a walking robot against a push that would tip it: the feet go outwards and the body down, at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.kinematics.leg_kinematics import LegKinematics
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.settings_check import require_positive

FIRST = 0.7  # share of the least force that is taken for usual in the first seconds
BLOCK = 0.3  # [s] of samples that are learnt together, once the next such time has passed
HARDER = 1.5  # largest growth of the usual at once
PLAUSIBLE = 100.0  # [m/s^2] a message of more is wrong: no push


@dataclass(frozen=True)
class BraceSettings:
    """When a push is one, and what is done.

    A push is a sideways specific force, beside its mean over mean_time [s] and smoothed over one of smooth_times [s],
    of more than the one of forces [m/s^2] for this time, in two samples running, and of more than `times` the largest
    of the last usual_time [s] of this walk: feet that meet edges are no push. The short time finds hard pushes early,
    the long one those that a robot with legs lost, whose feet land harder, cannot tell from its steps so soon.

    A body that sinks because a foot is lost is no push either, and a brace would hide the loss for a moment. So the
    sideways force has to be larger than `share` times the vertical one in both samples, and the vertical one larger
    than `sinking` [m/s^2] in the first of them: who is pushed stands before. When a body that sinks hits the ground,
    the vertical force exceeds `impact` [m/s^2] and the sideways one is less than that share: for after_impact [s] from
    then on nothing is a push.

    out, down: how far the feet move outwards and the body moves down, as shares of the length of a leg. hold [s]: from
    the last such sample on. longest [s]: of one brace, whatever the IMU measures; what shakes for longer is no push.
    back [rad/s]: speed of the joints on their way back.
    """

    smooth_times: tuple[float, ...] = (0.02, 0.05)
    forces: tuple[float, ...] = (5.0, 3.5)
    times: float = 1.7
    usual_time: float = 60.0
    mean_time: float = 2.0
    share: float = 0.9
    sinking: float = 8.0
    impact: float = 18.0
    after_impact: float = 0.1
    out: float = 0.33
    down: float = 0.25
    hold: float = 0.4
    longest: float = 2.0
    back: float = 3.0

    def __post_init__(self) -> None:
        require_positive(self.__dict__)
        if len(self.smooth_times) != len(self.forces):
            raise HexapodError("smooth_times and forces: one force for each time is needed")


class _Filter:
    """The sideways specific force, smoothed: its usual size [m/s^2] and the least that is a push."""

    def __init__(self, time: float, force: float) -> None:
        self.time, self.force, self.usual = time, force, FIRST * force
        self._x = self._y = 0.0
        self._peaks, self._block = [0.0, 0.0], 0.0

    def smooth(self, dt: float, x: float, y: float) -> float:
        """Process a sample [m/s^2]; return the size of the smoothed one."""
        share = min(1.0, dt / self.time)
        self._x += share * (x - self._x)
        self._y += share * (y - self._y)
        return math.hypot(self._x, self._y)

    def grow(self, side: float) -> None:
        """Take a size [m/s^2] for usual, at most HARDER times what was: one wrong sample does not hide pushes."""
        self.usual = max(self.usual, min(side, HARDER * self.usual))

    def learn(self, dt: float, side: float, usual_time: float) -> None:
        """Let a sample of a walk count as usual, BLOCK to twice BLOCK later: the beginning of a push is not usual."""
        self.usual *= 1.0 - dt / usual_time
        self._peaks[1] = max(self._peaks[1], side)
        self._block += dt
        if self._block > BLOCK:
            self.grow(self._peaks[0])
            self._block = 0.0
            self._peaks = [self._peaks[1], 0.0]


class Brace:
    """Set-points that replace the gait's while a push lasts, and until the legs are back.

        brace = Brace(robot)
        brace.sense(dt, force, walking)                  # each sample of the IMU
        if brace.needed:
            setpoints = brace.step(dt, gait.position)    # (n,) [rad]; the gait is not stepped

    The gait goes on from where it was. One pose serves all directions: a body that is low and stands wide takes a
    larger moment from each. `count`: pushes so far.
    """

    def __init__(self, robot: Robot, settings: BraceSettings | None = None) -> None:
        self.settings = settings or BraceSettings()
        self.robot = robot
        self.active, self.count = False, 0
        self._mean: list[float] | None = None  # until the first sample: the ground may be a slope
        self._filters = [
            _Filter(time, force) for time, force in zip(self.settings.smooth_times, self.settings.forces, strict=True)
        ]
        self._left, self._lasted = 0.0, 0.0  # [s] that the brace is held yet; since it began
        self._before = 0.0  # [m/s^2] of the sample before; 0 if no push begins with that
        self._since_impact = math.inf  # [s]
        self._setpoints, self._target = np.zeros(robot.joint_count), np.zeros(robot.joint_count)
        self.set_morphology(Morphology.whole(robot))

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt what is left of the robot: legs with a foot are moved; a locked joint stays where it is."""
        self._legs, begin = [], 0
        for leg in self.robot.legs:
            end = begin + len(leg.links)
            if all(morphology.has_link(leg.name, link.name) for link in leg.links):
                self._legs.append((LegKinematics.of(self.robot, leg.name, morphology), slice(begin, end)))
            begin = end

    def sense(self, dt: float, force: Sequence[float], walking: bool) -> None:
        """Process a sample of the IMU dt [s] after the one before: specific force (3,) [m/s^2] in base_link.

        A robot that does not walk is not braced: one that rests does not move because it is touched.
        """
        settings, (x, y, z) = self.settings, force
        if not math.hypot(x, y, z) < PLAUSIBLE:  # NaN, too
            return
        mean = self._mean or [x, y]
        share = min(1.0, dt / settings.mean_time)
        self._mean = [mean[0] + share * (x - mean[0]), mean[1] + share * (y - mean[1])]
        pushed, now = False, math.hypot(x - mean[0], y - mean[1])
        steep = now > settings.share * abs(z)
        self._since_impact = 0.0 if abs(z) > settings.impact and not steep else self._since_impact + dt
        if not steep or self._since_impact < settings.after_impact:
            now = 0.0
        lasting = min(now, self._before)  # one wrong sample moves nothing
        self._before = now if z > settings.sinking else 0.0
        for one in self._filters:
            side = one.smooth(dt, x - mean[0], y - mean[1])
            if not walking:
                continue
            if lasting > one.force and side > max(one.force, settings.times * one.usual):
                pushed = True
                if not self.needed:  # if it was the ground, it takes more the next time
                    one.grow(side)
            elif not self.active:
                one.learn(dt, side, settings.usual_time)
        if pushed:
            self._left = settings.hold

    @property
    def needed(self) -> bool:
        """Whether `step` commands the legs now: there is a push, or the legs are on their way back."""
        return self.active or self._left > 0.0

    def stop(self) -> None:
        """Forget a push: something else commands the legs, or nothing may move."""
        self.active, self._left = False, 0.0

    def step(self, dt: float, gait: np.ndarray) -> np.ndarray:
        """Return set-points (n,) [rad], overwritten by the next call, dt [s] after those before.

        gait (n,) [rad]: set-points of the gait at its last step.
        """
        if not self.active:
            self.active, self._lasted = True, 0.0
            self.count += 1
            self._setpoints[:] = gait
            self._aim(gait)
        self._left -= dt
        self._lasted += dt
        braced = self._left > 0.0 and self._lasted < self.settings.longest
        goal = self._target if braced else gait
        most = dt * (self.robot.servo.speed_limit if braced else self.settings.back)
        self._setpoints += np.clip(goal - self._setpoints, -most, most)
        if not braced and np.array_equal(self._setpoints, gait):
            self.stop()
        return self._setpoints

    def _aim(self, gait: np.ndarray) -> None:
        """Work out the pose from the gait's set-points: all feet outwards on the ground, the body nearer to it."""
        self._target[:] = gait
        feet = [leg.to_base(leg.forward(gait[joints])) for leg, joints in self._legs]
        ground = min((foot[2] for foot in feet), default=0.0)
        for (leg, joints), foot in zip(self._legs, feet, strict=True):
            length = float(np.sum(leg.lengths))
            outwards = foot[:2] / max(1e-9, math.hypot(*foot[:2]))
            wide = np.array([*(foot[:2] + self.settings.out * length * outwards), ground + self.settings.down * length])
            self._target[joints], _ = leg.nearest(leg.to_leg(wide))
