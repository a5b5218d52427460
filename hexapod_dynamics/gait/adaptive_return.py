"""Moves legs that came back from where they are held up to where they stand, for the adaptive gait, compiled."""

from hexapod_dynamics.gait import leg_motion


def begin_return(walk):
    """Remember where the legs that came back are held up: their feet move from there. Return whether there are any."""
    found = False
    for i in range(walk.legs_count):
        if walk.feet[i].back != 0.0:
            found = True
            for k in range(3):
                walk.feet[i].start[k] = walk.position[3 * i + k]
    return found


def feet_below(walk):
    """Let the feet of legs that came back stand at their footholds, where their joints are led."""
    for i in range(walk.legs_count):
        if walk.feet[i].back != 0.0:
            for k in range(2):
                walk.feet[i].place[k], walk.feet[i].rate[k] = walk.legs[i].foothold[k], 0.0
            walk.feet[i].place[2], walk.feet[i].rate[2], walk.feet[i].in_air = 0.0, 0.0, 0.0


def return_leg(walk, i, s, span):
    """Lead leg i from where it was held up to the set-points written for its foothold: s from 0 to 1 within span [s].

    The joints move straight: a foot led over a line from a folded leg passes where the leg has no angles.
    """
    h, slope = leg_motion.minimum_jerk(s), leg_motion.minimum_jerk_rate(s) / span
    for k in range(3):
        j, start = 3 * i + k, walk.feet[i].start[k]
        walk.velocity[j] = slope * (walk.position[j] - start)
        walk.position[j] = start + h * (walk.position[j] - start)


def end_return(walk):
    """Let the legs that came back stand like the others."""
    for i in range(walk.legs_count):
        walk.feet[i].back = 0.0
