/* Links and points on them: poses, Jacobians, acceleration bias.
 *
 * Screws, ends and rotations of link frames come from the kernel `frames`, in the body frame.
 */
#ifndef HD_POINTS_H
#define HD_POINTS_H

#include "hd_forces.h"
#include "hd_matrices.h"

/* A link: its leg's index, its place in the leg, its joint's index. */
struct hd_link {
    int64_t leg, k, joint;
};

/* Screws, ends and frames at q; whether q is good. */
static inline int hd_set_frames(struct hd_model *m, const double *q)
{
    if (!hd_set_q(m, q))
        return 0;
    hd_run(m, HD_FRAMES);
    return 1;
}

/* Axes of a link in the body frame, (3, 3): axis i in row i. */
static inline void hd_axes_in_body(const struct hd_model *m, const double *lane, int64_t k, double *out)
{
    double frame[9], axes[9];
    (void)m; /* where the layout is fixed */
    hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, frame) + 9 * k, 9, frame);
    hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, axes) + 9 * k, 9, axes);
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 3; r++)
            out[3 * i + r] = frame[3 * r] * axes[i] + frame[3 * r + 1] * axes[3 + i] + frame[3 * r + 2] * axes[6 + i];
}

/* Place (3) in the body frame of a point given in a link's axes, which begin where the link begins: at its end less
 * what its frame turns the end into. */
static inline void hd_point_place(const struct hd_model *m, const struct hd_link *link, const double *point, double *out)
{
    const struct hd_leg *leg = m->legs + link->leg;
    const double *lane = hd_lane(m, leg->block, leg->lane);
    const int64_t width = HD_WIDTH(m), k = link->k;
    double frame[9], end[3], along[3], axes[9];
    hd_get_numbers(lane, width, HD_ROW(m, frame) + 9 * k, 9, frame);
    hd_get_numbers(lane, width, HD_ROW(m, point) + 3 * k, 3, end);
    hd_get_numbers(lane, width, HD_ROW(m, links) + HD_LINK_SIZE * k + HD_LINK_END, 3, along);
    hd_axes_in_body(m, lane, k, axes);
    for (int r = 0; r < 3; r++)
        out[r] = end[r] - (frame[3 * r] * along[0] + frame[3 * r + 1] * along[1] + frame[3 * r + 2] * along[2]) +
                 axes[r] * point[0] + axes[3 + r] * point[1] + axes[6 + r] * point[2];
}

/* Velocity of the body-frame point x at unit rate of a joint: v + w x x of its screw. */
static inline void hd_point_velocity(const double *screw, const double *x, double *out)
{
    hd_cross(screw + 3, x, out);
    for (int i = 0; i < 3; i++)
        out[i] += screw[i];
}

/* Jacobian (3, 6 + n) of the velocity, in body axes, of a link's point (3), which is given in its axes. */
static inline int hd_point_jacobian(struct hd_model *m, const double *q, const double *point,
                                    const struct hd_link *link, double *J)
{
    const struct hd_leg *leg = m->legs + link->leg;
    const int64_t size = 6 + m->moving_count;
    double x[3];
    if (leg->last < link->k || !hd_set_frames(m, q))
        return 0;
    hd_point_place(m, link, point, x);
    hd_clear(J, 3 * size);
    for (int r = 0; r < 3; r++)
        J[r * size + r] = 1.0;
    hd_add_skew(J + 3, size, -x[0], -x[1], -x[2]);
    int64_t column = hd_first_column(m, leg);
    const double *lane = hd_lane(m, leg->block, leg->lane);
    for (int64_t k = 0; k <= link->k; k++)
        if (m->moving[leg->first + k] != 0.0) {
            double screw[6], velocity[3];
            hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, screw) + 6 * k, 6, screw);
            hd_point_velocity(screw, x, velocity);
            for (int r = 0; r < 3; r++)
                J[r * size + column] = velocity[r];
            column++;
        }
    return hd_are_finite(x, 3);
}

/* Jdot nu (3) of the body-frame point x of a leg's link k, and its velocity (3) as the body sees it.
 *
 * Needs the frames. With the joints further in moving at the twist (b, c), joint's screw (v, w), point x, slide u:
 * d/dt (v + w x x) = c x v + b x w + (c x w) x x + w x u, and c is made up joint by joint; the body turns with w_0. */
static inline void hd_bias_at(const struct hd_model *m, const struct hd_leg *leg, int64_t k, const double *x,
                              const double *nu, double *bias, double *velocity)
{
    const double *lane = hd_lane(m, leg->block, leg->lane), *rates = nu + hd_first_column(m, leg);
    double b[3] = {0}, c[3] = {0}, screw[6], part[3];
    int64_t at = 0;
    for (int i = 0; i < 3; i++)
        velocity[i] = 0.0;
    for (int64_t inner = 0; inner <= k; inner++)
        if (m->moving[leg->first + inner] != 0.0) {
            hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, screw) + 6 * inner, 6, screw);
            hd_point_velocity(screw, x, part);
            for (int i = 0; i < 3; i++)
                velocity[i] += part[i] * rates[at];
            at++;
        }
    hd_cross(nu + 3, velocity, bias);
    at = 0;
    for (int64_t inner = 0; inner <= k; inner++) {
        if (m->moving[leg->first + inner] == 0.0)
            continue;
        const double rate = rates[at++], *w = screw + 3;
        double cv[3], bw[3], cw[3], cwx[3], wu[3];
        hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, screw) + 6 * inner, 6, screw);
        hd_cross(c, screw, cv);
        hd_cross(b, w, bw);
        hd_cross(c, w, cw); /* rate of the axis */
        hd_cross(cw, x, cwx);
        hd_cross(w, velocity, wu);
        for (int i = 0; i < 3; i++) {
            bias[i] += rate * (cv[i] + bw[i] + cwx[i] + wu[i]);
            b[i] += rate * screw[i];
            c[i] += rate * w[i];
        }
    }
}

/* Jdot nu (3) of a link's point, in body axes. */
static inline int hd_point_bias(struct hd_model *m, const double *q, const double *nu, const double *point,
                                const struct hd_link *link, double *out)
{
    const struct hd_leg *leg = m->legs + link->leg;
    double x[3], velocity[3];
    if (leg->last < link->k || !hd_set_frames(m, q))
        return 0;
    hd_point_place(m, link, point, x);
    hd_bias_at(m, leg, link->k, x, nu, out, velocity);
    return hd_are_finite(out, 3) && hd_are_finite(nu, 6 + m->moving_count);
}

/* Jacobian (6, 6 + n) of a leg's tip, V_tip = J nu (11), in the axes of its last link. */
HD_PUBLIC int hd_tip_jacobian(struct hd_model *m, const double *q, int64_t index, double *out)
{
    const struct hd_leg *leg = m->legs + index;
    const int64_t size = 6 + m->moving_count;
    if (leg->last < 0 || !hd_set_frames(m, q))
        return 0;
    const double *lane = hd_lane(m, leg->block, leg->lane);
    double axes[9], x[3], turned[9];
    hd_axes_in_body(m, lane, leg->last, axes);
    hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, point) + 3 * leg->last, 3, x);
    hd_clear(out, 6 * size);
    for (int i = 0; i < 3; i++) { /* axis . (v + w x p) = axis . v + (p x axis) . w */
        hd_cross(x, axes + 3 * i, turned + 3 * i);
        for (int r = 0; r < 3; r++) {
            out[i * size + r] = out[(3 + i) * size + 3 + r] = axes[3 * i + r];
            out[i * size + 3 + r] = turned[3 * i + r];
        }
    }
    int64_t column = hd_first_column(m, leg);
    for (int64_t k = 0; k <= leg->last; k++) {
        if (m->moving[leg->first + k] == 0.0)
            continue;
        double s[6];
        hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, screw) + 6 * k, 6, s);
        for (int i = 0; i < 3; i++) {
            const double *a = axes + 3 * i, *d = turned + 3 * i;
            out[i * size + column] = (a[0] * s[0] + a[1] * s[1] + a[2] * s[2]) + (d[0] * s[3] + d[1] * s[4] + d[2] * s[5]);
            out[(3 + i) * size + column] = a[0] * s[3] + a[1] * s[4] + a[2] * s[5];
        }
        column++;
    }
    return 1;
}

/* Rotation (3, 3) and start (3) in the world of each existing link, one behind the other: 12 numbers each. */
static inline int hd_link_poses(struct hd_model *m, const double *R, const double *p, const double *q, double *out)
{
    if (!hd_is_rotation(R) || !hd_are_finite(p, 3) || !hd_set_q(m, q))
        return 0;
    memcpy(m->shared + HD_BASE_POSE, R, 9 * sizeof(double));
    memcpy(m->shared + HD_BASE_POSE + 9, p, 3 * sizeof(double));
    hd_run(m, HD_POSES);
    for (int64_t i = 0; i < m->leg_count; i++) {
        const struct hd_leg *leg = m->legs + i;
        const double *lane = hd_lane(m, leg->block, leg->lane);
        for (int64_t k = 0; k <= leg->last; k++, out += 12)
            hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, pose) + 12 * k, 12, out);
    }
    return 1;
}

#endif
