/* The arrow-shaped mass matrix, factored leg by leg for many right-hand sides; hd_solve_arrow solves for one.
 *
 * With the head H, the arms A_i and the blocks B_i of M: Y_i = B_i^-1 A_i^T and S = H - sum A_i Y_i. Then
 * x = M^-1 (h, t) is x_0 = S^-1 (h - sum Y_i^T t_i), x_i = B_i^-1 t_i - Y_i x_0. Rows are those of the joints that move.
 */
#ifndef HD_ARROW_H
#define HD_ARROW_H

#include "hd_matrices.h"

/* How many moving joints the leg has whose first one is `start` among the moving joints. */
static inline int64_t hd_leg_size(const struct hd_model *m, int64_t start)
{
    const struct hd_joint *first = m->joints + m->free[start].joint;
    int64_t count = 1;
    while (start + count < m->moving_count) {
        const struct hd_joint *other = m->joints + m->free[start + count].joint;
        if (other->block != first->block || other->lane != first->lane)
            break;
        count++;
    }
    return count;
}

/* Columns of `legs` in hd_factor_legs. */
static inline int64_t hd_factor_columns(const struct hd_model *m) { return 6 + HD_ROW(m, count); }

/* Replace columns first to last of `count` rows of x by B^-1 times them; L and 1 / D of the leg stand in `factors`. */
static inline void hd_substitute_leg(const double *factors, int64_t stride, int64_t count, double *x, int64_t columns,
                                     int64_t first, int64_t last)
{
    for (int64_t a = 0; a < count; a++)
        for (int64_t b = 0; b < a; b++) {
            const double factor = factors[a * stride + 6 + b];
            for (int64_t c = first; c < last; c++)
                x[a * columns + c] -= factor * x[b * columns + c];
        }
    for (int64_t a = count - 1; a >= 0; a--) {
        const double pivot = factors[a * stride + 6 + a];
        for (int64_t c = first; c < last; c++)
            x[a * columns + c] *= pivot;
        for (int64_t b = a + 1; b < count; b++) {
            const double factor = factors[b * stride + 6 + a];
            for (int64_t c = first; c < last; c++)
                x[a * columns + c] -= factor * x[b * columns + c];
        }
    }
}

/* Write, for each moving joint, its row of Y (6), and of L D L^T = B: L, and 1 / D on the diagonal.
 *
 * Needs the leg terms; legs (n, 6 + joints of the deepest leg). */
static inline void hd_factor_legs(const struct hd_model *m, double *legs)
{
    const int64_t n = m->moving_count, width = HD_WIDTH(m), stride = hd_factor_columns(m);
    int64_t count;
    for (int64_t start = 0; start < n; start += count) {
        const struct hd_joint *first = m->joints + m->free[start].joint;
        const double *lane = hd_lane(m, first->block, first->lane);
        double *own = legs + start * stride;
        count = hd_leg_size(m, start);
        for (int64_t a = 0; a < count; a++) {
            const int64_t ka = m->joints[m->free[start + a].joint].k;
            double *row = own + a * stride;
            for (int r = 0; r < 6; r++)
                row[r] = lane[(HD_ROW(m, arm) + 6 * ka + r) * width];
            for (int64_t b = 0; b <= a; b++) {
                const int64_t kb = m->joints[m->free[start + b].joint].k;
                row[6 + b] = lane[(HD_ROW(m, block) + ka * (ka + 1) / 2 + kb) * width];
            }
            for (int64_t b = 0; b < a; b++) /* row a of L D */
                for (int64_t c = 0; c < b; c++)
                    row[6 + b] -= row[6 + c] * own[b * stride + 6 + c];
            double pivot = row[6 + a];
            for (int64_t b = 0; b < a; b++) { /* then of L */
                const double factor = row[6 + b] * own[b * stride + 6 + b];
                pivot -= row[6 + b] * factor;
                row[6 + b] = factor;
            }
            row[6 + a] = 1.0 / pivot;
        }
        hd_substitute_leg(own, stride, count, own, stride, 0, 6);
    }
}

/* Write S^-1, of what `eliminate` left in HD_HEAD, to out (6, 6). */
static inline void hd_invert_head(const struct hd_model *m, double *out)
{
    for (int r = 0; r < 6; r++)
        for (int c = 0; c <= r; c++)
            out[6 * r + c] = out[6 * c + r] = m->shared[HD_HEAD + r * (r + 1) / 2 + c];
    for (int p = 0; p < 6; p++) {
        const double pivot = 1.0 / out[7 * p];
        out[7 * p] = 1.0;
        for (int c = 0; c < 6; c++)
            out[6 * p + c] *= pivot;
        for (int r = 0; r < 6; r++) {
            if (r == p)
                continue;
            const double factor = out[6 * r + p];
            out[6 * r + p] = 0.0;
            for (int c = 0; c < 6; c++)
                out[6 * r + c] -= factor * out[6 * p + c];
        }
    }
}

/* Write sign S^-1 head (6, columns) to the first six rows of x and to head. */
static inline void hd_solve_head(const double *inverse, double *restrict head, double *restrict x, int64_t columns,
                                 double sign)
{
    for (int r = 0; r < 6; r++) {
        const double a = sign * inverse[6 * r], b = sign * inverse[6 * r + 1], c = sign * inverse[6 * r + 2];
        const double d = sign * inverse[6 * r + 3], e = sign * inverse[6 * r + 4], f = sign * inverse[6 * r + 5];
        for (int64_t k = 0; k < columns; k++)
            x[r * columns + k] = a * head[k] + b * head[columns + k] + c * head[2 * columns + k] +
                                 d * head[3 * columns + k] + e * head[4 * columns + k] + f * head[5 * columns + k];
    }
    memcpy(head, x, (size_t)(6 * columns) * sizeof(double));
}

/* Row of Y (6) times x_0 (6, columns): subtract it from sign times the row x (columns). */
static inline void hd_subtract_arm(const double *Y, const double *restrict head, double *restrict x, int64_t columns,
                                   double sign)
{
    const double a = Y[0], b = Y[1], c = Y[2], d = Y[3], e = Y[4], f = Y[5];
    for (int64_t k = 0; k < columns; k++)
        x[k] = sign * x[k] - (a * head[k] + b * head[columns + k] + c * head[2 * columns + k] +
                              d * head[3 * columns + k] + e * head[4 * columns + k] + f * head[5 * columns + k]);
}

/* Replace x (6 + n, 6 + n), an arrow itself, by -M^-1 x; head (6, 6 + n) is room for intermediate results.
 *
 * Columns of a leg's joints have entries in the head's rows and that leg's rows only. */
static inline void hd_solve_arrow_matrix(const struct hd_model *m, const double *legs, const double *inverse,
                                         double *restrict x, double *restrict head)
{
    const int64_t n = m->moving_count, size = 6 + n, stride = hd_factor_columns(m);
    int64_t count;
    memcpy(head, x, (size_t)(6 * size) * sizeof(double));
    for (int64_t start = 0; start < n; start += count) {
        count = hd_leg_size(m, start);
        for (int64_t a = start; a < start + count; a++) {
            const double *row = x + (6 + a) * size;
            for (int r = 0; r < 6; r++) {
                const double factor = legs[a * stride + r];
                for (int c = 0; c < 6; c++)
                    head[r * size + c] -= factor * row[c];
                for (int64_t c = 6 + start; c < 6 + start + count; c++)
                    head[r * size + c] -= factor * row[c];
            }
        }
        double *own = x + (6 + start) * size;
        hd_substitute_leg(legs + start * stride, stride, count, own, size, 0, 6);
        hd_substitute_leg(legs + start * stride, stride, count, own, size, 6 + start, 6 + start + count);
    }
    hd_solve_head(inverse, head, x, size, -1.0);
    for (int64_t a = 0; a < n; a++)
        hd_subtract_arm(legs + a * stride, head, x + (6 + a) * size, size, -1.0);
}

/* Write M^-1's columns of the joints to x (6 + n, n); head (6, n) is room for intermediate results.
 *
 * Columns of limp joints are zero. */
static inline void hd_write_inverse(const struct hd_model *m, const double *legs, const double *inverse,
                                    double *restrict x, double *restrict head)
{
    const int64_t n = m->moving_count, stride = hd_factor_columns(m);
    int64_t count;
    hd_clear(x, (6 + n) * n);
    for (int64_t i = 0; i < n; i++) {
        x[(6 + i) * n + i] = m->free[i].driven;
        for (int r = 0; r < 6; r++)
            head[r * n + i] = -legs[i * stride + r] * m->free[i].driven;
    }
    hd_solve_head(inverse, head, x, n, 1.0);
    for (int64_t start = 0; start < n; start += count) {
        count = hd_leg_size(m, start);
        hd_substitute_leg(legs + start * stride, stride, count, x + (6 + start) * n, n, start, start + count);
    }
    for (int64_t a = 0; a < n; a++)
        hd_subtract_arm(legs + a * stride, head, x + (6 + a) * n, n, 1.0);
}

#endif
