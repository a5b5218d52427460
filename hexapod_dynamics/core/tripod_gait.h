/* One tick of the tripod gait: phase, feet and joints advance in place and nothing is allocated.
 *
 * Farghdani & Chhabra 2025, eq. (64), for any planar twist (vx, vy, wz) of the body. Leg i has the phase p = (t/T + phi_i) mod 1.
 * In stance (p < 1/2) the foot stands on the ground, so in the body it moves with minus the body's twist; in swing it moves from
 * the point of lift-off to half a stroke ahead of its neutral place. For a steady straight walk this is exactly eq. (64): the
 * stance foot moves back by S in T/2 and the body moves at 2 S / T.
 */
#ifndef HD_TRIPOD_GAIT_H
#define HD_TRIPOD_GAIT_H
#include "gait.h"
#include "robot.h"

/* A stroke shorter than this [m] counts as standing; a foot nearer than HD_TRIPOD_NEAR [m] to its neutral place as being there. */
static const double HD_NO_STROKE = 1e-4, HD_TRIPOD_NEAR = 1e-3;
/* Rate, in units of 2 / T, at which the touch-down point follows a changing command early in the swing; it decays to 0 at the end. */
static const double HD_RETARGETING = 8.0;
/* Phases this near to a half cycle count as equal to it, because sums of dt / T are not exact. */
static const double HD_ON_THE_BOUNDARY = 1e-9;

struct hd_tripod_parameters {
    double period, step_height, step_depth; /* T [s]; lift of a swinging foot, depth of a standing one [m] */
    double response_time, speed_limit;      /* of a command [s]; of the joints [rad/s] */
    double profile;                         /* enum hd_profile: HD_HALF_SINE or HD_SMOOTH_SINE */
};
struct hd_tripod_state {
    double command[4], twist[4], rate[4];     /* vx, vy, wz, body height; filtered; their rates */
    double phase, walking;                    /* 1: it walks */
    double blend, blend_time;                 /* elapsed time and duration of the transition from `start` [s] */
};
struct hd_tripod {
    int64_t legs_count;
    struct hd_tripod_parameters parameters;
    struct hd_tripod_state state;
    struct hd_gait_leg legs[HD_MOST_LEGS];
    struct hd_gait_foot feet[HD_MOST_LEGS];
    double start[3 * HD_MOST_LEGS], position[3 * HD_MOST_LEGS], velocity[3 * HD_MOST_LEGS]; /* as in hd_walk */
};

/* The way [m] of a stance foot of a leg in half a period, forward positive. */
static inline struct hd_xy hd_stroke(const struct hd_tripod *g, int i, const double *twist)
{
    const double half = 0.5 * g->parameters.period, *at = g->legs[i].foothold;
    return (struct hd_xy){(twist[0] - twist[2] * at[1]) * half, (twist[1] + twist[2] * at[0]) * half};
}

/* The longest stroke [m] over the legs for a twist. */
static inline double hd_longest_stroke(const struct hd_tripod *g, const double *twist)
{
    double most = 0.0;
    for (int i = 0; i < g->legs_count; i++) {
        const struct hd_xy a = hd_stroke(g, i, twist);
        most = hd_most(most, a.x * a.x + a.y * a.y);
    }
    return sqrt(most);
}

/* Filter twist and height by two equal poles, integrated exactly, so that there is no overshoot. */
static inline void hd_filter_command(struct hd_tripod *g, double dt)
{
    struct hd_tripod_state *s = &g->state;
    const double tau = g->parameters.response_time, decay = exp(-dt / tau);
    for (int k = 0; k < 4; k++) {
        const double error = s->twist[k] - s->command[k], slope = s->rate[k] + error / tau;
        s->twist[k] = s->command[k] + (error + slope * dt) * decay;
        s->rate[k] = (slope - (error + slope * dt) / tau) * decay;
    }
}

/* The ground point at which a foot at the fraction s of its swing will touch down if the twist stays constant. */
static inline struct hd_xy hd_tripod_target(const struct hd_tripod *g, int i, double s)
{
    const struct hd_xy a = hd_stroke(g, i, g->state.twist);
    const double *at = g->legs[i].foothold;
    return hd_place_after(at[0] + 0.5 * a.x, at[1] + 0.5 * a.y, g->state.twist, (s - 1.0) * 0.5 * g->parameters.period);
}

/* Place the swinging foot at the fraction s of its swing; return its rates in base_link [m/s]. */
static inline struct hd_xy hd_tripod_swing(struct hd_tripod *g, int i, double s)
{
    struct hd_gait_foot *foot = g->feet + i;
    const double half = 0.5 * g->parameters.period, *twist = g->state.twist, *from = foot->lift_off;
    const struct hd_value way = hd_swing_at((enum hd_profile)g->parameters.profile, s).way;
    if (g->parameters.profile == HD_HALF_SINE) {
        const struct hd_xy a = hd_stroke(g, i, twist), b = hd_stroke(g, i, g->state.rate);
        const double dx = g->legs[i].foothold[0] + 0.5 * a.x - from[0], dy = g->legs[i].foothold[1] + 0.5 * a.y - from[1];
        foot->place[0] = from[0] + dx * way.value, foot->place[1] = from[1] + dy * way.value;
        return (struct hd_xy){dx / half + 0.5 * b.x * s, dy / half + 0.5 * b.y * s};
    }
    /* Between two points of the ground, which move in the body's frame: no jump in velocity or acceleration at either end. */
    const double slope = way.rate / half, dx = foot->touch_down[0] - from[0], dy = foot->touch_down[1] - from[1];
    foot->place[0] = from[0] + way.value * dx, foot->place[1] = from[1] + way.value * dy;
    const struct hd_xy to = hd_tripod_target(g, i, s);
    const double gain = way.value * HD_RETARGETING * (1.0 - s) / half;
    return (struct hd_xy){slope * dx - twist[0] + twist[2] * foot->place[1] + gain * (to.x - foot->touch_down[0]),
                             slope * dy - twist[1] - twist[2] * foot->place[0] + gain * (to.y - foot->touch_down[1])};
}

/* Begin a swing at the foot's present place, `since` seconds ago. */
static inline void hd_tripod_lift_off(struct hd_tripod *g, int i, double since)
{
    struct hd_gait_foot *foot = g->feet + i;
    foot->lift_off[0] = foot->place[0], foot->lift_off[1] = foot->place[1];
    if (g->parameters.profile != HD_HALF_SINE)
        hd_move_point(foot->lift_off, g->state.twist, since);
    const struct hd_xy to = hd_tripod_target(g, i, 2.0 * since / g->parameters.period);
    foot->touch_down[0] = to.x, foot->touch_down[1] = to.y;
}

/* Place every foot as in a steady walk (or stand) with the twist and phase of the state. */
static inline void hd_tripod_put_feet(struct hd_tripod *g)
{
    for (int i = 0; i < g->legs_count; i++) {
        const double p = hd_fraction(g->state.phase + g->legs[i].phase), along = 0.5 - 2.0 * hd_least(p, 0.5);
        struct hd_xy a = {0.0, 0.0};
        if (g->state.walking != 0.0)
            a = hd_stroke(g, i, g->state.twist);
        g->feet[i].place[0] = g->legs[i].foothold[0] + along * a.x;
        g->feet[i].place[1] = g->legs[i].foothold[1] + along * a.y;
        hd_tripod_lift_off(g, i, hd_most(0.0, p - 0.5) * g->parameters.period);
    }
}

/* Advance a foot at the phase p of its leg by dt, of which `left` remain in its stance or swing. */
static inline void hd_tripod_advance_foot(struct hd_tripod *g, int i, double p, double left, double dt)
{
    struct hd_gait_foot *foot = g->feet + i;
    const double period = g->parameters.period, *twist = g->state.twist, rest = hd_most(0.0, dt - left);
    const int changes = dt > left - HD_ON_THE_BOUNDARY * period;
    if (p < 0.5) {
        hd_move_point(foot->place, twist, changes ? left : dt);
        if (changes)
            hd_tripod_lift_off(g, i, rest);
    } else if (changes) {
        hd_move_point(foot->lift_off, twist, left);
        hd_move_point(foot->touch_down, twist, left);
        hd_tripod_swing(g, i, 1.0);
        hd_move_point(foot->place, twist, rest);
    } else if (g->parameters.profile != HD_HALF_SINE) {
        hd_move_point(foot->lift_off, twist, dt);
        hd_move_point(foot->touch_down, twist, dt);
        const double s = 2.0 * (p + dt / period) - 1.0;
        const struct hd_xy to = hd_tripod_target(g, i, s);
        const double gain = hd_least(1.0, HD_RETARGETING * (1.0 - s) * 2.0 * dt / period);
        foot->touch_down[0] += gain * (to.x - foot->touch_down[0]);
        foot->touch_down[1] += gain * (to.y - foot->touch_down[1]);
    }
}

/* Advance every foot and the phase by dt; stop walking at a half cycle at which all feet are at their neutral places. */
static inline void hd_tripod_advance_feet(struct hd_tripod *g, double dt)
{
    struct hd_tripod_state *s = &g->state;
    const double period = g->parameters.period;
    for (int i = 0; i < g->legs_count; i++) {
        const double p = hd_fraction(s->phase + g->legs[i].phase);
        hd_tripod_advance_foot(g, i, p, ((p < 0.5 ? 0.5 : 1.0) - p) * period, dt);
    }
    double phase = s->phase + dt / period;
    const double nearest = 0.5 * floor(2.0 * phase + 0.5);
    if (fabs(phase - nearest) < HD_ON_THE_BOUNDARY)
        phase = nearest;
    int halted = floor(2.0 * phase) > floor(2.0 * s->phase);
    for (int i = 0; i < g->legs_count && halted; i++) {
        const double dx = g->feet[i].place[0] - g->legs[i].foothold[0], dy = g->feet[i].place[1] - g->legs[i].foothold[1];
        halted = !(dx * dx + dy * dy > HD_TRIPOD_NEAR * HD_TRIPOD_NEAR);
    }
    if (halted && hd_longest_stroke(g, s->twist) < HD_NO_STROKE) {
        s->walking = 0.0;
        phase = fabs(phase - nearest) < HD_ON_THE_BOUNDARY ? nearest : 0.5 * floor(2.0 * phase);
    }
    s->phase = hd_fraction(phase);
}

/* Convert the feet to joint angles and rates; feet that swing are placed first. */
static inline void hd_tripod_setpoints(struct hd_tripod *g)
{
    const struct hd_tripod_state *s = &g->state;
    const double half = 0.5 * g->parameters.period;
    for (int i = 0; i < g->legs_count; i++) {
        struct hd_xyz rate = {0.0, 0.0, -s->rate[3]};
        double z = -s->twist[3];
        if (s->walking != 0.0) {
            const double p = hd_fraction(s->phase + g->legs[i].phase);
            const int stands = p < 0.5;
            const double along = stands ? 2.0 * p : 2.0 * p - 1.0;
            const struct hd_value lift = hd_swing_at((enum hd_profile)g->parameters.profile, along).lift;
            const double amplitude = stands ? -g->parameters.step_depth : g->parameters.step_height;
            if (stands) {
                rate.x = -(s->twist[0] - s->twist[2] * g->feet[i].place[1]);
                rate.y = -(s->twist[1] + s->twist[2] * g->feet[i].place[0]);
            } else {
                const struct hd_xy swing = hd_tripod_swing(g, i, along);
                rate.x = swing.x, rate.y = swing.y;
            }
            z += amplitude * lift.value, rate.z += amplitude / half * lift.rate;
        }
        const struct hd_xyz at = {g->feet[i].place[0], g->feet[i].place[1], z};
        hd_set_leg(g->legs + i, at, rate, g->parameters.speed_limit, g->position + 3 * i, g->velocity + 3 * i);
    }
}

/* Advance the gait by dt [s] (less than half a period) under its command; fill its position and velocity. During the first
 * blend_time seconds these are a minimum-jerk transition from the joint angles `start`. dt = 0 only fills them. */
static inline void hd_tripod_tick(struct hd_tripod *g, double dt)
{
    struct hd_tripod_state *s = &g->state;
    const int blending = s->blend < s->blend_time;
    if (dt > 0.0 && blending)
        s->blend = hd_least(s->blend + dt, s->blend_time);
    else if (dt > 0.0) {
        if (s->walking == 0.0 && hd_longest_stroke(g, s->command) > HD_NO_STROKE) {
            s->walking = 1.0;
            for (int i = 0; i < g->legs_count; i++)
                hd_tripod_lift_off(g, i, 0.0);
        }
        hd_filter_command(g, dt);
        if (s->walking != 0.0)
            hd_tripod_advance_feet(g, dt);
    }
    hd_tripod_setpoints(g);
    if (blending)
        hd_lead_from(g->start, s->blend, s->blend_time, g->position, g->velocity, 3 * g->legs_count);
}
#endif
