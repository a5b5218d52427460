/* What all gaits share: a robot's legs and their kinematics, plans, the trajectory of a foot.
 *
 * Leg frame: origin on the coxa's axis, x outward, z up. At zero the femur is horizontal and the tibia points straight down. The
 * knee angle is that between the directions of femur and tibia, 0 when the leg is stretched.
 *
 * A plan is a periodic gait in closed form. Leg i has the phase p = (phase + phi_i) mod 1: it stands for p < duty and swings for
 * the rest. Standing feet rest on the ground. A nominal frame moves over the ground with the body's twist; in this frame a
 * standing foot moves along an arc, and passes its foothold in the middle of its stance. The body sways in the nominal frame by
 * two harmonics,
 *
 *     s(phase) = a1 cos(2 pi phase) + b1 sin(2 pi phase) + a2 cos(4 pi phase) + b2 sin(4 pi phase)
 *
 * for x and for y, whose coefficients are affine in the twist: the polygon of the standing feet moves with it.
 *
 * In a crawl stroke (two or three legs) all legs move together: the body rises from its belly, is pushed ahead, sits down, and
 * the feet return. Its nominal frame moves only while the legs push; `hd_progress` gives its speed in units of the mean.
 */
#ifndef HD_GAIT_H
#define HD_GAIT_H
#include "xyz.h"

#define HD_PI 3.141592653589793
static const double HD_TURN = 2.0 * HD_PI;
/* Units of the twist of which the sway is an affine function [m/s], [rad/s]. */
static const double HD_SPEED_UNIT = 0.08, HD_TURN_UNIT = 0.35;
/* A leg nearer to stretched or folded than this (in sin(knee)) has damped rates. */
static const double HD_STRETCHED = 1e-3;
/* A swinging foot is lifted in this share of its swing, and set down in the same share; it begins to move over the ground after
 * the share of its lifting HD_LEAVES; its speed rises and falls in the share HD_RAMP of its way. */
static const double HD_UP = 0.32, HD_LEAVES = 0.06, HD_RAMP = 0.3;
/* Share of the cycle in which the body rises from its belly in a crawl stroke, or sits down. */
static const double HD_RISING = 0.11;

struct hd_gait_leg {
    double to_leg[9], mount[3];        /* rotation leg <- base_link; origin of the leg frame in base_link [m] */
    double lengths[3];                 /* [m] of coxa, femur, tibia */
    double lower[3], upper[3], knee[2]; /* limits of the joints [rad]; cosines of the smallest and largest knee angle */
    double free[3], held[3];           /* 1: the joint moves; angle of a joint that does not [rad] */
    double mass[3], centre[3];         /* of the links [kg]; places of their centres of mass as a share of the link */
    double used, phase, foothold[2];   /* the leg's part of the plan: 1: it walks; phase; foothold [m] */
    double rest[3];                    /* joint angles of a leg that is held up [rad] */
};
struct hd_plan {
    double period, duty;            /* [s]; share of the cycle in which a leg stands */
    double height, lift;            /* of base_link over the ground; of a swinging foot [m] */
    double crawls, rise;            /* 1: crawl stroke; rise of its body from the belly [m] */
    double sway[32];                /* a1, b1, a2, b2 of x, then of y, at rest [m]; their changes per unit of vx, vy, wz */
};
struct hd_gait_foot { /* the tripod gait uses the places on the ground only */
    double place[3], rate[3];            /* x, y, lift [m], and their rates */
    double lift_off[2], touch_down[2];   /* points of the ground where it lifted off, and where it will touch down */
    double in_air;                       /* 1: swings */
    double start[3];                     /* where a move began; of a restored leg: its joint angles */
    double returns;                      /* 1: its leg is restored and still held up */
};
struct hd_xy { double x, y; };
struct hd_sway { struct hd_value along[2]; };  /* of the body over its feet, along x and y */
struct hd_angles { double q[3], rate[3]; };    /* of a leg's joints */

static inline double hd_within(double a, double most) { return hd_least(most, hd_most(-most, a)); }
/* The fractional part, 0 to 1. */
static inline double hd_fraction(double value) { return value - floor(value); }

/* ---- time courses ------------------------------------------------------------------------------------------------------------ */

/* That quintic up to 1 over the first `ramp` of a length, and back to 0 over its last `ramp`, at a place on it. */
static inline struct hd_value hd_quintic_hump(double at, double length, double ramp)
{
    const int rises = at < length - at;
    const struct hd_value up = hd_minimum_jerk((rises ? at : length - at) / ramp);
    return (struct hd_value){up.value, (rises ? up.rate : -up.rate) / ramp};
}

/* The quintic from 0 to 0 with velocity 1 at its end, where all else is zero, and its derivative. */
static inline struct hd_value hd_quintic_start(double s)
{
    s = hd_unit(s);
    return (struct hd_value){s * s * s * (s * (7.0 - 3.0 * s) - 4.0), s * s * (s * (28.0 - 15.0 * s) - 12.0)};
}

/* Replace q (count) and its rates by a minimum-jerk transition from the joints `start` to them, begun `elapsed` seconds ago. */
static inline void hd_lead_from(const double *start, double elapsed, double duration, double *q, double *qd, int count)
{
    const struct hd_value h = hd_minimum_jerk(elapsed / duration);
    for (int j = 0; j < count; j++) {
        qd[j] = h.rate / duration * (q[j] - start[j]) + h.value * qd[j];
        q[j] = start[j] + h.value * (q[j] - start[j]);
    }
}

/* ---- trajectory of a foot ---------------------------------------------------------------------------------------------------- */

enum hd_profile { HD_PLANNED, HD_HALF_SINE, HD_SMOOTH_SINE };
struct hd_swing { struct hd_value way, lift; }; /* share of the way over the ground, of the lift; derivatives by s */

/* A swing at the fraction s of its time: the one foot trajectory of all gaits.
 *
 * HD_PLANNED: up first, then over the ground, then down, so that the foot slides neither where it lifts off nor where it touches
 * down. Its speed over the ground rises and falls as a cubic and is constant in between: the peak, which the servos must follow,
 * is 1.4 times the mean; with minimum jerk it would be 1.9 times. HD_HALF_SINE: Farghdani & Chhabra 2025, eq. (64): uniformly
 * over the ground, half a sine up. HD_SMOOTH_SINE: minimum jerk over the ground, its square up. */
static inline struct hd_swing hd_swing_at(enum hd_profile profile, double s)
{
    struct hd_swing out;
    if (profile != HD_PLANNED) {
        const double sine = sin(HD_PI * s);
        if (profile == HD_HALF_SINE)
            return (struct hd_swing){{s, 1.0}, {sine, HD_PI * cos(HD_PI * s)}};
        return (struct hd_swing){hd_minimum_jerk(s), {sine * sine, HD_PI * sin(2.0 * HD_PI * s)}};
    }
    const double span = 1.0 - 2.0 * HD_LEAVES, peak = 1.0 / (1.0 - HD_RAMP), u = hd_unit((s - HD_LEAVES) / span);
    if (u < HD_RAMP || u > 1.0 - HD_RAMP) {
        const double r = (u < HD_RAMP ? u : 1.0 - u) / HD_RAMP, way = peak * HD_RAMP * r * r * r * (1.0 - 0.5 * r);
        out.way = (struct hd_value){u < HD_RAMP ? way : 1.0 - way, peak * r * r * (3.0 - 2.0 * r) / span};
    } else
        out.way = (struct hd_value){peak * (u - 0.5 * HD_RAMP), peak / span};
    out.lift = hd_quintic_hump(s, 1.0, HD_UP);
    return out;
}

/* The place, after dt at a constant twist (vx, vy, wz), of a point of the ground in base_link: it moves on an arc. */
static inline struct hd_xy hd_place_after(double x, double y, const double *twist, double dt)
{
    const double vx = twist[0], vy = twist[1], wz = twist[2];
    if (wz == 0.0)
        return (struct hd_xy){x - vx * dt, y - vy * dt};
    const double half = -0.5 * wz * dt, c = cos(half), s = sin(half);
    const double sinc = dt * (fabs(half) > 1e-8 ? s / half : 1.0);
    const double cx = c * x - s * y - sinc * vx, cy = s * x + c * y - sinc * vy;
    return (struct hd_xy){c * cx - s * cy, s * cx + c * cy};
}
static inline void hd_move_point(double *point, const double *twist, double dt)
{
    const struct hd_xy to = hd_place_after(point[0], point[1], twist, dt);
    point[0] = to.x, point[1] = to.y;
}

/* ---- plans ------------------------------------------------------------------------------------------------------------------- */

/* The body's sway [m] at a twist, and its derivative by the phase. */
static inline struct hd_sway hd_sway_of(const struct hd_plan *plan, double phase, const double *twist)
{
    const double c1 = cos(HD_TURN * phase), s1 = sin(HD_TURN * phase), c2 = c1 * c1 - s1 * s1, s2 = 2.0 * s1 * c1;
    const double x = twist[0] / HD_SPEED_UNIT, y = twist[1] / HD_SPEED_UNIT, w = twist[2] / HD_TURN_UNIT;
    struct hd_sway out;
    for (int axis = 0; axis < 2; axis++) {
        double a[4];
        for (int i = 0; i < 4; i++) {
            const double *of = plan->sway + 4 * axis + i;
            a[i] = of[0] + x * of[8] + y * of[16] + w * of[24];
        }
        out.along[axis].value = a[0] * c1 + a[1] * s1 + a[2] * c2 + a[3] * s2;
        out.along[axis].rate = HD_TURN * (a[1] * c1 - a[0] * s1 + 2.0 * (a[3] * c2 - a[2] * s2));
    }
    return out;
}

/* How far [m] the body is off its belly in a crawl stroke, and its derivative by the phase; 0 for a walking one. */
static inline struct hd_value hd_planned_rise(const struct hd_plan *plan, double phase)
{
    if (plan->crawls == 0.0 || phase >= plan->duty)
        return (struct hd_value){0.0, 0.0};
    const struct hd_value up = hd_quintic_hump(phase, plan->duty, HD_RISING);
    return (struct hd_value){plan->rise * up.value, plan->rise * up.rate};
}

/* How far the nominal frame has come in this cycle, 0 to 1, and its derivative, at a phase 0 to 1. */
static inline struct hd_value hd_progress(const struct hd_plan *plan, double phase)
{
    if (plan->crawls == 0.0)
        return (struct hd_value){phase, 1.0};
    const double begin = 0.6 * HD_RISING, span = plan->duty - 2.0 * begin;
    const struct hd_value way = hd_minimum_jerk((phase - begin) / span);
    return (struct hd_value){way.value, way.rate / span};
}

/* The time [s] at the mean twist since the middle of the stance of a leg at p; negative before the middle. */
static inline double hd_stance_time(const struct hd_plan *plan, double p)
{
    if (plan->crawls != 0.0)
        return (hd_progress(plan, p).value - 0.5) * plan->period;
    return (p - 0.5 * plan->duty) * plan->period;
}
static inline double hd_swing_time(const struct hd_plan *plan)
{
    return plan->crawls != 0.0 ? 0.0 : (1.0 - plan->duty) * plan->period;
}

/* A foot in the nominal frame in the steady gait: its place (x, y), its lift z [m]; whether it stands; if not, where it lifted off,
 * and where it will touch down. */
struct hd_steady_foot { struct hd_xyz foot; int stands; struct hd_xy off, down; };
static inline struct hd_steady_foot hd_cycle_foot(const struct hd_plan *plan, const struct hd_gait_leg *leg, double phase,
                                           const double *twist)
{
    const double p = hd_fraction(phase + leg->phase), duty = plan->duty, fx = leg->foothold[0], fy = leg->foothold[1];
    if (p < duty) {
        const struct hd_xy at = hd_place_after(fx, fy, twist, hd_stance_time(plan, p));
        return (struct hd_steady_foot){{at.x, at.y, 0.0}, 1, at, at};
    }
    const double s = (p - duty) / (1.0 - duty), rest = hd_swing_time(plan), half = hd_stance_time(plan, duty);
    const struct hd_xy off = hd_place_after(fx, fy, twist, half + s * rest);
    const struct hd_xy down = hd_place_after(fx, fy, twist, -half - (1.0 - s) * rest);
    const struct hd_swing swing = hd_swing_at(HD_PLANNED, s);
    const double x = off.x + swing.way.value * (down.x - off.x), y = off.y + swing.way.value * (down.y - off.y);
    return (struct hd_steady_foot){{x, y, plan->lift * swing.lift.value}, 0, off, down};
}

/* ---- kinematics of a leg ----------------------------------------------------------------------------------------------------- */

/* The equivalent angle in [-pi, pi). */
static inline double hd_wrap_angle(double angle)
{
    const double rest = fmod(angle + HD_PI, 2.0 * HD_PI);
    return (rest < 0.0 ? rest + 2.0 * HD_PI : rest) - HD_PI;
}

/* The angles that bring the foot of a leg nearest to `to` [m, leg frame], and their rates for a target that moves at `rate`: foot
 * outward, knee up. The foot is at the target if the free joints can reach it within the limits of the knee, else as near as
 * possible. Rates of a leg nearly stretched are damped. */
static inline struct hd_angles hd_solve_leg(const struct hd_gait_leg *leg, struct hd_xyz to, struct hd_xyz rate)
{
    const double l1 = leg->lengths[0], l2 = leg->lengths[1], l3 = leg->lengths[2], *held = leg->held;
    const double x = to.x, y = to.y, z = to.z;
    double c1 = 1.0, s1 = 0.0, radius;
    struct hd_angles out = {{held[0], held[1], held[2]}, {0.0, 0.0, 0.0}};
    if (leg->free[0] != 0.0) {
        const double distance = sqrt(x * x + y * y);
        out.q[0] = atan2(y, x);
        if (distance > 0.0)
            c1 = x / distance, s1 = y / distance;
        radius = distance - l1;
        out.rate[0] = (c1 * rate.y - s1 * rate.x) / hd_most(distance, HD_STRETCHED * (l1 + l2));
    } else {
        c1 = cos(held[0]), s1 = sin(held[0]);
        radius = c1 * x + s1 * y - l1;
    }
    const double rd = c1 * rate.x + s1 * rate.y, zd = rate.z, square = radius * radius + z * z;
    if (leg->free[1] != 0.0 && leg->free[2] != 0.0) {
        const double c = hd_least(leg->knee[0], hd_most(leg->knee[1], (square - l2 * l2 - l3 * l3) / (2.0 * l2 * l3)));
        const double s = sqrt(1.0 - c * c);
        /* The foot in the femur's frame is (along, -below); turn that to the target's direction. */
        const double along = l2 + l3 * c, below = l3 * s;
        const double cosine = radius * along - z * below, sine = z * along + radius * below;
        const double size = sqrt(cosine * cosine + sine * sine);
        double c2 = 1.0, s2 = 0.0;
        out.q[1] = atan2(sine, cosine), out.q[2] = 0.5 * HD_PI - acos(c);
        if (size > 0.0)
            c2 = cosine / size, s2 = sine / size;
        const double ct = c2 * c + s2 * s, st = s2 * c - c2 * s, damped = -s / (s * s + HD_STRETCHED * HD_STRETCHED);
        out.rate[1] = (ct * rd + st * zd) * damped / l2;
        out.rate[2] = -(c2 * rd + s2 * zd) * damped / l3 - out.rate[1];
    } else if (leg->free[2] != 0.0) {
        const double dx = radius - l2 * cos(held[1]), dz = z - l2 * sin(held[1]), near = HD_STRETCHED * l3;
        out.q[2] = hd_wrap_angle(atan2(dz, dx) - held[1] + 0.5 * HD_PI);
        out.rate[2] = (dx * zd - dz * rd) / hd_most(dx * dx + dz * dz, near * near);
    } else if (leg->free[1] != 0.0) {
        const double near = HD_STRETCHED * l2;
        out.q[1] = hd_wrap_angle(atan2(z, radius) - atan2(-l3 * cos(held[2]), l2 + l3 * sin(held[2])));
        out.rate[1] = (radius * zd - z * rd) / hd_most(square, near * near);
    }
    return out;
}

/* A point of base_link in the leg frame, and back. */
static inline struct hd_xyz hd_from_mount(const struct hd_gait_leg *leg, double x, double y, double z)
{
    return to_world(leg->to_leg, (struct hd_xyz){x - leg->mount[0], y - leg->mount[1], z - leg->mount[2]});
}
static inline struct hd_xyz hd_to_base(const struct hd_gait_leg *leg, double x, double y, double z)
{
    return plus3(to_body(leg->to_leg, (struct hd_xyz){x, y, z}), 1.0, (struct hd_xyz){leg->mount[0], leg->mount[1], leg->mount[2]});
}

/* Write a leg's set-points q (3) [rad] and qd (3) [rad/s], within its joints' ranges and their speed, for a foot at a place [m]
 * that moves at `rate` [m/s], both in base_link axes. */
static inline void hd_set_leg(const struct hd_gait_leg *leg, struct hd_xyz at, struct hd_xyz rate, double speed_limit, double *q,
                              double *qd)
{
    const struct hd_xyz place = hd_from_mount(leg, at.x, at.y, at.z), moves = to_world(leg->to_leg, rate);
    struct hd_angles to = hd_solve_leg(leg, place, moves);
    for (int k = 0; k < 3; k++) {
        const double lower = leg->lower[k], upper = leg->upper[k];
        if (leg->free[k] != 0.0 && (to.q[k] < lower || to.q[k] > upper)) {
            /* Stay at the limit at which the joint was: an angle beyond the limit that passes pi would jump to the other one. */
            to.q[k] = upper - q[k] < q[k] - lower ? upper : lower;
            to.rate[k] = 0.0;
        }
        q[k] = to.q[k];
        qd[k] = hd_within(to.rate[k], speed_limit);
    }
}

/* Bound the motion of a joint from its set-point `before`, dt ago, to its speed limit. */
static inline void hd_limit_speed(double before, double speed_limit, double dt, double *q, double *qd)
{
    const double change = *q - before, most = speed_limit * dt;
    if (fabs(change) > most) {
        *q = before + copysign(most, change);
        *qd = copysign(speed_limit, change);
    }
}
#endif
