/* Derivatives of inverse and forward dynamics.
 *
 * The tangent of the configuration is that of nu: body translation and rotation in body axes (g exp([V]) on the right),
 * then the joints that move. Translation changes nothing; rotation turns gravity: u = R^T (0, 0, g) changes by u x phi,
 * and what an acceleration of the body does is the mass matrix, so that column k is M[:, :3] (u x e_k).
 */
#ifndef HD_DERIVATIVES_H
#define HD_DERIVATIVES_H

#include "hd_arrow.h"

/* Add the derivatives of the main body's bias: f = w x (m v + w x h), m = h x (w x v) + w x I w. */
static inline void hd_add_body_derivatives(const double *s, double *by_nu, int64_t size)
{
    const double mass = s[HD_BODY], *h = s + HD_BODY + 1, *I = s + HD_BODY + 4, *v = s + HD_TWIST, *w = v + 3;
    const double matrix[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    double spin[3], wh[3], column[3], turned[3];
    hd_add_skew(by_nu, size, mass * w[0], mass * w[1], mass * w[2]);
    hd_add_skew(by_nu + 3, size, -mass * v[0], -mass * v[1], -mass * v[2]);
    hd_symmetric_times(I, w, spin);
    hd_add_skew(by_nu + 3 * size + 3, size, -spin[0], -spin[1], -spin[2]);
    for (int c = 0; c < 3; c++) { /* columns of [w] I */
        for (int r = 0; r < 3; r++)
            column[r] = matrix[3 * r + c];
        hd_cross(w, column, turned);
        for (int r = 0; r < 3; r++)
            by_nu[(3 + r) * size + 3 + c] += turned[r];
    }
    if (h[0] == 0.0 && h[1] == 0.0 && h[2] == 0.0)
        return;
    const double hw = h[0] * w[0] + h[1] * w[1] + h[2] * w[2], hv = h[0] * v[0] + h[1] * v[1] + h[2] * v[2];
    hd_cross(w, h, wh);
    hd_add_skew(by_nu + 3, size, -wh[0], -wh[1], -wh[2]);
    for (int r = 0; r < 3; r++) /* [a][b] = b a^T - (a.b) 1 */
        for (int c = 0; c < 3; c++) {
            const double diagonal = r == c ? 1.0 : 0.0;
            by_nu[r * size + 3 + c] -= h[r] * w[c] - hw * diagonal;       /* -[w][h] */
            by_nu[(3 + r) * size + c] += w[r] * h[c] - hw * diagonal;     /* [h][w] */
            by_nu[(3 + r) * size + 3 + c] -= v[r] * h[c] - hv * diagonal; /* -[h][v] */
        }
}

/* Write the derivatives (6 + n, 6 + n) of inverse dynamics at the motion that is set.
 *
 * mass: the first three columns of the mass matrix, which has `columns` columns; the columns of by_conf for rotations
 * need no more. */
static inline void hd_write_derivatives(struct hd_model *m, const double *R, double *by_conf, double *by_nu,
                                        const double *mass, int64_t columns)
{
    const int64_t n = m->moving_count, size = 6 + n, width = HD_WIDTH(m), count = HD_ROW(m, count);
    double *s = m->shared;
    for (int i = 0; i < 36; i++)
        s[HD_WRENCH_BY_TWIST + i] = 0.0;
    for (int i = 0; i < 6; i++)
        s[HD_HEAD_FORCE + i] = 0.0;
    hd_run(m, HD_DERIVATIVES);
    hd_clear(by_conf, size * size);
    hd_clear(by_nu, size * size);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++)
            by_nu[r * size + c] = s[HD_WRENCH_BY_TWIST + 6 * r + c];
    hd_add_body_derivatives(s, by_nu, size);
    for (int64_t i = 0; i < n; i++) {
        const struct hd_joint *joint = m->joints + m->free[i].joint;
        const double *lane = hd_lane(m, joint->block, joint->lane);
        const int64_t k = joint->k, start = hd_first_of_leg(m, i);
        for (int r = 0; r < 6; r++) {
            by_conf[r * size + 6 + i] = lane[(HD_ROW(m, wrench_by_q) + 6 * k + r) * width];
            by_nu[r * size + 6 + i] = lane[(HD_ROW(m, wrench_by_rate) + 6 * k + r) * width];
            by_nu[(6 + i) * size + r] = lane[(HD_ROW(m, torque_by_twist) + 6 * k + r) * width];
        }
        for (int64_t o = start; o <= i; o++) {
            const int64_t l = m->joints[m->free[o].joint].k;
            by_conf[(6 + i) * size + 6 + o] = lane[(HD_ROW(m, torque_by_q) + count * k + l) * width];
            by_conf[(6 + o) * size + 6 + i] = lane[(HD_ROW(m, torque_by_q) + count * l + k) * width];
            by_nu[(6 + i) * size + 6 + o] = lane[(HD_ROW(m, torque_by_rate) + count * k + l) * width];
            by_nu[(6 + o) * size + 6 + i] = lane[(HD_ROW(m, torque_by_rate) + count * l + k) * width];
        }
    }
    const double x = R[6] * s[HD_GRAVITY], y = R[7] * s[HD_GRAVITY], z = R[8] * s[HD_GRAVITY];
    for (int64_t r = 0; r < size; r++) { /* u x e_k for k = 0, 1, 2 */
        const double *row = mass + r * columns, a = row[0], b = row[1], c = row[2];
        by_conf[r * size + 3] = b * z - c * y;
        by_conf[r * size + 4] = c * x - a * z;
        by_conf[r * size + 5] = a * y - b * x;
    }
}

/* Derivatives (6 + n, 6 + n) of inverse dynamics by configuration, by nu, and by nudot: the mass matrix. */
static inline int hd_inverse_derivatives(struct hd_model *m, const double *R, const double *q, const double *nu,
                                         const double *nudot, double *by_conf, double *by_nu, double *mass)
{
    const int64_t size = 6 + m->moving_count;
    if (!hd_set_motion(m, R, q, nu))
        return 0;
    hd_leg_terms(m);
    hd_write_mass(m, mass);
    hd_set_acceleration(m, nudot);
    hd_write_derivatives(m, R, by_conf, by_nu, mass, size);
    return hd_are_finite(by_conf, size * size) && hd_are_finite(by_nu, size * size);
}

/* Derivatives of forward dynamics by configuration and by nu, (6 + n, 6 + n), and by torques (6 + n, n).
 *
 * With D the derivatives of inverse dynamics at these accelerations: -M^-1 D; and M^-1 by the torques. */
static inline int hd_forward_derivatives(struct hd_model *m, const double *R, const double *q, const double *nu,
                                         const double *tau, double *by_conf, double *by_nu, double *by_tau)
{
    const int64_t n = m->moving_count, size = 6 + n, width = HD_WIDTH(m);
    double *legs = m->scratch, *inverse = legs + n * hd_factor_columns(m), *accelerations = inverse + 36;
    double *first = accelerations + size, *head = first; /* columns of the mass matrix; then room for solutions */
    if (!hd_set_motion(m, R, q, nu))
        return 0;
    hd_set_torque(m, tau);
    hd_leg_terms(m);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 3; c++) {
            const int high = r > c ? r : c, low = r > c ? c : r;
            first[3 * r + c] = m->shared[HD_HEAD + high * (high + 1) / 2 + low];
        }
    for (int64_t i = 0; i < n; i++) {
        const struct hd_joint *joint = m->joints + m->free[i].joint;
        const double *arm = hd_at(m, joint->block, joint->lane, HD_ROW(m, arm) + 6 * joint->k);
        for (int c = 0; c < 3; c++)
            first[3 * (6 + i) + c] = arm[c * width];
    }
    hd_factor_legs(m, legs);
    hd_solve_arrow(m);
    hd_invert_head(m, inverse);
    const int good = hd_get_solution(m, accelerations);
    hd_set_acceleration(m, accelerations);
    hd_write_derivatives(m, R, by_conf, by_nu, first, 3);
    hd_solve_arrow_matrix(m, legs, inverse, by_conf, head);
    hd_solve_arrow_matrix(m, legs, inverse, by_nu, head);
    hd_write_inverse(m, legs, inverse, by_tau, head);
    return good && hd_are_finite(by_conf, size * size) && hd_are_finite(by_nu, size * size);
}

#endif
