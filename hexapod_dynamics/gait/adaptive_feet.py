"""Motion of the feet of the adaptive gait, compiled: stance, swing, lowering, and placement while the belly
carries the robot.

Feet are points of the ground, expressed in the nominal frame (see `cycle`), so a standing foot never slides, even
if the twist changes. In a steady walk `cycle.cycle_foot` gives their positions.
"""

import math

from hexapod_dynamics.gait import adaptive_state as layout
from hexapod_dynamics.gait import cycle, leg_motion

# A twist below this [m/s, rad/s] counts as standing; a foot nearer than NEAR [m] to its foothold counts as being there.
STANDING, NEAR = 1e-4, 1e-4
# Speed [m/s] at which feet are put down, and height [m] over the ground to which they are lifted on the belly.
SETTLING, CLEAR = 0.16, 0.03


def going(state):
    """Whether the twist that the feet follow is above the threshold of standing."""
    return (
        math.fabs(state.going[0]) > STANDING
        or math.fabs(state.going[1]) > STANDING
        or math.fabs(state.going[2]) > 10.0 * STANDING
    )


def asked(command):
    """Whether the command is above the threshold of standing."""
    vx, vy, wz = math.fabs(command.twist[0]), math.fabs(command.twist[1]), math.fabs(command.twist[2])
    return vx > STANDING or vy > STANDING or wz > 10.0 * STANDING


def touch_down(walk, i, s):
    """Return the point of the ground, in the present frame, on which a foot at the fraction s of its swing will
    step.
    """
    plan, legs, state = walk.plan, walk.legs, walk.state
    rest = 0.0 if plan.rows != 0.0 else (1.0 - plan.duty) * plan.period
    after = cycle.stance_time(plan, plan.duty) + (1.0 - s) * rest
    vx, vy, wz = state.going[0], state.going[1], state.going[2]
    return leg_motion.carried(legs[i].foothold[0], legs[i].foothold[1], vx, vy, wz, -after)


def carry_ground(walk, dt):
    """Move all ground points by dt [s] at the present twist, in the frame of the body."""
    feet, state = walk.feet, walk.state
    vx, vy, wz = state.going[0], state.going[1], state.going[2]
    for i in range(walk.legs_count):
        x, y = leg_motion.carried(feet[i].place[0], feet[i].place[1], vx, vy, wz, dt)
        feet[i].place[0], feet[i].place[1] = x, y
        x, y = leg_motion.carried(feet[i].lift_off[0], feet[i].lift_off[1], vx, vy, wz, dt)
        feet[i].lift_off[0], feet[i].lift_off[1] = x, y
        x, y = leg_motion.carried(feet[i].touch_down[0], feet[i].touch_down[1], vx, vy, wz, dt)
        feet[i].touch_down[0], feet[i].touch_down[1] = x, y


def standing_rates(walk, pace):
    """Set the rates of all feet to those of the ground, for the twist multiplied by `pace`."""
    feet, state = walk.feet, walk.state
    for i in range(walk.legs_count):
        feet[i].rate[0] = -pace * (state.going[0] - state.going[2] * feet[i].place[1])
        feet[i].rate[1] = -pace * (state.going[1] + state.going[2] * feet[i].place[0])
        feet[i].rate[2] = 0.0


def put_feet_down(walk, dt):
    """Lower vertically the feet that are in the air; return whether all feet stand."""
    feet, legs = walk.feet, walk.legs
    down = True
    for i in range(walk.legs_count):
        if legs[i].used == 0.0 or feet[i].back != 0.0:
            continue
        if feet[i].place[2] < 0.0:  # the foot was pressed down
            feet[i].place[2] = min(0.0, feet[i].place[2] + SETTLING * dt)
            feet[i].rate[2] = SETTLING if feet[i].place[2] < 0.0 else 0.0
            down = down and feet[i].place[2] == 0.0
        elif feet[i].in_air != 0.0:
            feet[i].place[2] = max(0.0, feet[i].place[2] - SETTLING * dt)
            feet[i].rate[2] = -SETTLING
            if feet[i].place[2] == 0.0:
                feet[i].in_air, feet[i].rate[2] = 0.0, 0.0
            else:
                down = False
    return down


def step_feet(walk, dt):
    """Advance phase and feet by dt [s]; return whether all feet are at their footholds."""
    plan, legs, command, state, feet = walk.plan, walk.legs, walk.command, walk.state, walk.feet
    duty, period = plan.duty, plan.period
    phase = state.phase
    after = phase + dt / period
    pace, carry = 1.0, dt
    if plan.rows != 0.0:
        begin, end = cycle.progress(plan, phase)[0], cycle.progress(plan, leg_motion.fraction(after))[0]
        carry = (end - begin + (1.0 if after >= 1.0 else 0.0)) * period
        pace = cycle.progress(plan, leg_motion.fraction(after))[1]
    state.phase = leg_motion.fraction(after)
    carry_ground(walk, carry)
    standing_rates(walk, pace)
    halting = not asked(command) and not going(state)
    home = True
    for i in range(walk.legs_count):
        if legs[i].used == 0.0:
            continue
        before = leg_motion.fraction(phase + legs[i].phase)
        p = leg_motion.fraction(state.phase + legs[i].phase)
        if feet[i].in_air == 0.0:
            dx, dy = feet[i].place[0] - legs[i].foothold[0], feet[i].place[1] - legs[i].foothold[1]
            near = dx * dx + dy * dy < NEAR * NEAR
            if not near:
                home = False
            if before < duty <= p and not (halting and near):
                feet[i].in_air = 1.0
                feet[i].lift_off[0], feet[i].lift_off[1] = feet[i].place[0], feet[i].place[1]
                x, y = touch_down(walk, i, 0.0)
                feet[i].touch_down[0], feet[i].touch_down[1] = x, y
        if feet[i].in_air == 0.0:
            continue
        home = False
        if p < duty:
            # The foot has touched down within this tick.
            feet[i].in_air, feet[i].place[2] = 0.0, 0.0
            feet[i].place[0], feet[i].place[1] = feet[i].touch_down[0], feet[i].touch_down[1]
            continue
        s = (p - duty) / (1.0 - duty)
        rate = 1.0 / ((1.0 - duty) * period)
        x, y = touch_down(walk, i, s)
        gain = min(1.0, 8.0 * (1.0 - s) * rate * dt)
        feet[i].touch_down[0] += gain * (x - feet[i].touch_down[0])
        feet[i].touch_down[1] += gain * (y - feet[i].touch_down[1])
        h, slope = cycle.over_ground(s)
        dx, dy = feet[i].touch_down[0] - feet[i].lift_off[0], feet[i].touch_down[1] - feet[i].lift_off[1]
        feet[i].place[0], feet[i].place[1] = feet[i].lift_off[0] + h * dx, feet[i].lift_off[1] + h * dy
        feet[i].rate[0] = slope * rate * dx - pace * (state.going[0] - state.going[2] * feet[i].place[1])
        feet[i].rate[1] = slope * rate * dy - pace * (state.going[1] + state.going[2] * feet[i].place[0])
        lift, lift_rate = cycle.lifted(s)
        feet[i].place[2], feet[i].rate[2] = plan.lift * lift, plan.lift * lift_rate * rate
    if plan.rows != 0.0 and state.phase < duty:
        return False  # the body is not on its belly
    return home and halting


def feet_are_in_place(walk):
    """Whether every foot stands at its foothold, within 1 mm."""
    for i in range(walk.legs_count):
        if walk.legs[i].used != 0.0:
            for k in range(2):
                if math.fabs(walk.feet[i].place[k] - walk.legs[i].foothold[k]) > 1e-3:
                    return False
            if walk.feet[i].place[2] > 1e-3:
                return False
    return True


def move_feet(walk):
    """Move the feet to their places while the belly carries the robot."""
    legs, state, feet = walk.legs, walk.state, walk.feet
    s = state.time / state.span
    h, slope = cycle.over_ground(min(1.0, s))
    for i in range(walk.legs_count):
        if legs[i].used == 0.0 or feet[i].back != 0.0:
            continue
        for k in range(2):
            way = legs[i].foothold[k] - feet[i].start[k]
            feet[i].place[k] = feet[i].start[k] + h * way
            feet[i].rate[k] = slope * way / state.span
        top = max(CLEAR, feet[i].start[2])
        up = leg_motion.minimum_jerk(s / 0.3)
        down = leg_motion.minimum_jerk((s - 0.7) / 0.3)
        feet[i].place[2] = (feet[i].start[2] + (top - feet[i].start[2]) * up) * (1.0 - down)
        feet[i].rate[2] = (top - feet[i].start[2]) * leg_motion.minimum_jerk_rate(s / 0.3) / (0.3 * state.span)
        feet[i].rate[2] -= top * leg_motion.minimum_jerk_rate((s - 0.7) / 0.3) / (0.3 * state.span)
        feet[i].in_air = 1.0 if s < 1.0 else 0.0


def place_all_feet(walk):
    """Place every foot as in a steady walk (or stand) with the twist and phase of the state."""
    plan, legs, state, feet = walk.plan, walk.legs, walk.state, walk.feet
    for i in range(walk.legs_count):
        if legs[i].used == 0.0:
            continue
        if state.mode != layout.WALK:
            feet[i].place[0], feet[i].place[1] = legs[i].foothold[0], legs[i].foothold[1]
            continue
        vx, vy, wz = state.going[0], state.going[1], state.going[2]
        x, y, lift, stands = cycle.cycle_foot(plan, legs, i, state.phase, vx, vy, wz)
        feet[i].place[0], feet[i].place[1], feet[i].place[2], feet[i].in_air = x, y, lift, 1.0 - stands
        if stands == 0:
            p = leg_motion.fraction(state.phase + legs[i].phase)
            s = (p - plan.duty) / (1.0 - plan.duty)
            rest = 0.0 if plan.rows != 0.0 else (1.0 - plan.duty) * plan.period
            before = cycle.stance_time(plan, plan.duty) + s * rest
            x, y = leg_motion.carried(legs[i].foothold[0], legs[i].foothold[1], vx, vy, wz, before)
            feet[i].lift_off[0], feet[i].lift_off[1] = x, y
            x, y = touch_down(walk, i, s)
            feet[i].touch_down[0], feet[i].touch_down[1] = x, y


def place_feet(walk):
    """Call `place_all_feet` on a WalkMemory, from Python."""
    place_all_feet(walk)
