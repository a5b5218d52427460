"""One tick of the adaptive gait, compiled: phase, feet and joints advance in place and nothing is allocated.

Feet are kept as points of the ground as seen from the nominal frame (see `cycle`), so a standing foot never slides,
however the twist changes. In a steady walk they are where `cycle.cycle_foot` has them. What the gait does is one of the
modes below; changes of plan either put the feet in the air down where they are and go on (SETTLE), or sit down, put all
feet to their new places while the belly carries the robot, and stand up (LOWER, MOVE, RISE).
"""

from collections import namedtuple
from math import cos, floor, sin, sqrt

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.cycle import (
    DUTY,
    LIFT,
    PERIOD,
    ROWS,
    cycle_foot,
    lifted,
    minimum_jerk,
    minimum_jerk_rate,
    over_ground,
    progress,
    raised,
    stance_time,
    sway,
)
from hexapod_dynamics.gait.kernel import carried
from hexapod_dynamics.gait.leg_table import (
    FOOTHOLD,
    FREE,
    HELD,
    KNEE,
    LENGTHS,
    MOUNT,
    REST,
    UPPER,
    USED,
)
from hexapod_dynamics.gait.leg_table import (
    LOWER as LOWER_LIMIT,
)
from hexapod_dynamics.gait.leg_table import (
    PHASE as LEG_PHASE,
)
from hexapod_dynamics.kinematics.three_joint_leg import place_foot

# What the gait does. STAND: feet planted. START: shifts the body over its feet before the first step. WALK.
# SETTLE: puts feet that are in the air down where they are. LOWER: sits down. MOVE: feet to their places, on the belly.
# SAT: stays on the belly. RISE: stands up.
STAND, START, WALK, SETTLE, LOWER, MOVE, SAT, RISE = range(8)

# Settings: limits of acceleration [m/s^2, rad/s^2], servo speed [rad/s], gain [1/s] and limit [rad/s] of the yaw hold
# (0: none), tilt [rad] that makes the robot sit down (0: none), height [m] of base_link on its belly, body height asked
# for [m], period asked for [s], speed at which legs are held up [rad/s].
ACCELERATION, TURNING, SPEED, YAW_GAIN, YAW_LIMIT, TILT, BELLY, BODY, ASKED_PERIOD, FOLDING, SETTINGS = range(11)
# Command: twist (3), then offset of the body over its feet: x, y, z [m], roll, pitch, yaw [rad].
OFFSET, COMMAND = 3, 9
# State: see the names. TWIST: commanded twist as it is followed (3); GOING: that with yaw hold (3); BODY_OFFSET (6).
MODE, PHASE, TIME, SPAN, WEIGHT, TWIST, GOING, YAW, YAW_REFERENCE, SENSED, TILTED = 0, 1, 2, 3, 4, 5, 8, 11, 12, 13, 14
HEIGHT_NOW, HEIGHT_RATE, HEIGHT_FROM, FROM_SWAY, BODY_OFFSET, BLEND, BLEND_TIME, STAY = 15, 16, 17, 18, 20, 26, 27, 28
REFLEXES, LEVEL_FOR, FAST, PERIOD_NOW, STATE = 29, 30, 31, 32, 33
# A foot: place (x, y), lift; rates of the three; point of the ground where it lifted off, where it will touch down;
# whether it is in the air; place and lift from which a move began.
X, Y, Z, XD, YD, ZD, OFF, DOWN, AIR, FROM, FEET = 0, 1, 2, 3, 4, 5, 6, 8, 10, 11, 14

Walk = namedtuple("Walk", "plan legs settings command state feet start position velocity")

# A twist below this [m/s, rad/s] is standing; a foot nearer than NEAR [m] to its foothold is home.
STANDING, NEAR = 1e-4, 5e-4
# Speed [m/s] at which feet are put down and the body changes its height, and at which the body shifts over its feet.
SETTLING, LIFTING, SHIFTING = 0.16, 0.20, 0.09
# Shortest times [s] of lowering, rising, moving; of lowering when the robot tilts.
LOWERING, MOVING, QUICK = 0.45, 0.6, 0.3
# Height [m] over the ground to which feet are lifted when the robot sits.
CLEAR = 0.03
# The body is level again below this share of the tilt that made it sit, for so long [s].
LEVEL, LEVEL_TIME = 0.6, 0.3


@kernel
def going(state):
    """Tell whether the twist that the feet follow is more than standing."""
    return abs(state[GOING]) > STANDING or abs(state[GOING + 1]) > STANDING or abs(state[GOING + 2]) > 10.0 * STANDING


@kernel
def asked(command):
    """Tell whether the command is more than standing."""
    return abs(command[0]) > STANDING or abs(command[1]) > STANDING or abs(command[2]) > 10.0 * STANDING


@kernel
def _follow_command(settings, command, state, share, dt):
    """Let the twist follow a share of the command with limited acceleration; add the yaw hold."""
    dx, dy = share * command[0] - state[TWIST], share * command[1] - state[TWIST + 1]
    distance, most = sqrt(dx * dx + dy * dy), settings[ACCELERATION] * dt
    scale = most / distance if distance > most else 1.0
    state[TWIST] += scale * dx
    state[TWIST + 1] += scale * dy
    turn, most = share * command[2] - state[TWIST + 2], settings[TURNING] * dt
    state[TWIST + 2] += min(most, max(-most, turn))
    for k in range(3):
        state[GOING + k] = state[TWIST + k]
    if settings[YAW_GAIN] > 0.0 and state[SENSED] != 0.0 and share > 0.0 and asked(command):
        state[YAW_REFERENCE] += state[TWIST + 2] * dt
        error = state[YAW_REFERENCE] - state[YAW]
        error -= 6.283185307179586 * floor(error / 6.283185307179586 + 0.5)
        limit = settings[YAW_LIMIT]
        wanted = min(limit, max(-limit, settings[YAW_GAIN] * error))
        # The correction fades in with the walk, so that a robot at rest does not turn.
        state[GOING + 2] += wanted


@kernel
def planned_sway(walk, axis):
    """Return the sway of the plan at the present phase and twist, and its rate per unit of phase."""
    state = walk.state
    return sway(walk.plan, state[PHASE], axis, state[TWIST], state[TWIST + 1], state[TWIST + 2])


@kernel
def _current_sway(walk, axis):
    """Return the body's sway now and its rate per unit of phase; weights between an old sway and that of the plan."""
    state = walk.state
    w = minimum_jerk(state[WEIGHT])
    value, rate = planned_sway(walk, axis)
    return (1.0 - w) * state[FROM_SWAY + axis] + w * value, w * rate, value


@kernel
def _bake(walk):
    """Take the body's present place as the origin of the nominal frame: no sway is left."""
    sx, sy = _current_sway(walk, 0)[0], _current_sway(walk, 1)[0]
    for i in range(walk.legs.shape[0]):
        walk.feet[i, X] -= sx
        walk.feet[i, Y] -= sy
        for k in (OFF, DOWN):
            walk.feet[i, k] -= sx
            walk.feet[i, k + 1] -= sy
    walk.state[WEIGHT], walk.state[FROM_SWAY], walk.state[FROM_SWAY + 1] = 0.0, 0.0, 0.0


@kernel
def enter(walk, mode, quick):
    """Begin a mode; quick: sit down as fast as possible."""
    state, feet, settings = walk.state, walk.feet, walk.settings
    state[MODE], state[TIME] = mode, 0.0
    if mode == LOWER:
        _bake(walk)
        state[HEIGHT_FROM] = state[HEIGHT_NOW]
        drop = max(0.0, state[HEIGHT_NOW] - settings[BELLY])
        state[SPAN] = QUICK if quick != 0 else max(0.1, min(LOWERING, drop / LIFTING))
    elif mode == MOVE:
        state[SPAN] = MOVING
        for i in range(feet.shape[0]):
            for k in range(3):
                feet[i, FROM + k] = feet[i, X + k]
    elif mode == RISE:
        state[HEIGHT_FROM] = state[HEIGHT_NOW]
        state[SPAN] = max(0.1, min(LOWERING, (stand_height(walk) - state[HEIGHT_NOW]) / LIFTING))
    elif mode == START:
        state[WEIGHT] = 0.0
        dx = planned_sway(walk, 0)[0] - state[FROM_SWAY]
        dy = planned_sway(walk, 1)[0] - state[FROM_SWAY + 1]
        state[SPAN] = max(0.02, sqrt(dx * dx + dy * dy) / SHIFTING)
    elif mode == STAND:
        state[FROM_SWAY], state[FROM_SWAY + 1] = _current_sway(walk, 0)[0], _current_sway(walk, 1)[0]
        state[WEIGHT] = 0.0


@kernel
def stand_height(walk):
    """Return the height [m] of base_link at which the robot stands (a rowing one: sits)."""
    if walk.plan[ROWS] != 0.0:
        return walk.settings[BELLY]
    return walk.settings[BODY]


@kernel
def _touch_down(walk, i, s):
    """Return the point of the ground on which a foot at the fraction s of its swing will step, as seen now."""
    plan, legs, state = walk.plan, walk.legs, walk.state
    rest = 0.0 if plan[ROWS] != 0.0 else (1.0 - plan[DUTY]) * plan[PERIOD]
    after = stance_time(plan, plan[DUTY]) + (1.0 - s) * rest
    return carried(legs[i, FOOTHOLD], legs[i, FOOTHOLD + 1], state[GOING], state[GOING + 1], state[GOING + 2], -after)


@kernel
def _carry(walk, dt):
    """Move all points of the ground on by dt [s] at the present twist, as the body sees them."""
    feet, state = walk.feet, walk.state
    vx, vy, wz = state[GOING], state[GOING + 1], state[GOING + 2]
    for i in range(feet.shape[0]):
        for k in (X, OFF, DOWN):
            x, y = carried(feet[i, k], feet[i, k + 1], vx, vy, wz, dt)
            feet[i, k], feet[i, k + 1] = x, y


@kernel
def _standing_rates(walk, pace):
    """Set the rates of all feet to those of the ground, at the twist times pace."""
    feet, state = walk.feet, walk.state
    for i in range(feet.shape[0]):
        feet[i, XD] = -pace * (state[GOING] - state[GOING + 2] * feet[i, Y])
        feet[i, YD] = -pace * (state[GOING + 1] + state[GOING + 2] * feet[i, X])
        feet[i, ZD] = 0.0


@kernel
def _put_down(walk, dt):
    """Lower the feet that are in the air where they are; tell whether all of them stand."""
    feet, legs = walk.feet, walk.legs
    down = True
    for i in range(feet.shape[0]):
        if legs[i, USED] != 0.0 and feet[i, AIR] != 0.0:
            feet[i, Z] = max(0.0, feet[i, Z] - SETTLING * dt)
            feet[i, ZD] = -SETTLING
            if feet[i, Z] == 0.0:
                feet[i, AIR] = feet[i, ZD] = 0.0
            else:
                down = False
    return down


@kernel
def _step(walk, dt):
    """Walk on by dt [s]: the phase, the feet that lift off, swing and touch down; tell whether all is home."""
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
    _carry(walk, carry)
    _standing_rates(walk, pace)
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
                x, y = _touch_down(walk, i, 0.0)
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
        x, y = _touch_down(walk, i, s)
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
def _move(walk):
    """Move the feet to their places while the belly carries the robot."""
    legs, state, feet = walk.legs, walk.state, walk.feet
    s = state[TIME] / state[SPAN]
    h, slope = over_ground(min(1.0, s))
    for i in range(legs.shape[0]):
        if legs[i, USED] == 0.0:
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
def _change_height(state, goal):
    """Move the height to the goal along minimum jerk over the mode's span."""
    s = min(1.0, state[TIME] / state[SPAN])
    state[HEIGHT_NOW] = state[HEIGHT_FROM] + minimum_jerk(s) * (goal - state[HEIGHT_FROM])
    state[HEIGHT_RATE] = minimum_jerk_rate(s) * (goal - state[HEIGHT_FROM]) / state[SPAN]


@kernel
def _advance_mode(walk, dt):
    """Do what the mode asks for during dt [s], and change to the next mode when it is done."""
    plan, settings, command, state = walk.plan, walk.settings, walk.command, walk.state
    mode = state[MODE]
    state[TIME] += dt
    share = 1.0 if mode == WALK else 0.0
    if state[FAST] != 0.0 and (mode == SETTLE or mode == START):
        share = 0.4  # a change of plan while it walks does not stop it
    _follow_command(settings, command, state, share, dt)
    state[HEIGHT_RATE] = 0.0
    if mode == WALK or mode == STAND or mode == START or mode == SETTLE:
        goal = stand_height(walk)
        most = LIFTING * dt
        change = min(most, max(-most, goal - state[HEIGHT_NOW]))
        state[HEIGHT_NOW] += change
        state[HEIGHT_RATE] = change / dt
    if mode == WALK:
        change = min(dt, max(-dt, settings[ASKED_PERIOD] - plan[PERIOD]))
        plan[PERIOD] += change
        state[WEIGHT] = 1.0
        if _step(walk, dt):
            enter(walk, STAND, 0)
        return
    _carry(walk, dt)
    _standing_rates(walk, 1.0)
    if mode == STAND:
        if asked(command):
            enter(walk, START, 0)
        elif state[FROM_SWAY] != 0.0 or state[FROM_SWAY + 1] != 0.0:
            # Back over the middle of the feet.
            left = sqrt(state[FROM_SWAY] ** 2 + state[FROM_SWAY + 1] ** 2)
            keep = max(0.0, 1.0 - SHIFTING * dt / left)
            state[FROM_SWAY] *= keep
            state[FROM_SWAY + 1] *= keep
        if state[SENSED] != 0.0:
            state[YAW_REFERENCE] = state[YAW]
    elif mode == START:
        state[WEIGHT] = min(1.0, state[TIME] / state[SPAN])
        if state[TIME] >= state[SPAN]:
            state[FAST] = 0.0
            state[MODE] = WALK
    elif mode == SETTLE:
        if _put_down(walk, dt):
            enter(walk, START, 0)
            if not asked(command):
                state[MODE] = STAND
    elif mode == LOWER:
        _put_down(walk, dt)
        _change_height(state, settings[BELLY])
        if state[TIME] >= state[SPAN]:
            enter(walk, SAT, 0)
    elif mode == SAT:
        level = state[SENSED] == 0.0 or settings[TILT] == 0.0 or state[TILTED] < LEVEL * settings[TILT]
        state[LEVEL_FOR] = state[LEVEL_FOR] + dt if level else 0.0
        if state[STAY] == 0.0 and (state[FAST] != 0.0 or state[LEVEL_FOR] >= LEVEL_TIME):
            enter(walk, MOVE, 0)
    elif mode == MOVE:
        _move(walk)
        if state[TIME] >= state[SPAN]:
            enter(walk, RISE, 0)
    elif mode == RISE:
        _change_height(state, stand_height(walk))
        if state[TIME] >= state[SPAN]:
            state[FAST] = 0.0
            enter(walk, STAND, 0)


@kernel
def _joints(walk, dt):
    """Turn feet, sway, height and offset of the body into joint angles and rates."""
    plan, legs, settings, state, feet = walk.plan, walk.legs, walk.settings, walk.state, walk.feet
    q, qd = walk.position, walk.velocity
    sx, sxd, _ = _current_sway(walk, 0)
    sy, syd, _ = _current_sway(walk, 1)
    pace = 1.0 / plan[PERIOD] if state[MODE] == WALK else 0.0
    sxd, syd = sxd * pace, syd * pace
    if state[MODE] == START and state[WEIGHT] < 1.0:
        rate = minimum_jerk_rate(state[WEIGHT]) / state[SPAN]
        sxd = rate * (planned_sway(walk, 0)[0] - state[FROM_SWAY])
        syd = rate * (planned_sway(walk, 1)[0] - state[FROM_SWAY + 1])
    up, up_rate = 0.0, 0.0
    if state[MODE] == WALK:
        up, up_rate = raised(plan, state[PHASE])
        up_rate *= pace
    height, height_rate = state[HEIGHT_NOW] + up, state[HEIGHT_RATE] + up_rate
    o = BODY_OFFSET
    cr, sr, cp, sp = cos(state[o + 3]), sin(state[o + 3]), cos(state[o + 4]), sin(state[o + 4])
    cy, sy_ = cos(state[o + 5]), sin(state[o + 5])
    # Rows of the rotation body <- level frame (transpose of Rz Ry Rx).
    r00, r01, r02 = cy * cp, sy_ * cp, -sp
    r10, r11, r12 = cy * sp * sr - sy_ * cr, sy_ * sp * sr + cy * cr, cp * sr
    r20, r21, r22 = cy * sp * cr + sy_ * sr, sy_ * sp * cr - cy * sr, cp * cr
    limit = settings[SPEED]
    for i in range(legs.shape[0]):
        if legs[i, USED] == 0.0:
            for k in range(3):
                j = 3 * i + k
                way = legs[i, REST + k] - q[j]
                most = settings[FOLDING] * dt
                move = min(most, max(-most, way))
                q[j] += move
                qd[j] = move / dt if dt > 0.0 else 0.0
            continue
        x, y, z = feet[i, X] - sx - state[o], feet[i, Y] - sy - state[o + 1], feet[i, Z] - height - state[o + 2]
        xd, yd, zd = feet[i, XD] - sxd, feet[i, YD] - syd, feet[i, ZD] - height_rate
        dx = r00 * x + r01 * y + r02 * z - legs[i, MOUNT]
        dy = r10 * x + r11 * y + r12 * z - legs[i, MOUNT + 1]
        dz = r20 * x + r21 * y + r22 * z - legs[i, MOUNT + 2]
        xd, yd, zd = (
            r00 * xd + r01 * yd + r02 * zd,
            r10 * xd + r11 * yd + r12 * zd,
            r20 * xd + r21 * yd + r22 * zd,
        )
        (
            q[3 * i],
            q[3 * i + 1],
            q[3 * i + 2],
            qd[3 * i],
            qd[3 * i + 1],
            qd[3 * i + 2],
        ) = place_foot(
            legs[i, 0] * dx + legs[i, 1] * dy + legs[i, 2] * dz,
            legs[i, 3] * dx + legs[i, 4] * dy + legs[i, 5] * dz,
            legs[i, 6] * dx + legs[i, 7] * dy + legs[i, 8] * dz,
            legs[i, 0] * xd + legs[i, 1] * yd + legs[i, 2] * zd,
            legs[i, 3] * xd + legs[i, 4] * yd + legs[i, 5] * zd,
            legs[i, 6] * xd + legs[i, 7] * yd + legs[i, 8] * zd,
            legs[i, LENGTHS],
            legs[i, LENGTHS + 1],
            legs[i, LENGTHS + 2],
            legs[i, FREE] != 0.0,
            legs[i, FREE + 1] != 0.0,
            legs[i, FREE + 2] != 0.0,
            legs[i, HELD],
            legs[i, HELD + 1],
            legs[i, HELD + 2],
            legs[i, KNEE],
            legs[i, KNEE + 1],
        )
        for k in range(3):
            j = 3 * i + k
            if legs[i, FREE + k] != 0.0 and (q[j] < legs[i, LOWER_LIMIT + k] or q[j] > legs[i, UPPER + k]):
                q[j] = min(legs[i, UPPER + k], max(legs[i, LOWER_LIMIT + k], q[j]))
                qd[j] = 0.0
            qd[j] = min(limit, max(-limit, qd[j]))


@kernel
def _shift_body(command, state, dt):
    """Let the offset of the body follow the one asked for, no faster than 5 cm/s and 0.4 rad/s."""
    for k in range(6):
        most = (0.05 if k < 3 else 0.4) * dt
        state[BODY_OFFSET + k] += min(most, max(-most, command[OFFSET + k] - state[BODY_OFFSET + k]))


@kernel
def advance(walk, dt):
    """Advance the gait by dt [s] under its command; fill its position and velocity; dt = 0 only fills them."""
    settings, command, state = walk.settings, walk.command, walk.state
    q, qd, start = walk.position, walk.velocity, walk.start
    blending = state[BLEND] < state[BLEND_TIME]
    if dt > 0.0:
        if blending:
            state[BLEND] = min(state[BLEND] + dt, state[BLEND_TIME])
        else:
            mode = state[MODE]
            if (
                settings[TILT] > 0.0
                and state[SENSED] != 0.0
                and state[TILTED] > settings[TILT]
                and mode != LOWER
                and mode != SAT
                and mode != MOVE
            ):
                state[REFLEXES] += 1.0
                state[FAST] = 0.0
                state[LEVEL_FOR] = 0.0
                enter(walk, LOWER, 1)
            _shift_body(command, state, dt)
            _advance_mode(walk, dt)
    _joints(walk, dt)
    if blending:
        s = state[BLEND] / state[BLEND_TIME]
        h, slope = minimum_jerk(s), minimum_jerk_rate(s) / state[BLEND_TIME]
        for j in range(q.size):
            qd[j] = slope * (q[j] - start[j]) + h * qd[j]
            q[j] = start[j] + h * (q[j] - start[j])


@kernel
def place_of_body(walk):
    """Return the sway (x, y) [m] of the body now, and how far [m] a rowing body is off its belly."""
    up = raised(walk.plan, walk.state[PHASE])[0] if walk.state[MODE] == WALK else 0.0
    return (_current_sway(walk, 0)[0], _current_sway(walk, 1)[0]), up


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
            x, y = _touch_down(walk, i, s)
            feet[i, DOWN], feet[i, DOWN + 1] = x, y
