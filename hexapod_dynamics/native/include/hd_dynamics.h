/* The whole-body model on memory of full size: forward and inverse dynamics, and their steps.
 *
 * The steps of forward dynamics, hd_set_state, hd_leg_terms, hd_solve_arrow, leave room between the last two for terms
 * of one's own (implicit contact, servos); hd_forward does all of them at once. The mass matrix has the shape of an
 * arrow: a 6x6 head for the body, and for each leg a block M_ii and an arm M_0i (equations (18) to (32) of Farghdani &
 * Chhabra 2025). Vectors of joints have an entry for every joint of the robot, in its order; entries of missing and
 * locked joints are ignored.
 */
#ifndef HD_DYNAMICS_H
#define HD_DYNAMICS_H

#include "hd_model.h"

/* Symmetric matrix xx, yy, zz, xy, xz, yz times a vector. */
static inline void hd_symmetric_times(const double *I, const double *w, double *out)
{
    out[0] = I[0] * w[0] + I[3] * w[1] + I[4] * w[2];
    out[1] = I[3] * w[0] + I[1] * w[1] + I[5] * w[2];
    out[2] = I[4] * w[0] + I[5] * w[1] + I[2] * w[2];
}

static inline void hd_cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Gravity acts like an upward acceleration of the body: R^T (0, 0, g). */
static inline void hd_set_gravity(struct hd_model *m, const double *rotation)
{
    double *s = m->shared;
    for (int i = 0; i < 3; i++) {
        s[HD_BASE_ACCELERATION + i] = rotation[6 + i] * s[HD_GRAVITY];
        s[HD_BASE_ACCELERATION + 3 + i] = 0.0;
    }
}

/* Write a state: rotation (3, 3) world <- body row by row, q and torque (joints), nu (6 + joints). */
static inline void hd_set_state(struct hd_model *m, const double *rotation, const double *q, const double *nu,
                                const double *torque)
{
    const int64_t width = HD_WIDTH(m);
    for (int i = 0; i < 6; i++)
        m->shared[HD_TWIST + i] = nu[i];
    hd_set_gravity(m, rotation);
    for (int64_t j = 0; j < m->joint_count; j++) {
        double *row = hd_lane(m, m->joints[j].block, m->joints[j].lane) + m->joints[j].k * width;
        const int moves = m->moving[j] != 0.0;
        row[HD_ROW(m, q) * width] = moves ? q[j] : m->locked[j];
        row[HD_ROW(m, rate) * width] = moves ? nu[6 + j] : 0.0;
        row[HD_ROW(m, torque) * width] = moves ? torque[j] : 0.0;
    }
}

/* The body's own wrench m (a + w x v) + ..., for the acceleration in HD_BASE_ACCELERATION: gravity and bias. */
static inline void hd_body_terms(const double *s, double *wrench)
{
    const double *v = s + HD_TWIST, *w = v + 3, *a = s + HD_BASE_ACCELERATION, *b = a + 3;
    const double mass = s[HD_BODY], *h = s + HD_BODY + 1, *I = s + HD_BODY + 4;
    double spin[3], turned[3], linear[3], slide[3], swing[3], gyro[3], moved[3], rate[3];
    hd_symmetric_times(I, w, spin);
    hd_symmetric_times(I, b, rate);
    hd_cross(w, v, linear);
    for (int i = 0; i < 3; i++)
        linear[i] += a[i];
    hd_cross(w, h, turned); /* h is zero but for a payload */
    hd_cross(w, turned, swing);
    hd_cross(b, h, slide);
    hd_cross(w, spin, gyro);
    hd_cross(h, linear, moved);
    for (int i = 0; i < 3; i++) {
        wrench[i] = mass * linear[i] + slide[i] + swing[i];
        wrench[3 + i] = rate[i] + gyro[i] + moved[i];
    }
}

/* HD_HEAD of the body alone, and HD_HEAD_FORCE: external wrench less the body's own bias. */
static inline void hd_start_head(struct hd_model *m)
{
    double *s = m->shared, *H = s + HD_HEAD;
    const double mass = s[HD_BODY], *h = s + HD_BODY + 1, *I = s + HD_BODY + 4;
    double bias[6];
    H[0] = H[2] = H[5] = mass;
    H[1] = H[3] = H[4] = 0.0;
    H[6] = H[11] = H[17] = 0.0;
    H[7] = -h[2], H[8] = h[1], H[9] = I[0];
    H[10] = h[2], H[12] = -h[0], H[13] = I[3], H[14] = I[1];
    H[15] = -h[1], H[16] = h[0], H[18] = I[4], H[19] = I[5], H[20] = I[2];
    hd_body_terms(s, bias);
    for (int i = 0; i < 6; i++)
        s[HD_HEAD_FORCE + i] = s[HD_EXTERNAL + i] - bias[i];
}

/* Arrow and right-hand side at the state set: HD_HEAD, HD_HEAD_FORCE; arm, block, force, screw, point of every leg. */
static inline void hd_leg_terms(struct hd_model *m)
{
    double *s = m->shared, *H = s + HD_HEAD, *C = s + HD_COMPOSITE;
    hd_start_head(m);
    for (int i = 0; i < 10; i++)
        C[i] = 0.0;
    hd_run(m, HD_TERMS);
    const double mass = C[0], *h = C + 1, *I = C + 4;
    H[0] += mass, H[2] += mass, H[5] += mass;
    H[7] -= h[2], H[8] += h[1], H[9] += I[0];
    H[10] += h[2], H[12] -= h[0], H[13] += I[3], H[14] += I[1];
    H[15] -= h[1], H[16] += h[0], H[18] += I[4], H[19] += I[5], H[20] += I[2];
}

/* Eliminate leg by leg, solve the head, substitute back: HD_HEAD_ACC and every leg's acc. Consumes HD_HEAD. */
static inline void hd_solve_arrow(struct hd_model *m)
{
    hd_run(m, HD_ELIMINATE);
    (*m->solve_head)(m->shared, m->shared);
    hd_run(m, HD_SUBSTITUTE);
}

/* Forward dynamics at the state set, in one go. */
static inline void hd_solve_forward(struct hd_model *m)
{
    hd_start_head(m);
    hd_run(m, HD_FORWARD);
    (*m->solve_head)(m->shared, m->shared);
    hd_run(m, HD_SUBSTITUTE);
}

/* Copy HD_HEAD_ACC and the joints' accelerations to out (6 + joints); 0 for missing and locked joints. */
static inline void hd_get_acceleration(const struct hd_model *m, double *out)
{
    for (int i = 0; i < 6; i++)
        out[i] = m->shared[HD_HEAD_ACC + i];
    for (int64_t j = 0; j < m->joint_count; j++) {
        const struct hd_joint *joint = m->joints + j;
        out[6 + j] = m->moving[j] != 0.0 ? *hd_at(m, joint->block, joint->lane, HD_ROW(m, acc) + joint->k) : 0.0;
    }
}

/* Forward dynamics, full size: out (6 + joints). */
static inline void hd_forward(struct hd_model *m, const double *rotation, const double *q, const double *nu,
                              const double *torque, double *out)
{
    hd_set_state(m, rotation, q, nu, torque);
    hd_solve_forward(m);
    hd_get_acceleration(m, out);
}

/* Inverse dynamics at the state and accelerations set: the wrench on the base in out (6), torques in the row `out`.
 * The external wrench is not taken off. */
static inline void hd_body_wrench(struct hd_model *m, double *out)
{
    double *s = m->shared;
    for (int i = 0; i < 6; i++)
        s[HD_HEAD_FORCE + i] = 0.0;
    hd_run(m, HD_INVERSE);
    hd_body_terms(s, out);
    for (int i = 0; i < 6; i++)
        out[i] += s[HD_HEAD_FORCE + i];
}

/* Inverse dynamics, full size: the wrench on the base and the joint torques, out (6 + joints). Torques of missing and
 * locked joints are 0. */
static inline void hd_inverse(struct hd_model *m, const double *rotation, const double *q, const double *nu,
                              const double *nudot, double *out)
{
    hd_set_state(m, rotation, q, nu, q);
    for (int i = 0; i < 6; i++)
        m->shared[HD_BASE_ACCELERATION + i] += nudot[i];
    for (int64_t j = 0; j < m->joint_count; j++) {
        const struct hd_joint *joint = m->joints + j;
        *hd_at(m, joint->block, joint->lane, HD_ROW(m, qdd) + joint->k) = m->moving[j] != 0.0 ? nudot[6 + j] : 0.0;
    }
    hd_body_wrench(m, out);
    for (int64_t j = 0; j < m->joint_count; j++) {
        const struct hd_joint *joint = m->joints + j;
        out[6 + j] = m->moving[j] != 0.0 ? *hd_at(m, joint->block, joint->lane, HD_ROW(m, out) + joint->k) : 0.0;
    }
}

#endif
