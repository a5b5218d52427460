"""Moves restored legs from the pose in which they are held up to their footholds, for the adaptive gait, compiled."""

from hexapod_dynamics.gait import leg_motion


def begin_return(walk):
    """Store the pose in which restored legs are held up, because they move from there. Return whether there are
    any.
    """
    found = False
    for i in range(walk.legs_count):
        if walk.feet[i].back != 0.0:
            found = True
            for k in range(3):
                walk.feet[i].start[k] = walk.position[3 * i + k]
    return found


def feet_below(walk):
    """Set the feet of restored legs to their footholds; their joints are moved there by `return_leg`."""
    for i in range(walk.legs_count):
        if walk.feet[i].back != 0.0:
            for k in range(2):
                walk.feet[i].place[k], walk.feet[i].rate[k] = walk.legs[i].foothold[k], 0.0
            walk.feet[i].place[2], walk.feet[i].rate[2], walk.feet[i].in_air = 0.0, 0.0, 0.0


def return_leg(walk, i, s, span):
    """Move leg i from the pose in which it was held up to the set-points of its foothold: s from 0 to 1 within
    span [s].

    The path is straight in joint angles: a foot on a straight line from a folded leg would leave the reach of the
    leg.
    """
    h, slope = leg_motion.minimum_jerk(s), leg_motion.minimum_jerk_rate(s) / span
    for k in range(3):
        j, start = 3 * i + k, walk.feet[i].start[k]
        walk.velocity[j] = slope * (walk.position[j] - start)
        walk.position[j] = start + h * (walk.position[j] - start)


def end_return(walk):
    """Let the restored legs stand like the others."""
    for i in range(walk.legs_count):
        walk.feet[i].back = 0.0
