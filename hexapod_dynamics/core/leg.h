/* The recursion along a leg, of as many legs (or states) as there are lanes; everything in the body frame. */
#ifndef HD_LEG_H
#define HD_LEG_H
#include "robot.h"
#include "vec.h"
/* Loops over the joints of a leg: unrolled, so that a constant shape folds away (-O2 alone does not unroll). */
#define HD_UNROLL _Pragma("GCC unroll 6")

enum { HD_X, HD_Y, HD_Z, HD_OBLIQUE };
struct hd_shape { int n, level, slides, axis[HD_JOINTS]; unsigned nonzero[HD_JOINTS]; };

struct hd_link { real number[17], axis[3], turn, slide, mask; }; /* offset 3, end 3, m, h 3, I 6, rotor */
struct hd_leg {
    int64_t n, axis[HD_JOINTS];
    real mount[12]; /* rotation by rows, position */
    struct hd_link link[HD_JOINTS];
    real q[HD_JOINTS], rate[HD_JOINTS], tau[HD_JOINTS], qdd[HD_JOINTS], acc[HD_JOINTS], out[HD_JOINTS];
    spatial J[HD_JOINTS], A[HD_JOINTS], scaled[HD_JOINTS], upper[HD_JOINTS], lower[HD_JOINTS];
    vec3 point[HD_JOINTS];
    mat3 frame[HD_JOINTS];
    real block[HD_JOINTS][HD_JOINTS], factor[HD_JOINTS][HD_JOINTS], square[HD_JOINTS][HD_JOINTS], force[HD_JOINTS], reduced[HD_JOINTS];
    real by_q[HD_JOINTS][HD_JOINTS], by_rate[HD_JOINTS][HD_JOINTS];
};

HD_INLINE real number(const struct hd_leg *b, const struct hd_shape *s, int k, int i)
{
    return s->nonzero[k] >> i & 1 ? b->link[k].number[i] : splat(0.0);
}
HD_INLINE vec3 three(const struct hd_leg *b, const struct hd_shape *s, int k, int i)
{
    return (vec3){number(b, s, k, i), number(b, s, k, i + 1), number(b, s, k, i + 2)};
}
HD_INLINE inertia link_inertia(const struct hd_leg *b, const struct hd_shape *s, int k)
{
    return (inertia){number(b, s, k, 6), three(b, s, k, 7), number(b, s, k, 10), number(b, s, k, 11), number(b, s, k, 12),
                  number(b, s, k, 13), number(b, s, k, 14), number(b, s, k, 15)};
}

/* R times the rotation about an axis of its own; u: that axis in the body. */
HD_INLINE mat3 turn_about(mat3 R, int axis, vec3 u, real s, real c)
{
    switch (axis) {
    case HD_X: return (mat3){R.x, add(scale(c, R.y), scale(s, R.z)), sub(scale(c, R.z), scale(s, R.y))};
    case HD_Y: return (mat3){sub(scale(c, R.x), scale(s, R.z)), R.y, add(scale(c, R.z), scale(s, R.x))};
    case HD_Z: return (mat3){add(scale(c, R.x), scale(s, R.y)), sub(scale(c, R.y), scale(s, R.x)), R.z};
    }
    /* u (u.r) (1 - c) + c r + s u x r, column by column */
    const vec3 e = rotate_back(R, u), rest = scale(1.0 - c, u);
    return (mat3){add(add(scale(c, R.x), scale(e.x, rest)), scale(s, cross(u, R.x))),
                add(add(scale(c, R.y), scale(e.y, rest)), scale(s, cross(u, R.y))),
                add(add(scale(c, R.z), scale(e.z, rest)), scale(s, cross(u, R.z)))};
}

struct hd_place { mat3 R; vec3 p; };
HD_INLINE struct hd_place mount_of(const struct hd_leg *b, const struct hd_shape *s)
{
    const real *m = b->mount, zero = splat(0.0), one = splat(1.0);
    if (s->level)
        return (struct hd_place){{{m[0], m[3], zero}, {m[1], m[4], zero}, {zero, zero, one}}, {m[9], m[10], m[11]}};
    return (struct hd_place){{{m[0], m[3], m[6]}, {m[1], m[4], m[7]}, {m[2], m[5], m[8]}}, {m[9], m[10], m[11]}};
}

/* Past joint k: where its link is now; its screw. */
HD_INLINE spatial pass_joint(const struct hd_leg *b, const struct hd_shape *s, int k, struct hd_place *at)
{
    const struct hd_link *l = &b->link[k];
    const real q = b->q[k], angle = q * l->turn;
    real sine, cosine;
    const int axis = s->axis[k];
    const vec3 u = axis == HD_X ? at->R.x : axis == HD_Y ? at->R.y : axis == HD_Z ? at->R.z
                 : rotate(at->R, (vec3){l->axis[0], l->axis[1], l->axis[2]});
    at->p = add(at->p, rotate(at->R, three(b, s, k, 0)));
    hd_sincos(angle, &sine, &cosine);
    const vec3 w = scale(l->turn, u);
    vec3 v = cross(at->p, w);
    if (s->slides) {
        v = add(v, scale(l->slide, u));
        at->p = add(at->p, scale(q * l->slide, u));
    }
    at->R = turn_about(at->R, axis, u, sine, cosine);
    return (spatial){v, w};
}

struct hd_share { inertia composite; spatial wrench; };

/* Arrow, right-hand side and screws; returns composite inertia and the wrench that motion and gravity need. */
HD_INLINE struct hd_share leg_terms(struct hd_leg *b, const struct hd_shape *s, spatial V0, spatial A0, const int points)
{
    struct hd_place at = mount_of(b, s);
    spatial J[HD_JOINTS], f[HD_JOINTS];
    inertia I[HD_JOINTS];
    HD_UNROLL for (int k = 0; k < s->n; k++) {
        J[k] = pass_joint(b, s, k, &at);
        I[k] = transform_inertia(link_inertia(b, s, k), at.R, at.p);
        const spatial own = scale_spatial(b->rate[k], J[k]);
        A0 = add_spatial(A0, cross_motion(V0, own));
        V0 = add_spatial(V0, own);
        f[k] = add_spatial(momentum(I[k], A0), cross_force(V0, momentum(I[k], V0)));
        if (points)
            b->point[k] = add(at.p, rotate(at.R, three(b, s, k, 3)));
    }
    inertia C = I[s->n - 1];
    spatial F = f[s->n - 1];
    HD_UNROLL for (int k = s->n - 1; k >= 0; k--) {
        const real mask = b->link[k].mask;
        const spatial column = scale_spatial(mask, momentum(C, J[k]));
        b->force[k] = mask * (b->tau[k] - dot_spatial(J[k], F));
        b->block[k][k] = dot_spatial(J[k], column) + mask * number(b, s, k, 16) + (1.0 - mask);
        HD_UNROLL for (int l = 0; l < k; l++)
            b->block[k][l] = b->link[l].mask * dot_spatial(J[l], column);
        b->A[k] = column;
        if (points)
            b->J[k] = J[k];
        if (k) {
            C = add_inertia(C, I[k - 1]);
            F = add_spatial(F, f[k - 1]);
        }
    }
    return (struct hd_share){C, F};
}

/* Torques and the wrench on the body for given accelerations. */
HD_INLINE spatial leg_inverse(struct hd_leg *b, const struct hd_shape *s, spatial V0, spatial A0)
{
    struct hd_place at = mount_of(b, s);
    spatial J[HD_JOINTS], f[HD_JOINTS];
    HD_UNROLL for (int k = 0; k < s->n; k++) {
        J[k] = pass_joint(b, s, k, &at);
        const spatial own = scale_spatial(b->rate[k], J[k]);
        A0 = add_spatial(A0, add_spatial(cross_motion(V0, own), scale_spatial(b->qdd[k], J[k])));
        V0 = add_spatial(V0, own);
        /* in link axes, where the inertia need not be turned */
        const inertia I = link_inertia(b, s, k);
        const vec3 w = rotate_back(at.R, V0.w), v = rotate_back(at.R, add(V0.v, cross(V0.w, at.p)));
        const vec3 e = rotate_back(at.R, A0.w), a = rotate_back(at.R, add(A0.v, cross(A0.w, at.p)));
        const spatial local = {v, w}, rise = {a, e};
        const spatial g = add_spatial(momentum(I, rise), cross_force(local, momentum(I, local)));
        const vec3 force = rotate(at.R, g.v);
        f[k] = (spatial){force, add(rotate(at.R, g.w), cross(at.p, force))};
    }
    spatial F = f[s->n - 1];
    HD_UNROLL for (int k = s->n - 1; k >= 0; k--) {
        b->out[k] = dot_spatial(J[k], F) + number(b, s, k, 16) * b->qdd[k];
        if (k)
            F = add_spatial(F, f[k - 1]);
    }
    return F;
}

/* L D L^T of the leg's block; what the leg takes off the head (lower triangle) and its right-hand side. */
HD_INLINE void leg_eliminate(struct hd_leg *b, const int n, real H[21], real F[6])
{
    real L[HD_JOINTS][HD_JOINTS], D[HD_JOINTS], y[HD_JOINTS][6], r[HD_JOINTS];
    HD_UNROLL for (int a = 0; a < n; a++) {
        real scaled[HD_JOINTS], pivot = b->block[a][a];
        const spatial A = b->A[a];
        y[a][0] = A.v.x, y[a][1] = A.v.y, y[a][2] = A.v.z, y[a][3] = A.w.x, y[a][4] = A.w.y, y[a][5] = A.w.z;
        r[a] = b->force[a];
        HD_UNROLL for (int c = 0; c < a; c++) {
            real value = b->block[a][c];
            HD_UNROLL for (int k = 0; k < c; k++)
                value -= scaled[k] * L[c][k];
            scaled[c] = value;
            L[a][c] = b->factor[a][c] = value * D[c];
            pivot -= value * L[a][c];
            HD_UNROLL for (int i = 0; i < 6; i++)
                y[a][i] -= L[a][c] * y[c][i];
            r[a] -= L[a][c] * r[c];
        }
        D[a] = 1.0 / pivot;
        real T[6];
        HD_UNROLL for (int i = 0; i < 6; i++) {
            T[i] = y[a][i] * D[a];
            F[i] -= T[i] * r[a];
            HD_UNROLL for (int c = 0; c <= i; c++)
                H[i * (i + 1) / 2 + c] -= T[i] * y[a][c];
        }
        b->scaled[a] = (spatial){{T[0], T[1], T[2]}, {T[3], T[4], T[5]}};
        b->reduced[a] = r[a] * D[a];
    }
}

HD_INLINE void leg_substitute(struct hd_leg *b, const int n, spatial a0)
{
    real acc[HD_JOINTS];
    HD_UNROLL for (int k = n - 1; k >= 0; k--) {
        acc[k] = b->reduced[k] - dot_spatial(b->scaled[k], a0);
        HD_UNROLL for (int o = k + 1; o < n; o++)
            acc[k] -= b->factor[o][k] * acc[o];
        b->acc[k] = acc[k];
    }
}

HD_INLINE void add_to_head(inertia C, real H[21])
{
    H[0] += C.m, H[2] += C.m, H[5] += C.m;
    H[7] -= C.h.z, H[8] += C.h.y, H[9] += C.xx;
    H[10] += C.h.z, H[12] -= C.h.x, H[13] += C.xy, H[14] += C.yy;
    H[15] -= C.h.y, H[16] += C.h.x, H[18] += C.xz, H[19] += C.yz, H[20] += C.zz;
}

/* x = H^-1 F, H (6, 6) by its lower triangle. */
HD_INLINE void solve_head(real H[21], const real F[6], real x[6])
{
    real L[6][6], D[6], scaled[6];
    HD_UNROLL for (int a = 0; a < 6; a++) {
        real pivot = H[a * (a + 1) / 2 + a];
        x[a] = F[a];
        HD_UNROLL for (int c = 0; c < a; c++) {
            real value = H[a * (a + 1) / 2 + c];
            HD_UNROLL for (int k = 0; k < c; k++)
                value -= scaled[k] * L[c][k];
            scaled[c] = value;
            L[a][c] = value * D[c];
            pivot -= value * L[a][c];
            x[a] -= L[a][c] * x[c];
        }
        D[a] = 1.0 / pivot;
    }
    HD_UNROLL for (int a = 5; a >= 0; a--) {
        x[a] *= D[a];
        HD_UNROLL for (int o = a + 1; o < 6; o++)
            x[a] -= L[o][a] * x[o];
    }
}

/* Parts of the Coriolis matrix and of the derivatives of inverse dynamics; see report.md for the formulas. */
struct hd_rates { inertia C, D, E; spatial P, F; }; /* composite, its rate, its rate in the body frame, momentum, wrench */
HD_INLINE struct hd_rates leg_rates(struct hd_leg *b, const struct hd_shape *s, spatial V0, spatial A0, const int derivatives)
{
    struct hd_place at = mount_of(b, s);
    const int n = s->n;
    const spatial base = V0;
    spatial J[HD_JOINTS], v[HD_JOINTS + 1], a[HD_JOINTS + 1];
    inertia I[HD_JOINTS];
    v[0] = V0, a[0] = A0;
    HD_UNROLL for (int k = 0; k < n; k++) {
        J[k] = pass_joint(b, s, k, &at);
        I[k] = transform_inertia(link_inertia(b, s, k), at.R, at.p);
        const spatial own = scale_spatial(b->rate[k], J[k]);
        a[k + 1] = add_spatial(a[k], add_spatial(cross_motion(v[k], own), scale_spatial(b->qdd[k], J[k])));
        v[k + 1] = add_spatial(v[k], own);
    }
    const real zero = splat(0.0);
    struct hd_rates t = {{zero}, {zero}, {zero}, {{zero}}, {{zero}}};
    HD_UNROLL for (int k = n - 1; k >= 0; k--) {
        const spatial p = momentum(I[k], v[k + 1]);
        t.C = add_inertia(t.C, I[k]);
        t.P = add_spatial(t.P, p);
        t.D = add_inertia(t.D, inertia_rate(I[k], v[k + 1]));
        if (derivatives) {
            t.F = add_spatial(t.F, add_spatial(momentum(I[k], a[k + 1]), cross_force(v[k + 1], p)));
            /* 2 B x = D x + x x* P; by rate: 2 B J + C (psi + J'), by q: 2 B psi + C psi'' + J x* F */
            const spatial dJ = cross_motion(v[k + 1], J[k]), psi = cross_motion(v[k], J[k]);
            const spatial psi2 = add_spatial(cross_motion(a[k], J[k]), cross_motion(v[k], psi));
            const spatial rate = add_spatial(add_spatial(momentum(t.D, J[k]), cross_force(J[k], t.P)), momentum(t.C, add_spatial(dJ, psi)));
            const spatial q = add_spatial(add_spatial(add_spatial(momentum(t.D, psi), cross_force(psi, t.P)), momentum(t.C, psi2)), cross_force(J[k], t.F));
            const spatial AJ = momentum(t.C, J[k]);
            /* transposed: J^T (2 B x + C y) for the joints further in */
            const spatial DJ = sub_spatial(momentum(t.D, J[k]), cross_force(J[k], t.P)); /* row J^T 2B = (D - [P])^T J */
            b->upper[k] = q, b->lower[k] = rate;
            HD_UNROLL for (int l = 0; l <= k; l++) {
                const spatial in = cross_motion(v[l], J[l]), in2 = add_spatial(cross_motion(a[l], J[l]), cross_motion(v[l], in));
                b->by_q[k][l] = dot_spatial(DJ, in) + dot_spatial(AJ, in2);
                b->by_rate[k][l] = dot_spatial(DJ, J[l]) + dot_spatial(AJ, add_spatial(in, cross_motion(v[l + 1], J[l])));
                if (l < k) {
                    b->by_q[l][k] = dot_spatial(J[l], q);
                    b->by_rate[l][k] = dot_spatial(J[l], rate);
                }
            }
            /* by the body's twist: J^T (2 B + C [V x]): (C J)^T (V x) = -(V x* C J) */
            b->scaled[k] = sub_spatial(DJ, cross_force(base, AJ));
            b->A[k] = AJ;
            HD_UNROLL for (int l = 0; l <= k; l++)
                b->block[k][l] = dot_spatial(J[l], AJ);
            b->block[k][k] += number(b, s, k, 16);
        } else {
            t.E = add_inertia(t.E, inertia_rate(I[k], sub_spatial(v[k + 1], base)));
            const spatial A = momentum(t.C, J[k]), u = cross_motion(sub_spatial(v[k + 1], base), J[k]);
            const spatial dA = add_spatial(momentum(t.E, J[k]), momentum(t.C, u));
            const spatial dP = add_spatial(cross_force(J[k], t.P), momentum(t.C, cross_motion(v[k + 1], J[k])));
            b->upper[k] = scale_spatial(splat(0.5), add_spatial(dA, dP));
            b->lower[k] = scale_spatial(splat(0.5), sub_spatial(dA, dP));
            HD_UNROLL for (int l = 0; l <= k; l++) { /* l is the inner one */
                const real rate = dot_spatial(J[l], dA) + dot_spatial(cross_motion(sub_spatial(v[l + 1], base), J[l]), A);
                const real by_k = dot_spatial(J[l], dP), by_l = dot_spatial(A, cross_motion(v[l + 1], J[l])); /* of p_l, and of p_k */
                b->square[l][k] = 0.5 * (rate + by_k - by_l);
                if (l < k)
                    b->square[k][l] = 0.5 * (rate + by_l - by_k);
            }
            if (0)
                b->square[k][k] = zero;
        }
    }
    return t;
}
#endif
