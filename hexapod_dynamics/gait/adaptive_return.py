"""Moves legs that came back from where they are held up to where they stand, for the adaptive gait, compiled."""

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.adaptive_state import AIR, BACK, FROM, XD, ZD, X, Z
from hexapod_dynamics.gait.leg_motion import minimum_jerk, minimum_jerk_rate
from hexapod_dynamics.gait.leg_table import FOOTHOLD


@kernel
def begin_return(walk):
    """Remember where the legs that came back are held up: their feet move from there. Return whether there are any."""
    found = False
    for i in range(walk.legs.shape[0]):
        if walk.feet[i, BACK] != 0.0:
            found = True
            for k in range(3):
                walk.feet[i, FROM + k] = walk.position[3 * i + k]
    return found


@kernel
def feet_below(walk):
    """Let the feet of legs that came back stand at their footholds, where their joints are led."""
    for i in range(walk.legs.shape[0]):
        if walk.feet[i, BACK] != 0.0:
            for k in range(2):
                walk.feet[i, X + k], walk.feet[i, XD + k] = walk.legs[i, FOOTHOLD + k], 0.0
            walk.feet[i, Z], walk.feet[i, ZD], walk.feet[i, AIR] = 0.0, 0.0, 0.0


@kernel
def return_leg(walk, i, s, span):
    """Lead leg i from where it was held up to the set-points written for its foothold: s from 0 to 1 within span [s].

    The joints move straight: a foot led over a line from a folded leg passes where the leg has no angles.
    """
    h, slope = minimum_jerk(s), minimum_jerk_rate(s) / span
    for k in range(3):
        j, start = 3 * i + k, walk.feet[i, FROM + k]
        walk.velocity[j] = slope * (walk.position[j] - start)
        walk.position[j] = start + h * (walk.position[j] - start)


@kernel
def end_return(walk):
    """Let the legs that came back stand like the others."""
    for i in range(walk.legs.shape[0]):
        walk.feet[i, BACK] = 0.0
