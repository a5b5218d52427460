"""Braces a walking robot against a push that would tip it: feet far out, belly on the ground, at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Morphology, Robot

MEAN_TIME = 2.0  # [s] over which the usual force and the usual upward direction are averaged
# A push is a sideways specific force, less its mean and smoothed over the time of a filter [s]. In two consecutive
# samples it must exceed the force [m/s^2] of that filter and the usual size, because feet that hit edges are no push.
# The short time detects hard pushes early. The long time detects pushes of a robot with lost legs, whose feet land
# harder and which therefore needs more time to distinguish pushes from steps. A push with less force is detected by the
# lean that it causes (TipWatch).
FILTERS = ((0.02, 5.0), (0.05, 3.5))
HOLD = 0.4  # [s] of the brace after the last sample of a push


class TipWatch:
    """Lean, vertical velocity and sideways force of the body, from each sample of the IMU.

    A robot that is tipped by a push leans: its upward direction differs from the mean. It rises over an edge of its
    feet, and a large force acts sideways. A robot that has lost a foot sinks first; its fall onto the ground looks like
    a push.
    """

    def __init__(self) -> None:
        self.force = 0.0  # [m/s^2] the largest sideways force of late
        self._lean = 0j  # [rad] x + i y of the upward direction in base_link, less their means
        self._vertical: float | None = None  # [m/s^2] mean vertical specific force; None until the first sample
        self._rise = self._age = 0.0  # [m/s], [s] since the first sample
        self._since_sinking = math.inf  # [s]

    def update(self, dt: float, force: Sequence[float], rate: Sequence[float], side: float) -> bool:
        """Process a sample, dt [s] after the previous one; return whether the body leans as if it tips.

        force (3,) [m/s^2], rate (3,) [rad/s]: specific force and angular velocity in base_link. side [m/s^2]: size of
        the smoothed sideways specific force. The caller also compares `self.force` with its usual size.
        """
        # The upward direction u is fixed in the world: in base_link du/dt = u x rate, and u is near (0, 0, 1).
        change = complex(-rate[1], rate[0])
        self._lean = max(0.0, 1.0 - dt / MEAN_TIME) * self._lean + dt * change
        x, y = self._lean.real, self._lean.imag
        vertical = x * force[0] + y * force[1] + math.sqrt(max(0.0, 1.0 - x * x - y * y)) * force[2]
        mean = vertical if self._vertical is None else self._vertical
        self._vertical = mean + min(1.0, dt / MEAN_TIME) * (vertical - mean)
        self._rise = max(0.0, 1.0 - dt / 0.15) * self._rise + dt * (vertical - mean)  # [m/s] of about the last 0.15 s
        self.force = max(side, max(0.0, 1.0 - dt / 0.2) * self.force)
        self._since_sinking = 0.0 if self._rise < -0.03 else self._since_sinking + dt
        in_a_moment = abs(self._lean + 0.1 * change)
        self._age += dt
        if self._age < MEAN_TIME or self._since_sinking < 0.4:
            return False
        return in_a_moment > 0.2 and self.force > 4.5 and self._rise > 0.02  # [rad], [m/s^2], [m/s]


class _Filter:
    """The smoothed sideways specific force: its usual size [m/s^2] and the least size of a push."""

    def __init__(self, time: float, force: float) -> None:
        self.time, self.force, self.usual = time, force, 0.7 * force  # assumed in the first seconds
        self._smoothed = 0j
        self._peaks, self._block = [0.0, 0.0], 0.0

    def smooth(self, dt: float, side: complex) -> float:
        """Process a sample x + i y [m/s^2]; return the size of the smoothed force."""
        self._smoothed += min(1.0, dt / self.time) * (side - self._smoothed)
        return abs(self._smoothed)

    def learn_size(self, side: float) -> None:
        """Learn a size [m/s^2] as usual, at most 1.5 times the previous one: one wrong sample hides no push."""
        self.usual = max(self.usual, min(side, 1.5 * self.usual))

    def learn(self, dt: float, side: float) -> None:
        """Learn a sample of a walk as usual 0.3 to 0.6 s later, so that the beginning of a push is not learnt as usual;
        forget it within a minute.
        """
        self.usual *= 1.0 - dt / 60.0
        self._peaks[1] = max(self._peaks[1], side)
        self._block += dt
        if self._block > 0.3:
            self.learn_size(self._peaks[0])
            self._block = 0.0
            self._peaks = [self._peaks[1], 0.0]


class Brace:
    """Set-points that replace the gait's while a push lasts, and until the legs are back.

        brace = Brace(robot)
        brace.sense(dt, force, rate, walking)            # each sample of the IMU
        if brace.is_needed:
            setpoints = brace.step(dt, gait.position)    # (n,) [rad]; the gait is not stepped

    Afterwards the gait continues from its old state. One pose serves all directions, because a low body on wide
    legs resists a larger moment from each direction. `count`: number of pushes so far.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.active, self.count = False, 0
        self._mean: complex | None = None  # x + i y [m/s^2]; None until the first sample: the ground may be a slope
        self._filters = [_Filter(time, force) for time, force in FILTERS]
        self._tip = TipWatch()
        self._left, self._lasted = 0.0, 0.0  # [s] remaining time of the brace; time since it began
        self._before = 0.0  # [m/s^2] force of the previous sample; 0 if no push begins with that sample
        self._since_turning = math.inf  # [s]
        reach = [math.hypot(*leg.mount_position[:2]) + sum(link.length for link in leg.links) for leg in robot.legs]
        self._radius = 0.97 * float(np.mean(reach))  # [m]: nearly straight legs
        self._belly = -0.5 * float(robot.body.box[2])  # [m] underside of the body in base_link
        self._setpoints, self._target = np.zeros(robot.joint_count), np.zeros(robot.joint_count)
        self.set_morphology(Morphology.whole(robot))

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt a Morphology: legs with a foot are moved; a locked joint keeps its angle."""
        Morphology.check(self.robot, morphology)
        self._legs = [
            (LegKinematics.from_robot(self.robot, leg.name, morphology), self.robot.leg_joints(leg.name))
            for leg in self.robot.legs
            if all(morphology.has_link(leg.name, link.name) for link in leg.links)
        ]

    def sense(self, dt: float, force: Sequence[float], rate: Sequence[float], walking: bool) -> None:
        """Process a sample of the IMU, dt [s] after the previous one: specific force (3,) [m/s^2] and angular velocity
        (3,) [rad/s] in base_link.

        A robot that does not walk is not braced: a touch does not move a robot at rest.
        """
        x, y, z = force
        if not (math.hypot(x, y, z) < 100.0 and math.hypot(*rate) < 100.0):  # a wrong message, no push; NaN, too
            return
        mean = complex(x, y) if self._mean is None else self._mean
        sideways = complex(x, y) - mean
        self._mean = mean + min(1.0, dt / MEAN_TIME) * sideways
        pushed, now = False, abs(sideways)
        if now <= 0.85 * abs(z):
            now = 0.0
        # A body that falls because a foot is lost is no push either, and a brace would hide the loss for a moment. It
        # turns before it hits the ground, whereas a push comes first and turns the body afterwards.
        turns = math.hypot(rate[0], rate[1]) > 0.8 and now < min(force for _, force in FILTERS)
        self._since_turning = 0.0 if turns else self._since_turning + dt
        if self._since_turning < 0.2:
            now = 0.0
        lasting = min(now, self._before)  # one wrong sample has no effect
        self._before = now
        sides = [one.smooth(dt, sideways) for one in self._filters]
        tips = self._tip.update(dt, force, rate, sides[-1])
        for one, side in zip(self._filters, sides, strict=True):
            if not walking:
                continue
            # A robot whose feet step onto edges leans, too.
            tipped = tips and one is self._filters[-1] and self._tip.force > 1.4 * one.usual
            if tipped or (lasting > one.force and side > max(one.force, 1.7 * one.usual)):
                pushed = True
                if not self.is_needed:  # if the ground caused it, the next brace needs a larger force
                    one.learn_size(self._tip.force if tipped else side)
            elif not self.active:
                one.learn(dt, side)
        if pushed:
            self._left = HOLD

    @property
    def is_needed(self) -> bool:
        """Whether `step` must command the legs now, because there is a push or the legs are moving back."""
        return self.active or self._left > 0.0

    def stop(self) -> None:
        """Discard a push, because something else commands the legs, or no joint may move."""
        self.active, self._left = False, 0.0

    def step(self, dt: float, gait: np.ndarray) -> np.ndarray:
        """Return set-points (n,) [rad], overwritten by the next call, dt [s] after the previous ones.

        gait (n,) [rad]: set-points of the gait at its last step.
        """
        if not self.active:
            self.active, self._lasted = True, 0.0
            self.count += 1
            self._setpoints[:] = gait
            self._aim(gait)
        self._left -= dt
        self._lasted += dt
        braced = self._left > 0.0 and self._lasted < 2.0  # a longer shaking is no push
        goal = self._target if braced else gait
        most = dt * (self.robot.servo.speed_limit if braced else 3.0)  # back slowly
        self._setpoints += np.clip(goal - self._setpoints, -most, most)
        if not braced and np.array_equal(self._setpoints, gait):
            self.stop()
        return self._setpoints

    def _aim(self, gait: np.ndarray) -> None:
        """Compute the pose from the gait's set-points: the belly on the ground, and the feet on a circle on the ground,
        at equal angles, turned so that the feet of the gait move least.
        """
        self._target[:] = gait
        feet = [leg.to_base(leg.forward(gait[joints])) for leg, joints in self._legs]
        angles = np.array([math.atan2(foot[1], foot[0]) for foot in feet])
        even = 2.0 * math.pi / max(1, len(feet)) * np.argsort(np.argsort(angles))
        even += math.atan2(np.sum(np.sin(angles - even)), np.sum(np.cos(angles - even)))
        for (leg, joints), angle in zip(self._legs, even.tolist(), strict=True):
            wide = [self._radius * math.cos(angle), self._radius * math.sin(angle), self._belly]
            self._target[joints], _ = leg.nearest(leg.to_leg(wide))
