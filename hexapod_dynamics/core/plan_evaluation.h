/* Evaluates a plan by geometry and masses: zero-moment point, reach, joint range and rates, distance of legs.
 *
 * The zero-moment point of the body and all links (masses m, centres of mass p, ground at z = 0),
 *
 *     x_zmp = (sum m (z" + g) x - sum m x" z) / sum m (z" + g)      (Vukobratovic; the links' own spin is left out)
 *
 * must be inside the polygon of the standing feet. Its accelerations are central differences over the samples of a cycle. A foot
 * that has just touched down, or is about to lift off (HD_GUARD [s]), is not counted as standing.
 */
#ifndef HD_PLAN_EVALUATION_H
#define HD_PLAN_EVALUATION_H
#include "adaptive_gait.h"
#include "checks.h"

static const double HD_FAR = 1.0, HD_GUARD = 0.02; /* [m], [s] */
/* First cycles: the score is the margin, at most HD_PLENTY [m], less the part of the feet's distance from their places that exceeds
 * HD_MISSED [m]; set-points faster than HD_FASTEST times the servos' speed cost HD_SPEEDING [m] for each further multiple. */
static const double HD_PLENTY = 0.02, HD_MISSED = 0.025, HD_FASTEST = 2.0, HD_SPEEDING = 0.006;
/* Number of simulated cycles; a sample of them each HD_STEP [s]. */
static const double HD_CYCLES = 1.5, HD_STEP = 0.03;
/* Largest number of samples of a steady cycle, of the first cycles; number of bodies. */
enum { HD_SAMPLES_MOST = 96, HD_REHEARSED_MOST = 160, HD_BODIES = 3 * HD_MOST_LEGS + 1 };

struct hd_segment { double knee[3], foot[3]; };
struct hd_weights { const double *box; double body, gravity; }; /* box and centre of mass of the body (6) [m]; mass [kg] */
struct hd_findings {
    double margin;      /* of the zero-moment point [m] */
    double reach, range; /* that remain [m], [rad] */
    double rate, apart; /* largest joint rate [rad/s]; least distance between legs [m] */
};
struct hd_first_cycle {
    double score, margin; /* [m]; least margin of the zero-moment point */
    double miss, rate;    /* largest distance of a standing foot from its place [m]; largest joint rate [rad/s] */
};
struct hd_sample { /* of a walk */
    struct hd_xyz centres[HD_BODIES], feet[HD_MOST_LEGS]; /* of mass of the links, then of the body; z of a foot: 1 if it stands */
    int lies;                                             /* 1: on its belly */
};

/* ---- geometry ---------------------------------------------------------------------------------------------------------------- */

/* The distance [m] of (x, y) from the edge of the convex hull of points, negative outside: the least distance from the lines of
 * the hull's edges. */
static inline double hd_margin_in_hull(const struct hd_xy *points, int count, double x, double y)
{
    double least = HD_FAR;
    int edges = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const double ex = points[j].x - points[i].x, ey = points[j].y - points[i].y, square = ex * ex + ey * ey;
            int outer = i != j && square >= 1e-18;
            for (int k = 0; k < count && outer; k++)
                if (k != i && k != j)
                    outer = !(ex * (points[k].y - points[i].y) - ey * (points[k].x - points[i].x) < 0.0);
            edges += outer;
            if (outer)
                least = hd_least(least, (ex * (y - points[i].y) - ey * (x - points[i].x)) / sqrt(square));
        }
    return edges == 0 ? -HD_FAR : count == 2 ? -fabs(least) : least; /* no edge: all points are one */
}

/* The margin [m] by which the belly of a robot that crawls on two feet carries less than half of its weight at (x, y).
 *
 * The body tips about the line between the feet until the edge of its belly (box (2,) and more) on the side of (x, y) touches the
 * ground and drags. With (x, y) at the distance d from the line and the edge at D, the edge carries the share d / D; D / 2 - d is
 * returned, or the distance of (x, y) from the nearer end of the line between the feet if that is less. */
static inline double hd_margin_on_two_feet(const struct hd_xy *points, const double *box, double x, double y)
{
    double ex = points[1].x - points[0].x, ey = points[1].y - points[0].y, edge = 0.0;
    const double length = sqrt(ex * ex + ey * ey);
    if (length < 1e-9)
        return -HD_FAR;
    ex /= length, ey /= length;
    const double dx = x - points[0].x, dy = y - points[0].y;
    const double along = ex * dx + ey * dy, off = ex * dy - ey * dx, side = off >= 0.0 ? 1.0 : -1.0;
    for (int corner = 0; corner < 4; corner++) {
        const double cx = (corner & 1 ? 0.5 * box[0] : -0.5 * box[0]) - points[0].x;
        const double cy = (corner & 2 ? 0.5 * box[1] : -0.5 * box[1]) - points[0].y;
        edge = hd_most(edge, side * (ex * cy - ey * cx));
    }
    return hd_least(0.5 * edge - side * off, hd_least(along, length - along));
}

/* The distance [m] between two segments. */
static inline double hd_segment_distance(const struct hd_segment *one, const struct hd_segment *other)
{
    double u[3], v[3], w[3], d[3];
    for (int k = 0; k < 3; k++) {
        u[k] = one->foot[k] - one->knee[k];
        v[k] = other->foot[k] - other->knee[k];
        w[k] = one->knee[k] - other->knee[k];
    }
    const double uu = hd_dot(u, u, 3), uv = hd_dot(u, v, 3), vv = hd_dot(v, v, 3), uw = hd_dot(u, w, 3), vw = hd_dot(v, w, 3);
    const double det = uu * vv - uv * uv;
    double s = det > 1e-12 ? hd_unit((uv * vw - vv * uw) / det) : 0.0, t = vv > 1e-12 ? (uv * s + vw) / vv : -1.0;
    if (t < 0.0 || t > 1.0) {
        t = hd_unit(t);
        s = uu > 1e-12 ? hd_unit((uv * t - uw) / uu) : 0.0;
    }
    for (int k = 0; k < 3; k++)
        d[k] = w[k] + s * u[k] - t * v[k];
    return sqrt(hd_dot(d, d, 3));
}

/* Write the centres of mass (3) of a leg's links at its joint angles q (3), for base_link at `body`, to `out`; and knee and foot,
 * in base_link, to `ends` [m]. */
static inline void hd_place_links(const struct hd_gait_leg *leg, const double *q, struct hd_xyz body, struct hd_xyz *out,
                                  struct hd_segment *ends)
{
    const double c1 = cos(q[0]), s1 = sin(q[0]), c2 = cos(q[1]), s2 = sin(q[1]), ct = cos(q[1] + q[2]), st = sin(q[1] + q[2]);
    const double l1 = leg->lengths[0], l2 = leg->lengths[1], l3 = leg->lengths[2];
    for (int k = 0; k < 5; k++) {
        const double along1 = k == 0 ? leg->centre[0] * l1 : l1;
        const double along2 = k == 0 ? 0.0 : k == 1 ? leg->centre[1] * l2 : l2;
        const double along3 = k == 2 ? leg->centre[2] * l3 : k == 4 ? l3 : 0.0;
        const double r = along1 + along2 * c2 + along3 * st, z = along2 * s2 - along3 * ct;
        const struct hd_xyz p = hd_to_base(leg, r * c1, r * s1, z);
        if (k < 3)
            out[k] = plus3(p, 1.0, body);
        else {
            double *end = k == 3 ? ends->knee : ends->foot;
            end[0] = p.x, end[1] = p.y, end[2] = p.z;
        }
    }
}

/* The remaining reach [m] of a leg with its foot at a place [m] in its frame. */
static inline double hd_remaining_reach(const struct hd_gait_leg *leg, struct hd_xyz at)
{
    const double l1 = leg->lengths[0], l2 = leg->lengths[1], l3 = leg->lengths[2];
    const double radius = hypot(at.x, at.y), distance = hypot(radius - l1, at.z);
    /* A foot near the axis of the coxa would need high coxa rates. */
    return hd_least(hd_least(l2 + l3 - distance, distance - fabs(l2 - l3)), radius - 0.035);
}

/* ---- the zero-moment point --------------------------------------------------------------------------------------------------- */

/* The zero-moment point (x, y) of the body and of the links of n legs, and as z its margin [m], at the middle one of three samples.
 *
 * per_square [1/s^2]: of the interval between two samples; surge: acceleration of the frame (2); vertical: 1, or 0 to neglect
 * accelerations of heights; crawls: whether the belly carries a part of a robot that stands on two feet. */
static inline struct hd_xyz hd_zero_moment(const struct hd_gait_leg *legs, int64_t n, const struct hd_weights *weights,
                                           const struct hd_sample *before, const struct hd_sample *middle,
                                           const struct hd_sample *after, double per_square, const double *surge,
                                           double vertical, int crawls)
{
    const struct hd_xyz *last = before->centres, *now = middle->centres, *next = after->centres;
    const double *box = weights->box;
    struct hd_xy points[HD_MOST_LEGS < 4 ? 4 : HD_MOST_LEGS];
    struct hd_xyz sum = {0.0, 0.0, 0.0};
    for (int j = 0; j <= 3 * n; j++) {
        const double m = j == 3 * n ? weights->body : legs[j / 3].mass[j % 3];
        if (m == 0.0)
            continue;
        const double ax = (next[j].x - 2.0 * now[j].x + last[j].x) * per_square + surge[0];
        const double ay = (next[j].y - 2.0 * now[j].y + last[j].y) * per_square + surge[1];
        const double force = weights->gravity + vertical * (next[j].z - 2.0 * now[j].z + last[j].z) * per_square;
        sum.z += m * force;
        sum.x += m * (force * now[j].x - ax * now[j].z);
        sum.y += m * (force * now[j].y - ay * now[j].z);
    }
    const double x = sum.x / sum.z, y = sum.y / sum.z;
    int count = 0;
    for (int i = 0; i < n && !middle->lies; i++)
        if (middle->feet[i].z != 0.0)
            points[count++] = (struct hd_xy){middle->feet[i].x, middle->feet[i].y};
    if (crawls && count == 2)
        return (struct hd_xyz){x, y, hd_margin_on_two_feet(points, box, x, y)};
    for (; middle->lies && count < 4; count++)
        points[count] = (struct hd_xy){count & 1 ? 0.5 * box[0] : -0.5 * box[0], count & 2 ? 0.5 * box[1] : -0.5 * box[1]};
    return (struct hd_xyz){x, y, hd_margin_in_hull(points, count, x, y)};
}

/* ---- a steady cycle ---------------------------------------------------------------------------------------------------------- */

/* Write the sample `to` of the leg i at a phase, with the body at a place: joint angles q, foot, centres of mass, its ends. */
static inline void hd_pose_leg(const struct hd_plan *plan, const struct hd_gait_leg *leg, int i, double phase,
                               const double *twist, struct hd_xyz body, double *q, struct hd_sample *to, struct hd_segment *ends,
                               struct hd_findings *found)
{
    const double p = hd_fraction(phase + leg->phase), guard = hd_least(HD_GUARD / plan->period, (plan->duty - 0.5) / 2.2);
    to->feet[i].z = leg->used != 0.0 && (plan->crawls != 0.0 || (guard <= p && p <= plan->duty - guard));
    if (leg->used != 0.0) {
        const struct hd_xyz foot = hd_cycle_foot(plan, leg, phase, twist).foot;
        const struct hd_xyz at = hd_from_mount(leg, foot.x - body.x, foot.y - body.y, foot.z - body.z), still = {0.0, 0.0, 0.0};
        const struct hd_angles to_foot = hd_solve_leg(leg, at, still);
        to->feet[i].x = foot.x, to->feet[i].y = foot.y;
        found->reach = hd_least(found->reach, hd_remaining_reach(leg, at));
        for (int j = 0; j < 3; j++) {
            q[j] = to_foot.q[j];
            if (leg->free[j] != 0.0)
                found->range = hd_least(found->range, hd_least(q[j] - leg->lower[j], leg->upper[j] - q[j]));
        }
    } else
        for (int j = 0; j < 3; j++)
            q[j] = leg->rest[j];
    if (leg->mass[0] != 0.0)
        hd_place_links(leg, q, body, to->centres + 3 * i, ends);
}

/* The acceleration of the nominal frame at the sample k of a cycle, in units of the mean velocity. */
static inline double hd_surge(const struct hd_plan *plan, int k, int samples)
{
    if (plan->crawls == 0.0)
        return 0.0;
    const double last = hd_progress(plan, (double)((k + samples - 1) % samples) / samples).value - (k == 0 ? 1.0 : 0.0);
    const double next = hd_progress(plan, (double)((k + 1) % samples) / samples).value + (k == samples - 1 ? 1.0 : 0.0);
    const double per_square = (samples / plan->period) * (samples / plan->period);
    return (next - 2.0 * hd_progress(plan, (double)k / samples).value + last) * per_square * plan->period;
}

/* The least distance [m] between neighbouring legs, of which one walks, at most `least`: only neighbours can touch. */
static inline double hd_least_apart(const struct hd_gait_leg *legs, int n, const struct hd_segment *ends, double least)
{
    for (int i = 0; i < n; i++)
        for (int step = 1; step < n && legs[i].mass[2] != 0.0; step++) {
            const int j = (i + step) % n; /* missing legs are skipped */
            if (legs[j].mass[2] > 0.0) {
                if (legs[i].used != 0.0 || legs[j].used != 0.0)
                    least = hd_least(least, hd_segment_distance(ends + i, ends + j));
                break;
            }
        }
    return least;
}

/* Evaluate the steady gait of n legs at a twist (vx, vy, wz): the worst over the samples of a cycle; write their joint angles
 * (samples, n, 3) [rad] and the zero-moment point (x, y) in the nominal frame with its margin (samples) [m]. */
static inline void hd_evaluate(const struct hd_plan *plan, const struct hd_gait_leg *legs, int n, const struct hd_weights *weights,
                               const double *twist, int samples, double *angles, struct hd_xyz *course, struct hd_findings *found)
{
    const int crawls = plan->crawls != 0.0;
    const double belly = crawls ? plan->height - plan->rise : plan->height, *box = weights->box;
    const double per_square = (samples / plan->period) * (samples / plan->period);
    struct hd_sample cycle[HD_SAMPLES_MOST];
    struct hd_segment ends[HD_MOST_LEGS];
    *found = (struct hd_findings){HD_FAR, HD_FAR, HD_FAR, 0.0, HD_FAR};
    for (int k = 0; k < samples; k++) {
        const double phase = (double)k / samples;
        const struct hd_sway sway = hd_sway_of(plan, phase, twist);
        const struct hd_xyz body = {sway.along[0].value, sway.along[1].value, belly + hd_planned_rise(plan, phase).value};
        cycle[k].lies = crawls && (phase >= plan->duty - 0.3 * HD_RISING || phase < 0.3 * HD_RISING);
        for (int i = 0; i < n; i++)
            hd_pose_leg(plan, legs + i, i, phase, twist, body, angles + 3 * (k * n + i), cycle + k, ends + i, found);
        cycle[k].centres[3 * n] = (struct hd_xyz){body.x + box[3], body.y + box[4], body.z + box[5]};
        if (k % 2 == 0)
            found->apart = hd_least_apart(legs, n, ends, found->apart);
    }
    for (int k = 0; k < samples; k++) {
        const int next = (k + 1) % samples;
        for (int j = 0; j < 3 * n; j++)
            if (legs[j / 3].used != 0.0) {
                const double change = fabs(angles[next * 3 * n + j] - angles[k * 3 * n + j]);
                found->rate = hd_most(found->rate, change * (samples / plan->period));
            }
        const double surge = hd_surge(plan, k, samples), surges[2] = {twist[0] * surge, twist[1] * surge};
        course[k] = hd_zero_moment(legs, n, weights, cycle + (k + samples - 1) % samples, cycle + k, cycle + next, per_square,
                                   surges, 1.0, crawls);
        found->margin = hd_least(found->margin, course[k].z);
    }
}

/* ---- the first cycles after a change of plan ------------------------------------------------------------------------------------- */

/* Write the sample of a walk whose nominal frame has moved by `way` on the ground; follow the largest rate and miss of its feet. */
static inline void hd_take_sample(const struct hd_walk *w, struct hd_xy way, const struct hd_weights *weights, const double *before,
                                  struct hd_sample *to, struct hd_first_cycle *found)
{
    const struct hd_gait_state *s = &w->state;
    const double *box = weights->box, *q = w->position, *offset = s->body_offset;
    const struct hd_sway sway = hd_present_sway(w);
    const double bx = sway.along[0].value + offset[0], by = sway.along[1].value + offset[1], bz = s->height + offset[2];
    for (int i = 0; i < w->legs_count; i++) {
        const struct hd_gait_foot *foot = w->feet + i;
        struct hd_segment ends = {{0.0}, {0.0}};
        to->feet[i] = (struct hd_xyz){way.x + foot->place[0], way.y + foot->place[1], 0.0};
        if (w->legs[i].mass[0] != 0.0)
            hd_place_links(w->legs + i, q + 3 * i, (struct hd_xyz){way.x + bx, way.y + by, bz}, to->centres + 3 * i, &ends);
        if (w->legs[i].used == 0.0 || foot->returns != 0.0)
            continue;
        for (int j = 3 * i; j < 3 * i + 3; j++)
            found->rate = hd_most(found->rate, fabs(q[j] - before[j]) / HD_STEP);
        if (foot->in_air == 0.0) {
            const double d[3] = {ends.foot[0] + bx - foot->place[0], ends.foot[1] + by - foot->place[1],
                                 ends.foot[2] + bz - foot->place[2]};
            to->feet[i].z = 1.0;
            found->miss = hd_most(found->miss, sqrt(hd_dot(d, d, 3)));
        }
    }
    to->centres[3 * w->legs_count] = (struct hd_xyz){way.x + bx + box[3], way.y + by + box[4], bz + box[5]};
}

/* Rehearse the first cycles after a change of plan: is the walk stable from the present places of the feet?
 *
 * A plan is stable with all its feet at their footholds. After a change while the robot walks, each foot is centimetres away from
 * its foothold until its first step: meanwhile the body may tip over the standing feet, and a leg may be out of reach and drag. So
 * the gait itself is advanced, on a copy `w` of its memory, and the zero-moment point of body and links is followed from when all
 * feet stand until every foot has stepped and the walk is at its full speed. Ends early when the score is not above `least`. */
static inline struct hd_first_cycle hd_rehearse(struct hd_walk *w, const struct hd_weights *weights, double least)
{
    struct hd_sample samples[3] = {0};
    const double still[2] = {0.0, 0.0}, per_square = 1.0 / (HD_STEP * HD_STEP);
    double before[3 * HD_MOST_LEGS], walked = 0.0;
    struct hd_xy way = {0.0, 0.0};
    int settled = 0;
    struct hd_first_cycle found = {-HD_FAR, HD_FAR, 0.0, 0.0};
    for (int k = 0; k < HD_REHEARSED_MOST; k++) {
        for (int j = 0; j < 3 * w->legs_count; j++)
            before[j] = w->position[j];
        hd_adaptive_tick(w, HD_STEP, 0);
        if (w->state.mode == HD_WALK)
            walked += HD_STEP / w->plan.period;
        way.x += w->state.corrected[0] * HD_STEP;
        way.y += w->state.corrected[1] * HD_STEP;
        hd_take_sample(w, way, weights, before, samples + k % 3, &found);
        settled = w->state.mode != HD_SETTLE ? settled + 1 : 0;
        if (settled < 3)
            continue;
        const struct hd_xyz at = hd_zero_moment(w->legs, w->legs_count, weights, samples + (k - 2) % 3, samples + (k - 1) % 3,
                                                samples + k % 3, per_square, still, 0.0, 0);
        found.margin = hd_least(found.margin, at.z);
        found.score = hd_least(found.margin, HD_PLENTY) - hd_most(0.0, found.miss - HD_MISSED);
        found.score -= HD_SPEEDING * hd_most(0.0, found.rate / w->settings.speed - HD_FASTEST);
        if (found.score <= least || walked >= HD_CYCLES)
            break;
    }
    return found;
}
#endif
