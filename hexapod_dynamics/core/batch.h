/* Forward and inverse dynamics of many states: a state in each lane, and a struct hd_leg for each leg that exists. */
#ifndef HD_BATCH_H
#define HD_BATCH_H
#include "model.h"

struct hd_batch {
    int64_t used;                     /* legs that exist */
    struct { int64_t leg, k; } at[HD_MOST]; /* of each moving joint */
    struct hd_leg legs[HD_MOST_LEGS];
    struct hd_scratch scratch; /* one for all: each leg is finished before the next */
};
static int64_t hd_batch_bytes(const struct hd_model *m)
{
    (void)m;
    return (int64_t)sizeof(struct hd_batch);
}

/* Copy a model's legs, each to all lanes of a struct of its own. */
static void hd_batch_begin(const struct hd_model *m, void *memory)
{
    struct hd_batch *batch = memory;
    const struct hd_robot *r = m->robot;
    int64_t place[HD_MOST_LEGS], leg = 0;
    batch->used = 0;
    for (int64_t i = 0; i < r->legs; i++) {
        if (m->last[i] < 0)
            continue;
        struct hd_leg *b = batch->legs + batch->used;
        const int64_t lane = i % HD_LANES;
        *b = m->legs[i / HD_LANES];
        for (real *row = b->q; row < (real *)(b + 1); row++)
            *row = splat(lane_of(row, lane));
        memset(b->rate, 0, sizeof b->rate), memset(b->tau, 0, sizeof b->tau), memset(b->qdd, 0, sizeof b->qdd);
        place[i] = batch->used++;
    }
    for (int64_t i = 0; i < m->moving; i++) {
        while (m->free[i].joint >= r->first[leg + 1])
            leg++;
        batch->at[i].leg = place[leg], batch->at[i].k = m->free[i].k;
    }
}

/* Write out for `count` states (indices of rows); return the first that is not finite or wrong, -1 if none.
 *
 * given: tau for forward dynamics, else nudot; all: nu, given and out have all joints, as in hd_forward_all. */
static int64_t hd_batch(const struct hd_model *m, void *memory, int forward, int all, const int64_t *states, int64_t count,
                        const double *R, const double *q, const double *nu, const double *given, double *out)
{
    struct hd_batch *batch = memory;
    const struct hd_kernels *run = hd_kernels_of[m->shape];
    const int64_t joints = m->robot->joints, n = all ? joints : m->moving, size = 6 + n, width = forward ? n : size;
    const real zero = splat(0.0);
    int64_t bad = -1;
    for (int64_t group = 0; group < count; group += HD_LANES) {
        const int64_t live = count - group < HD_LANES ? count - group : HD_LANES;
        spatial V, A = {{zero, zero, zero}, {zero, zero, zero}};
        real H[21], F[6], x[6];
        for (int lane = 0; lane < HD_LANES; lane++) {
            const int64_t at = states[group + (lane < live ? lane : 0)];
            for (int i = 0; i < 6; i++) {
                lane_of((real *)&V + i, lane) = nu[at * size + i];
                lane_of((real *)&A + i, lane) = (i < 3 ? R[9 * at + 6 + i] * m->gravity : 0.0) + (forward ? 0.0 : given[at * width + i]);
            }
            if (!hd_is_rotation(R + 9 * at) && (bad < 0 || at < bad))
                bad = at;
        }
        for (int64_t i = 0; i < m->moving; i++) {
            const int64_t j = m->free[i].joint, c = all ? j : i, k = batch->at[i].k;
            struct hd_leg *b = batch->legs + batch->at[i].leg;
            for (int lane = 0; lane < HD_LANES; lane++) {
                const int64_t at = states[group + (lane < live ? lane : 0)];
                const double value = q[at * joints + j];
                if (!(value <= HD_FARTHEST_POSITION && value >= -HD_FARTHEST_POSITION) && (bad < 0 || at < bad))
                    bad = at;
                lane_of(b->q + k, lane) = value;
                lane_of(b->rate + k, lane) = nu[at * size + 6 + c];
                if (forward)
                    lane_of(b->tau + k, lane) = given[at * width + c] * m->free[i].driven;
                else
                    lane_of(b->qdd + k, lane) = given[at * width + 6 + c];
            }
        }
        memset(H, 0, sizeof H), memset(F, 0, sizeof F);
        add_to_head(main_body(m), H);
        subtract_wrench(body_wrench(m, V, A), F);
        for (int64_t i = 0; i < batch->used; i++) {
            struct hd_leg *b = batch->legs + i;
            struct hd_share t;
            if (forward) {
                run->terms(b, &batch->scratch, &V, &A, &t);
                run->eliminate(b, &batch->scratch, H, F);
                add_to_head(t.composite, H);
            } else
                run->inverse(b, &batch->scratch, &V, &A, &t.wrench);
            subtract_wrench(t.wrench, F);
        }
        if (forward) {
            solve_head(H, F, x);
            const spatial a = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
            for (int64_t i = 0; i < batch->used; i++)
                run->substitute(batch->legs + i, &a);
        }
        const double sign = forward ? 1.0 : -1.0;
        for (int64_t lane = 0; lane < live; lane++) {
            const int64_t at = states[group + lane];
            double *row = out + at * size;
            for (int i = 0; i < 6; i++)
                row[i] = sign * lane_of((forward ? x : F) + i, lane);
        }
        for (int64_t i = 0; i < m->moving; i++) {
            const int64_t c = all ? m->free[i].joint : i, k = batch->at[i].k;
            const struct hd_leg *b = batch->legs + batch->at[i].leg;
            for (int64_t lane = 0; lane < live; lane++)
                out[states[group + lane] * size + 6 + c] = lane_of((forward ? b->acc : b->out) + k, lane);
        }
        for (int64_t lane = 0; lane < live; lane++) {
            const int64_t at = states[group + lane];
            if (!hd_are_finite(out + at * size, size) && (bad < 0 || at < bad))
                bad = at;
        }
    }
    return bad;
}
#endif
