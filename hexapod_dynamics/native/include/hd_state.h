/* Forward and inverse dynamics on compact vectors: entries of the n joints that exist and move.
 *
 * q has all joints of the robot (entries of others are ignored), nu and accelerations 6 + n, torques n. Functions return
 * whether they computed: 0 where the rotation is none or a number is not finite, which is seen in the result.
 */
#ifndef HD_STATE_H
#define HD_STATE_H

#include "hd_dynamics.h"
#include "hd_rotation.h"

#define HD_NAN (0.0 / 0.0)

/* Write the moving joints' positions; return whether all are finite and near enough. Another one is written as nan, so
 * that no result is finite. */
static inline int hd_set_q(struct hd_model *m, const double *q)
{
    double *row = m->lanes + HD_ROW(m, q) * HD_WIDTH(m), total = 0.0;
    for (int64_t i = 0; i < m->moving_count; i++) {
        double value = q[m->free[i].joint];
        value = value <= HD_FARTHEST_POSITION && value >= -HD_FARTHEST_POSITION ? value : HD_NAN;
        row[m->free[i].place] = value;
        total += value;
    }
    return total == total;
}

/* Write a section of the lanes from compact values, and read it. */
static inline void hd_set_row(struct hd_model *m, int64_t section, const double *values)
{
    double *row = m->lanes + section * HD_WIDTH(m);
    for (int64_t i = 0; i < m->moving_count; i++)
        row[m->free[i].place] = values[i];
}

static inline void hd_get_row(const struct hd_model *m, int64_t section, double *values)
{
    const double *row = m->lanes + section * HD_WIDTH(m);
    for (int64_t i = 0; i < m->moving_count; i++)
        values[i] = row[m->free[i].place];
}

static inline void hd_clear_row(struct hd_model *m, int64_t section)
{
    double *row = m->lanes + section * HD_WIDTH(m);
    for (int64_t i = 0; i < m->moving_count; i++)
        row[m->free[i].place] = 0.0;
}

/* Write zero velocities. */
static inline void hd_set_still(struct hd_model *m)
{
    hd_clear_row(m, HD_ROW(m, rate));
    for (int i = 0; i < 6; i++)
        m->shared[HD_TWIST + i] = 0.0;
}

/* Write a state; return whether R is a rotation. */
static inline int hd_set_motion(struct hd_model *m, const double *R, const double *q, const double *nu)
{
    if (!hd_is_rotation(R))
        return 0;
    hd_set_q(m, q);
    for (int i = 0; i < 6; i++)
        m->shared[HD_TWIST + i] = nu[i];
    hd_set_gravity(m, R);
    hd_set_row(m, HD_ROW(m, rate), nu + 6);
    return 1;
}

/* Write the motors' torques; a limp joint's is zero, whatever tau says. */
static inline void hd_set_torque(struct hd_model *m, const double *tau)
{
    double *row = m->lanes + HD_ROW(m, torque) * HD_WIDTH(m);
    for (int64_t i = 0; i < m->moving_count; i++)
        row[m->free[i].place] = tau[i] * m->free[i].driven;
}

/* Add the accelerations of a motion to a state that is set. */
static inline void hd_set_acceleration(struct hd_model *m, const double *nudot)
{
    for (int i = 0; i < 6; i++)
        m->shared[HD_BASE_ACCELERATION + i] += nudot[i];
    hd_set_row(m, HD_ROW(m, qdd), nudot + 6);
}

/* Copy the accelerations to out (6 + n); return whether they are finite. */
static inline int hd_get_solution(const struct hd_model *m, double *out)
{
    for (int i = 0; i < 6; i++)
        out[i] = m->shared[HD_HEAD_ACC + i];
    hd_get_row(m, HD_ROW(m, acc), out + 6);
    return hd_are_finite(out, 6 + m->moving_count);
}

/* Accelerations out (6 + n) under joint torques tau (n): equation (6), solved as an arrow. */
HD_PUBLIC int hd_forward_dynamics(struct hd_model *m, const double *R, const double *q, const double *nu,
                                  const double *tau, double *out)
{
    if (!hd_set_motion(m, R, q, nu))
        return 0;
    hd_set_torque(m, tau);
    hd_solve_forward(m);
    return hd_get_solution(m, out);
}

/* Wrench on the base and joint torques, out (6 + n), that accelerations nudot (6 + n) need. */
HD_PUBLIC int hd_inverse_dynamics(struct hd_model *m, const double *R, const double *q, const double *nu,
                                  const double *nudot, double *out)
{
    if (!hd_set_motion(m, R, q, nu))
        return 0;
    hd_set_acceleration(m, nudot);
    hd_body_wrench(m, out);
    hd_get_row(m, HD_ROW(m, out), out + 6);
    return hd_are_finite(out, 6 + m->moving_count);
}

/* Gravity out (6 + n) on the left-hand side: inverse dynamics at rest. */
HD_PUBLIC int hd_gravity_force(struct hd_model *m, const double *R, const double *q, double *out)
{
    if (!hd_is_rotation(R))
        return 0;
    hd_set_q(m, q);
    hd_set_still(m);
    hd_set_gravity(m, R);
    hd_clear_row(m, HD_ROW(m, qdd));
    hd_body_wrench(m, out);
    hd_get_row(m, HD_ROW(m, out), out + 6);
    return hd_are_finite(out, 6 + m->moving_count);
}

#endif
