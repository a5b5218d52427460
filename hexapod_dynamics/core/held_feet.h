/* Forward dynamics with held feet.
 *
 * Each held tip has the Jacobian J_i = (Jb_i, Jq_i), by the body and by its own leg's joints. The forces f in body axes
 * solve sum_j D_ij f_j = -(acceleration of tip i without them), with K_i = Jb_i - Jq_i Y_i and
 *
 *     D_ij = J_i M^-1 J_j^T = K_i S^-1 K_j^T  +  Jq_i B_i^-1 Jq_i^T  for i = j
 *
 * and then act like any tip force. No matrix larger than D, 3 for each held foot, is factored.
 */
#ifndef HD_HELD_FEET_H
#define HD_HELD_FEET_H
#include "arrow.h"
#include "points.h"

/* Feet are held more than once over where a pivot of D is smaller than this share of D's largest diagonal entry. */
#define HD_LEAST_PIVOT 1e-8
enum { HD_HELD = 3 * HD_MOST_LEGS };

/* Write K (3, 6) and the Jacobian J (3, 6 + n) of a leg's tip, B^-1 Jq^T in its joints' rows of Z (n, 3), and right (3), less the
 * tip's acceleration. */
static void hd_tip_rows(const struct hd_model *m, int64_t leg, const double *nu, const struct hd_arrow *arrow,
                        const double *nudot, double (*K)[6], double *J, double (*Z)[3], double *right)
{
    const int64_t start = m->start[leg], end = m->start[leg + 1], last = m->last[leg], size = 6 + m->moving;
    double x[3], bias[3], velocity[3];
    hd_read_end(m, leg, x);
    hd_write_jacobian(m, leg, last, x, hd_axes_of_base, 0, J);
    hd_bias_at(m, leg, last, x, nu, bias, velocity);
    for (int r = 0; r < 3; r++)
        velocity[r] += nu[r];
    hd_add_cross(nu + 3, x, velocity);
    hd_add_cross(nu + 3, velocity, bias);
    for (int r = 0; r < 3; r++) {
        const double *row = J + r * size;
        right[r] = -bias[r] - hd_dot(row, nudot, (int)size);
        memcpy(K[r], row, sizeof K[r]);
        for (int64_t at = start; at < end; at++) {
            Z[at][r] = row[6 + at];
            for (int c = 0; c < 6; c++)
                K[r][c] -= row[6 + at] * arrow->legs[at][c];
        }
    }
    hd_substitute_leg(arrow->legs + start, end - start, Z[start], 3, 0, 3);
}

/* Accelerations out (6 + n) with the tips of some legs held, and their forces (3) in world axes, one for each.
 *
 * 0 also where a leg is missing or named twice, or the feet are held more than once over. */
static int hd_hold(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                   const int64_t *legs, int64_t count, double *out, double *forces)
{
    struct hd_arrow arrow;
    double K[HD_HELD][6], W[6], J[3 * (6 + HD_MOST)], Z[HD_MOST][3], D[HD_HELD][HD_HELD], f[HD_HELD];
    const int64_t size = 6 + m->moving;
    if (count > HD_MOST_LEGS)
        return 0;
    for (int64_t foot = 0; foot < count; foot++)
        if (m->last[legs[foot]] < 0)
            return 0;
    if (!hd_factor_arrow(m, R, q, nu, tau, &arrow, out))
        return 0;
    for (int64_t foot = 0; foot < count; foot++) {
        const int64_t at = 3 * foot;
        hd_tip_rows(m, legs[foot], nu, &arrow, out, K + at, J, Z, f + at);
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 6; c++)
                W[c] = hd_dot(K[at + r], arrow.inverse[c], 6); /* S^-1 is symmetric */
            for (int64_t c = 0; c < at + 3; c++)
                D[at + r][c] = hd_dot(W, K[c], 6);
            for (int c = 0; c < 3; c++)
                for (int64_t a = m->start[legs[foot]]; a < m->start[legs[foot] + 1]; a++)
                    D[at + r][at + c] += J[r * size + 6 + a] * Z[a][c];
        }
    }
    double largest = 0.0;
    for (int64_t r = 0; r < 3 * count; r++)
        largest = D[r][r] > largest ? D[r][r] : largest;
    hd_factor(D[0], HD_HELD, 3 * count);
    for (int64_t r = 0; r < 3 * count; r++)
        if (!(1.0 > HD_LEAST_PIVOT * largest * D[r][r] && D[r][r] > 0.0)) /* where 1 over the pivot stands */
            return 0;
    hd_substitute(D[0], HD_HELD, 3 * count, f, 1, 0, 1);
    for (int64_t foot = 0; foot < count; foot++) {
        hd_add_tip_force(m, legs[foot], f + 3 * foot, arrow.F);
        hd_turn(R, f + 3 * foot, forces + 3 * foot);
    }
    hd_end(m, R, nu, 0, arrow.H, arrow.F, out);
    return hd_are_finite(out, size);
}
#endif
