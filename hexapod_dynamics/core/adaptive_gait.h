/* The memory of the adaptive gait, and the motion of its body and feet in a tick: here a foot is lifted (`hd_step_feet`).
 *
 * The action of the gait is one of the modes below; gait/modes.py shows how they follow each other.
 *
 * Feet are points of the ground, expressed in the nominal frame (gait.h), so a standing foot never slides, even if the twist
 * changes. In a steady walk `hd_cycle_foot` gives their places.
 */
#ifndef HD_ADAPTIVE_GAIT_H
#define HD_ADAPTIVE_GAIT_H
#include "gait.h"
#include "robot.h"

/* HD_STAND: all feet stand. HD_START: shifts the body over its feet before the first step. HD_SETTLE: puts feet that are in the
 * air down where they are. HD_LOWER: sits down. HD_MOVE: feet to their places, on the belly. HD_SAT: stays on the belly. HD_RISE:
 * stands up. HD_PROBE: presses one foot down, all others stand. */
enum hd_mode { HD_STAND, HD_START, HD_WALK, HD_SETTLE, HD_LOWER, HD_MOVE, HD_SAT, HD_RISE, HD_PROBE };

/* A twist below this [m/s, rad/s / 10] counts as standing; a foot nearer than HD_NEAR [m] to its foothold as being there. */
static const double HD_STANDING = 1e-4, HD_NEAR = 1e-4;
/* Speed [m/s] at which the body changes its height, and at which it shifts over its feet; largest acceleration [m/s^2] with which
 * it takes up the speed of the plan's sway: without a limit its start looks like a push. */
static const double HD_LIFTING = 0.20, HD_SHIFTING = 0.09, HD_STARTING = 4.0;
/* Speed [m/s] at which feet are put down, and height [m] over the ground to which they are lifted on the belly. */
static const double HD_SETTLING = 0.16, HD_CLEAR = 0.03;
/* Shortest times [s]: of lowering and rising; of moving, without and with restored legs; of lowering when the robot tilts; of
 * moving if all feet already stand at their places. */
static const double HD_LOWERING = 0.45, HD_MOVING = 0.6, HD_RETURNING = 1.2, HD_QUICK = 0.3, HD_IN_PLACE = 0.02;
/* The body is level again when its tilt was below this share of the tilt limit for this long [s]. A belly on sloping ground or on
 * a stump may rest at a tilt between that share and the limit; there, time counts less. */
static const double HD_LEVEL = 0.6, HD_LEVEL_TIME = 0.3, HD_INCLINED = 0.3;
/* The robot sits down if its tilt exceeds the limit for this long [s], or exceeds it by this factor. When a front leg is lost in
 * the middle of a step, the body tilts by up to 13 degrees for up to 0.2 s, until the next feet are down. */
static const double HD_PATIENCE = 0.24, HD_BEYOND = 1.9;
/* In a crawl stroke the robot lies on its belly once in each cycle and cannot tip far: its tilt limit is larger by this factor. */
static const double HD_CRAWLING_TILT = 1.5;
/* Depth [m] to which a probed foot is pressed below the ground, duration [s], and the share of it for moving down, and up. */
static const double HD_DEPTH = 0.025, HD_PROBING = 1.3, HD_MOVES = 0.2;

struct hd_gait_settings {
    double acceleration, turning;  /* limits with which the twist follows the command [m/s^2, rad/s^2] */
    double speed, folding;         /* of the servos, and at which legs are held up [rad/s] */
    double yaw_gain, yaw_limit;    /* of the yaw hold [1/s], 0: none; [rad/s] */
    double tilt;                   /* that makes the robot sit down [rad], 0: none */
    double belly, body;            /* height of base_link on its belly, and asked for [m] */
    double asked_period;           /* [s] */
};
struct hd_gait_command { double twist[3], offset[6]; }; /* offset of the body over its feet: x, y, z [m], roll, pitch, yaw [rad] */
struct hd_gait_state {
    double mode, phase, time, span;      /* enum hd_mode; in the cycle; since the mode began, its duration [s] */
    double twist[3], corrected[3];       /* the twist that follows the command; with the yaw hold */
    double yaw, yaw_reference, sensed;   /* measured, to be held [rad]; 1: there are measurements */
    double tilted, tilted_for;           /* against the slope [rad]; since it exceeds the limit [s] */
    double height, height_rate, height_from; /* of base_link now, its rate, and at the start of the mode */
    double weight, from_sway[2];         /* of the plan's sway, against that of before [m] */
    double body_offset[6];               /* as it follows the command's */
    double blend, blend_time;            /* elapsed time and duration of the transition from `start` [s] */
    double stay_down, skip_pause;        /* 1: sits until it is told to stand; 1: a change of plan does not stop the robot */
    double reflexes, level_for;          /* number of tilt reflexes; time for which it is level [s] */
    double command_scale, scaled_cycles; /* share of the command that is followed, for so many more cycles, after a change */
    double probed;                       /* row + 1 of the leg whose foot is pressed down next, 0: none */
};
struct hd_walk {
    int64_t legs_count;
    struct hd_plan plan;
    struct hd_gait_settings settings;
    struct hd_gait_command command;
    struct hd_gait_state state;
    struct hd_gait_leg legs[HD_MOST_LEGS];
    struct hd_gait_foot feet[HD_MOST_LEGS];
    /* joints: of the transition, set-points [rad] and their rates */
    double start[3 * HD_MOST_LEGS], position[3 * HD_MOST_LEGS], velocity[3 * HD_MOST_LEGS];
};

/* ---- twist and sway ---------------------------------------------------------------------------------------------------------- */

static inline int hd_is_moving(const double *twist)
{
    return fabs(twist[0]) > HD_STANDING || fabs(twist[1]) > HD_STANDING || fabs(twist[2]) > 10.0 * HD_STANDING;
}

/* Let the twist follow a share of the command with limited acceleration; add the yaw hold. */
static inline void hd_follow_command(struct hd_walk *w, double share, double dt)
{
    const struct hd_gait_settings *settings = &w->settings;
    const double *asked = w->command.twist;
    struct hd_gait_state *s = &w->state;
    const double dx = share * asked[0] - s->twist[0], dy = share * asked[1] - s->twist[1];
    const double distance = sqrt(dx * dx + dy * dy), most = settings->acceleration * dt;
    const double scale = distance > most ? most / distance : 1.0;
    s->twist[0] += scale * dx;
    s->twist[1] += scale * dy;
    s->twist[2] += hd_within(share * asked[2] - s->twist[2], settings->turning * dt);
    for (int k = 0; k < 3; k++)
        s->corrected[k] = s->twist[k];
    if (settings->yaw_gain > 0.0 && s->sensed != 0.0 && share > 0.0 && hd_is_moving(asked)) {
        s->yaw_reference += s->twist[2] * dt;
        double error = s->yaw_reference - s->yaw;
        error -= HD_TURN * floor(error / HD_TURN + 0.5);
        s->corrected[2] += hd_within(settings->yaw_gain * error, settings->yaw_limit);
    }
}

/* The cycles per second of a plan; 0 without a plan, whose period is zero. */
static inline double hd_pace(const struct hd_plan *plan) { return plan->period > 0.0 ? 1.0 / plan->period : 0.0; }

static inline struct hd_sway hd_planned_sway(const struct hd_walk *w)
{
    return hd_sway_of(&w->plan, w->state.phase, w->state.twist);
}

/* The body's present sway [m] and its speed [m/s]: a weighted mean of an old sway and that of the plan. While the body shifts from
 * one to the other, it takes up the speed of the plan's sway. */
static inline struct hd_sway hd_present_sway(const struct hd_walk *w)
{
    const struct hd_gait_state *s = &w->state;
    const struct hd_value share = hd_minimum_jerk(s->weight), starts = hd_quintic_start(s->weight);
    const double shifts = s->span > 0.0 ? share.rate / s->span : 0.0;
    struct hd_sway sway = hd_planned_sway(w);
    for (int axis = 0; axis < 2; axis++) {
        const double from = s->from_sway[axis], to = sway.along[axis].value, speed = sway.along[axis].rate * hd_pace(&w->plan);
        sway.along[axis].value = (1.0 - share.value) * from + share.value * to + speed * s->span * starts.value;
        sway.along[axis].rate = shifts * (to - from) + starts.rate * speed;
    }
    return sway;
}

/* Move the origin of the nominal frame to the present place of the body; the sway becomes zero. */
static inline void hd_rebase_nominal_frame(struct hd_walk *w)
{
    const struct hd_sway sway = hd_present_sway(w);
    for (int i = 0; i < w->legs_count; i++)
        for (int k = 0; k < 2; k++) {
            w->feet[i].place[k] -= sway.along[k].value;
            w->feet[i].lift_off[k] -= sway.along[k].value;
            w->feet[i].touch_down[k] -= sway.along[k].value;
        }
    w->state.weight = w->state.from_sway[0] = w->state.from_sway[1] = 0.0;
}

/* ---- feet -------------------------------------------------------------------------------------------------------------------- */

/* The point of the ground, in the present frame, on which a foot at the fraction s of its swing will step. */
static inline struct hd_xy hd_step_target(const struct hd_walk *w, int i, double s)
{
    const double after = hd_stance_time(&w->plan, w->plan.duty) + (1.0 - s) * hd_swing_time(&w->plan);
    return hd_place_after(w->legs[i].foothold[0], w->legs[i].foothold[1], w->state.corrected, -after);
}

/* Move all points of the ground by dt [s] at the present twist, in the frame of the body. */
static inline void hd_carry_ground(struct hd_walk *w, double dt)
{
    for (int i = 0; i < w->legs_count; i++) {
        if (w->feet[i].returns != 0.0)
            continue;
        hd_move_point(w->feet[i].place, w->state.corrected, dt);
        hd_move_point(w->feet[i].lift_off, w->state.corrected, dt);
        hd_move_point(w->feet[i].touch_down, w->state.corrected, dt);
    }
}

/* Set the rates of a foot to those of the ground, for the twist multiplied by `pace`. */
static inline void hd_standing_rate(const struct hd_walk *w, struct hd_gait_foot *foot, double pace)
{
    foot->rate[0] = -pace * (w->state.corrected[0] - w->state.corrected[2] * foot->place[1]);
    foot->rate[1] = -pace * (w->state.corrected[1] + w->state.corrected[2] * foot->place[0]);
    foot->rate[2] = 0.0;
}

/* Move all feet vertically to the ground; return whether they stand. */
static inline int hd_put_feet_down(struct hd_walk *w, double dt)
{
    int down = 1;
    for (int i = 0; i < w->legs_count; i++) {
        struct hd_gait_foot *foot = w->feet + i;
        if (w->legs[i].used == 0.0 || foot->returns != 0.0)
            continue;
        const double change = hd_within(-foot->place[2], HD_SETTLING * dt); /* up for a foot that was pressed down */
        foot->place[2] += change;
        foot->rate[2] = foot->place[2] == 0.0 ? 0.0 : copysign(HD_SETTLING, change);
        if (foot->place[2] == 0.0)
            foot->in_air = 0.0;
        else
            down = 0;
    }
    return down;
}

/* Advance phase and feet by dt [s]; return whether all feet are at their footholds: here a foot is lifted. */
static inline int hd_step_feet(struct hd_walk *w, double dt)
{
    const struct hd_plan *plan = &w->plan;
    struct hd_gait_state *state = &w->state;
    const double duty = plan->duty, phase = state->phase, after = phase + dt / plan->period;
    double pace = 1.0, carry = dt;
    if (plan->crawls != 0.0) {
        const struct hd_value end = hd_progress(plan, hd_fraction(after));
        carry = (end.value - hd_progress(plan, phase).value + (after >= 1.0 ? 1.0 : 0.0)) * plan->period;
        pace = end.rate;
    }
    state->phase = hd_fraction(after);
    hd_carry_ground(w, carry);
    const int halting = !hd_is_moving(w->command.twist) && !hd_is_moving(state->corrected);
    int home = 1;
    for (int i = 0; i < w->legs_count; i++) {
        struct hd_gait_foot *foot = w->feet + i;
        hd_standing_rate(w, foot, pace);
        if (w->legs[i].used == 0.0)
            continue;
        const double before = hd_fraction(phase + w->legs[i].phase), p = hd_fraction(state->phase + w->legs[i].phase);
        if (foot->in_air == 0.0) {
            const double dx = foot->place[0] - w->legs[i].foothold[0], dy = foot->place[1] - w->legs[i].foothold[1];
            const int near = dx * dx + dy * dy < HD_NEAR * HD_NEAR;
            home = home && near;
            if (before < duty && duty <= p && !(halting && near)) {
                const struct hd_xy to = hd_step_target(w, i, 0.0);
                foot->in_air = 1.0;
                foot->lift_off[0] = foot->place[0], foot->lift_off[1] = foot->place[1];
                foot->touch_down[0] = to.x, foot->touch_down[1] = to.y;
            }
        }
        if (foot->in_air == 0.0)
            continue;
        home = 0;
        if (p < duty) { /* it has touched down within this tick */
            foot->in_air = foot->place[2] = 0.0;
            foot->place[0] = foot->touch_down[0], foot->place[1] = foot->touch_down[1];
            continue;
        }
        const double s = (p - duty) / (1.0 - duty), rate = 1.0 / ((1.0 - duty) * plan->period);
        const double gain = hd_least(1.0, 8.0 * (1.0 - s) * rate * dt);
        const struct hd_xy to = hd_step_target(w, i, s);
        const struct hd_swing swing = hd_swing_at(HD_PLANNED, s);
        foot->touch_down[0] += gain * (to.x - foot->touch_down[0]);
        foot->touch_down[1] += gain * (to.y - foot->touch_down[1]);
        const double dx = foot->touch_down[0] - foot->lift_off[0], dy = foot->touch_down[1] - foot->lift_off[1];
        foot->place[0] = foot->lift_off[0] + swing.way.value * dx, foot->place[1] = foot->lift_off[1] + swing.way.value * dy;
        hd_standing_rate(w, foot, pace);
        foot->rate[0] += swing.way.rate * rate * dx;
        foot->rate[1] += swing.way.rate * rate * dy;
        foot->place[2] = plan->lift * swing.lift.value, foot->rate[2] = plan->lift * swing.lift.rate * rate;
    }
    if (plan->crawls != 0.0 && state->phase < duty)
        return 0; /* the body is not on its belly */
    return home && halting;
}

/* Whether every foot stands at its foothold, within 1 mm. */
static inline int hd_feet_are_in_place(const struct hd_walk *w)
{
    for (int i = 0; i < w->legs_count; i++) {
        const double *place = w->feet[i].place, *foothold = w->legs[i].foothold;
        if (w->legs[i].used != 0.0
            && (fabs(place[0] - foothold[0]) > 1e-3 || fabs(place[1] - foothold[1]) > 1e-3 || place[2] > 1e-3))
            return 0;
    }
    return 1;
}

/* Move the feet to their places while the belly carries the robot. */
static inline void hd_move_feet(struct hd_walk *w)
{
    const double span = w->state.span, s = w->state.time / span;
    const struct hd_value way = hd_swing_at(HD_PLANNED, hd_least(1.0, s)).way;
    for (int i = 0; i < w->legs_count; i++) {
        struct hd_gait_foot *foot = w->feet + i;
        if (w->legs[i].used == 0.0 || foot->returns != 0.0)
            continue;
        for (int k = 0; k < 2; k++) {
            const double distance = w->legs[i].foothold[k] - foot->start[k];
            foot->place[k] = foot->start[k] + way.value * distance;
            foot->rate[k] = way.rate * distance / span;
        }
        const double from = foot->start[2], top = hd_most(HD_CLEAR, from);
        const struct hd_value up = hd_minimum_jerk(s / 0.3), down = hd_minimum_jerk((s - 0.7) / 0.3);
        foot->place[2] = (from + (top - from) * up.value) * (1.0 - down.value);
        foot->rate[2] = ((top - from) * up.rate - top * down.rate) / (0.3 * span);
        foot->in_air = s < 1.0 ? 1.0 : 0.0;
    }
}

/* Place every foot as in a steady walk (or stand) with the twist and phase of the state. */
static inline void hd_place_feet(struct hd_walk *w)
{
    for (int i = 0; i < w->legs_count; i++) {
        const struct hd_gait_leg *leg = w->legs + i;
        struct hd_gait_foot *foot = w->feet + i;
        if (leg->used == 0.0)
            continue;
        if (w->state.mode != HD_WALK) {
            foot->place[0] = leg->foothold[0], foot->place[1] = leg->foothold[1];
            continue;
        }
        const struct hd_steady_foot at = hd_cycle_foot(&w->plan, leg, w->state.phase, w->state.corrected);
        foot->place[0] = at.foot.x, foot->place[1] = at.foot.y, foot->place[2] = at.foot.z, foot->in_air = 1.0 - at.stands;
        foot->lift_off[0] = at.off.x, foot->lift_off[1] = at.off.y;
        foot->touch_down[0] = at.down.x, foot->touch_down[1] = at.down.y;
    }
}

/* Press the probed foot down and lift it again; return whether it is back on the ground. An existing foot lifts its corner of the
 * body and loads its servos; a lost foot has no effect. */
static inline int hd_press_foot(struct hd_walk *w)
{
    const struct hd_gait_state *state = &w->state;
    const double s = hd_least(1.0, state->time / state->span);
    if (state->probed == 0.0)
        return 1;
    struct hd_gait_foot *foot = w->feet + (int)state->probed - 1;
    const struct hd_value down = hd_quintic_hump(s, 1.0, HD_MOVES);
    foot->place[2] = -HD_DEPTH * down.value;
    foot->rate[2] = -HD_DEPTH * down.rate / state->span;
    return s >= 1.0;
}

/* ---- restored legs, from the pose in which they are held up to their footholds --------------------------------------------------- */

/* Store the pose in which restored legs are held up, because their joints move from there (`hd_return_leg`); set their feet to
 * their footholds, where they stay. Return whether there are any. */
static inline int hd_begin_return(struct hd_walk *w)
{
    int found = 0;
    for (int i = 0; i < w->legs_count; i++) {
        struct hd_gait_foot *foot = w->feet + i;
        if (foot->returns == 0.0)
            continue;
        found = 1;
        for (int k = 0; k < 3; k++)
            foot->start[k] = w->position[3 * i + k];
        foot->place[0] = w->legs[i].foothold[0], foot->place[1] = w->legs[i].foothold[1];
        foot->place[2] = foot->in_air = 0.0;
    }
    return found;
}

/* Move a leg from the pose in which it was held up to the set-points of its foothold, straight in joint angles: a foot on a
 * straight line from a folded leg would leave the reach of the leg. */
static inline void hd_return_leg(struct hd_walk *w, int i)
{
    double *rates = w->velocity + 3 * i;
    rates[0] = rates[1] = rates[2] = 0.0; /* its foot stays at its foothold */
    hd_lead_from(w->feet[i].start, w->state.time, w->state.span, w->position + 3 * i, rates, 3);
}

/* Let the restored legs stand like the others. */
static inline void hd_end_return(struct hd_walk *w)
{
    for (int i = 0; i < w->legs_count; i++)
        w->feet[i].returns = 0.0;
}
#include "adaptive_modes.h"
#endif
