/* The whole body: forward and inverse dynamics, mass matrix, tip forces; functions of struct hd_functions. */
#ifndef HD_MODEL_H
#define HD_MODEL_H
#include <stddef.h>
#include "checks.h"
#include "morphology.h"

/* ---- state ---------------------------------------------------------------------------------------------------------- */

/* Rows of struct hd_leg, from q on, and doubles from one to the next. */
enum { HD_Q, HD_RATE, HD_TAU, HD_QDD, HD_ACC, HD_OUT, HD_ROW = HD_MOST_JOINTS * HD_LANES };

HD_INLINE double *hd_row(const struct hd_model *m, int row) { return (double *)m->legs + row * HD_ROW; }

/* Write the positions; return whether all are finite and near enough. */
HD_INLINE int hd_set_q(struct hd_model *m, const double *q)
{
    double *row = hd_row(m, HD_Q);
    int good = 1;
    for (int64_t i = 0; i < m->moving; i++) {
        const double value = q[m->free[i].joint];
        good &= hd_is_within(value, HD_FARTHEST_POSITION);
        row[m->free[i].place] = value;
    }
    return good;
}

/* Write a row; all: values has all joints, else those that move. */
HD_INLINE void hd_set_row(struct hd_model *m, int which, const double *values, const int all)
{
    double *row = hd_row(m, which);
    for (int64_t i = 0; i < m->moving; i++)
        row[m->free[i].place] = values[all ? m->free[i].joint : i];
}
/* Where a field of the scratch memory stands in a lane, in doubles; the screw of a joint that moves. */
#define HD_AT(field) ((int64_t)(offsetof(struct hd_scratch, field) / sizeof(double)))
static inline void hd_read_screw(const struct hd_model *m, int64_t i, double *screw)
{
    hd_read((const double *)m->scratch, m->free[i].scratch + HD_AT(J) + 6 * HD_LANES * m->free[i].k, HD_LANES, 6, screw);
}
/* Write the motors' torques; a limp joint's is zero, whatever tau says, NaN too. */
HD_INLINE void hd_set_tau(struct hd_model *m, const double *tau, const int all)
{
    double *row = hd_row(m, HD_TAU);
    for (int64_t i = 0; i < m->moving; i++)
        row[m->free[i].place] = m->free[i].driven != 0.0 ? tau[all ? m->free[i].joint : i] : 0.0;
}
HD_INLINE void hd_get_row(const struct hd_model *m, int which, double *values, const int all)
{
    const double *row = hd_row(m, which);
    for (int64_t j = 0; all && j < m->robot->joints; j++)
        values[j] = 0.0;
    for (int64_t i = 0; i < m->moving; i++)
        values[all ? m->free[i].joint : i] = row[m->free[i].place];
}

/* ---- main body ------------------------------------------------------------------------------------------------------ */

HD_INLINE spatial splat_spatial(const double *a)
{
    return (spatial){{splat(a[0]), splat(a[1]), splat(a[2])}, {splat(a[3]), splat(a[4]), splat(a[5])}};
}
HD_INLINE inertia main_body(const struct hd_model *m)
{
    const double *h = m->h, *I = m->inertia;
    return (inertia){splat(m->mass), {splat(h[0]), splat(h[1]), splat(h[2])},
                     splat(I[0]),    splat(I[1]), splat(I[2]), splat(I[3]), splat(I[4]), splat(I[5])};
}
HD_INLINE spatial body_wrench(const struct hd_model *m, spatial V, spatial A)
{
    const inertia I = main_body(m);
    return add_spatial(momentum(I, A), cross_force(V, momentum(I, V)));
}
/* Gravity as an upward acceleration of the body. */
HD_INLINE spatial gravity_acceleration(const struct hd_model *m, const double *R)
{
    const real zero = splat(0.0);
    return (spatial){{splat(R[6] * m->gravity), splat(R[7] * m->gravity), splat(R[8] * m->gravity)}, {zero, zero, zero}};
}
HD_INLINE void subtract_wrench(spatial f, real F[6])
{
    F[0] -= f.v.x, F[1] -= f.v.y, F[2] -= f.v.z, F[3] -= f.w.x, F[4] -= f.w.y, F[5] -= f.w.z;
}

/* ---- the arrow ------------------------------------------------------------------------------------------------------ */

/* x = H^-1 F with the head H by its lower triangle. */
static inline void solve_head(const real H[21], const real F[6], real x[6])
{
    real L[6][6], D[6], scaled[6];
    HD_SIX for (int a = 0; a < 6; a++) {
        real pivot = H[a * (a + 1) / 2 + a];
        x[a] = F[a];
        HD_SIX for (int c = 0; c < a; c++) {
            real value = H[a * (a + 1) / 2 + c];
            HD_SIX for (int k = 0; k < c; k++)
                value -= scaled[k] * L[c][k];
            scaled[c] = value;
            L[a][c] = value * D[c];
            pivot -= value * L[a][c];
            x[a] -= L[a][c] * x[c];
        }
        D[a] = 1.0 / pivot;
    }
    HD_SIX for (int a = 5; a >= 0; a--) {
        x[a] *= D[a];
        HD_SIX for (int o = a + 1; o < 6; o++)
            x[a] -= L[o][a] * x[o];
    }
}

/* Terms of all legs under the body's twist V and acceleration A: in each lane of head H and right-hand side F a part of the sum
 * over the legs. ends: also the links' ends and screws. */
HD_INLINE void hd_terms(struct hd_model *m, spatial V, spatial A, const int ends, real H[21], real F[6])
{
    const struct hd_kernels *run = hd_kernels_of[m->shape];
    memset(H, 0, 21 * sizeof(real)), memset(F, 0, 6 * sizeof(real));
    for (int64_t i = 0; i < m->blocks; i++) {
        struct hd_share t;
        (ends ? run->terms_and_ends : run->terms)(m->legs + i, m->scratch + i, &V, &A, &t);
        add_to_head(t.composite, H);
        subtract_wrench(t.wrench, F);
    }
}

/* ---- forward and inverse dynamics ------------------------------------------------------------------------------------ */

/* Whether forces (3) are finite and at legs that exist; 0 where there is none. */
static inline int hd_are_forces(const struct hd_model *m, const double *const *forces)
{
    for (int64_t leg = 0; leg < m->robot->legs; leg++)
        if (forces[leg] && (m->last[leg] < 0 || !hd_are_finite(forces[leg], 3)))
            return 0;
    return 1;
}

/* The end (3) of a leg's last link, in base_link axes. */
static inline void hd_read_end(const struct hd_model *m, int64_t leg, double *end)
{
    hd_read(&m->scratch[leg / HD_LANES].end[m->last[leg]], leg % HD_LANES, HD_LANES, 3, end);
}

/* Wrench (6) on the body of a force (3) at the body-frame point x. */
static inline void hd_wrench_at(const double *x, const double *f, double *wrench)
{
    memcpy(wrench, f, 3 * sizeof(double));
    hd_cross(x, f, wrench + 3);
}

/* Add a force (3) in body axes at a leg's tip to the terms. */
static inline void hd_add_tip_force(struct hd_model *m, int64_t leg, const double *force, real F[6])
{
    struct hd_scratch *x = m->scratch + leg / HD_LANES;
    const struct hd_leg *b = m->legs + leg / HD_LANES;
    const int64_t lane = leg % HD_LANES;
    double tip[3], wrench[6], screw[6];
    hd_read_end(m, leg, tip);
    hd_wrench_at(tip, force, wrench);
    for (int i = 0; i < 6; i++)
        lane_of(F + i, 0) += wrench[i];
    for (int64_t k = 0; k <= m->last[leg]; k++) {
        hd_read(&x->J[k], lane, HD_LANES, 6, screw);
        lane_of(x->force + k, lane) += lane_of(&b->link[k].mask, lane) * hd_dot(screw, wrench, 6);
    }
}

/* Begin forward dynamics, with tau set: the terms. Before the end, others may add to H, F, arms, blocks and forces.
 *
 * all: vectors have all joints, as in hd_forward_all. Return whether the positions are good. */
HD_INLINE int hd_begin(struct hd_model *m, const double *R, const double *q, const double *nu, const int all, const int ends,
                       real H[21], real F[6])
{
    const int good = hd_set_q(m, q);
    hd_set_row(m, HD_RATE, nu + 6, all);
    hd_terms(m, splat_spatial(nu), gravity_acceleration(m, R), ends, H, F);
    return good;
}
/* Eliminate the legs, sum head and right-hand side with the main body and the external wrench, in each lane, and solve: H and F
 * are those of the body afterwards. */
HD_INLINE void hd_end(struct hd_model *m, const double *R, const double *nu, const int all, real H[21], real F[6], double *nudot)
{
    const struct hd_kernels *run = hd_kernels_of[m->shape];
    real x[6];
    for (int64_t i = 0; i < m->blocks; i++)
        run->eliminate(m->legs + i, m->scratch + i, H, F);
    total_each(H, 21), total_each(F, 6);
    add_to_head(main_body(m), H);
    subtract_wrench(body_wrench(m, splat_spatial(nu), gravity_acceleration(m, R)), F);
    for (int i = 0; i < 6; i++)
        F[i] += m->external[i];
    solve_head(H, F, x);
    const spatial a = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    for (int64_t i = 0; i < m->blocks; i++)
        run->substitute(m->legs + i, &a);
    for (int i = 0; i < 6; i++)
        nudot[i] = lane_of(x + i, 0);
    hd_get_row(m, HD_ACC, nudot + 6, all);
}

static inline int hd_forward(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                             const double *const *forces, double *out)
{
    real H[21], F[6];
    if (!hd_is_rotation(R) || (forces && !hd_are_forces(m, forces)))
        return 0;
    hd_set_tau(m, tau, 0);
    if (!hd_begin(m, R, q, nu, 0, forces != 0, H, F))
        return 0;
    for (int64_t leg = 0; forces && leg < m->robot->legs; leg++)
        if (forces[leg]) {
            double force[3];
            hd_turn_back(R, forces[leg], force);
            hd_add_tip_force(m, leg, force, F);
        }
    hd_end(m, R, nu, 0, H, F, out);
    return hd_are_finite(out, 6 + m->moving);
}
static inline int hd_forward_all(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau, double *nudot)
{
    real H[21], F[6];
    hd_set_tau(m, tau, 1);
    const int good = hd_begin(m, R, q, nu, 1, 0, H, F);
    hd_end(m, R, nu, 1, H, F, nudot);
    return good;
}

/* A state at rest; a matrix with which nothing has weight. */
static const double hd_zeros[9 + HD_MOST];

/* Wrench on the body and joint torques, for positions that are set. */
HD_INLINE void hd_inverse_at(struct hd_model *m, const double *R, const double *nu, const double *nudot, const int all, double *out)
{
    const spatial V = splat_spatial(nu), A = add_spatial(gravity_acceleration(m, R), splat_spatial(nudot));
    spatial F = body_wrench(m, V, A);
    real sum[6] = {splat(0.0)};
    hd_set_row(m, HD_RATE, nu + 6, all);
    hd_set_row(m, HD_QDD, nudot + 6, all);
    for (int64_t i = 0; i < m->blocks; i++) {
        spatial f;
        hd_kernels_of[m->shape]->inverse(m->legs + i, m->scratch + i, &V, &A, &f);
        subtract_wrench(f, sum);
    }
    total_each(sum, 6);
    subtract_wrench(F, sum);
    for (int i = 0; i < 6; i++)
        out[i] = -lane_of(sum + i, 0);
    hd_get_row(m, HD_OUT, out + 6, all);
}

/* Compute where all links are, in base_link's axes, or, where `base` is its place in others, in these. */
static inline void hd_set_all_frames(struct hd_model *m, const struct hd_place *base)
{
    for (int64_t i = 0; i < m->blocks; i++)
        hd_kernels_of[m->shape]->frames(m->legs + i, m->scratch + i, base);
}

/* Subtract J_tip^T F of forces (3) in world axes, 0 where there is none, from out (6 + n); positions are set. */
static inline void hd_subtract_tip_forces(struct hd_model *m, const double *R, const double *const *forces, double *out)
{
    hd_set_all_frames(m, 0);
    for (int64_t leg = 0; leg < m->robot->legs; leg++) {
        double force[3], tip[3], wrench[6], screw[6];
        if (!forces[leg])
            continue;
        hd_turn_back(R, forces[leg], force);
        hd_read_end(m, leg, tip);
        hd_wrench_at(tip, force, wrench);
        for (int r = 0; r < 6; r++)
            out[r] -= wrench[r];
        for (int64_t i = m->start[leg]; i < m->start[leg + 1]; i++) {
            hd_read_screw(m, i, screw);
            out[6 + i] -= hd_dot(screw, wrench, 6);
        }
    }
}

/* nu and nudot 0: at rest, which gives the gravity force. */
static inline int hd_inverse(struct hd_model *m, const double *R, const double *q, const double *nu, const double *nudot,
                             const double *const *forces, double *out)
{
    if (!hd_is_rotation(R) || !hd_set_q(m, q) || (forces && !hd_are_forces(m, forces)))
        return 0;
    hd_inverse_at(m, R, nu ? nu : hd_zeros, nudot ? nudot : hd_zeros, 0, out);
    if (forces)
        hd_subtract_tip_forces(m, R, forces, out);
    return hd_are_finite(out, 6 + m->moving);
}
static inline int hd_inverse_all(struct hd_model *m, const double *R, const double *q, const double *nu, const double *nudot, double *out)
{
    const int good = hd_set_q(m, q);
    hd_inverse_at(m, R, nu, nudot, 1, out);
    return good;
}

/* ---- matrices ------------------------------------------------------------------------------------------------------- */

/* Write the joints' part of a matrix (6 + n, 6 + n) in the form of an arrow: columns and rows of the body's six, from the
 * fields at `column` and `row` (6 for each joint), and the legs' squares, of which the lower triangle may be enough. */
HD_INLINE void hd_write_arrow(const struct hd_model *m, double *out, int64_t column, int64_t row, int64_t square, const int symmetric)
{
    const int64_t size = 6 + m->moving;
    for (int64_t i = 0, leg = 0; i < m->moving; i++) {
        const struct hd_free *at = m->free + i;
        const double *lane = (const double *)m->scratch + at->scratch;
        const double *c = lane + column + 6 * HD_LANES * at->k, *r = lane + row + 6 * HD_LANES * at->k;
        for (int e = 0; e < 6; e++) {
            out[e * size + 6 + i] = c[e * HD_LANES];
            out[(6 + i) * size + e] = r[e * HD_LANES];
        }
        while (i >= m->start[leg + 1])
            leg++;
        for (int64_t o = m->start[leg]; o <= i; o++) {
            const int64_t k = at->k, l = m->free[o].k;
            const double low = lane[square + (HD_MOST_JOINTS * k + l) * HD_LANES];
            out[(6 + i) * size + 6 + o] = low;
            out[(6 + o) * size + 6 + i] = symmetric ? low : lane[square + (HD_MOST_JOINTS * l + k) * HD_LANES];
        }
    }
}

/* Mass matrix M (6 + n, 6 + n), (31) and (32). */
static inline int hd_mass(struct hd_model *m, const double *q, double *out)
{
    const int64_t size = 6 + m->moving;
    const spatial still = splat_spatial(hd_zeros);
    real H[21], F[6];
    if (!hd_set_q(m, q))
        return 0;
    memset(out, 0, (size_t)(size * size) * sizeof(double));
    hd_terms(m, still, still, 0, H, F);
    total_each(H, 21);
    add_to_head(main_body(m), H);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c <= r; c++)
            out[r * size + c] = out[c * size + r] = lane_of(H + r * (r + 1) / 2 + c, 0);
    hd_write_arrow(m, out, HD_AT(arm), HD_AT(arm), HD_AT(block), 1);
    return 1;
}
#endif
