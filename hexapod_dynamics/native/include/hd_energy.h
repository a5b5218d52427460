/* Mass, momentum and energy. */
#ifndef HD_ENERGY_H
#define HD_ENERGY_H

#include "hd_state.h"

/* Mass of all, and mass times centre of mass (3) in the body frame; the joints' positions are set. */
static inline double hd_mass_moment(struct hd_model *m, double *moment)
{
    double *s = m->shared;
    for (int i = 0; i < 4; i++)
        s[HD_COMPOSITE + i] = s[HD_BODY + i];
    hd_run(m, HD_CENTER);
    for (int i = 0; i < 3; i++)
        moment[i] = s[HD_COMPOSITE + 1 + i];
    return s[HD_COMPOSITE];
}

/* Centre of mass (3) in the world. */
static inline int hd_center(struct hd_model *m, const double *R, const double *p, const double *q, double *out)
{
    double h[3];
    if (!hd_is_rotation(R))
        return 0;
    hd_set_q(m, q);
    const double mass = hd_mass_moment(m, h);
    for (int r = 0; r < 3; r++)
        out[r] = p[r] + R[3 * r] * (h[0] / mass) + R[3 * r + 1] * (h[1] / mass) + R[3 * r + 2] * (h[2] / mass);
    return hd_are_finite(out, 3);
}

/* Energy [J] of gravity, zero for a centre of mass at height 0. */
static inline int hd_potential_energy(struct hd_model *m, const double *R, const double *p, const double *q, double *out)
{
    double h[3];
    if (!hd_is_rotation(R) || !hd_are_finite(p, 3) || !hd_set_q(m, q))
        return 0;
    const double mass = hd_mass_moment(m, h);
    *out = m->shared[HD_GRAVITY] * (mass * p[2] + R[6] * h[0] + R[7] * h[1] + R[8] * h[2]);
    return hd_are_finite(out, 1);
}

/* Momentum M nu: the body's rows (6) in head, the joints' in the section `out`. Inverse dynamics at rest without
 * gravity. */
static inline void hd_set_momentum(struct hd_model *m, const double *q, const double *nu, double *head)
{
    hd_set_q(m, q);
    hd_set_still(m);
    for (int i = 0; i < 6; i++)
        m->shared[HD_BASE_ACCELERATION + i] = nu[i];
    hd_set_row(m, HD_ROW(m, qdd), nu + 6);
    hd_body_wrench(m, head);
}

/* Momentum (6), linear, then angular about the centre of mass, world axes. */
static inline int hd_centroidal_momentum(struct hd_model *m, const double *R, const double *q, const double *nu,
                                         double *out)
{
    double P[6], h[3], hp[3];
    if (!hd_is_rotation(R))
        return 0;
    hd_set_momentum(m, q, nu, P);
    const double mass = hd_mass_moment(m, h);
    for (int i = 0; i < 3; i++)
        h[i] /= mass;
    hd_cross(h, P, hp);
    for (int i = 0; i < 3; i++)
        P[3 + i] -= hp[i];
    for (int r = 0; r < 3; r++) {
        out[r] = R[3 * r] * P[0] + R[3 * r + 1] * P[1] + R[3 * r + 2] * P[2];
        out[3 + r] = R[3 * r] * P[3] + R[3 * r + 1] * P[4] + R[3 * r + 2] * P[5];
    }
    return hd_are_finite(out, 6) && hd_are_finite(nu, 6 + m->moving_count);
}

/* 1/2 nu^T M nu [J]. */
static inline int hd_kinetic_energy(struct hd_model *m, const double *q, const double *nu, double *out)
{
    double head[6], energy = 0.0;
    hd_set_momentum(m, q, nu, head);
    for (int i = 0; i < 6; i++)
        energy += head[i] * nu[i];
    const double *row = m->lanes + HD_ROW(m, out) * HD_WIDTH(m);
    for (int64_t i = 0; i < m->moving_count; i++)
        energy += row[m->free[i].place] * nu[6 + i];
    *out = 0.5 * energy;
    return hd_are_finite(out, 1);
}

#endif
