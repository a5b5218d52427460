/* Forward dynamics with held feet.
 *
 * Each held tip has the Jacobian J_i = (Jb_i, Jq_i), by the body and by its own leg's joints. The forces f in body axes
 * solve sum_j D_ij f_j = -(acceleration of tip i without them), with K_i = Jb_i - Jq_i Y_i and
 *
 *     D_ij = J_i M^-1 J_j^T = K_i S^-1 K_j^T  +  Jq_i B_i^-1 Jq_i^T  for i = j
 *
 * and then act like any tip force. No matrix larger than D, 3 for each held foot, is factored.
 */
#ifndef HD_STANCE_H
#define HD_STANCE_H

#include "hd_arrow.h"
#include "hd_points.h"

/* Feet are held more than once over where a pivot of D is smaller than this share of D's largest diagonal entry. */
#define HD_LEAST_PIVOT 1e-8

/* K (3, 6), Jq^T and B^-1 Jq^T of a leg in its joints' rows (n, 3), and right (3), less the tip's acceleration.
 * *end gets the row behind the leg's last one; its first one is returned. */
static inline int64_t hd_tip_rows(const struct hd_model *m, const struct hd_leg *leg, const double *nu,
                                  const double *legs, double *K, double *Jq, double *Z, double *right, int64_t *end)
{
    const int64_t width = HD_WIDTH(m), stride = hd_factor_columns(m), start = hd_first_column(m, leg) - 6;
    const double *lane = hd_lane(m, leg->block, leg->lane);
    double x[3], bias[3], velocity[3], slide[3], screw[6];
    int64_t at = start;
    hd_get_numbers(lane, width, HD_ROW(m, point) + 3 * leg->last, 3, x);
    hd_clear(K, 18);
    for (int r = 0; r < 3; r++)
        K[6 * r + r] = 1.0;
    hd_add_skew(K + 3, 6, -x[0], -x[1], -x[2]);
    hd_bias_at(m, leg, leg->last, x, nu, bias, velocity);
    hd_cross(nu + 3, x, slide);
    for (int i = 0; i < 3; i++)
        velocity[i] += nu[i] + slide[i];
    hd_cross(nu + 3, velocity, slide);
    for (int r = 0; r < 3; r++) {
        right[r] = -(bias[r] + slide[r]);
        for (int c = 0; c < 6; c++)
            right[r] -= K[6 * r + c] * m->shared[HD_HEAD_ACC + c];
    }
    for (int64_t k = 0; k <= leg->last; k++) {
        if (m->moving[leg->first + k] == 0.0)
            continue;
        const double acceleration = lane[(HD_ROW(m, acc) + k) * width];
        hd_get_numbers(lane, width, HD_ROW(m, screw) + 6 * k, 6, screw);
        hd_point_velocity(screw, x, Jq + 3 * at);
        for (int r = 0; r < 3; r++) {
            Z[3 * at + r] = Jq[3 * at + r];
            right[r] -= Jq[3 * at + r] * acceleration;
            for (int c = 0; c < 6; c++)
                K[6 * r + c] -= Jq[3 * at + r] * legs[at * stride + c];
        }
        at++;
    }
    hd_substitute_leg(legs + start * stride, stride, at - start, Z + 3 * start, 3, 0, 3);
    *end = at;
    return start;
}

/* Replace x (size) by D^-1 x, by D = L D L^T in its place; whether D is regular. */
static inline int hd_solve_symmetric(double *D, double *x, int64_t size)
{
    double largest = 0.0;
    for (int64_t r = 0; r < size; r++)
        if (D[r * size + r] > largest)
            largest = D[r * size + r];
    for (int64_t r = 0; r < size; r++) {
        double *row = D + r * size;
        for (int64_t c = 0; c < r; c++)
            for (int64_t k = 0; k < c; k++)
                row[c] -= row[k] * D[c * size + k];
        double pivot = row[r];
        for (int64_t c = 0; c < r; c++) {
            const double factor = row[c] / D[c * size + c];
            pivot -= row[c] * factor;
            row[c] = factor;
            x[r] -= factor * x[c];
        }
        if (!(pivot > HD_LEAST_PIVOT * largest))
            return 0;
        row[r] = pivot;
    }
    for (int64_t r = 0; r < size; r++)
        x[r] /= D[r * size + r];
    for (int64_t r = size - 1; r >= 0; r--)
        for (int64_t k = r + 1; k < size; k++)
            x[r] -= D[k * size + r] * x[k];
    return 1;
}

/* Accelerations out (6 + n) with the tips of `feet` legs held, and their forces (3) in world axes, one for each.
 *
 * 0 also where a leg is missing, or the feet are held more than once over. */
static inline int hd_held(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                          const int64_t *const *indices, int64_t feet, double *out, double *const *forces)
{
    const int64_t n = m->moving_count, size = 3 * feet;
    double *legs = m->scratch, *inverse = legs + n * hd_factor_columns(m), *head = inverse + 36, *K = head + 27;
    double *W = K + 6 * size, *Jq = W + 6 * size, *Z = Jq + 3 * n, *D = Z + 3 * n, *f = D + size * size;
    for (int64_t foot = 0; foot < feet; foot++)
        if (m->legs[*indices[foot]].last < 0)
            return 0;
    if (!hd_set_motion(m, R, q, nu))
        return 0;
    hd_set_torque(m, tau);
    hd_leg_terms(m);
    memcpy(head, m->shared + HD_HEAD, 27 * sizeof(double));
    hd_factor_legs(m, legs);
    hd_solve_arrow(m);
    hd_invert_head(m, inverse);
    for (int64_t foot = 0; foot < feet; foot++) {
        const int64_t at = 3 * foot;
        int64_t end;
        const int64_t start = hd_tip_rows(m, m->legs + *indices[foot], nu, legs, K + 6 * at, Jq, Z, f + at, &end);
        for (int r = 0; r < 3; r++) {
            double *row = W + 6 * (at + r);
            for (int c = 0; c < 6; c++) {
                row[c] = 0.0;
                for (int k = 0; k < 6; k++)
                    row[c] += K[6 * (at + r) + k] * inverse[6 * k + c];
            }
            for (int64_t c = 0; c < at + 3; c++) {
                double entry = 0.0;
                for (int k = 0; k < 6; k++)
                    entry += row[k] * K[6 * c + k];
                D[(at + r) * size + c] = entry;
            }
            for (int c = 0; c < 3; c++)
                for (int64_t a = start; a < end; a++)
                    D[(at + r) * size + at + c] += Jq[3 * a + r] * Z[3 * a + c];
        }
    }
    if (!hd_solve_symmetric(D, f, size))
        return 0;
    memcpy(m->shared + HD_HEAD, head, 27 * sizeof(double));
    for (int64_t foot = 0; foot < feet; foot++)
        hd_add_tip_force(m, m->legs + *indices[foot], f + 3 * foot);
    hd_solve_arrow(m);
    for (int64_t foot = 0; foot < feet; foot++)
        for (int r = 0; r < 3; r++)
            forces[foot][r] = R[3 * r] * f[3 * foot] + R[3 * r + 1] * f[3 * foot + 1] + R[3 * r + 2] * f[3 * foot + 2];
    return hd_get_solution(m, out);
}

#endif
