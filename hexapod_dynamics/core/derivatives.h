/* Coriolis matrix, and the derivatives of inverse and forward dynamics.
 *
 * The tangent of the configuration is that of nu: body translation and rotation in body axes (g exp([V]) on the right),
 * then the joints that move. Translation changes nothing; rotation turns gravity: u = R^T (0, 0, g) changes by u x phi,
 * and what an acceleration of the body does is the mass matrix, so that column k is M[:, :3] (u x e_k).
 */
#ifndef HD_DERIVATIVES_H
#define HD_DERIVATIVES_H
#include "arrow.h"

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
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
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

/* Sums of the rates over all legs and lanes, and with the main body; in each lane. */
HD_INLINE struct hd_rates hd_sum_rates(struct hd_model *m, spatial V, const spatial *A)
{
    const struct hd_kernels *run = hd_kernels_of[m->shape];
    const inertia body = main_body(m);
    struct hd_rates sum;
    memset(&sum, 0, sizeof sum);
    for (int64_t i = 0; i < m->blocks; i++) {
        struct hd_rates t;
        if (A)
            run->derivatives(m->legs + i, m->scratch + i, &V, A, &t);
        else
            run->coriolis(m->legs + i, m->scratch + i, &V, &t);
        for (unsigned e = 0; e < sizeof sum / sizeof(real); e++)
            ((real *)&sum)[e] += ((real *)&t)[e];
    }
    total_each((real *)&sum, sizeof sum / sizeof(real));
    sum.C = add_inertia(sum.C, body);
    sum.D = add_inertia(sum.D, inertia_rate(body, V));
    sum.P = add_spatial(sum.P, momentum(body, V));
    return sum;
}

/* Coriolis matrix C (6 + n, 6 + n) with Mdot - 2 C skew. */
static int hd_coriolis(struct hd_model *m, const double *q, const double *nu, double *out)
{
    const int64_t size = 6 + m->moving;
    double E[10], P[6];
    if (!hd_set_q(m, q) || !hd_are_finite(nu, size))
        return 0;
    hd_set_row(m, HD_RATE, nu + 6, 0);
    memset(out, 0, (size_t)(size * size) * sizeof(double));
    const struct hd_rates t = hd_sum_rates(m, splat_spatial(nu), 0);
    hd_read(&t.E, 0, HD_LANES, 10, E);
    hd_read(&t.P, 0, HD_LANES, 6, P);
    hd_add_inertia_matrix(out, size, E, 0.5);
    hd_add_force_matrix(out, size, P);
    hd_write_arrow(m, out, HD_AT(upper), HD_AT(lower), HD_AT(square), 0);
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
    const struct hd_rates t = hd_sum_rates(m, splat_spatial(nu), &A);
    hd_read(&t.C, 0, HD_LANES, 10, C);
    hd_read(&t.D, 0, HD_LANES, 10, D);
    hd_read(&t.P, 0, HD_LANES, 6, P);
    memset(by_conf, 0, bytes);
    memset(by_nu, 0, bytes);
    hd_add_inertia_matrix(head, 6, C, 1.0);
    hd_add_inertia_matrix(by_nu, size, D, 1.0);
    hd_add_force_matrix(by_nu, size, P);
    hd_add_inertia_times_twist(by_nu, size, head, nu);
    hd_write_arrow(m, by_conf, HD_AT(upper), HD_AT(upper), HD_AT(square), 0);
    hd_write_arrow(m, by_nu, HD_AT(lower), HD_AT(by_twist), HD_AT(by_rate), 0);
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
 * With D the derivatives of inverse dynamics at these accelerations: -M^-1 D; and M^-1 by the torques. */
static int hd_forward_derivatives(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                                  double *by_conf, double *by_nu, double *by_tau)
{
    const int64_t size = 6 + m->moving;
    struct hd_arrow arrow;
    double nudot[6 + HD_MOST], columns[3 * (6 + HD_MOST)], head[6 * (6 + HD_MOST)];
    if (!hd_is_rotation(R) || !hd_set_q(m, q))
        return 0;
    hd_set_row(m, HD_RATE, nu + 6, 0);
    hd_set_tau(m, tau, 0);
    hd_factor_arrow(m, splat_spatial(nu), gravity_acceleration(m, R), &arrow, nudot);
    hd_set_row(m, HD_QDD, nudot + 6, 0);
    hd_write_derivatives(m, R, nu, nudot, by_conf, by_nu, 0, columns);
    hd_solve_arrow_matrix(m, &arrow, by_conf, head);
    hd_solve_arrow_matrix(m, &arrow, by_nu, head);
    hd_write_inverse(m, &arrow, by_tau, head);
    return hd_are_finite(nudot, size) && hd_are_finite(by_conf, size * size) && hd_are_finite(by_nu, size * size);
}
#endif
