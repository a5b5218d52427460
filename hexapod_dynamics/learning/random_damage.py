"""Random damage at random times: what the environment `hexapod_dynamics/Damaged-v0` does to its robot."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.robot import Morphology

SHARE = 0.2, 0.9  # remaining fractions of a broken link


class RandomDamage:
    """At most `most` injuries in an episode, each kind equally likely, with exponentially distributed times
    between them.

    interval [s]: mean time between two injuries. Each leg is injured at most once.
    """

    def __init__(self, interval: float = 3.0, most: int = 2) -> None:
        self.interval, self.most = interval, most

    def times(self, random: np.random.Generator) -> list[float]:
        """Times [s] of an episode's injuries, in order."""
        return np.cumsum(random.exponential(self.interval, self.most)).tolist()

    def strike(self, random: np.random.Generator, morphology: Morphology, q: np.ndarray) -> Morphology:
        """Return the morphology with one more injury; a joint that locks does so at its present position in q (n,)
        [rad].

        The morphology is returned unchanged if no leg is intact.
        """
        robot, whole = morphology.robot, Morphology.whole(morphology.robot)
        sound = [leg for leg in robot.legs if _same(leg.name, morphology, whole)]
        if not sound:
            return morphology
        leg = sound[int(random.integers(len(sound)))]
        k, injury = int(random.integers(len(leg.links))), int(random.integers(len(KINDS.injuries)))
        value, damaged = KINDS.injuries[injury]
        part = leg.name if value.of_leg else f"{leg.name}.{leg.links[k].name}"
        injured = float(random.uniform(*SHARE)) if damaged is None else damaged
        position = float(np.clip(q[robot.leg_joints(leg.name)[k]], -np.pi, np.pi))
        return morphology.updated({f"{value.prefix}.{part}": injured}, {leg.joints[k].name: position})


def _same(leg: str, a: Morphology, b: Morphology) -> bool:
    """Whether a leg is alike in two morphologies of a robot."""
    joints = a.robot.leg_joints(leg)
    part = slice(joints.start, joints.stop)
    return bool(np.array_equal(a.table[:, part], b.table[:, part]))
