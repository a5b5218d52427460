/* Forces at the tips of the legs. */
#ifndef HD_FORCES_H
#define HD_FORCES_H

#include "hd_state.h"

/* A force in world axes, in the body's: R^T f. */
static inline void hd_turn_to_body(const double *R, const double *f, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = R[i] * f[0] + R[3 + i] * f[1] + R[6 + i] * f[2];
}

/* The 3 numbers of a link's end, and the 6 of a joint's screw; the frames, or the leg terms, have to be computed. */
static inline void hd_get_numbers(const double *lane, int64_t width, int64_t row, int count, double *out)
{
    for (int i = 0; i < count; i++)
        out[i] = lane[(row + i) * width];
}

/* Wrench (6) on the body of a force (3) in body axes at a leg's tip. */
static inline void hd_tip_wrench(const struct hd_model *m, const struct hd_leg *leg, const double *force, double *wrench)
{
    double point[3];
    hd_get_numbers(hd_lane(m, leg->block, leg->lane), HD_WIDTH(m), HD_ROW(m, point) + 3 * leg->last, 3, point);
    for (int i = 0; i < 3; i++)
        wrench[i] = force[i];
    hd_cross(point, force, wrench + 3);
}

/* Torque of joint k that a wrench (body frame) on the links beyond it causes: J^k . F. */
static inline double hd_joint_share(const struct hd_model *m, const double *lane, int64_t k, const double *wrench)
{
    double screw[6], total = 0.0;
    (void)m; /* where the layout is fixed */
    hd_get_numbers(lane, HD_WIDTH(m), HD_ROW(m, screw) + 6 * k, 6, screw);
    for (int i = 0; i < 6; i++)
        total += wrench[i] * screw[i];
    return total;
}

/* Add a tip force (3) in body axes to the right-hand side that hd_leg_terms left. */
static inline void hd_add_tip_force(struct hd_model *m, const struct hd_leg *leg, const double *force)
{
    double wrench[6], *lane = hd_lane(m, leg->block, leg->lane);
    hd_tip_wrench(m, leg, force, wrench);
    for (int i = 0; i < 6; i++)
        m->shared[HD_HEAD_FORCE + i] += wrench[i];
    for (int64_t k = 0; k <= leg->last; k++)
        if (m->moving[leg->first + k] != 0.0)
            lane[(HD_ROW(m, force) + k) * HD_WIDTH(m)] += hd_joint_share(m, lane, k, wrench);
}

/* Whether the given forces are finite and at legs that exist; NULL where there is none. */
static inline int hd_are_forces(const struct hd_model *m, const double *const *forces)
{
    for (int64_t i = 0; i < m->leg_count; i++)
        if (forces[i] && (m->legs[i].last < 0 || !hd_are_finite(forces[i], 3)))
            return 0;
    return 1;
}

/* As hd_forward_dynamics under tip forces (3) in world axes, one for each leg, NULL where there is none. */
HD_PUBLIC int hd_forward_under(struct hd_model *m, const double *R, const double *q, const double *nu,
                               const double *tau, const double *const *forces, double *out)
{
    if (!hd_are_forces(m, forces) || !hd_set_motion(m, R, q, nu))
        return 0;
    hd_set_torque(m, tau);
    hd_leg_terms(m);
    for (int64_t i = 0; i < m->leg_count; i++)
        if (forces[i]) {
            double force[3];
            hd_turn_to_body(R, forces[i], force);
            hd_add_tip_force(m, m->legs + i, force);
        }
    hd_solve_arrow(m);
    return hd_get_solution(m, out);
}

/* Sum of J_tip^T F, out (6 + n), of such forces. */
static inline int hd_tip_force_rows(struct hd_model *m, const double *R, const double *q, const double *const *forces,
                                    double *out)
{
    if (!hd_is_rotation(R) || !hd_set_q(m, q) || !hd_are_forces(m, forces))
        return 0;
    hd_run(m, HD_FRAMES);
    for (int64_t i = 0; i < 6 + m->moving_count; i++)
        out[i] = 0.0;
    double *at = out + 6;
    for (int64_t i = 0; i < m->leg_count; i++) {
        const struct hd_leg *leg = m->legs + i;
        double wrench[6] = {0}, force[3];
        const double *lane = hd_lane(m, leg->block, leg->lane);
        if (forces[i]) {
            hd_turn_to_body(R, forces[i], force);
            hd_tip_wrench(m, leg, force, wrench);
            for (int r = 0; r < 6; r++)
                out[r] += wrench[r];
        }
        for (int64_t k = 0; k <= leg->last; k++)
            if (m->moving[leg->first + k] != 0.0) {
                *at++ = forces[i] ? hd_joint_share(m, lane, k, wrench) : 0.0;
            }
    }
    return 1;
}

#endif
