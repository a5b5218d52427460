"""Edges of the limits of feet that one bank after another suspects."""

import math

from support.limit_edges.judging import changes

from hexapod_dynamics.detection.hypotheses import short
from hexapod_dynamics.detection.lasting_evidence import LastingEvidence
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.suspected_feet import SuspectedFeet
from hexapod_dynamics.robot import Robot


def suspected(limits, *banks):
    """SuspectedFeet that banks at times [s] were sure of: (time, legs)."""
    feet = SuspectedFeet(limits)
    for time, *legs in banks:
        feet.note(time, frozenset(legs))
    return feet


def alternate(limits, *times):
    """Whether RM is suspected, since 10 s, just after banks at these times that were sure of LM."""
    return suspected(limits, *((time, "LM") for time in times)).alternate(10.0, {"RM"})


def lasts(limits, *times, without=()):
    """Whether banks at these times, sure of RM, decide at 12 s; others, without it, stand between."""
    banks = sorted([(time, "RM") for time in times] + [(time,) for time in without])
    return suspected(limits, *banks).lasts(12.0, "RM")


def leans(limits, lean, before=0.0):
    """Whether a lean [deg] confirms a foot although others were suspected just before; before [deg]: the usual lean."""
    leaning = Leaning(limits)
    leaning.note(0.0, math.radians(before))
    leaning.note(5.0, math.radians(lean))
    return not leaning.why_not(5.5, alternate=True)


def stump(limits, left):
    """Whether a tibia of which so much is left is told from uneven ground at once."""
    evidence, leaning = LastingEvidence(DetectorSettings(limits=limits)), Leaning(limits)
    leaning.note(0.0, 0.1)
    return not evidence._may_be_uneven(5.0, short(Robot.jethexa(), "RM", left), leaning, "")


def told_from_ground(limits, at):
    """Whether a stump of nine tenths, suspected at 5 s, is told at once from ground that leant it from `at` on."""
    evidence, leaning = LastingEvidence(DetectorSettings(limits=limits)), Leaning(limits)
    leaning.note(at, 0.1)
    return not evidence._may_be_uneven(5.0, short(Robot.jethexa(), "RM", 0.9), leaning, "")


def remembers(limits, gap):
    """Whether a foot that is suspected again after a gap [s] was suspected before it."""
    evidence = LastingEvidence(DetectorSettings(limits=limits))
    for time in (0.0, gap):
        evidence._note_suspected(time, {"RM lost": 1.0})
    return evidence._first_suspected["RM lost"][0] == 0.0


REST = (9.0, 10.0, 11.0, 12.0)

EDGES = {
    "others_for": lambda l: changes(lambda t: alternate(l, t, t), 6.9, 7.1),
    "others_until": lambda l: changes(lambda t: alternate(l, t, t), 9.6, 9.4),
    "others_banks": lambda l: changes(lambda n: alternate(l, *[8.0] * n), 1, 2),
    "others_lean": lambda l: changes(lambda lean: leans(l, lean), 8.3, 8.7),
    "others_times": lambda l: changes(lambda lean: leans(l, lean, before=5.0), 9.8, 10.2),
    "steps_for": lambda l: changes(lambda t: lasts(l, t, 6.0, *REST), 3.9, 4.1),
    "steps_least": lambda l: changes(lambda t: lasts(l, t, *REST), 4.9, 4.7),
    "steps_share": lambda l: changes(lambda n: lasts(l, 4.2, 6.0, *REST, 9.5, without=[9.2] * n), 4, 3),
    "steps_banks": lambda l: changes(lambda n: lasts(l, 4.2, *REST[:n]), 3, 4),
    "pair_onset": lambda l: changes(lambda at: told_from_ground(l, at), 2.9, 3.1),
    "suspected_gap": lambda l: changes(lambda gap: remembers(l, gap), 0.75, 0.65),
    "long_stump": lambda l: changes(lambda left: stump(l, left), 0.72, 0.68),
}
