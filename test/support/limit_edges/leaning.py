"""Edges of the limits of how far the body leans."""

import math

import numpy as np

from hexapod_dynamics.detection.hypotheses import short
from hexapod_dynamics.detection.lasting_evidence import LastingEvidence
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()


def leant(limits, *leans):
    """A Leaning that has taken leans [deg] at times [s]."""
    leaning = Leaning(limits)
    for time, lean in leans:
        leaning.note(time, math.radians(lean))
    return leaning


def lost(limits, lean, before=0.1, since=5.5, at=5.0):
    """Whether a foot may be lost, suspected since `since` [s]: the body leant by `before`, then by `lean` [deg]."""
    return not leant(limits, (0.0, before), (at, lean)).why_not(since)


def keeps(limits, age):
    """Whether a lean of 5 degrees counts after so long [s]."""
    return bool(leant(limits, (0.0, 5.0), (age, 0.1)).usual(age) > 0.05)


def parts(limits, apart):
    """Whether two leans so long [s] apart are kept by themselves."""
    return leant(limits, (0.0, 3.0), (apart, 5.0)).usual(apart) < math.radians(4.0)


def held(limits, age):
    """Whether an obstacle that was felt so long [s] ago holds the robot."""
    leaning = Leaning(limits)
    leaning.note_obstacle(5.0)
    return leaning.is_held(5.0 + age)


def declares(limits, share):
    """Whether a foot is declared whose loss predicts a lean of which the body shows such a share."""
    evidence, leaning, foot = LastingEvidence(DetectorSettings(limits=limits)), Leaning(limits), short(ROBOT, "RM", 0.5)
    leaning.note(4.9, 0.1)
    one = np.ones(1)
    for time in (5.0, 5.32):
        bank = Posterior(
            0.999 * one, 100.0 * one, 0 * np.ones(1, int), 0.001, 0.3 * one, 2.0, 5, 20.0 * one, share * one
        )
        found = evidence.look(time, [foot], bank, leaning)
    return found is not None


EDGES = {
    "lean_predicted": lambda l: declares(l, 0.34) and not declares(l, 0.32),
    "lean_least": lambda l: lost(l, 2.3) and not lost(l, 2.1),
    "lean_times": lambda l: lost(l, 4.6, before=3.0) and not lost(l, 4.4, before=3.0),
    "lean_most": lambda l: lost(l, 9.1, before=20.0) and not lost(l, 8.9, before=20.0),
    "lean_onset": lambda l: lost(l, 5.0, since=5.9) and not lost(l, 5.0, since=6.1),
    "lean_rough": lambda l: [leant(l, (0.0, x)).is_rough(5.0) for x in (1.7, 1.9)] == [False, True],
    "lean_part": lambda l: parts(l, 0.26) and not parts(l, 0.24),
    "held_for": lambda l: held(l, 1.4) and not held(l, 1.6),
    "lean_kept": lambda l: keeps(l, 11.9) and not keeps(l, 12.1),
}
