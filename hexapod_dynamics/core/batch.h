/* Forward and inverse dynamics of many states: a state in each lane, and a struct hd_leg for each leg that exists. */
#ifndef HD_BATCH_H
#define HD_BATCH_H
#include "model.h"

struct hd_batch {
    int64_t used;                     /* legs that exist */
    int64_t place[HD_MOST];           /* of each moving joint in its leg's row q, in lanes from the first leg's */
    struct hd_leg legs[HD_MOST_LEGS];
    struct hd_scratch scratch; /* one for all: each leg is finished before the next */
};

/* Copy a model's legs, each to all lanes of a struct of its own. */
static void hd_batch_begin(const struct hd_model *m, struct hd_batch *batch)
{
    batch->used = 0;
    for (int64_t leg = 0; leg < m->robot->legs; leg++) {
        if (m->last[leg] < 0)
            continue;
        struct hd_leg *b = batch->legs + batch->used++;
        *b = m->legs[leg / HD_LANES];
        for (real *row = b->q; row < (real *)(b + 1); row++)
            *row = splat(lane_of(row, leg % HD_LANES));
        b->n = m->last[leg] + 1; /* of this leg, not of the longest */
        memset(b->rate, 0, sizeof b->rate), memset(b->tau, 0, sizeof b->tau), memset(b->qdd, 0, sizeof b->qdd);
        for (int64_t i = m->start[leg]; i < m->start[leg + 1]; i++)
            batch->place[i] = b->q - batch->legs[0].q + m->free[i].k;
    }
}

/* Negative in the lanes whose R (3, 3) is no rotation, see hd_is_rotation. */
HD_INLINE hd_whole_lanes hd_not_rotations(const double *const *R)
{
    real a[9];
    for (int i = 0; i < 9; i++)
        a[i] = hd_gather(R, i);
    const real determinant = a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6]);
    hd_whole_lanes wrong = hd_bits(determinant);
    HD_SIX for (int i = 0; i < 3; i++)
        HD_SIX for (int j = 0; j <= i; j++)
            wrong |= hd_not_within(a[3 * i] * a[3 * j] + a[3 * i + 1] * a[3 * j + 1] + a[3 * i + 2] * a[3 * j + 2] - (i == j),
                                   HD_ROTATION_TOLERANCE);
    return wrong;
}

/* Write out for `count` states (indices of rows); return the first that is not finite or wrong, -1 if none.
 *
 * given: tau for forward dynamics, else nudot; all: nu, given and out have all joints, as in hd_forward_all. */
static int64_t hd_batch(const struct hd_model *m, int forward, int all, const int64_t *states, int64_t count, const double *R,
                        const double *q, const double *nu, const double *given, double *out)
{
    struct hd_batch batch; /* 150 kB with eight lanes */
    const struct hd_kernels *run = hd_kernels_of[m->shape];
    const int64_t joints = m->robot->joints, n = all ? joints : m->moving, size = 6 + n;
    const double *const arrays[5] = {R, q, nu, given, out};
    const int64_t widths[5] = {9, joints, size, forward ? n : size, size};
    real *const row = batch.legs[0].q; /* the others follow it, see HD_ROW */
    int64_t bad = -1;
    hd_batch_begin(m, &batch);
    for (int64_t group = 0; group < count; group += HD_LANES) {
        int64_t at[HD_LANES]; /* the states; past the last one, the first of the group again */
        const double *rows[5][HD_LANES], **R_of = rows[0], **q_of = rows[1], **nu_of = rows[2], **given_of = rows[3];
        spatial V, A;
        real H[21], F[6], x[6];
        for (int lane = 0; lane < HD_LANES; lane++) {
            const int64_t here = group + lane, ahead = here + HD_LANES, next = states[ahead < count ? ahead : group];
            at[lane] = states[here < count ? here : group];
            for (int part = 0; part < 5; part++) {
                rows[part][lane] = arrays[part] + widths[part] * at[lane];
                for (int64_t i = 0; i < widths[part]; i += 8) /* the cache lines of a later row of each array */
                    __builtin_prefetch(arrays[part] + widths[part] * next + i);
            }
        }
        hd_whole_lanes wrong = hd_not_rotations(R_of);
        for (int i = 0; i < 6; i++) {
            ((real *)&V)[i] = hd_gather(nu_of, i);
            const real gravity = i < 3 ? hd_gather(R_of, 6 + i) * m->gravity : splat(0.0);
            ((real *)&A)[i] = forward ? gravity : gravity + hd_gather(given_of, i);
        }
        for (int64_t i = 0; i < m->moving; i++) {
            const int64_t j = m->free[i].joint, c = all ? j : i;
            real *to = row + batch.place[i];
            to[0] = hd_gather(q_of, j), to[HD_RATE * HD_MOST_JOINTS] = hd_gather(nu_of, 6 + c);
            wrong |= hd_not_within(to[0], HD_FARTHEST_POSITION);
            if (!forward)
                to[HD_QDD * HD_MOST_JOINTS] = hd_gather(given_of, 6 + c);
            else if (m->free[i].driven != 0.0)
                to[HD_TAU * HD_MOST_JOINTS] = hd_gather(given_of, c);
        }
        memset(H, 0, sizeof H), memset(F, 0, sizeof F);
        add_to_head(main_body(m), H);
        subtract_wrench(body_wrench(m, V, A), F);
        for (int64_t i = 0; i < batch.used; i++) {
            struct hd_leg *b = batch.legs + i;
            struct hd_share t;
            if (forward) {
                run->terms(b, &batch.scratch, &V, &A, &t);
                run->eliminate(b, &batch.scratch, H, F);
                add_to_head(t.composite, H);
            } else
                run->inverse(b, &batch.scratch, &V, &A, &t.wrench);
            subtract_wrench(t.wrench, F);
        }
        if (forward) {
            solve_head(H, F, x);
            const spatial a = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
            for (int64_t i = 0; i < batch.used; i++)
                run->substitute(batch.legs + i, &a);
        }
        for (int64_t i = 0; i < 6 + m->moving; i++) {
            const int64_t c = i < 6 ? i : 6 + (all ? m->free[i - 6].joint : i - 6);
            const real value = i < 6 ? forward ? x[i] : -F[i] : row[batch.place[i - 6] + (forward ? HD_ACC : HD_OUT) * HD_MOST_JOINTS];
            wrong |= hd_not_finite(value);
            _Pragma("GCC unroll 8") for (int lane = 0; lane < HD_LANES; lane++)
                out[size * at[lane] + c] = lane_of(&value, lane);
        }
        for (int lane = 0; lane < HD_LANES && hd_any(wrong) < 0; lane++)
            if (((int64_t *)&wrong)[lane] < 0 && (bad < 0 || at[lane] < bad))
                bad = at[lane];
    }
    return bad;
}
#endif
