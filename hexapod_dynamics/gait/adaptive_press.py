"""Presses one foot of a standing robot down, for the adaptive gait, compiled: the probe of the damage detector.

An existing foot lifts its corner of the body and loads its servos; a lost foot has no effect. The detector
compares body and servos with its model, which executes the same commands.
"""

from hexapod_dynamics.gait import leg_motion

# Depth [m] to which the foot is pressed below the ground, duration [s] of the whole motion, and the share of this time
# for moving down, and likewise for moving up.
DEPTH, PRESSING, MOVES = 0.025, 1.3, 0.2


def press_foot(walk):
    """Move the pressed foot to its place at the present time of the mode; return whether it is back on the ground."""
    state, feet = walk.state, walk.feet
    s = state.time / state.span
    down, up = s / MOVES, (s - 1.0) / MOVES + 1.0
    height = -DEPTH * (leg_motion.minimum_jerk(down) - leg_motion.minimum_jerk(up))
    slope = leg_motion.minimum_jerk_rate(down) - leg_motion.minimum_jerk_rate(up)
    for i in range(walk.legs_count):
        if state.pressed == i + 1.0:
            feet[i].place[2] = height if s < 1.0 else 0.0
            feet[i].rate[2] = -DEPTH * slope / (MOVES * state.span) if s < 1.0 else 0.0
    return state.pressed == 0.0 or s >= 1.0
