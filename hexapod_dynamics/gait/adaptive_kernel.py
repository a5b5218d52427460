"""One tick of the adaptive gait, compiled: phase, feet and joints advance in place and nothing is allocated.

The action of the gait is one of the modes of `adaptive_state`. At a change of plan, the robot either puts the feet
in the air down where they are and walks on (SETTLE), or it sits down, moves all feet to their new places while the
belly carries it, and stands up (LOWER, MOVE, RISE).
"""

import math

from hexapod_dynamics.gait import adaptive_feet, adaptive_press, adaptive_return, cycle, leg_motion
from hexapod_dynamics.gait import adaptive_state as layout

# Speed [m/s] at which the body changes its height, and at which it shifts over its feet; largest acceleration [m/s^2]
# with which it takes up the speed of the plan's sway: without a limit its start looks like a push.
LIFTING, SHIFTING, STARTING = 0.20, 0.09, 4.0
# Shortest times [s]: of lowering and rising; of moving, without and with restored legs; of lowering when the robot
# tilts.
LOWERING, MOVING, RETURNING, QUICK = 0.45, 0.6, 1.2, 0.3
IN_PLACE = 0.02  # [s] of MOVE if all feet already stand at their places
# The body is level again when its tilt was below this share of the tilt limit for this long [s]. A belly on sloping
# ground or on a stump may rest at a tilt between that share and the limit; there, time counts less.
LEVEL, LEVEL_TIME, INCLINED = 0.6, 0.3, 0.3
# The robot sits down if its tilt exceeds the limit for this long [s], or exceeds it by this factor. When a front leg is
# lost in the middle of a step, the body tilts by up to 13 degrees for up to 0.2 s, until the next feet are down; that
# is no reason to stop.
PATIENCE, BEYOND = 0.24, 1.9
# A rowing robot lies on its belly once in each cycle and cannot tip far from there: its tilt limit is larger by this
# factor.
ROWING_TILT = 1.5


def _follow_command(settings, command, state, share, dt):
    """Let the twist follow a share of the command with limited acceleration; add the yaw hold."""
    dx, dy = share * command.twist[0] - state.twist[0], share * command.twist[1] - state.twist[1]
    distance, most = math.sqrt(dx * dx + dy * dy), settings.acceleration * dt
    scale = most / distance if distance > most else 1.0
    state.twist[0] += scale * dx
    state.twist[1] += scale * dy
    turn, most = share * command.twist[2] - state.twist[2], settings.turning * dt
    state.twist[2] += min(most, max(-most, turn))
    for k in range(3):
        state.going[k] = state.twist[k]
    if settings.yaw_gain > 0.0 and state.sensed != 0.0 and share > 0.0 and adaptive_feet.asked(command):
        state.yaw_reference += state.twist[2] * dt
        error = state.yaw_reference - state.yaw
        error -= 6.283185307179586 * math.floor(error / 6.283185307179586 + 0.5)
        limit = settings.yaw_limit
        wanted = min(limit, max(-limit, settings.yaw_gain * error))
        # The correction increases with the walk's speed, so that a robot at rest does not turn.
        state.going[2] += wanted


def _pace(plan):
    """Return the cycles per second [1/s] of a plan; 0 without a plan, whose period is zero."""
    return 1.0 / plan.period if plan.period > 0.0 else 0.0


def planned_sway(walk, axis):
    """Return the sway of the plan at the present phase and twist, and its rate per unit of phase."""
    state = walk.state
    return cycle.sway(walk.plan, state.phase, axis, state.twist[0], state.twist[1], state.twist[2])


def _current_sway(walk, axis):
    """Return the body's present sway and its rate per unit of phase, a weighted mean of an old sway and that of
    the plan.

    While the body shifts from one to the other, it takes up the speed of the plan's sway.
    """
    state = walk.state
    w = leg_motion.minimum_jerk(state.weight)
    value, rate = planned_sway(walk, axis)
    arriving = rate * _pace(walk.plan) * state.span * leg_motion.run_up(state.weight)
    return (1.0 - w) * state.from_sway[axis] + w * value + arriving, w * rate, value


def _bake(walk):
    """Move the origin of the nominal frame to the present body position; the sway becomes zero."""
    sx, sy = _current_sway(walk, 0)[0], _current_sway(walk, 1)[0]
    for i in range(walk.legs_count):
        walk.feet[i].place[0] -= sx
        walk.feet[i].place[1] -= sy
        walk.feet[i].lift_off[0] -= sx
        walk.feet[i].lift_off[1] -= sy
        walk.feet[i].touch_down[0] -= sx
        walk.feet[i].touch_down[1] -= sy
    walk.state.weight, walk.state.from_sway[0], walk.state.from_sway[1] = 0.0, 0.0, 0.0


def begin(walk, mode, quick):
    """Begin a mode; quick: sit down as fast as possible."""
    state, feet, settings = walk.state, walk.feet, walk.settings
    state.mode, state.time = mode, 0.0
    if mode == layout.LOWER:
        state.pressed = 0.0
        _bake(walk)
        state.height_from = state.height
        drop = max(0.0, state.height - settings.belly)
        state.span = QUICK if quick != 0 else max(0.1, min(LOWERING, drop / LIFTING))
    elif mode == layout.MOVE:
        for i in range(walk.legs_count):
            for k in range(3):
                feet[i].start[k] = feet[i].place[k]
        state.span = RETURNING if adaptive_return.begin_return(walk) else MOVING
        if state.fast != 0.0 and state.span == MOVING and adaptive_feet.feet_are_in_place(walk):
            state.span = IN_PLACE
    elif mode == layout.SETTLE:
        state.span = RETURNING if adaptive_return.begin_return(walk) else 0.0
    elif mode == layout.RISE:
        state.height_from = state.height
        state.span = max(0.1, min(LOWERING, (standing_height(walk) - state.height) / LIFTING))
    elif mode == layout.START:
        state.weight = 0.0
        dx, vx = planned_sway(walk, 0)
        dy, vy = planned_sway(walk, 1)
        dx, dy = dx - state.from_sway[0], dy - state.from_sway[1]
        speed = math.sqrt(vx * vx + vy * vy) * _pace(walk.plan)
        # 4: the largest acceleration of `run_up`, nearly.
        state.span = max(0.02, math.sqrt(dx * dx + dy * dy) / SHIFTING, 4.0 * speed / STARTING)
    elif mode == layout.PRESS:
        state.span = adaptive_press.PRESSING
    elif mode == layout.STAND:
        state.from_sway[0], state.from_sway[1] = _current_sway(walk, 0)[0], _current_sway(walk, 1)[0]
        state.weight = 0.0


def _go_on(walk):
    """Leave a mode in which all feet stand: press a foot down if that is pending, else walk if commanded, else
    stand.
    """
    if walk.state.pressed != 0.0:
        begin(walk, layout.PRESS, 0)
        return
    begin(walk, layout.START, 0)
    if not adaptive_feet.asked(walk.command):
        walk.state.mode = layout.STAND


def standing_height(walk):
    """Return the height [m] of base_link when the robot stands (in the rowing gait: on its belly)."""
    if walk.plan.rows != 0.0:
        return walk.settings.belly
    return walk.settings.body


def _change_height(state, goal):
    """Move the height to the goal with minimum jerk over the duration of the mode."""
    s = min(1.0, state.time / state.span)
    state.height = state.height_from + leg_motion.minimum_jerk(s) * (goal - state.height_from)
    state.height_rate = leg_motion.minimum_jerk_rate(s) * (goal - state.height_from) / state.span


def _advance_mode(walk, dt):
    """Execute the mode for dt [s], and change to the next mode when it has ended."""
    plan, settings, command, state = walk.plan, walk.settings, walk.command, walk.state
    mode = state.mode
    state.time += dt
    share = 1.0 if mode == layout.WALK else 0.0
    if state.fast != 0.0 and (mode == layout.START or mode == layout.SETTLE and state.span == 0.0):
        share = 0.4  # a change of plan does not stop a walking robot, unless legs were restored
    if state.easy_for > 0.0:
        share = min(share, state.easy)
        if mode == layout.WALK:
            state.easy_for -= dt / plan.period
    _follow_command(settings, command, state, share, dt)
    state.height_rate = 0.0
    if mode != layout.LOWER and mode != layout.MOVE and mode != layout.SAT and mode != layout.RISE:
        goal = standing_height(walk)
        most = LIFTING * dt
        change = min(most, max(-most, goal - state.height))
        state.height += change
        state.height_rate = change / dt
    if mode == layout.WALK:
        change = min(dt, max(-dt, settings.asked_period - plan.period))
        plan.period += change
        state.weight = 1.0
        if adaptive_feet.step_feet(walk, dt):
            begin(walk, layout.STAND, 0)
        return
    # Of the tick in which a start ends, the walk has the rest.
    walked = max(0.0, state.time - state.span) if mode == layout.START else 0.0
    adaptive_feet.carry_ground(walk, dt - walked)
    adaptive_feet.standing_rates(walk, 1.0)
    if mode == layout.STAND:
        if adaptive_feet.asked(command):
            begin(walk, layout.START, 0)
        elif state.from_sway[0] != 0.0 or state.from_sway[1] != 0.0:
            # Move back over the middle of the feet.
            left = math.sqrt(state.from_sway[0] * state.from_sway[0] + state.from_sway[1] * state.from_sway[1])
            keep = max(0.0, 1.0 - SHIFTING * dt / left)
            state.from_sway[0] *= keep
            state.from_sway[1] *= keep
        if state.sensed != 0.0 and not adaptive_feet.asked(command):
            state.yaw_reference = state.yaw
    elif mode == layout.START:
        state.weight = min(1.0, state.time / state.span)
        if state.time >= state.span:
            state.fast = 0.0
            state.mode = layout.WALK
            adaptive_feet.step_feet(walk, walked)
    elif mode == layout.SETTLE:
        adaptive_return.feet_below(walk)
        if adaptive_feet.put_feet_down(walk, dt) and state.time >= state.span:
            adaptive_return.end_return(walk)
            _go_on(walk)
    elif mode == layout.PRESS:
        if adaptive_press.press_foot(walk):
            state.pressed = 0.0
            _go_on(walk)
    elif mode == layout.LOWER:
        adaptive_feet.put_feet_down(walk, dt)
        _change_height(state, settings.belly)
        if state.time >= state.span:
            begin(walk, layout.SAT, 0)
    elif mode == layout.SAT:
        if state.sensed == 0.0 or settings.tilt == 0.0 or state.tilted < LEVEL * settings.tilt:
            state.level_for += dt
        elif state.tilted < settings.tilt:
            state.level_for += INCLINED * dt
        else:
            state.level_for = 0.0
        if state.sensed != 0.0 and state.stay != 0.0:
            state.yaw_reference = state.yaw
        if state.stay == 0.0 and (state.fast != 0.0 or state.level_for >= LEVEL_TIME):
            begin(walk, layout.MOVE, 0)
    elif mode == layout.MOVE:
        adaptive_return.feet_below(walk)
        adaptive_feet.move_feet(walk)
        if state.time >= state.span:
            adaptive_return.end_return(walk)
            begin(walk, layout.RISE, 0)
    elif mode == layout.RISE:
        _change_height(state, standing_height(walk))
        if state.time >= state.span:
            state.fast = 0.0
            begin(walk, layout.STAND, 0)


def _joints(walk, dt, limited):
    """Convert feet, sway, height and offset of the body to joint angles and rates; limited: see `tick`."""
    plan, legs, settings, state, feet = walk.plan, walk.legs, walk.settings, walk.state, walk.feet
    q, qd = walk.position, walk.velocity
    sx, sxd, _ = _current_sway(walk, 0)
    sy, syd, _ = _current_sway(walk, 1)
    pace = _pace(plan) if state.mode == layout.WALK else 0.0
    sxd, syd = sxd * pace, syd * pace
    if state.mode == layout.START and state.weight < 1.0:
        rate, share = leg_motion.minimum_jerk_rate(state.weight) / state.span, leg_motion.run_up_rate(state.weight)
        x, vx = planned_sway(walk, 0)
        y, vy = planned_sway(walk, 1)
        sxd = rate * (x - state.from_sway[0]) + share * vx * _pace(plan)
        syd = rate * (y - state.from_sway[1]) + share * vy * _pace(plan)
    up, up_rate = 0.0, 0.0
    if state.mode == layout.WALK:
        up, up_rate = cycle.raised(plan, state.phase)
        up_rate *= pace
    height, height_rate = state.height + up, state.height_rate + up_rate
    offset = state.body_offset
    cr, sr, cp, sp = math.cos(offset[3]), math.sin(offset[3]), math.cos(offset[4]), math.sin(offset[4])
    cy, sy_ = math.cos(offset[5]), math.sin(offset[5])
    # Rows of the rotation body <- level frame (transpose of Rz Ry Rx).
    r00, r01, r02 = cy * cp, sy_ * cp, -sp
    r10, r11, r12 = cy * sp * sr - sy_ * cr, sy_ * sp * sr + cy * cr, cp * sr
    r20, r21, r22 = cy * sp * cr + sy_ * sr, sy_ * sp * cr - cy * sr, cp * cr
    for i in range(walk.legs_count):
        if legs[i].used == 0.0 or feet[i].back != 0.0 and state.mode != layout.MOVE and state.mode != layout.SETTLE:
            for k in range(3):
                j = 3 * i + k
                way = legs[i].rest[k] - q[j]
                most = settings.folding * dt
                move = min(most, max(-most, way))
                q[j] += move
                qd[j] = move / dt if dt > 0.0 else 0.0
            continue
        x = feet[i].place[0] - sx - offset[0]
        y = feet[i].place[1] - sy - offset[1]
        z = feet[i].place[2] - height - offset[2]
        xd, yd, zd = feet[i].rate[0] - sxd, feet[i].rate[1] - syd, feet[i].rate[2] - height_rate
        fx, fy, fz = r00 * x + r01 * y + r02 * z, r10 * x + r11 * y + r12 * z, r20 * x + r21 * y + r22 * z
        vx, vy, vz = r00 * xd + r01 * yd + r02 * zd, r10 * xd + r11 * yd + r12 * zd, r20 * xd + r21 * yd + r22 * zd
        q1, q2, q3 = q[3 * i], q[3 * i + 1], q[3 * i + 2]
        leg_motion.set_leg(legs, i, fx, fy, fz, vx, vy, vz, settings.speed, q, qd)
        if feet[i].back != 0.0:
            adaptive_return.return_leg(walk, i, state.time / state.span, state.span)
        if limited:
            leg_motion.limit_speed(3 * i, q1, settings.speed, dt, q, qd)
            leg_motion.limit_speed(3 * i + 1, q2, settings.speed, dt, q, qd)
            leg_motion.limit_speed(3 * i + 2, q3, settings.speed, dt, q, qd)


def _shift_body(command, state, dt):
    """Let the offset of the body follow the commanded one, no faster than 5 cm/s and 0.4 rad/s."""
    for k in range(6):
        most = (0.05 if k < 3 else 0.4) * dt
        state.body_offset[k] += min(most, max(-most, command.offset[k] - state.body_offset[k]))


def _tipping(walk, dt):
    """Return whether the body is tilted so much, or for so long, that the robot must sit down."""
    settings, state = walk.settings, walk.state
    most = ROWING_TILT * settings.tilt if walk.plan.rows != 0.0 else settings.tilt
    if most == 0.0 or state.sensed == 0.0 or state.tilted <= most:
        state.tilted_for = 0.0
        return False
    state.tilted_for += dt
    if state.tilted <= BEYOND * most and state.tilted_for < PATIENCE:
        return False
    state.tilted_for = 0.0
    return True


def tick(walk, dt, limited):
    """Advance the gait by dt [s] under its command and fill its position and velocity; dt = 0 only fills them.

    limited: whether set-points move no faster than the servos, which then follow a fast swing a moment later.
    """
    command, state = walk.command, walk.state
    q, qd, start = walk.position, walk.velocity, walk.start
    blending = state.blend < state.blend_time
    if dt > 0.0:
        if blending:
            state.blend = min(state.blend + dt, state.blend_time)
        else:
            mode = state.mode
            if mode != layout.LOWER and mode != layout.SAT and mode != layout.MOVE and _tipping(walk, dt):
                state.reflexes += 1.0
                state.fast = 0.0
                state.level_for = 0.0
                begin(walk, layout.LOWER, 1)
            _shift_body(command, state, dt)
            _advance_mode(walk, dt)
    _joints(walk, dt, limited and dt > 0.0 and not blending)
    if blending:
        leg_motion.lead_from(start, state.blend, state.blend_time, q, qd, 3 * walk.legs_count)


def body_place(walk):
    """Return the sway (x, y) [m] of the body now, and how far [m] a rowing body is off its belly."""
    up = cycle.raised(walk.plan, walk.state.phase)[0] if walk.state.mode == layout.WALK else 0.0
    return _current_sway(walk, 0)[0], _current_sway(walk, 1)[0], up


def body_speed(walk):
    """Return the planned speed (x, y) [m/s] of a walking body over its feet, along its axes."""
    pace = cycle.progress(walk.plan, walk.state.phase)[1]
    x = pace * walk.state.going[0] + planned_sway(walk, 0)[1] / walk.plan.period
    y = pace * walk.state.going[1] + planned_sway(walk, 1)[1] / walk.plan.period
    return x, y


# ---- for Python: each takes a WalkMemory -----------------------------------------------------------------------------


def advance(walk, dt):
    """Advance the gait by dt [s], its set-points no faster than the servos; see `tick`."""
    tick(walk, dt, 1)


def enter(walk, mode, quick):
    """Begin a mode; quick (1): sit down as fast as possible."""
    begin(walk, mode, quick)


def stand_height(walk):
    """Return the height [m] of base_link when the robot stands."""
    return standing_height(walk)


def place_of_body(walk):
    """Return the sway (2,) [m] of the body now, and how far [m] a rowing body is off its belly."""
    x, y, up = body_place(walk)
    return (x, y), up


def speed_of_body(walk):
    """Return the planned speed (x, y) [m/s] of a walking body over its feet, along its axes."""
    return body_speed(walk)
