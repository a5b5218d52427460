/* Links and points: Jacobians, poses; mass, momentum and energy. */
#ifndef HD_POINTS_H
#define HD_POINTS_H
#include "model.h"

/* Compute where the links are, in base_link axes; return whether the positions are good. */
static inline int hd_set_frames(struct hd_model *m, const double *q, int64_t leg)
{
    if (m->last[leg] < 0 || !hd_set_q(m, q))
        return 0;
    hd_kernels_of[m->shape]->frames(m->legs + leg / HD_LANES, m->scratch + leg / HD_LANES, 0);
    return 1;
}

/* Axes of a link in base_link, axis by axis. */
static inline void hd_link_axes(const struct hd_model *m, int64_t leg, int64_t k, double *out)
{
    const double *axes = m->robot->joint[m->robot->first[leg] + k].axes;
    double F[9]; /* column by column */
    hd_read(&m->scratch[leg / HD_LANES].frame[k], leg % HD_LANES, HD_LANES, 9, F);
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 3; r++)
            out[3 * i + r] = F[r] * axes[i] + F[3 + r] * axes[3 + i] + F[6 + r] * axes[6 + i];
}

/* Place (3) in base_link of a point in a link's axes. */
static inline void hd_place_point(const struct hd_model *m, int64_t leg, int64_t k, const double *point, double *out)
{
    double axes[9], origin[3];
    hd_read(&m->scratch[leg / HD_LANES].origin[k], leg % HD_LANES, HD_LANES, 3, origin);
    hd_link_axes(m, leg, k, axes);
    for (int r = 0; r < 3; r++)
        out[r] = origin[r] + axes[r] * point[0] + axes[3 + r] * point[1] + axes[6 + r] * point[2];
}

static const double hd_axes_of_base[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};

/* Write a Jacobian (3, 6 + n) of the velocity of the point x of base_link on a leg's link k, along axes (3, 3), or (6, 6 + n), if
 * `turns`, of its twist. */
static inline void hd_write_jacobian(const struct hd_model *m, int64_t leg, int64_t k, const double *x, const double *axes,
                                     const int turns, double *out)
{
    const int64_t size = 6 + m->moving;
    double arm[9], screw[6];
    memset(out, 0, (size_t)((turns ? 6 : 3) * size) * sizeof(double));
    for (int r = 0; r < 3; r++) { /* axis . (v + w x x) = axis . v + (x x axis) . w */
        hd_cross(x, axes + 3 * r, arm + 3 * r);
        memcpy(out + r * size, axes + 3 * r, 3 * sizeof(double));
        memcpy(out + r * size + 3, arm + 3 * r, 3 * sizeof(double));
        if (turns)
            memcpy(out + (3 + r) * size + 3, axes + 3 * r, 3 * sizeof(double));
    }
    for (int64_t i = m->start[leg]; i < m->start[leg + 1] && m->free[i].k <= k; i++) {
        hd_read_screw(m, i, screw);
        for (int r = 0; r < 3; r++) {
            out[r * size + 6 + i] = hd_dot(axes + 3 * r, screw, 3) + hd_dot(arm + 3 * r, screw + 3, 3);
            if (turns)
                out[(3 + r) * size + 6 + i] = hd_dot(axes + 3 * r, screw + 3, 3);
        }
    }
}

/* Jacobian (3, 6 + n) of the velocity, in base_link axes, of a link's point (3), which is given in its axes. */
static inline int hd_point_jacobian(struct hd_model *m, const double *q, int64_t leg, int64_t k, const double *point, double *J)
{
    double x[3];
    if (m->last[leg] < k || !hd_set_frames(m, q, leg))
        return 0;
    hd_place_point(m, leg, k, point, x);
    hd_write_jacobian(m, leg, k, x, hd_axes_of_base, 0, J);
    return hd_are_finite(x, 3);
}

/* Jacobian (6, 6 + n) of a leg's tip, V_tip = J nu (11), in the axes of its last link. */
static inline int hd_tip(struct hd_model *m, const double *q, int64_t leg, double *J)
{
    double axes[9], tip[3];
    if (!hd_set_frames(m, q, leg))
        return 0;
    hd_link_axes(m, leg, m->last[leg], axes);
    hd_read_end(m, leg, tip);
    hd_write_jacobian(m, leg, m->last[leg], tip, axes, 1, J);
    return 1;
}

/* Jdot nu (3) of the point x of base_link on a leg's link k, and its velocity (3) as base_link sees it; needs the screws.
 *
 * With the link's twist t = (b, c) as base_link sees it, made up joint by joint, and its rate (a, d) by the motion of the
 * joints further in: the velocity u is b + c x x, and Jdot nu is a + d x x + c x u + w_0 x u, as the body turns with w_0. */
static inline void hd_bias_at(const struct hd_model *m, int64_t leg, int64_t k, const double *x, const double *nu, double *bias, double *velocity)
{
    double t[6] = {0.0}, rate[6] = {0.0}, screw[6], own[6];
    for (int64_t i = m->start[leg]; i < m->start[leg + 1] && m->free[i].k <= k; i++) {
        hd_read_screw(m, i, screw);
        for (int r = 0; r < 6; r++)
            own[r] = nu[6 + i] * screw[r];
        hd_add_cross(t + 3, own, rate);
        hd_add_cross(t, own + 3, rate);
        hd_add_cross(t + 3, own + 3, rate + 3);
        for (int r = 0; r < 6; r++)
            t[r] += own[r];
    }
    memcpy(velocity, t, 3 * sizeof(double));
    memcpy(bias, rate, 3 * sizeof(double));
    hd_add_cross(t + 3, x, velocity);
    hd_add_cross(rate + 3, x, bias);
    hd_add_cross(t + 3, velocity, bias);
    hd_add_cross(nu + 3, velocity, bias);
}

/* Jdot nu (3) of a link's point, in base_link axes. */
static inline int hd_point_bias(struct hd_model *m, const double *q, const double *nu, int64_t leg, int64_t k, const double *point, double *out)
{
    double x[3], velocity[3];
    if (m->last[leg] < k || !hd_set_frames(m, q, leg))
        return 0;
    hd_place_point(m, leg, k, point, x);
    hd_bias_at(m, leg, k, x, nu, out, velocity);
    return hd_are_finite(out, 3) && hd_are_finite(nu, 6 + m->moving);
}

/* Rotation (3, 3) and start (3) in the world of each existing link, one behind the other: 12 numbers each. */
static inline int hd_link_poses(struct hd_model *m, const double *R, const double *p, const double *q, double *out)
{
    if (!hd_is_rotation(R) || !hd_are_finite(p, 3) || !hd_set_q(m, q))
        return 0;
    const struct hd_place base = {{{splat(R[0]), splat(R[3]), splat(R[6])},
                                   {splat(R[1]), splat(R[4]), splat(R[7])},
                                   {splat(R[2]), splat(R[5]), splat(R[8])}},
                                  {splat(p[0]), splat(p[1]), splat(p[2])}};
    hd_set_all_frames(m, &base);
    for (int64_t leg = 0; leg < m->robot->legs; leg++)
        for (int64_t k = 0; k <= m->last[leg]; k++, out += 12) {
            double axes[9];
            hd_link_axes(m, leg, k, axes);
            for (int r = 0; r < 3; r++)
                for (int i = 0; i < 3; i++)
                    out[3 * r + i] = axes[3 * i + r];
            hd_read(&m->scratch[leg / HD_LANES].origin[k], leg % HD_LANES, HD_LANES, 3, out + 9);
        }
    return 1;
}

/* ---- mass, momentum and energy ---------------------------------------------------------------------------------------- */

/* Mass of all, and mass times centre of mass (3) in base_link; the joints' positions are set. */
static inline double hd_mass_moment(struct hd_model *m, double *moment)
{
    memcpy(moment, m->h, sizeof m->h);
    for (int64_t i = 0; i < m->blocks; i++) {
        vec3 h;
        hd_kernels_of[m->shape]->center(m->legs + i, m->scratch + i, &h);
        total_each(&h.x, 3);
        for (int r = 0; r < 3; r++)
            moment[r] += lane_of(&h.x + r, 0);
    }
    return m->mass + m->links_mass;
}

/* Centre of mass (3) in the world. */
static inline int hd_center(struct hd_model *m, const double *R, const double *p, const double *q, double *out)
{
    double h[3], turned[3];
    if (!hd_is_rotation(R) || !hd_set_q(m, q))
        return 0;
    const double mass = hd_mass_moment(m, h);
    hd_turn(R, h, turned);
    for (int r = 0; r < 3; r++)
        out[r] = p[r] + turned[r] / mass;
    return hd_are_finite(out, 3);
}

/* Energy [J] of gravity, zero for a centre of mass at height 0. */
static inline int hd_potential_energy(struct hd_model *m, const double *R, const double *p, const double *q, double *out)
{
    double h[3];
    if (!hd_is_rotation(R) || !hd_are_finite(p, 3) || !hd_set_q(m, q))
        return 0;
    const double mass = hd_mass_moment(m, h);
    *out = m->gravity * (mass * p[2] + hd_dot(R + 6, h, 3));
    return hd_are_finite(out, 1);
}

/* Momentum M nu (6 + n): inverse dynamics at rest without gravity. */
static inline int hd_momentum(struct hd_model *m, const double *q, const double *nu, double *out)
{
    const int good = hd_set_q(m, q);
    hd_inverse_at(m, hd_zeros, hd_zeros, nu, 0, out);
    return good;
}

/* Momentum (6), linear, then angular about the centre of mass, world axes. */
static inline int hd_centroidal_momentum(struct hd_model *m, const double *R, const double *q, const double *nu, double *out)
{
    double P[6 + HD_MOST], h[3], hp[3];
    if (!hd_is_rotation(R) || !hd_momentum(m, q, nu, P))
        return 0;
    const double mass = hd_mass_moment(m, h);
    hd_cross(h, P, hp);
    for (int i = 0; i < 3; i++)
        P[3 + i] -= hp[i] / mass;
    hd_turn(R, P, out);
    hd_turn(R, P + 3, out + 3);
    return hd_are_finite(out, 6) && hd_are_finite(nu, 6 + m->moving);
}

/* 1/2 nu^T M nu [J]. */
static inline int hd_kinetic_energy(struct hd_model *m, const double *q, const double *nu, double *out)
{
    double P[6 + HD_MOST];
    if (!hd_momentum(m, q, nu, P))
        return 0;
    *out = 0.5 * hd_dot(P, nu, (int)(6 + m->moving));
    return hd_are_finite(out, 1);
}
#endif
