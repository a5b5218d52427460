/* The modes of the adaptive gait, and its tick, which advances all in place and allocates nothing; adaptive_gait.h includes it. */
#ifndef HD_ADAPTIVE_MODES_H
#define HD_ADAPTIVE_MODES_H

/* The height [m] of base_link when the robot stands (for a crawl stroke: on its belly). */
static inline double hd_standing_height(const struct hd_walk *w)
{
    return w->plan.crawls != 0.0 ? w->settings.belly : w->settings.body;
}

/* The time [s] in which the body rises or sinks by a height [m]. */
static inline double hd_lowering_time(double by) { return hd_most(0.1, hd_least(HD_LOWERING, by / HD_LIFTING)); }

/* Begin a mode; quick: sit down as fast as possible. */
static inline void hd_enter(struct hd_walk *w, enum hd_mode mode, int quick)
{
    struct hd_gait_state *s = &w->state;
    s->mode = mode, s->time = 0.0, s->height_from = s->height;
    switch (mode) {
    case HD_LOWER:
        s->probed = 0.0;
        hd_rebase_nominal_frame(w);
        s->span = quick ? HD_QUICK : hd_lowering_time(s->height - w->settings.belly);
        break;
    case HD_MOVE:
        for (int i = 0; i < w->legs_count; i++)
            for (int k = 0; k < 3; k++)
                w->feet[i].start[k] = w->feet[i].place[k];
        s->span = hd_begin_return(w) ? HD_RETURNING : HD_MOVING;
        if (s->skip_pause != 0.0 && s->span == HD_MOVING && hd_feet_are_in_place(w))
            s->span = HD_IN_PLACE;
        break;
    case HD_SETTLE:
        s->span = hd_begin_return(w) ? HD_RETURNING : 0.0;
        break;
    case HD_RISE:
        s->span = hd_lowering_time(hd_standing_height(w) - s->height);
        break;
    case HD_START: {
        s->weight = 0.0;
        const struct hd_sway to = hd_planned_sway(w);
        const double dx = to.along[0].value - s->from_sway[0], dy = to.along[1].value - s->from_sway[1];
        const double speed = hypot(to.along[0].rate, to.along[1].rate) * hd_pace(&w->plan);
        /* 4: the largest acceleration of `hd_quintic_start`, nearly. */
        s->span = hd_most(hd_most(0.02, sqrt(dx * dx + dy * dy) / HD_SHIFTING), 4.0 * speed / HD_STARTING);
        break;
    }
    case HD_PROBE:
        s->span = HD_PROBING;
        break;
    case HD_STAND: {
        const struct hd_sway now = hd_present_sway(w);
        s->from_sway[0] = now.along[0].value, s->from_sway[1] = now.along[1].value, s->weight = 0.0;
        break;
    }
    default:
        break;
    }
}

/* Leave a mode in which all feet stand: press a foot down if that is pending, else walk if commanded, else stand. */
static inline void hd_resume(struct hd_walk *w)
{
    if (w->state.probed != 0.0) {
        hd_enter(w, HD_PROBE, 0);
        return;
    }
    hd_enter(w, HD_START, 0);
    if (!hd_is_moving(w->command.twist))
        w->state.mode = HD_STAND;
}

/* Move the height to the goal with minimum jerk over the duration of the mode. */
static inline void hd_change_height(struct hd_gait_state *s, double goal)
{
    const struct hd_value h = hd_minimum_jerk(s->time / s->span);
    s->height = s->height_from + h.value * (goal - s->height_from);
    s->height_rate = h.rate * (goal - s->height_from) / s->span;
}

/* Whether the robot is on its belly, or moves to or from it. */
static inline int hd_is_sitting(double mode) { return mode == HD_LOWER || mode == HD_MOVE || mode == HD_SAT || mode == HD_RISE; }

/* Stand: walk if commanded, else move the body back over the middle of the feet. */
static inline void hd_stand(struct hd_walk *w, double dt)
{
    struct hd_gait_state *s = &w->state;
    const int asked = hd_is_moving(w->command.twist);
    const double left = hypot(s->from_sway[0], s->from_sway[1]), keep = hd_most(0.0, 1.0 - HD_SHIFTING * dt / left);
    if (asked)
        hd_enter(w, HD_START, 0);
    else if (left != 0.0)
        s->from_sway[0] *= keep, s->from_sway[1] *= keep;
    if (s->sensed != 0.0 && !asked)
        s->yaw_reference = s->yaw;
}

/* Sit: wait until the body is level and may stand up. */
static inline void hd_sit(struct hd_walk *w, double dt)
{
    struct hd_gait_state *s = &w->state;
    const double limit = w->settings.tilt;
    if (s->sensed == 0.0 || limit == 0.0 || s->tilted < HD_LEVEL * limit)
        s->level_for += dt;
    else if (s->tilted < limit)
        s->level_for += HD_INCLINED * dt;
    else
        s->level_for = 0.0;
    if (s->sensed != 0.0 && s->stay_down != 0.0)
        s->yaw_reference = s->yaw;
    if (s->stay_down == 0.0 && (s->skip_pause != 0.0 || s->level_for >= HD_LEVEL_TIME))
        hd_enter(w, HD_MOVE, 0);
}

/* Execute the mode for dt [s], and change to the next mode when it has ended. */
static inline void hd_advance_mode(struct hd_walk *w, double dt)
{
    struct hd_gait_state *s = &w->state;
    const enum hd_mode mode = (enum hd_mode)s->mode;
    s->time += dt;
    const int over = s->time >= s->span;
    double share = mode == HD_WALK ? 1.0 : 0.0;
    if (s->skip_pause != 0.0 && (mode == HD_START || (mode == HD_SETTLE && s->span == 0.0)))
        share = 0.4; /* a change of plan does not stop a walking robot, unless legs were restored */
    if (s->scaled_cycles > 0.0) {
        share = hd_least(share, s->command_scale);
        if (mode == HD_WALK)
            s->scaled_cycles -= dt / w->plan.period;
    }
    hd_follow_command(w, share, dt);
    s->height_rate = 0.0;
    if (!hd_is_sitting(mode)) {
        const double change = hd_within(hd_standing_height(w) - s->height, HD_LIFTING * dt);
        s->height += change;
        s->height_rate = change / dt;
    }
    if (mode == HD_WALK) {
        w->plan.period += hd_within(w->settings.asked_period - w->plan.period, dt);
        s->weight = 1.0;
        if (hd_step_feet(w, dt))
            hd_enter(w, HD_STAND, 0);
        return;
    }
    /* Of the tick in which a start ends, the walk has the rest. */
    const double walked = mode == HD_START ? hd_most(0.0, s->time - s->span) : 0.0;
    hd_carry_ground(w, dt - walked);
    for (int i = 0; i < w->legs_count; i++)
        hd_standing_rate(w, w->feet + i, 1.0);
    switch (mode) {
    case HD_STAND:
        hd_stand(w, dt);
        break;
    case HD_START:
        s->weight = hd_least(1.0, s->time / s->span);
        if (over) {
            s->skip_pause = 0.0;
            s->mode = HD_WALK;
            hd_step_feet(w, walked);
        }
        break;
    case HD_SETTLE:
        if (hd_put_feet_down(w, dt) && over) {
            hd_end_return(w);
            hd_resume(w);
        }
        break;
    case HD_PROBE:
        if (hd_press_foot(w)) {
            s->probed = 0.0;
            hd_resume(w);
        }
        break;
    case HD_LOWER:
        hd_put_feet_down(w, dt);
        hd_change_height(s, w->settings.belly);
        if (over)
            hd_enter(w, HD_SAT, 0);
        break;
    case HD_SAT:
        hd_sit(w, dt);
        break;
    case HD_MOVE:
        hd_move_feet(w);
        if (over) {
            hd_end_return(w);
            hd_enter(w, HD_RISE, 0);
        }
        break;
    default: /* HD_RISE */
        hd_change_height(s, hd_standing_height(w));
        if (over) {
            s->skip_pause = 0.0;
            hd_enter(w, HD_STAND, 0);
        }
    }
}

/* ---- set-points -------------------------------------------------------------------------------------------------------------- */

/* How far [m] the body is off its belly now in a crawl stroke, and its derivative by the phase. */
static inline struct hd_value hd_present_rise(const struct hd_walk *w)
{
    return w->state.mode == HD_WALK ? hd_planned_rise(&w->plan, w->state.phase) : (struct hd_value){0.0, 0.0};
}

/* Convert feet, sway, height and offset of the body, which changes at the rates `moves` (6), to joint angles and rates; limited: see
 * `hd_adaptive_tick`. */
static inline void hd_write_setpoints(struct hd_walk *w, const double *moves, double dt, int limited)
{
    const struct hd_gait_state *s = &w->state;
    const struct hd_gait_settings *settings = &w->settings;
    const double *offset = s->body_offset, pace = s->mode == HD_WALK ? hd_pace(&w->plan) : 0.0;
    double *q = w->position, *qd = w->velocity, R[9];
    const struct hd_sway sway = hd_present_sway(w);
    const struct hd_value up = hd_present_rise(w);
    const double height = s->height + up.value, height_rate = s->height_rate + up.rate * pace;
    rotate3(offset + 3, R);
    const double cr = cos(offset[3]), sr = sin(offset[3]), *turns = moves + 3;
    const struct hd_xyz turning = {turns[0] + R[6] * turns[2], cr * turns[1] + R[7] * turns[2], R[8] * turns[2] - sr * turns[1]};
    for (int i = 0; i < w->legs_count; i++) {
        const struct hd_gait_leg *leg = w->legs + i;
        const struct hd_gait_foot *foot = w->feet + i;
        if (leg->used == 0.0 || (foot->returns != 0.0 && s->mode != HD_MOVE && s->mode != HD_SETTLE)) {
            for (int k = 0; k < 3; k++) {
                const double move = hd_within(leg->rest[k] - q[3 * i + k], settings->folding * dt);
                q[3 * i + k] += move;
                qd[3 * i + k] = dt > 0.0 ? move / dt : 0.0;
            }
            continue;
        }
        const double x = foot->place[0] - sway.along[0].value - offset[0], xd = foot->rate[0] - sway.along[0].rate - moves[0];
        const double y = foot->place[1] - sway.along[1].value - offset[1], yd = foot->rate[1] - sway.along[1].rate - moves[1];
        const struct hd_xyz at = to_body(R, (struct hd_xyz){x, y, foot->place[2] - height - offset[2]});
        const double before[3] = {q[3 * i], q[3 * i + 1], q[3 * i + 2]};
        const struct hd_xyz rate = to_body(R, (struct hd_xyz){xd, yd, foot->rate[2] - height_rate - moves[2]});
        hd_set_leg(leg, at, plus3(rate, 1.0, cross3(at, turning)), settings->speed, q + 3 * i, qd + 3 * i);
        if (foot->returns != 0.0)
            hd_return_leg(w, i);
        if (limited)
            for (int k = 0; k < 3; k++)
                hd_limit_speed(before[k], settings->speed, dt, q + 3 * i + k, qd + 3 * i + k);
    }
}

/* Return whether the body is tilted so much, or for so long, that the robot must sit down. */
static inline int hd_tips(struct hd_walk *w, double dt)
{
    struct hd_gait_state *s = &w->state;
    const double most = w->plan.crawls != 0.0 ? HD_CRAWLING_TILT * w->settings.tilt : w->settings.tilt;
    if (most == 0.0 || s->sensed == 0.0 || s->tilted <= most) {
        s->tilted_for = 0.0;
        return 0;
    }
    s->tilted_for += dt;
    if (s->tilted <= HD_BEYOND * most && s->tilted_for < HD_PATIENCE)
        return 0;
    s->tilted_for = 0.0;
    return 1;
}

/* Advance the gait by dt [s] under its command and fill its position and velocity; dt = 0 only fills them.
 *
 * limited: set-points move no faster than the servos, which then follow a fast swing a moment later. */
static inline void hd_adaptive_tick(struct hd_walk *w, double dt, int limited)
{
    struct hd_gait_state *s = &w->state;
    const int blending = s->blend < s->blend_time;
    double moves[6] = {0.0}; /* rates of the body's offset */
    if (dt > 0.0 && blending)
        s->blend = hd_least(s->blend + dt, s->blend_time);
    else if (dt > 0.0) {
        if (s->mode != HD_LOWER && s->mode != HD_SAT && s->mode != HD_MOVE && hd_tips(w, dt)) {
            s->reflexes += 1.0;
            s->skip_pause = s->level_for = 0.0;
            hd_enter(w, HD_LOWER, 1);
        }
        for (int k = 0; k < 6; k++) { /* no faster than 5 cm/s and 0.4 rad/s */
            const double change = hd_within(w->command.offset[k] - s->body_offset[k], (k < 3 ? 0.05 : 0.4) * dt);
            s->body_offset[k] += change;
            moves[k] = change / dt;
        }
        hd_advance_mode(w, dt);
    }
    hd_write_setpoints(w, moves, dt, limited && dt > 0.0 && !blending);
    if (blending)
        hd_lead_from(w->start, s->blend, s->blend_time, w->position, w->velocity, 3 * w->legs_count);
}

/* The planned speed [m/s] of a walking body over its feet, along its axes. */
static inline struct hd_xy hd_body_speed(const struct hd_walk *w)
{
    const double pace = hd_progress(&w->plan, w->state.phase).rate, *twist = w->state.corrected;
    const struct hd_sway sway = hd_planned_sway(w);
    return (struct hd_xy){pace * twist[0] + sway.along[0].rate / w->plan.period,
                          pace * twist[1] + sway.along[1].rate / w->plan.period};
}
#endif
