/* Foot forces by non-negative least squares: Lawson and Hanson's active set, which starts from that of the last call.
 *
 *     minimise  | A x - b |^2 + r^2 | E x |^2    over x >= 0
 *
 * A (6, n): wrenches of the edges of the friction pyramids, E: their forces. With P the edges in use, the minimum over x_P
 * satisfies H_PP x_P = (A^T b)_P with H = A^T A + r^2 E^T E, by L D L^T and one step of refinement (the residual is computed
 * with A and E, because the condition number of H is the square of theirs and would cost digits). The four edges of a foot are
 * linearly dependent; an edge that depends on those in use is left out: forces are unique, x is not.
 */
#ifndef HD_FOOT_FORCES_H
#define HD_FOOT_FORCES_H
#include <float.h>
#include <math.h>
#include <string.h>
#include "checks.h"
#include "robot.h"

enum { HD_EDGES = 4, HD_ALL_EDGES = HD_EDGES * HD_MOST_LEGS };
enum { HD_FOUND, HD_NOT_FINITE, HD_ENDLESS }; /* outcomes of hd_solve_forces */
/* Share of its diagonal that a pivot of a dependent edge does not exceed. */
static const double HD_DEPENDENT = 1e-9;

struct hd_foot_forces {
    int64_t legs, n, rounds, used;  /* n: edges; rounds: most changes of the edges in use; used: those in use at the last call */
    double length, r;               /* converts moments to forces [m]; regularisation */
    double edges[3][HD_EDGES];      /* of a friction pyramid */
    double column[HD_ALL_EDGES][9], b[6], share[HD_MOST_LEGS]; /* of each edge: of A 6, of r E 3, which act on its own leg */
    double L[HD_ALL_EDGES][HD_ALL_EDGES];
    double x[HD_ALL_EDGES], s[HD_ALL_EDGES], w[HD_ALL_EDGES], step[HD_ALL_EDGES], slope[HD_ALL_EDGES];
    int64_t order[HD_ALL_EDGES]; /* edges in use, in the order in which they were taken */
};

/* Write columns and b, moments divided by `length`, and share = sqrt(load). Return whether all numbers are finite. */
static inline int hd_set_wrenches(struct hd_foot_forces *m, const double *wrench, const double *R, const double *tips,
                                  const double *load)
{
    for (int i = 0; i < 6; i++)
        m->b[i] = i < 3 ? wrench[i] : wrench[i] / m->length;
    for (int64_t leg = 0; leg < m->legs; leg++) {
        const double carries = load[leg] < 0.0 ? 0.0 : load[leg] > 1.0 ? 1.0 : load[leg]; /* NaN stays NaN */
        const double share = m->share[leg] = sqrt(carries);
        for (int e = 0; e < HD_EDGES; e++) {
            const double edge[3] = {m->edges[0][e], m->edges[1][e], m->edges[2][e]};
            double *column = m->column[HD_EDGES * leg + e];
            hd_turn_back(R, edge, column);
            hd_cross(tips + 3 * leg, column, column + 3);
            for (int i = 0; i < 9; i++)
                column[i] = i < 3 ? share * column[i] : i < 6 ? share / m->length * column[i] : m->r * edge[i - 6];
        }
    }
    return hd_are_finite(m->b, 6) && hd_are_finite(m->column[0], 9 * m->n);
}

/* w = A^T (b - A x) - r^2 E^T E x */
static inline void hd_gradient(const struct hd_foot_forces *m, const double *x, double *w)
{
    double left[6];
    memcpy(left, m->b, sizeof left);
    for (int64_t j = 0; j < m->n; j++)
        for (int i = 0; i < 6; i++)
            left[i] -= m->column[j][i] * x[j];
    for (int64_t first = 0; first < m->n; first += HD_EDGES) {
        double force[3] = {0.0, 0.0, 0.0}; /* r times that of a leg */
        for (int64_t j = first; j < first + HD_EDGES; j++)
            for (int i = 0; i < 3; i++)
                force[i] += m->column[j][6 + i] * x[j];
        for (int64_t j = first; j < first + HD_EDGES; j++)
            w[j] = hd_dot(m->column[j], left, 6) - hd_dot(m->column[j] + 6, force, 3);
    }
}

/* Factor H_PP of the edges in use; return whether all are independent. */
static inline int hd_factorise(struct hd_foot_forces *m, int64_t count)
{
    int independent = 1;
    for (int64_t k = 0; k < count; k++)
        for (int64_t l = 0; l <= k; l++) {
            const int64_t i = m->order[k], j = m->order[l];
            m->L[k][l] = hd_dot(m->column[i], m->column[j], i / HD_EDGES == j / HD_EDGES ? 9 : 6);
        }
    for (int64_t k = 0; k < count; k++)
        m->step[k] = m->L[k][k];
    hd_factor(m->L[0], HD_ALL_EDGES, count);
    for (int64_t k = 0; k < count; k++) /* 1 over the pivot stands there */
        independent &= m->L[k][k] > 0.0 && HD_DEPENDENT * m->step[k] * m->L[k][k] < 1.0;
    return independent;
}

/* Write s, the minimum over the edges in use, zero elsewhere, by their factors; then one step of refinement. */
static inline void hd_minimum(struct hd_foot_forces *m, int64_t count)
{
    memset(m->s, 0, sizeof m->s);
    for (int pass = 0; pass < 2; pass++) {
        hd_gradient(m, m->s, m->slope);
        for (int64_t k = 0; k < count; k++)
            m->step[k] = m->slope[m->order[k]];
        hd_substitute(m->L[0], HD_ALL_EDGES, count, m->step, 1, 0, 1);
        for (int64_t k = 0; k < count; k++)
            m->s[m->order[k]] += m->step[k];
    }
}

static inline int hd_all_positive(const struct hd_foot_forces *m, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (!(m->s[m->order[k]] > 0.0))
            return 0;
    return 1;
}

/* Begin with the edges in use at the last call; return how many, 0 if they do not give positive values. */
static inline int64_t hd_warm_start(struct hd_foot_forces *m, int64_t count)
{
    memset(m->x, 0, sizeof m->x);
    if (count == 0 || !hd_factorise(m, count))
        return 0;
    hd_minimum(m, count);
    if (!hd_all_positive(m, count))
        return 0;
    memcpy(m->x, m->s, sizeof m->x);
    return count;
}

/* Go from x towards s as far as x stays non-negative, and take out the edges that are zero there; the new count. */
static inline int64_t hd_drop_negative(struct hd_foot_forces *m, int64_t count)
{
    double alpha = 1.0;
    int64_t first = -1, kept = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t j = m->order[k];
        if (m->s[j] > 0.0)
            continue;
        const double share = m->x[j] > 0.0 ? m->x[j] / (m->x[j] - m->s[j]) : 0.0;
        if (share <= alpha)
            alpha = share, first = j;
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t j = m->order[k];
        m->x[j] += alpha * (m->s[j] - m->x[j]);
        if (j == first || (m->s[j] <= 0.0 && m->x[j] <= 0.0))
            m->x[j] = 0.0;
        else
            m->order[kept++] = j;
    }
    return kept;
}

/* Largest sum of magnitudes of a column of [A; r E]. */
static inline double hd_largest_column(const struct hd_foot_forces *m)
{
    double largest = 0.0;
    for (int64_t j = 0; j < m->n; j++) {
        double total = 0.0;
        for (int i = 0; i < 9; i++)
            total += fabs(m->column[j][i]);
        largest = fmax(largest, total);
    }
    return largest;
}

/* Take the edge into use that lowers the cost most, is independent of the others and becomes positive, and write the minimum s
 * with it; return the number of edges in use, which is unchanged if none was added. */
static inline int64_t hd_add_edge(struct hd_foot_forces *m, int64_t count, double tolerance)
{
    for (;;) {
        int64_t best = -1;
        double largest = tolerance;
        for (int64_t j = 0; j < m->n; j++)
            if (m->w[j] > largest)
                best = j, largest = m->w[j];
        if (best < 0)
            return count;
        m->order[count] = best;
        if (hd_factorise(m, count + 1)) {
            hd_minimum(m, count + 1);
            if (m->s[best] > 0.0)
                return count + 1;
        }
        m->w[best] = 0.0;
    }
}

/* Write the forces (legs, 3) of the ground on the feet, world axes, for a wrench (6) on the body in body axes, R (3, 3) world <-
 * body, tips (legs, 3) in body axes and loads (legs); return an outcome. */
static inline int hd_solve_forces(struct hd_foot_forces *m, const double *wrench, const double *R, const double *tips,
                                  const double *load, double *forces)
{
    int64_t count = m->used, changes = 0;
    m->used = 0;
    if (!hd_set_wrenches(m, wrench, R, tips, load))
        return HD_NOT_FINITE;
    const double tolerance = 10.0 * (double)m->n * DBL_EPSILON * hd_largest_column(m); /* that of scipy.optimize.nnls */
    count = hd_warm_start(m, count);
    for (;;) {
        const int64_t before = count;
        hd_gradient(m, m->x, m->w);
        for (int64_t k = 0; k < count; k++)
            m->w[m->order[k]] = 0.0;
        count = hd_add_edge(m, count, tolerance);
        if (count == before)
            break;
        while (!hd_all_positive(m, count)) {
            if (++changes > m->rounds)
                return HD_ENDLESS;
            count = hd_drop_negative(m, count);
            hd_factorise(m, count);
            hd_minimum(m, count);
        }
        if (++changes > m->rounds)
            return HD_ENDLESS;
        memcpy(m->x, m->s, sizeof m->x);
    }
    m->used = count;
    for (int64_t leg = 0; leg < m->legs; leg++)
        for (int i = 0; i < 3; i++) {
            double total = 0.0;
            for (int e = 0; e < HD_EDGES; e++)
                total += m->edges[i][e] * m->x[HD_EDGES * leg + e];
            forces[3 * leg + i] = m->share[leg] * total;
        }
    return HD_FOUND;
}
#endif
