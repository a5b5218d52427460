"""One tick of the adaptive gait, compiled: phase, feet and joints advance in place and nothing is allocated.

What the gait does is one of the modes of `adaptive_state`. A change of plan either puts the feet in the air down where
they are and goes on (SETTLE), or the robot sits down, moves all feet to their new places while the belly carries it,
and stands up (LOWER, MOVE, RISE).
"""

from math import cos, floor, sin, sqrt

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.adaptive_feet import asked, carry_ground, move_feet, put_feet_down, standing_rates, step_feet
from hexapod_dynamics.gait.adaptive_press import PRESSING, press_foot
from hexapod_dynamics.gait.adaptive_return import begin_return, end_return, feet_below, return_leg
from hexapod_dynamics.gait.adaptive_state import (
    ACCELERATION,
    ASKED_PERIOD,
    BACK,
    BELLY,
    BLEND,
    BLEND_TIME,
    BODY,
    BODY_OFFSET,
    DOWN,
    EASY,
    EASY_FOR,
    FAST,
    FOLDING,
    FROM,
    FROM_SWAY,
    GOING,
    HEIGHT_FROM,
    HEIGHT_NOW,
    HEIGHT_RATE,
    LEVEL_FOR,
    LOWER,
    MODE,
    MOVE,
    OFF,
    OFFSET,
    PHASE,
    PRESS,
    PRESSED,
    REFLEXES,
    RISE,
    SAT,
    SENSED,
    SETTLE,
    SPAN,
    SPEED,
    STAND,
    START,
    STAY,
    TILT,
    TILTED,
    TILTED_FOR,
    TIME,
    TURNING,
    TWIST,
    WALK,
    WEIGHT,
    XD,
    YAW,
    YAW_GAIN,
    YAW_LIMIT,
    YAW_REFERENCE,
    YD,
    ZD,
    X,
    Y,
    Z,
)
from hexapod_dynamics.gait.cycle import PERIOD, ROWS, raised, sway
from hexapod_dynamics.gait.leg_motion import lead_from, minimum_jerk, minimum_jerk_rate, set_leg
from hexapod_dynamics.gait.leg_table import REST, USED

# Speed [m/s] at which the body changes its height, and at which it shifts over its feet.
LIFTING, SHIFTING = 0.20, 0.09
# Shortest times [s] of lowering, rising; of moving, and with legs that came back; of lowering when the robot tilts.
LOWERING, MOVING, RETURNING, QUICK = 0.45, 0.6, 1.2, 0.3
# The body is level again below this share of the tilt that makes it sit, for so long [s]. A belly on sloping ground or
# on a stump may rest between that share and the tilt itself: there, time counts less.
LEVEL, LEVEL_TIME, INCLINED = 0.6, 0.3, 0.3
# A body beyond its tilt limit for so long [s], or beyond it by this factor, sits down. With a front leg lost in the
# middle of a step the body tilts by up to 13 degrees for up to 0.2 s, until the next feet are down: no reason to stop.
PATIENCE, BEYOND = 0.24, 1.9
# A rowing robot lies on its belly once in each cycle, and tips no further than from there: it may tilt more, by this
# factor.
ROWING_TILT = 1.5


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
    """Move the origin of the nominal frame to the present body position; the sway becomes zero."""
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
        state[PRESSED] = 0.0
        _bake(walk)
        state[HEIGHT_FROM] = state[HEIGHT_NOW]
        drop = max(0.0, state[HEIGHT_NOW] - settings[BELLY])
        state[SPAN] = QUICK if quick != 0 else max(0.1, min(LOWERING, drop / LIFTING))
    elif mode == MOVE:
        for i in range(feet.shape[0]):
            for k in range(3):
                feet[i, FROM + k] = feet[i, X + k]
        state[SPAN] = RETURNING if begin_return(walk) else MOVING
    elif mode == SETTLE:
        state[SPAN] = RETURNING if begin_return(walk) else 0.0
    elif mode == RISE:
        state[HEIGHT_FROM] = state[HEIGHT_NOW]
        state[SPAN] = max(0.1, min(LOWERING, (stand_height(walk) - state[HEIGHT_NOW]) / LIFTING))
    elif mode == START:
        state[WEIGHT] = 0.0
        dx = planned_sway(walk, 0)[0] - state[FROM_SWAY]
        dy = planned_sway(walk, 1)[0] - state[FROM_SWAY + 1]
        state[SPAN] = max(0.02, sqrt(dx * dx + dy * dy) / SHIFTING)
    elif mode == PRESS:
        state[SPAN] = PRESSING
    elif mode == STAND:
        state[FROM_SWAY], state[FROM_SWAY + 1] = _current_sway(walk, 0)[0], _current_sway(walk, 1)[0]
        state[WEIGHT] = 0.0


@kernel
def _go_on(walk):
    """Leave a mode in which all feet stand: press one down if that is due, else walk if that is asked, else stand."""
    if walk.state[PRESSED] != 0.0:
        enter(walk, PRESS, 0)
        return
    enter(walk, START, 0)
    if not asked(walk.command):
        walk.state[MODE] = STAND


@kernel
def stand_height(walk):
    """Return the height [m] of base_link when the robot stands (in the rowing gait: on its belly)."""
    if walk.plan[ROWS] != 0.0:
        return walk.settings[BELLY]
    return walk.settings[BODY]


@kernel
def _change_height(state, goal):
    """Move the height to the goal along minimum jerk over the mode's span."""
    s = min(1.0, state[TIME] / state[SPAN])
    state[HEIGHT_NOW] = state[HEIGHT_FROM] + minimum_jerk(s) * (goal - state[HEIGHT_FROM])
    state[HEIGHT_RATE] = minimum_jerk_rate(s) * (goal - state[HEIGHT_FROM]) / state[SPAN]


@kernel
def _advance_mode(walk, dt):
    """Execute the mode for dt [s], and change to the next mode when it has ended."""
    plan, settings, command, state = walk.plan, walk.settings, walk.command, walk.state
    mode = state[MODE]
    state[TIME] += dt
    share = 1.0 if mode == WALK else 0.0
    if state[FAST] != 0.0 and (mode == START or mode == SETTLE and state[SPAN] == 0.0):
        share = 0.4  # a change of plan while it walks does not stop it, unless legs came back
    if state[EASY_FOR] > 0.0:
        share = min(share, state[EASY])
        if mode == WALK:
            state[EASY_FOR] -= dt / plan[PERIOD]
    _follow_command(settings, command, state, share, dt)
    state[HEIGHT_RATE] = 0.0
    if mode == WALK or mode == STAND or mode == START or mode == SETTLE or mode == PRESS:
        goal = stand_height(walk)
        most = LIFTING * dt
        change = min(most, max(-most, goal - state[HEIGHT_NOW]))
        state[HEIGHT_NOW] += change
        state[HEIGHT_RATE] = change / dt
    if mode == WALK:
        change = min(dt, max(-dt, settings[ASKED_PERIOD] - plan[PERIOD]))
        plan[PERIOD] += change
        state[WEIGHT] = 1.0
        if step_feet(walk, dt):
            enter(walk, STAND, 0)
        return
    carry_ground(walk, dt)
    standing_rates(walk, 1.0)
    if mode == STAND:
        if asked(command):
            enter(walk, START, 0)
        elif state[FROM_SWAY] != 0.0 or state[FROM_SWAY + 1] != 0.0:
            # Back over the middle of the feet.
            left = sqrt(state[FROM_SWAY] ** 2 + state[FROM_SWAY + 1] ** 2)
            keep = max(0.0, 1.0 - SHIFTING * dt / left)
            state[FROM_SWAY] *= keep
            state[FROM_SWAY + 1] *= keep
        if state[SENSED] != 0.0 and not asked(command):
            state[YAW_REFERENCE] = state[YAW]
    elif mode == START:
        state[WEIGHT] = min(1.0, state[TIME] / state[SPAN])
        if state[TIME] >= state[SPAN]:
            state[FAST] = 0.0
            state[MODE] = WALK
    elif mode == SETTLE:
        feet_below(walk)
        if put_feet_down(walk, dt) and state[TIME] >= state[SPAN]:
            end_return(walk)
            _go_on(walk)
    elif mode == PRESS:
        if press_foot(walk):
            state[PRESSED] = 0.0
            _go_on(walk)
    elif mode == LOWER:
        put_feet_down(walk, dt)
        _change_height(state, settings[BELLY])
        if state[TIME] >= state[SPAN]:
            enter(walk, SAT, 0)
    elif mode == SAT:
        if state[SENSED] == 0.0 or settings[TILT] == 0.0 or state[TILTED] < LEVEL * settings[TILT]:
            state[LEVEL_FOR] += dt
        elif state[TILTED] < settings[TILT]:
            state[LEVEL_FOR] += INCLINED * dt
        else:
            state[LEVEL_FOR] = 0.0
        if state[SENSED] != 0.0 and state[STAY] != 0.0:
            state[YAW_REFERENCE] = state[YAW]
        if state[STAY] == 0.0 and (state[FAST] != 0.0 or state[LEVEL_FOR] >= LEVEL_TIME):
            enter(walk, MOVE, 0)
    elif mode == MOVE:
        feet_below(walk)
        move_feet(walk)
        if state[TIME] >= state[SPAN]:
            end_return(walk)
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
    for i in range(legs.shape[0]):
        if legs[i, USED] == 0.0 or feet[i, BACK] != 0.0 and state[MODE] != MOVE and state[MODE] != SETTLE:
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
        foot = r00 * x + r01 * y + r02 * z, r10 * x + r11 * y + r12 * z, r20 * x + r21 * y + r22 * z
        rate = r00 * xd + r01 * yd + r02 * zd, r10 * xd + r11 * yd + r12 * zd, r20 * xd + r21 * yd + r22 * zd
        set_leg(legs, i, foot, rate, settings[SPEED], q, qd)
        if feet[i, BACK] != 0.0:
            return_leg(walk, i, state[TIME] / state[SPAN], state[SPAN])


@kernel
def _shift_body(command, state, dt):
    """Let the offset of the body follow the one asked for, no faster than 5 cm/s and 0.4 rad/s."""
    for k in range(6):
        most = (0.05 if k < 3 else 0.4) * dt
        state[BODY_OFFSET + k] += min(most, max(-most, command[OFFSET + k] - state[BODY_OFFSET + k]))


@kernel
def _tipping(walk, dt):
    """Return whether the body is tilted so far, or for so long, that it must sit down."""
    settings, state = walk.settings, walk.state
    most = ROWING_TILT * settings[TILT] if walk.plan[ROWS] != 0.0 else settings[TILT]
    if most == 0.0 or state[SENSED] == 0.0 or state[TILTED] <= most:
        state[TILTED_FOR] = 0.0
        return False
    state[TILTED_FOR] += dt
    if state[TILTED] <= BEYOND * most and state[TILTED_FOR] < PATIENCE:
        return False
    state[TILTED_FOR] = 0.0
    return True


@kernel
def advance(walk, dt):
    """Advance the gait by dt [s] under its command; fill its position and velocity; dt = 0 only fills them."""
    command, state = walk.command, walk.state
    q, qd, start = walk.position, walk.velocity, walk.start
    blending = state[BLEND] < state[BLEND_TIME]
    if dt > 0.0:
        if blending:
            state[BLEND] = min(state[BLEND] + dt, state[BLEND_TIME])
        else:
            mode = state[MODE]
            if mode != LOWER and mode != SAT and mode != MOVE and _tipping(walk, dt):
                state[REFLEXES] += 1.0
                state[FAST] = 0.0
                state[LEVEL_FOR] = 0.0
                enter(walk, LOWER, 1)
            _shift_body(command, state, dt)
            _advance_mode(walk, dt)
    _joints(walk, dt)
    if blending:
        lead_from(start, state[BLEND], state[BLEND_TIME], q, qd)


@kernel
def place_of_body(walk):
    """Return the sway (x, y) [m] of the body now, and how far [m] a rowing body is off its belly."""
    up = raised(walk.plan, walk.state[PHASE])[0] if walk.state[MODE] == WALK else 0.0
    return (_current_sway(walk, 0)[0], _current_sway(walk, 1)[0]), up
