/* Mass matrix and Coriolis matrix, (6 + n, 6 + n) row by row. */
#ifndef HD_MATRICES_H
#define HD_MATRICES_H

#include <string.h>

#include "hd_state.h"

static inline void hd_clear(double *matrix, int64_t count) { memset(matrix, 0, (size_t)count * sizeof(double)); }

/* Add the skew matrix of (x, y, z) to the block that begins at an entry of a matrix with so many columns. */
static inline void hd_add_skew(double *entry, int64_t columns, double x, double y, double z)
{
    entry[1] -= z, entry[2] += y;
    entry[columns] += z, entry[columns + 2] -= x;
    entry[2 * columns] -= y, entry[2 * columns + 1] += x;
}

/* First of the moving joints, among these, that belongs to the same leg as joint i. Joints of a leg follow each other. */
static inline int64_t hd_first_of_leg(const struct hd_model *m, int64_t i)
{
    const int64_t first = m->free[i].joint - m->joints[m->free[i].joint].k;
    while (i > 0 && m->free[i - 1].joint >= first)
        i--;
    return i;
}

/* Column of a leg's first moving joint. */
static inline int64_t hd_first_column(const struct hd_model *m, const struct hd_leg *leg)
{
    int64_t i = 0;
    while (i < m->moving_count && m->free[i].joint < leg->first)
        i++;
    return 6 + i;
}

/* Copy the arrow that hd_leg_terms left to a full matrix. */
static inline void hd_write_mass(const struct hd_model *m, double *out)
{
    const int64_t n = m->moving_count, size = 6 + n, width = HD_WIDTH(m);
    hd_clear(out, size * size);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c <= r; c++)
            out[r * size + c] = out[c * size + r] = m->shared[HD_HEAD + r * (r + 1) / 2 + c];
    for (int64_t i = 0; i < n; i++) {
        const struct hd_joint *joint = m->joints + m->free[i].joint;
        const double *lane = hd_lane(m, joint->block, joint->lane);
        const int64_t k = joint->k, start = hd_first_of_leg(m, i);
        for (int r = 0; r < 6; r++)
            out[r * size + 6 + i] = out[(6 + i) * size + r] = lane[(HD_ROW(m, arm) + 6 * k + r) * width];
        for (int64_t o = start; o <= i; o++) {
            const int64_t l = m->joints[m->free[o].joint].k;
            const double entry = lane[(HD_ROW(m, block) + k * (k + 1) / 2 + l) * width];
            out[(6 + i) * size + 6 + o] = out[(6 + o) * size + 6 + i] = entry;
        }
    }
}

/* Mass matrix, (31) and (32). */
HD_PUBLIC int hd_mass_matrix(struct hd_model *m, const double *q, double *out)
{
    if (!hd_set_q(m, q))
        return 0;
    hd_leg_terms(m);
    hd_write_mass(m, out);
    return 1;
}

/* Coriolis matrix C such that Mdot - 2C is skew-symmetric, (44) to (51). */
static inline int hd_coriolis_matrix(struct hd_model *m, const double *q, const double *nu, double *out)
{
    const int64_t n = m->moving_count, size = 6 + n, width = HD_WIDTH(m);
    double *s = m->shared, *P = s + HD_MOMENTUM, *rate = s + HD_COMPOSITE_RATE;
    if (!hd_set_q(m, q) || !hd_are_finite(nu, size))
        return 0;
    for (int i = 0; i < 6; i++)
        s[HD_TWIST + i] = nu[i];
    hd_set_row(m, HD_ROW(m, rate), nu + 6);
    for (int i = 0; i < 9; i++)
        rate[i] = 0.0;
    /* momentum of the main body: m v + w x h, h x v + I w */
    const double *h = s + HD_BODY + 1;
    double wh[3], hv[3], spin[3];
    hd_cross(nu + 3, h, wh);
    hd_cross(h, nu, hv);
    hd_symmetric_times(s + HD_BODY + 4, nu + 3, spin);
    for (int i = 0; i < 3; i++) {
        P[i] = s[HD_BODY] * nu[i] + wh[i];
        P[3 + i] = spin[i] + hv[i];
    }
    hd_run(m, HD_CORIOLIS);
    hd_clear(out, size * size);
    /* (45): half the composite inertia's rate, and the Lie group's -ad_V^T P as a skew matrix times V */
    hd_add_skew(out + 3, size, -0.5 * rate[0], -0.5 * rate[1], -0.5 * rate[2]);
    hd_add_skew(out + 3 * size, size, 0.5 * rate[0], 0.5 * rate[1], 0.5 * rate[2]);
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int i = 0; i < 6; i++) {
        const int a = 3 + row[i], b = 3 + column[i];
        out[a * size + b] = out[b * size + a] = 0.5 * rate[3 + i];
    }
    hd_add_skew(out + 3, size, -P[0], -P[1], -P[2]);
    hd_add_skew(out + 3 * size, size, -P[0], -P[1], -P[2]);
    hd_add_skew(out + 3 * size + 3, size, -P[3], -P[4], -P[5]);
    for (int64_t i = 0; i < n; i++) {
        const struct hd_joint *joint = m->joints + m->free[i].joint;
        const double *lane = hd_lane(m, joint->block, joint->lane);
        const int64_t k = joint->k, start = hd_first_of_leg(m, i);
        for (int r = 0; r < 6; r++) {
            out[r * size + 6 + i] = lane[(HD_ROW(m, upper) + 6 * k + r) * width];
            out[(6 + i) * size + r] = lane[(HD_ROW(m, lower) + 6 * k + r) * width];
        }
        for (int64_t o = start; o <= i; o++) {
            const int64_t l = m->joints[m->free[o].joint].k, count = HD_ROW(m, count);
            out[(6 + i) * size + 6 + o] = lane[(HD_ROW(m, square) + count * k + l) * width];
            out[(6 + o) * size + 6 + i] = lane[(HD_ROW(m, square) + count * l + k) * width];
        }
    }
    return 1;
}

#endif
