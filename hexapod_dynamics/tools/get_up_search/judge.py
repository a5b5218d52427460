"""Whether a manoeuvre is better than another one: how many robots each turns over after the same fresh falls, and for
how long their servos are at their torque limit.

A search keeps what passes its few conditions, which is not what passes a hundred falls: some manoeuvres that cost less
turned fewer robots over. The falls are drawn anew for each manoeuvre that is judged, from its own numbers, so that no
search has seen them, and come out the same when it is judged again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.get_up import UPRIGHT, GetUp, Phase
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary, Manoeuvre
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools.get_up_search.fallen_robot import FallenRobot, joints_near, random_rotation, random_truth
from hexapod_dynamics.tools.get_up_search.roll_trial import SATURATION

FIRST = 1_000_000  # the least seed of a fall


class Turned(NamedTuple):
    """What a manoeuvre has done after some falls.

    upright: number of robots that are, at the end; saturated [s]: median of the longest uninterrupted time of a servo
    at its torque limit.
    """

    upright: int
    saturated: float


@dataclass(frozen=True)
class Verdict:
    """What the new and the old manoeuvre do after the same `falls`; seed: of the first fall."""

    new: Turned
    old: Turned
    falls: int
    seed: int

    @property
    def takes(self) -> bool:
        """Whether the new manoeuvre replaces the old one: it turns over as many, or more, and its servos are not longer
        at their limit, or for not longer than SATURATION.
        """
        return self.new.upright >= self.old.upright and self.new.saturated <= max(SATURATION, self.old.saturated)

    def __str__(self) -> str:
        what = "taken" if self.takes else "the old one is kept"
        new, old = self.new, self.old
        times = f"; servos at their limit for {new.saturated:.2f} s, {old.saturated:.2f} s before"
        return f"{what}: of {self.falls} fresh falls it turned {new.upright} over, the old one {old.upright}{times}"


def judge(robot: Robot, new: Manoeuvre, old: Manoeuvre, *, speed: float, falls: int) -> Verdict:
    """Return how `new` compares with `old`, which is for the same lost legs, on falls of the robot without them."""
    seed = FIRST + zlib.crc32(new.numbers().tobytes()) % 2_000_000_000  # Truth has 2^31
    better, before = (turned_over(robot, one, new.lost, range(seed, seed + falls), speed) for one in (new, old))
    return Verdict(better, before, falls, seed)


def turned_over(robot: Robot, manoeuvre: Manoeuvre, lost: Iterable[str], seeds: Iterable[int], speed: float) -> Turned:
    """Let a robot without the legs `lost` fall onto the back or an edge, and turn over in one attempt.

    seeds: one of each fall; speed [rad/s]: of the joints.
    """
    gone = tuple(lost)
    morphology = Morphology.whole(robot).without(*gone)
    gait = AdaptiveGait().bind(robot)
    stance = gait.position.copy()
    gait.set_morphology(morphology)
    # The first manoeuvre of the library is tried first; there is one attempt.
    library = GetUpLibrary(robot, [manoeuvre])
    count, saturated = 0, []
    for seed in seeds:
        random = np.random.default_rng(seed)
        get_up = GetUp(robot, library, speed, most_attempts=1)
        fallen = FallenRobot(robot, get_up, truth=random_truth(random, seed), actual=morphology, seed=seed)
        rotation = random_rotation(random)
        if rotation[2, 2] > 0.0:
            rotation = rotation @ np.diag([1.0, -1.0, -1.0])
        fallen.drop(random.uniform(0.2, 0.4), rotation, joints_near(stance, random))
        get_up.begin(gait, morphology)
        while get_up.active and get_up.phase is not Phase.STAND and fallen.time < 30.0:
            fallen.tick()
        count += fallen.upright > UPRIGHT
        saturated.append(fallen.saturated.max())
    return Turned(count, float(np.median(saturated)))
