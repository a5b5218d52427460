"""The last phase of getting up: the gait stands up from where the tucked legs are."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.get_up_motion import Motion
from hexapod_dynamics.gait.get_up_state import UPRIGHT, Phase, Sensed
from hexapod_dynamics.gait.get_up_watch import RestWatch
from hexapod_dynamics.gait.interface import Gait

LONGEST_SEAT, LONGEST = 5.0, 15.0  # [s] after which a gait that still sits, and a robot that does not stand, has failed


def begin_standing(motion: Motion, gait: Gait) -> None:
    """Let the gait stand up; where it cannot, for example on too few legs, getting up ends with the reason."""
    try:
        gait.stand()
    except HexapodError as error:
        motion.end(Phase.FAILED, f"the robot is upright, but it {error}")
        return
    motion.enter(Phase.STAND)


def step_standing(motion: Motion, gait: Gait, rest: RestWatch, dt: float, sensed: Sensed) -> None:
    """Follow the gait for dt [s]; it has ended when the gait stands and the robot is at rest, upright."""
    most = motion.settings.speed * dt
    left = gait.step(dt)[0] - motion.setpoints
    motion.setpoints += np.clip(left, -most, most)
    if gait.doing == "sitting" and motion.time > LONGEST_SEAT:
        motion.end(Phase.FAILED, "the gait does not stand up")
    arrived = gait.doing == "standing" and not np.fmax.reduce(np.abs(left[~motion.spare]), initial=0.0) > most
    if not arrived or rest.at_rest < motion.settings.settle:
        if motion.time > LONGEST:
            motion.end(Phase.FAILED, "the robot does not come to stand")
    elif sensed.up[2] > UPRIGHT:
        motion.end(Phase.DONE, "")
    else:
        motion.end(Phase.FAILED, "the robot tipped over while it stood up")
