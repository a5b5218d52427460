/* Coriolis matrix, and the derivatives of inverse and forward dynamics.
 *
 * The tangent of the configuration is that of nu: body translation and rotation in body axes (g exp([V]) on the right),
 * then the joints that move. Translation changes nothing; rotation turns gravity: u = R^T (0, 0, g) changes by u x phi,
 * and what an acceleration of the body does is the mass matrix, so that column k is M[:, :3] (u x e_k).
 */
#ifndef HD_DERIVATIVES_H
#define HD_DERIVATIVES_H
#include "arrow.h"
#include "points.h"

/* Add the matrix that takes x to x x* f, (6, 6) with `size` columns. */
static void hd_add_force_matrix(double *a, int64_t size, const double *f)
{
    for (int c = 0; c < 3; c++) { /* -[f]: entry (i, j) is f_c, (j, i) is -f_c */
        const int i = (c + 1) % 3, j = (c + 2) % 3;
        a[i * size + 3 + j] += f[c], a[j * size + 3 + i] -= f[c];
        a[(3 + i) * size + j] += f[c], a[(3 + j) * size + i] -= f[c];
        a[(3 + i) * size + 3 + j] += f[3 + c], a[(3 + j) * size + 3 + i] -= f[3 + c];
    }
}

/* Add scale times the matrix of an inertia: m, h, xx yy zz xy xz yz. */
static void hd_add_inertia_matrix(double *a, int64_t size, const double *I, double scale)
{
    const int *row = hd_rows_of_six, *column = hd_columns_of_six;
    for (int c = 0; c < 3; c++) {
        const int i = (c + 1) % 3, j = (c + 2) % 3;
        a[c * size + c] += scale * I[0];
        a[i * size + 3 + j] += scale * I[1 + c], a[j * size + 3 + i] -= scale * I[1 + c]; /* -[h] */
        a[(3 + i) * size + j] -= scale * I[1 + c], a[(3 + j) * size + i] += scale * I[1 + c];
    }
    for (int e = 0; e < 6; e++) {
        a[(3 + row[e]) * size + 3 + column[e]] += scale * I[4 + e];
        if (e > 2)
            a[(3 + column[e]) * size + 3 + row[e]] += scale * I[4 + e];
    }
}

/* Add I [V x], I (6, 6) row by row: the columns are those of (w x, 0) and (v x, w x). */
static void hd_add_inertia_times_twist(double *a, int64_t size, const double *I, const double *V)
{
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 3; c++) {
            const int i = (c + 1) % 3, j = (c + 2) % 3;
            const double *M = I + 6 * r, *v = V, *w = V + 3;
            a[r * size + c] += M[i] * w[j] - M[j] * w[i];
            a[r * size + 3 + c] += M[i] * v[j] - M[j] * v[i] + M[3 + i] * w[j] - M[3 + j] * w[i];
        }
}

/* Sums of the rates over all legs and lanes, and with the main body; in each lane. all: for derivatives, else for the Coriolis
 * matrix, where A does not count. */
HD_INLINE struct hd_rates hd_sum_rates(struct hd_model *m, spatial V, spatial A, const int all)
{
    const struct hd_kernels *run = hd_kernels_of[m->shape];
    const inertia body = main_body(m);
    struct hd_rates sum;
    memset(&sum, 0, sizeof sum);
    for (int64_t i = 0; i < m->blocks; i++) {
        struct hd_rates t;
        (all ? run->derivatives : run->coriolis)(m->legs + i, m->scratch + i, &V, &A, &t);
        for (unsigned e = 0; e < sizeof sum / sizeof(real); e++)
            ((real *)&sum)[e] += ((real *)&t)[e];
    }
    total_each((real *)&sum, sizeof sum / sizeof(real));
    sum.C = add_inertia(sum.C, body);
    sum.D = add_inertia(sum.D, inertia_rate(body, V));
    sum.P = add_spatial(sum.P, momentum(body, V));
    return sum;
}

/* Coriolis matrix C (6 + n, 6 + n) with Mdot - 2 C skew; its head has half of the inertia's rate as base_link sees it. */
static int hd_coriolis(struct hd_model *m, const double *q, const double *nu, double *out)
{
    const int64_t size = 6 + m->moving;
    double D[10], turned[10], P[6];
    if (!hd_set_q(m, q) || !hd_are_finite(nu, size))
        return 0;
    hd_set_row(m, HD_RATE, nu + 6, 0);
    memset(out, 0, (size_t)(size * size) * sizeof(double));
    const spatial V = splat_spatial(nu);
    const struct hd_rates t = hd_sum_rates(m, V, V, 0);
    const inertia carried = inertia_rate(t.C, V);
    hd_read(&t.D, 0, HD_LANES, 10, D);
    hd_read(&carried, 0, HD_LANES, 10, turned);
    hd_read(&t.P, 0, HD_LANES, 6, P);
    hd_add_inertia_matrix(out, size, D, 0.5);
    hd_add_inertia_matrix(out, size, turned, -0.5);
    hd_add_force_matrix(out, size, P);
    hd_write_arrow(m, out, HD_AT(wrench_by_rate), HD_AT(by_twist), HD_AT(by_rate), 0);
    return hd_are_finite(out, size * size);
}

/* Write derivatives of inverse dynamics by configuration and by nu for the motion in rows rate and qdd; M: the mass matrix,
 * or 0 if `columns` (6 + n, 3), its first three columns, is enough. */
static void hd_write_derivatives(struct hd_model *m, const double *R, const double *nu, const double *nudot, double *by_conf,
                                 double *by_nu, double *M, double *columns)
{
    const int64_t size = 6 + m->moving, stride = M ? size : 3;
    const size_t bytes = (size_t)(size * size) * sizeof(double);
    const spatial A = add_spatial(gravity_acceleration(m, R), splat_spatial(nudot));
    const double u[3] = {R[6] * m->gravity, R[7] * m->gravity, R[8] * m->gravity};
    double C[10], D[10], P[6], head[36] = {0.0};
    const struct hd_rates t = hd_sum_rates(m, splat_spatial(nu), A, 1);
    hd_read(&t.C, 0, HD_LANES, 10, C);
    hd_read(&t.D, 0, HD_LANES, 10, D);
    hd_read(&t.P, 0, HD_LANES, 6, P);
    memset(by_conf, 0, bytes);
    memset(by_nu, 0, bytes);
    hd_add_inertia_matrix(head, 6, C, 1.0);
    hd_add_inertia_matrix(by_nu, size, D, 1.0);
    hd_add_force_matrix(by_nu, size, P);
    hd_add_inertia_times_twist(by_nu, size, head, nu);
    hd_write_arrow(m, by_conf, HD_AT(wrench_by_q), HD_AT(wrench_by_q), HD_AT(by_q), 0);
    hd_write_arrow(m, by_nu, HD_AT(wrench_by_rate), HD_AT(by_twist), HD_AT(by_rate), 0);
    if (M) {
        memset(M, 0, bytes);
        for (int r = 0; r < 6; r++)
            memcpy(M + r * size, head + 6 * r, 6 * sizeof(double));
        hd_write_arrow(m, M, HD_AT(arm), HD_AT(arm), HD_AT(block), 1);
    } else {
        for (int r = 0; r < 6; r++)
            memcpy(columns + 3 * r, head + 6 * r, 3 * sizeof(double));
        for (int64_t i = 0; i < m->moving; i++)
            hd_read(m->scratch, m->free[i].scratch + HD_AT(arm) + 6 * HD_LANES * m->free[i].k, HD_LANES, 3, columns + 18 + 3 * i);
    }
    for (int64_t r = 0; r < size; r++) {
        const double *row = (M ? M : columns) + r * stride;
        if (r >= 6)
            memset(by_conf + r * size, 0, 6 * sizeof(double));
        by_conf[r * size + 3] = row[1] * u[2] - row[2] * u[1];
        by_conf[r * size + 4] = row[2] * u[0] - row[0] * u[2];
        by_conf[r * size + 5] = row[0] * u[1] - row[1] * u[0];
    }
}

/* Derivatives (6 + n, 6 + n) of inverse dynamics by configuration, by nu, and by nudot: the mass matrix. */
static int hd_inverse_derivatives(struct hd_model *m, const double *R, const double *q, const double *nu, const double *nudot,
                                  double *by_conf, double *by_nu, double *M)
{
    const int64_t size = 6 + m->moving;
    if (!hd_is_rotation(R) || !hd_set_q(m, q))
        return 0;
    hd_set_row(m, HD_RATE, nu + 6, 0);
    hd_set_row(m, HD_QDD, nudot + 6, 0);
    hd_write_derivatives(m, R, nu, nudot, by_conf, by_nu, M, 0);
    return hd_are_finite(by_conf, size * size) && hd_are_finite(by_nu, size * size);
}

/* Derivatives of forward dynamics by configuration and by nu, (6 + n, 6 + n), and by torques (6 + n, n).
 *
 * With D the derivatives of inverse dynamics at these accelerations: -M^-1 D; by the torques M^-1, where a joint is driven. */
static int hd_forward_derivatives(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                                  double *by_conf, double *by_nu, double *by_tau)
{
    const int64_t size = 6 + m->moving;
    struct hd_arrow arrow;
    double nudot[6 + HD_MOST], columns[3 * (6 + HD_MOST)], head[6 * (6 + HD_MOST)];
    if (!hd_factor_arrow(m, R, q, nu, tau, &arrow, nudot))
        return 0;
    hd_set_row(m, HD_QDD, nudot + 6, 0);
    hd_write_derivatives(m, R, nu, nudot, by_conf, by_nu, 0, columns);
    hd_solve_arrow_matrix(m, &arrow, -1.0, 6, by_conf, head);
    hd_solve_arrow_matrix(m, &arrow, -1.0, 6, by_nu, head);
    memset(by_tau, 0, (size_t)(size * m->moving) * sizeof(double));
    for (int64_t i = 0; i < m->moving; i++)
        by_tau[(6 + i) * m->moving + i] = m->free[i].driven;
    hd_solve_arrow_matrix(m, &arrow, 1.0, 0, by_tau, head);
    return hd_are_finite(nudot, size) && hd_are_finite(by_conf, size * size) && hd_are_finite(by_nu, size * size);
}

/* ---- derivatives by the inertial parameters --------------------------------------------------------------------------- */

/* Write m, h 3, I 6 of a body with a unit of its standard parameter p, see dynamics/regressors.py; columns of E: its axes. */
static void hd_write_unit(int p, const double *E, double out[10])
{
    static const int first[6] = {0, 0, 1, 0, 1, 2}, second[6] = {0, 1, 1, 2, 2, 2}; /* of Ixx Ixy Iyy Ixz Iyz Izz */
    memset(out, 0, 10 * sizeof(double));
    out[0] = p == 0;
    for (int r = 0; 0 < p && p < 4 && r < 3; r++)
        out[1 + r] = E[3 * r + p - 1];
    for (int e = 0; 3 < p && e < 6; e++) {
        const int i = first[p - 4], j = second[p - 4], r = 3 * hd_rows_of_six[e], c = 3 * hd_columns_of_six[e];
        out[4 + e] = i == j ? E[r + i] * E[c + i] : E[r + i] * E[c + j] + E[r + j] * E[c + i];
    }
}

/* Regressor Y (6 + n, 10 (1 + links)) of inverse dynamics: ten columns for the main body, then for each link that exists.
 *
 * A column is inverse dynamics with a unit of one parameter in place of all inertias, link k of all legs at once. R: any matrix;
 * with zeros nothing has weight. The model is as before at the end. */
static int hd_regressor(struct hd_model *m, const double *R, const double *q, const double *nu, const double *nudot, double *Y)
{
    const struct hd_robot *r = m->robot;
    const spatial V = splat_spatial(nu), A = add_spatial(gravity_acceleration(m, R), splat_spatial(nudot));
    struct hd_model body = *m;
    struct hd_leg kept[HD_MOST_BLOCKS];
    spatial F[HD_MOST_BLOCKS];
    double unit[10];
    int64_t first[HD_MOST_LEGS], width = 10, deepest = -1; /* first: column of a leg */
    const int good = hd_set_q(m, q);
    hd_set_row(m, HD_RATE, nu + 6, 0);
    hd_set_row(m, HD_QDD, nudot + 6, 0);
    memcpy(kept, m->legs, (size_t)m->blocks * sizeof *kept);
    for (int64_t i = 0; i < m->blocks * HD_MOST_JOINTS; i++)
        memset(m->legs[i / HD_MOST_JOINTS].link[i % HD_MOST_JOINTS].number + HD_MASS, 0, (HD_NUMBERS - HD_MASS) * sizeof(real));
    for (int64_t leg = 0; leg < r->legs; leg++) {
        first[leg] = width, width += 10 * (m->last[leg] + 1);
        deepest = m->last[leg] > deepest ? m->last[leg] : deepest;
    }
    memset(Y, 0, (size_t)((6 + m->moving) * width) * sizeof(double));
    for (int p = 0; p < 10; p++) {
        hd_write_unit(p, hd_axes_of_base, unit);
        body.mass = unit[0];
        memcpy(body.h, unit + 1, sizeof body.h);
        memcpy(body.inertia, unit + 4, sizeof body.inertia);
        F[0] = body_wrench(&body, V, A);
        for (int e = 0; e < 6; e++)
            Y[e * width + p] = lane_of((real *)F + e, 0);
    }
    for (int64_t column = 0; column < 10 * (deepest + 1); column++) {
        const int64_t k = column / 10;
        for (int64_t leg = 0; leg < r->legs; leg++) {
            hd_write_unit((int)(column % 10), r->joint[r->first[leg] + (k <= m->last[leg] ? k : 0)].axes, unit);
            for (int e = 0; e < 10 && k <= m->last[leg]; e++)
                lane_of(m->legs[leg / HD_LANES].link[k].number + HD_MASS + e, leg % HD_LANES) = unit[e];
        }
        for (int64_t i = 0; i < m->blocks; i++) { /* kernels of another shape may take these numbers for zeros */
            hd_kernels_of[HD_ANY]->inverse(m->legs + i, m->scratch + i, &V, &A, F + i);
            if (column % 10 == 9)
                memset(m->legs[i].link[k].number + HD_MASS, 0, 10 * sizeof(real));
        }
        for (int64_t leg = 0; leg < r->legs; leg++) {
            double *to = Y + first[leg] + column;
            for (int e = 0; e < 6 && k <= m->last[leg]; e++)
                to[e * width] = lane_of((real *)(F + leg / HD_LANES) + e, leg % HD_LANES);
            for (int64_t i = m->start[leg]; i < m->start[leg + 1] && k <= m->last[leg]; i++)
                to[(6 + i) * width] = hd_row(m, HD_OUT)[m->free[i].place];
        }
    }
    memcpy(m->legs, kept, (size_t)m->blocks * sizeof *kept);
    return good && hd_are_finite(Y, (6 + m->moving) * width);
}
#endif
