/* A state among many of several morphologies, one after the other: vectors of all joints, as in hd_dynamics.h. */
#ifndef HD_MIXED_H
#define HD_MIXED_H

#include "hd_state.h"

/* Forward dynamics (given: torques, joints) or inverse dynamics (given: accelerations, 6 + joints) of one state; out
 * (6 + joints), of which only entries of joints that move are written. Returns whether it computed. */
int hd_run_state(struct hd_model *m, int forward, const double *R, const double *q, const double *nu,
                 const double *given, double *out);

int hd_run_state(struct hd_model *m, int forward, const double *R, const double *q, const double *nu,
                 const double *given, double *out)
{
    const int64_t width = HD_WIDTH(m), n = m->moving_count;
    double total = 0.0;
    if (!hd_is_rotation(R) || !hd_set_q(m, q))
        return 0;
    hd_set_gravity(m, R);
    for (int i = 0; i < 6; i++)
        m->shared[HD_TWIST + i] = nu[i];
    for (int64_t i = 0; i < n; i++)
        m->lanes[HD_ROW(m, rate) * width + m->free[i].place] = nu[6 + m->free[i].joint];
    if (forward) {
        for (int64_t i = 0; i < n; i++) {
            const double motor = given[m->free[i].joint];
            m->lanes[HD_ROW(m, torque) * width + m->free[i].place] = m->free[i].driven != 0.0 ? motor : 0.0;
        }
        hd_solve_forward(m);
        for (int i = 0; i < 6; i++)
            out[i] = m->shared[HD_HEAD_ACC + i];
    } else {
        for (int i = 0; i < 6; i++)
            m->shared[HD_BASE_ACCELERATION + i] += given[i];
        for (int64_t i = 0; i < n; i++)
            m->lanes[HD_ROW(m, qdd) * width + m->free[i].place] = given[6 + m->free[i].joint];
        hd_body_wrench(m, out);
    }
    const double *row = m->lanes + (forward ? HD_ROW(m, acc) : HD_ROW(m, out)) * width;
    for (int i = 0; i < 6; i++)
        total += out[i] - out[i];
    for (int64_t i = 0; i < n; i++) {
        const double value = row[m->free[i].place];
        out[6 + m->free[i].joint] = value;
        total += value - value;
    }
    return total == 0.0;
}

#endif
