/* The arrow-shaped mass matrix, factored leg by leg for many right-hand sides; hd_end solves for one.
 *
 * With the head H, the arms A_i and the blocks B_i of M: Y_i = B_i^-1 A_i^T and S = H - sum A_i Y_i. Then
 * x = M^-1 (h, t) is x_0 = S^-1 (h - sum Y_i^T t_i), x_i = B_i^-1 t_i - Y_i x_0. Rows are those of the joints that move.
 */
#ifndef HD_ARROW_H
#define HD_ARROW_H
#include "model.h"

enum { HD_COLUMNS = 6 + HD_MOST_JOINTS }; /* numbers of a joint's row: of Y 6; of L of B = L D L^T, 1 / D on its diagonal */
struct hd_arrow {
    double legs[HD_MOST][HD_COLUMNS];
    double inverse[6][6];     /* S^-1 */
    real H[21], F[6];         /* before the legs were eliminated */
};

static inline void hd_substitute_leg(const double (*legs)[HD_COLUMNS], int64_t count, double *x, int64_t columns, int64_t first,
                                     int64_t last)
{
    hd_substitute(legs[0] + 6, HD_COLUMNS, count, x, columns, first, last);
}

/* Write Y and the factors of B for each moving joint; the legs' terms stand in the scratch memory. */
static void hd_factor_legs(const struct hd_model *m, double (*legs)[HD_COLUMNS])
{
    for (int64_t leg = 0; leg < m->robot->legs; leg++) {
        const int64_t start = m->start[leg], count = m->start[leg + 1] - start;
        double(*own)[HD_COLUMNS] = legs + start;
        for (int64_t a = 0; a < count; a++) {
            const int64_t k = m->free[start + a].k;
            const double *lane = (const double *)m->scratch + m->free[start + a].scratch;
            hd_read(lane, HD_AT(arm) + 6 * HD_LANES * k, HD_LANES, 6, own[a]);
            for (int64_t b = 0; b <= a; b++)
                own[a][6 + b] = lane[HD_AT(block) + (HD_MOST_JOINTS * k + m->free[start + b].k) * HD_LANES];
        }
        hd_factor(own[0] + 6, HD_COLUMNS, count);
        hd_substitute_leg((const double(*)[HD_COLUMNS])own, count, own[0], HD_COLUMNS, 0, 6);
    }
}

/* Write S^-1 of a head by its lower triangle, in the first lane. */
static void hd_invert_head(const real *H, double (*out)[6])
{
    double S[6][6];
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++) {
            if (c <= r)
                S[r][c] = lane_of(H + r * (r + 1) / 2 + c, 0);
            out[r][c] = r == c;
        }
    hd_factor(S[0], 6, 6);
    hd_substitute(S[0], 6, 6, out[0], 6, 0, 6);
}

/* Factor the mass matrix of a state; nudot (6 + n): the accelerations. Return whether R and the positions are good. */
static int hd_factor_arrow(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                           struct hd_arrow *arrow, double *nudot)
{
    real H[21], F[6];
    hd_set_tau(m, tau, 0);
    if (!hd_is_rotation(R) || !hd_begin(m, R, q, nu, 0, 1, arrow->H, arrow->F))
        return 0;
    hd_factor_legs(m, arrow->legs);
    memcpy(H, arrow->H, sizeof H);
    memcpy(F, arrow->F, sizeof F);
    hd_end(m, R, nu, 0, H, F, nudot);
    hd_invert_head(H, arrow->inverse);
    return 1;
}

/* Row of Y (6) times x_0 (6, columns): subtract it from sign times the row x (columns). */
static inline void hd_subtract_arm(const double *Y, const double *restrict head, double *restrict x, int64_t columns, double sign)
{
    const double a = Y[0], b = Y[1], c = Y[2], d = Y[3], e = Y[4], f = Y[5];
    for (int64_t k = 0; k < columns; k++)
        x[k] = sign * x[k] - (a * head[k] + b * head[columns + k] + c * head[2 * columns + k] +
                              d * head[3 * columns + k] + e * head[4 * columns + k] + f * head[5 * columns + k]);
}

/* Replace x (6 + n, columns), an arrow itself, by sign M^-1 x; head (6, columns) is room for intermediate results.
 *
 * Its first columns, 6 or 0, are those of the body; the others, of a leg's joints, have entries in the head's rows and that leg's
 * rows only. */
HD_INLINE void hd_solve_arrow_matrix(const struct hd_model *m, const struct hd_arrow *arrow, const double sign,
                                     const int64_t first, double *restrict x, double *restrict head)
{
    const int64_t n = m->moving, columns = first + n;
    memcpy(head, x, (size_t)(6 * columns) * sizeof(double));
    for (int64_t leg = 0; leg < m->robot->legs; leg++) {
        const int64_t start = m->start[leg], end = m->start[leg + 1];
        for (int64_t a = start; a < end; a++) {
            const double *row = x + (6 + a) * columns;
            for (int r = 0; r < 6; r++) {
                const double factor = arrow->legs[a][r];
                for (int64_t c = 0; c < first; c++)
                    head[r * columns + c] -= factor * row[c];
                for (int64_t c = first + start; c < first + end; c++)
                    head[r * columns + c] -= factor * row[c];
            }
        }
        double *own = x + (6 + start) * columns;
        hd_substitute_leg(arrow->legs + start, end - start, own, columns, 0, first);
        hd_substitute_leg(arrow->legs + start, end - start, own, columns, first + start, first + end);
    }
    for (int r = 0; r < 6; r++) { /* sign S^-1 head */
        double row[6];
        for (int c = 0; c < 6; c++)
            row[c] = -sign * arrow->inverse[r][c];
        hd_subtract_arm(row, head, x + r * columns, columns, 0.0);
    }
    memcpy(head, x, (size_t)(6 * columns) * sizeof(double));
    for (int64_t a = 0; a < n; a++)
        hd_subtract_arm(arrow->legs[a], head, x + (6 + a) * columns, columns, sign);
}
#endif
