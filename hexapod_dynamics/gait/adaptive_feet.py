"""Motion of the feet of the adaptive gait, compiled: stance, swing, lowering, and placement while the belly carries.

Feet are points of the ground as seen from the nominal frame (see `cycle`), so a standing foot never slides, however the
twist changes. In a steady walk they are where `cycle.cycle_foot` has them.
"""

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.adaptive_state import (
    AIR,
    BACK,
    DOWN,
    FROM,
    GOING,
    MODE,
    OFF,
    PHASE,
    SPAN,
    TIME,
    WALK,
    XD,
    YD,
    ZD,
    X,
    Y,
    Z,
)
from hexapod_dynamics.gait.cycle import DUTY, LIFT, PERIOD, ROWS, cycle_foot, lifted, over_ground, progress, stance_time
from hexapod_dynamics.gait.leg_motion import carried, minimum_jerk, minimum_jerk_rate
from hexapod_dynamics.gait.leg_table import FOOTHOLD, USED
from hexapod_dynamics.gait.leg_table import PHASE as LEG_PHASE

# A twist below this [m/s, rad/s] is standing; a foot nearer than NEAR [m] to its foothold is home.
STANDING, NEAR = 1e-4, 1e-4
# Speed [m/s] at which feet are put down, and height [m] over the ground to which they are lifted on the belly.
SETTLING, CLEAR = 0.16, 0.03


@kernel
def going(state):
    """Whether the twist that the feet follow is above the threshold of standing."""
    return abs(state[GOING]) > STANDING or abs(state[GOING + 1]) > STANDING or abs(state[GOING + 2]) > 10.0 * STANDING


@kernel
def asked(command):
    """Whether the command is above the threshold of standing."""
    return abs(command[0]) > STANDING or abs(command[1]) > STANDING or abs(command[2]) > 10.0 * STANDING


@kernel
def touch_down(walk, i, s):
    """Return the point of the ground on which a foot at the fraction s of its swing will step, as seen now."""
    plan, legs, state = walk.plan, walk.legs, walk.state
    rest = 0.0 if plan[ROWS] != 0.0 else (1.0 - plan[DUTY]) * plan[PERIOD]
    after = stance_time(plan, plan[DUTY]) + (1.0 - s) * rest
    return carried(legs[i, FOOTHOLD], legs[i, FOOTHOLD + 1], state[GOING], state[GOING + 1], state[GOING + 2], -after)


@kernel
def carry_ground(walk, dt):
    """Move all ground points by dt [s] at the present twist, in the frame of the body."""
    feet, state = walk.feet, walk.state
    vx, vy, wz = state[GOING], state[GOING + 1], state[GOING + 2]
    for i in range(feet.shape[0]):
        for k in (X, OFF, DOWN):
            x, y = carried(feet[i, k], feet[i, k + 1], vx, vy, wz, dt)
            feet[i, k], feet[i, k + 1] = x, y


@kernel
def standing_rates(walk, pace):
    """Set the rates of all feet to those of the ground, at the twist times pace."""
    feet, state = walk.feet, walk.state
    for i in range(feet.shape[0]):
        feet[i, XD] = -pace * (state[GOING] - state[GOING + 2] * feet[i, Y])
        feet[i, YD] = -pace * (state[GOING + 1] + state[GOING + 2] * feet[i, X])
        feet[i, ZD] = 0.0


@kernel
def put_feet_down(walk, dt):
    """Lower the feet that are in the air vertically; return whether all stand."""
    feet, legs = walk.feet, walk.legs
    down = True
    for i in range(feet.shape[0]):
        if legs[i, USED] == 0.0 or feet[i, BACK] != 0.0:
            continue
        if feet[i, Z] < 0.0:  # it was pressed down
            feet[i, Z] = min(0.0, feet[i, Z] + SETTLING * dt)
            feet[i, ZD] = SETTLING if feet[i, Z] < 0.0 else 0.0
            down = down and feet[i, Z] == 0.0
        elif feet[i, AIR] != 0.0:
            feet[i, Z] = max(0.0, feet[i, Z] - SETTLING * dt)
            feet[i, ZD] = -SETTLING
            if feet[i, Z] == 0.0:
                feet[i, AIR] = feet[i, ZD] = 0.0
            else:
                down = False
    return down


@kernel
def step_feet(walk, dt):
    """Advance phase and feet by dt [s]; return whether all feet are at their footholds."""
    plan, legs, command, state, feet = walk.plan, walk.legs, walk.command, walk.state, walk.feet
    duty, period = plan[DUTY], plan[PERIOD]
    phase = state[PHASE]
    after = phase + dt / period
    pace, carry = 1.0, dt
    if plan[ROWS] != 0.0:
        begin, end = progress(plan, phase)[0], progress(plan, after % 1.0)[0]
        carry = (end - begin + (1.0 if after >= 1.0 else 0.0)) * period
        pace = progress(plan, after % 1.0)[1]
    state[PHASE] = after % 1.0
    carry_ground(walk, carry)
    standing_rates(walk, pace)
    halting = not asked(command) and not going(state)
    home = True
    for i in range(legs.shape[0]):
        if legs[i, USED] == 0.0:
            continue
        before = (phase + legs[i, LEG_PHASE]) % 1.0
        p = (state[PHASE] + legs[i, LEG_PHASE]) % 1.0
        if feet[i, AIR] == 0.0:
            dx, dy = feet[i, X] - legs[i, FOOTHOLD], feet[i, Y] - legs[i, FOOTHOLD + 1]
            near = dx * dx + dy * dy < NEAR * NEAR
            if not near:
                home = False
            if before < duty <= p and not (halting and near):
                feet[i, AIR] = 1.0
                feet[i, OFF], feet[i, OFF + 1] = feet[i, X], feet[i, Y]
                x, y = touch_down(walk, i, 0.0)
                feet[i, DOWN], feet[i, DOWN + 1] = x, y
        if feet[i, AIR] == 0.0:
            continue
        home = False
        if p < duty:
            # Touched down within this tick.
            feet[i, AIR], feet[i, Z] = 0.0, 0.0
            feet[i, X], feet[i, Y] = feet[i, DOWN], feet[i, DOWN + 1]
            continue
        s = (p - duty) / (1.0 - duty)
        rate = 1.0 / ((1.0 - duty) * period)
        x, y = touch_down(walk, i, s)
        gain = min(1.0, 8.0 * (1.0 - s) * rate * dt)
        feet[i, DOWN] += gain * (x - feet[i, DOWN])
        feet[i, DOWN + 1] += gain * (y - feet[i, DOWN + 1])
        h, slope = over_ground(s)
        dx, dy = feet[i, DOWN] - feet[i, OFF], feet[i, DOWN + 1] - feet[i, OFF + 1]
        feet[i, X], feet[i, Y] = feet[i, OFF] + h * dx, feet[i, OFF + 1] + h * dy
        feet[i, XD] = slope * rate * dx - pace * (state[GOING] - state[GOING + 2] * feet[i, Y])
        feet[i, YD] = slope * rate * dy - pace * (state[GOING + 1] + state[GOING + 2] * feet[i, X])
        lift, lift_rate = lifted(s)
        feet[i, Z], feet[i, ZD] = plan[LIFT] * lift, plan[LIFT] * lift_rate * rate
    if plan[ROWS] != 0.0 and state[PHASE] < duty:
        return False  # not on its belly
    return home and halting


@kernel
def move_feet(walk):
    """Move the feet to their places while the belly carries the robot."""
    legs, state, feet = walk.legs, walk.state, walk.feet
    s = state[TIME] / state[SPAN]
    h, slope = over_ground(min(1.0, s))
    for i in range(legs.shape[0]):
        if legs[i, USED] == 0.0 or feet[i, BACK] != 0.0:
            continue
        for k in range(2):
            way = legs[i, FOOTHOLD + k] - feet[i, FROM + k]
            feet[i, X + k] = feet[i, FROM + k] + h * way
            feet[i, XD + k] = slope * way / state[SPAN]
        top = max(CLEAR, feet[i, FROM + 2])
        up = minimum_jerk(s / 0.3)
        down = minimum_jerk((s - 0.7) / 0.3)
        feet[i, Z] = (feet[i, FROM + 2] + (top - feet[i, FROM + 2]) * up) * (1.0 - down)
        feet[i, ZD] = (top - feet[i, FROM + 2]) * minimum_jerk_rate(s / 0.3) / (0.3 * state[SPAN])
        feet[i, ZD] -= top * minimum_jerk_rate((s - 0.7) / 0.3) / (0.3 * state[SPAN])
        feet[i, AIR] = 1.0 if s < 1.0 else 0.0


@kernel
def place_feet(walk):
    """Put every foot where a steady walk (or stand) with the state's twist and phase has it."""
    plan, legs, state, feet = walk.plan, walk.legs, walk.state, walk.feet
    for i in range(legs.shape[0]):
        if legs[i, USED] == 0.0:
            continue
        if state[MODE] != WALK:
            feet[i, X], feet[i, Y] = legs[i, FOOTHOLD], legs[i, FOOTHOLD + 1]
            continue
        vx, vy, wz = state[GOING], state[GOING + 1], state[GOING + 2]
        x, y, lift, stands = cycle_foot(plan, legs, i, state[PHASE], vx, vy, wz)
        feet[i, X], feet[i, Y], feet[i, Z], feet[i, AIR] = x, y, lift, 1.0 - stands
        if stands == 0:
            p = (state[PHASE] + legs[i, LEG_PHASE]) % 1.0
            s = (p - plan[DUTY]) / (1.0 - plan[DUTY])
            rest = 0.0 if plan[ROWS] != 0.0 else (1.0 - plan[DUTY]) * plan[PERIOD]
            before = stance_time(plan, plan[DUTY]) + s * rest
            x, y = carried(legs[i, FOOTHOLD], legs[i, FOOTHOLD + 1], vx, vy, wz, before)
            feet[i, OFF], feet[i, OFF + 1] = x, y
            x, y = touch_down(walk, i, s)
            feet[i, DOWN], feet[i, DOWN + 1] = x, y
