"""Presses one foot of a standing robot down, for the adaptive gait, compiled: the probe of the damage detector.

A foot that is there lifts its corner of the body and bends its servos; one that is lost meets nothing. The detector
compares both with its model, which executes the same commands.
"""

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.adaptive_state import PRESSED, SPAN, TIME, ZD, Z
from hexapod_dynamics.gait.leg_motion import minimum_jerk, minimum_jerk_rate

# How far [m] the foot is pressed below the ground, how long [s] that takes from begin to end, and the share of this
# time in which it goes down, and up again.
DEPTH, PRESSING, MOVES = 0.025, 1.3, 0.2


@kernel
def press_foot(walk):
    """Move the pressed foot to where it is at the present time of the mode; return whether it is back on the ground."""
    state, i = walk.state, int(walk.state[PRESSED]) - 1
    s = state[TIME] / state[SPAN]
    if i < 0 or s >= 1.0:
        if i >= 0:
            walk.feet[i, Z] = walk.feet[i, ZD] = 0.0
        return True
    down, up = s / MOVES, (s - 1.0) / MOVES + 1.0
    walk.feet[i, Z] = -DEPTH * (minimum_jerk(down) - minimum_jerk(up))
    walk.feet[i, ZD] = -DEPTH * (minimum_jerk_rate(down) - minimum_jerk_rate(up)) / (MOVES * state[SPAN])
    return False
