/* The whole body: functions of struct hd_functions, for one width. */
#ifndef HD_WHOLE_H
#define HD_WHOLE_H
#include <math.h>
#include <stddef.h>
#include "leg.h"

/* The leg of nearly all hexapods: z, -y, -y, planar links. Any other is of the general shape. */
static const struct hd_shape hd_zyy = {3, 1, 0, {HD_Z, HD_Y, HD_Y}, {0x1CC8 | 1 << 16, 0x1CC9 | 1 << 16, 0x1E61 | 1 << 16}};
HD_INLINE struct hd_shape hd_general(const struct hd_leg *b)
{
    struct hd_shape s = {(int)b->n, 0, 1, {0}, {~0u, ~0u, ~0u, ~0u, ~0u, ~0u}};
    for (int k = 0; k < HD_JOINTS; k++)
        s.axis[k] = (int)b->axis[k];
    return s;
}

HD_INLINE void leg_frames(struct hd_leg *b, const struct hd_shape *s)
{
    struct hd_place at = mount_of(b, s);
    for (int k = 0; k < s->n; k++) {
        b->J[k] = pass_joint(b, s, k, &at);
        b->frame[k] = at.R;
        b->point[k] = add(at.p, rotate(at.R, three(b, s, k, 3)));
    }
}


/* The kernels of a leg, once for each shape that the compiler knows. */
struct hd_kernels {
    void (*terms)(struct hd_leg *, const spatial *V0, const spatial *A0, struct hd_share *);
    void (*terms_and_points)(struct hd_leg *, const spatial *V0, const spatial *A0, struct hd_share *);
    void (*eliminate)(struct hd_leg *, real *H, real *F);
    void (*substitute)(struct hd_leg *, const spatial *a0);
    void (*inverse)(struct hd_leg *, const spatial *V0, const spatial *A0, spatial *F);
    void (*coriolis)(struct hd_leg *, const spatial *V0, const spatial *A0, struct hd_rates *);
    void (*derivatives)(struct hd_leg *, const spatial *V0, const spatial *A0, struct hd_rates *);
    void (*frames)(struct hd_leg *);
};
#define HD_KERNELS(name, shape_of)                                                                                       \
    static void name##_terms(struct hd_leg *b, const spatial *V0, const spatial *A0, struct hd_share *t) { shape_of; *t = leg_terms(b, s, *V0, *A0, 0); } \
    static void name##_points(struct hd_leg *b, const spatial *V0, const spatial *A0, struct hd_share *t) { shape_of; *t = leg_terms(b, s, *V0, *A0, 1); } \
    static void name##_eliminate(struct hd_leg *b, real *H, real *F) { shape_of; leg_eliminate(b, s->n, H, F); }               \
    static void name##_substitute(struct hd_leg *b, const spatial *a0) { shape_of; leg_substitute(b, s->n, *a0); }           \
    static void name##_inverse(struct hd_leg *b, const spatial *V0, const spatial *A0, spatial *F) { shape_of; *F = leg_inverse(b, s, *V0, *A0); } \
    static void name##_coriolis(struct hd_leg *b, const spatial *V0, const spatial *A0, struct hd_rates *t) { shape_of; *t = leg_rates(b, s, *V0, *A0, 0); } \
    static void name##_derivatives(struct hd_leg *b, const spatial *V0, const spatial *A0, struct hd_rates *t) { shape_of; *t = leg_rates(b, s, *V0, *A0, 1); } \
    static void name##_frames(struct hd_leg *b) { shape_of; leg_frames(b, s); }
HD_KERNELS(any, const struct hd_shape general = hd_general(b); const struct hd_shape *const s = &general)
HD_KERNELS(zyy, const struct hd_shape *const s = &hd_zyy)
#define HD_TABLE(name) {name##_terms, name##_points, name##_eliminate, name##_substitute, name##_inverse, name##_coriolis, name##_derivatives, name##_frames}
static const struct hd_kernels hd_kernels[2] = {HD_TABLE(any), HD_TABLE(zyy)};

static int64_t hd_size(const struct hd_robot *r)
{
    return (r->legs + HD_LANES - 1) / HD_LANES * (int64_t)sizeof(struct hd_leg);
}

/* A link cut to the fraction r of its length. */
static void cut_link(double r, const struct hd_joint *j, double out[17])
{
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    const double mass = r * j->mass, cubed = r * r * r, tube = 0.5 * (r - cubed) * j->along;
    const double c[3] = {r * j->com[0], r * j->com[1], r * j->com[2]}, square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
    memcpy(out, j->offset, 17 * sizeof(double));
    for (int i = 0; i < 3; i++)
        out[3 + i] = r * j->end[i], out[7 + i] = r == 1.0 ? j->h[i] : mass * c[i];
    out[6] = mass;
    for (int i = 0; i < 6 && r != 1.0; i++)
        out[10 + i] = cubed * j->central[i] + tube * j->direction[row[i]] * j->direction[column[i]] - mass * c[row[i]] * c[column[i]] +
                      (i < 3 ? tube + mass * square : 0.0);
    if (r == 0.0)
        out[16] = 0.0;
}

static int axis_of(const double *a) { return fabs(a[0]) == 1.0 ? HD_X : fabs(a[1]) == 1.0 ? HD_Y : fabs(a[2]) == 1.0 ? HD_Z : HD_OBLIQUE; }

/* Leg `leg` of a robot in a lane; `all`: in every lane. */
static void set_leg(struct hd_leg *b, const struct hd_robot *r, int64_t leg, int64_t lane, const double *table)
{
    const int64_t first = r->first[leg], n = r->first[leg + 1] - first, joints = r->joints;
    for (int i = 0; i < 12; i++)
        b->mount[i][lane] = r->mount[leg][i];
    if (n > b->n)
        b->n = n;
    for (int64_t k = 0; k < n; k++) {
        const struct hd_joint *j = &r->joint[first + k];
        struct hd_link *l = &b->link[k];
        double number[17];
        const int axis = axis_of(j->axis);
        cut_link(table[first + k], j, number);
        for (int i = 0; i < 17; i++)
            l->number[i][lane] = number[i];
        for (int i = 0; i < 3; i++)
            l->axis[i][lane] = j->axis[i];
        l->turn[lane] = j->turn, l->slide[lane] = j->slide;
        l->mask[lane] = table[joints + first + k];
        b->q[k][lane] = table[2 * joints + first + k];
        b->axis[k] = b->axis[k] < 0 || b->axis[k] == axis ? axis : HD_OBLIQUE;
    }
}

/* About aligned axes `turn` and `slide` carry the axis' sign. */
static void finish_legs(struct hd_leg *b)
{
    for (int k = 0; k < b->n; k++)
        for (int lane = 0; lane < HD_LANES && b->axis[k] != HD_OBLIQUE; lane++) {
            const double sign = b->link[k].axis[b->axis[k]][lane];
            b->link[k].turn[lane] *= sign, b->link[k].slide[lane] *= sign;
        }
}

static int fits_zyy(const struct hd_leg *b)
{
    for (int lane = 0; lane < HD_LANES; lane++) {
        const double m[] = {b->mount[2][lane], b->mount[5][lane], b->mount[6][lane], b->mount[7][lane]};
        if (b->n > 3 || m[0] != 0.0 || m[1] != 0.0 || m[2] != 0.0 || m[3] != 0.0)
            return 0;
        for (int k = 0; k < 3; k++) {
            if (b->link[k].mask[lane] == 0.0 && b->link[k].turn[lane] == 0.0)
                continue;
            if (b->axis[k] != hd_zyy.axis[k] || b->link[k].slide[lane] != 0.0)
                return 0;
            for (int i = 0; i < 17; i++)
                if (b->link[k].number[i][lane] != 0.0 && !(hd_zyy.nonzero[k] >> i & 1))
                    return 0;
        }
    }
    return 1;
}

static void hd_set(struct hd_model *m, const struct hd_robot *r, const double *table, void *memory)
{
    struct hd_leg *legs = memory;
    const int64_t joints = r->joints;
    m->robot = r, m->legs = legs, m->moving = 0, m->shape = 1;
    m->blocks = (r->legs + HD_LANES - 1) / HD_LANES;
    m->gravity = r->gravity, m->mass = r->mass;
    memcpy(m->h, r->h, sizeof m->h), memcpy(m->inertia, r->inertia, sizeof m->inertia);
    memset(legs, 0, (size_t)m->blocks * sizeof *legs);
    for (int64_t i = 0; i < m->blocks; i++)
        for (int k = 0; k < HD_JOINTS; k++)
            legs[i].axis[k] = -1;
    for (int64_t leg = 0; leg < r->legs; leg++) {
        set_leg(legs + leg / HD_LANES, r, leg, leg % HD_LANES, table);
        m->last[leg] = -1;
        for (int64_t j = r->first[leg]; j < r->first[leg + 1]; j++) {
            m->last[leg] = table[j] > 0.0 ? j - r->first[leg] : m->last[leg];
            m->moves[j] = table[joints + j], m->locked[j] = table[2 * joints + j];
            if (m->moves[j] != 0.0) {
                const double *place = (const double *)&legs[leg / HD_LANES].q[j - r->first[leg]] + leg % HD_LANES;
                m->free[m->moving++] = (struct hd_free){j, place - (const double *)legs, table[3 * joints + j]};
            }
        }
    }
    for (int64_t i = 0; i < m->blocks; i++) {
        finish_legs(legs + i);
        m->shape &= fits_zyy(legs + i);
    }
    if (m->shape)
        for (int64_t i = 0; i < m->blocks; i++)
            legs[i].n = 3;
}

enum { ROW = HD_JOINTS * HD_LANES }; /* doubles from q to rate, to tau and so on */
enum { Q, RATE, TAU, QDD, ACC, OUT };

/* Finite numbers have not all bits of the exponent set; also right under -ffinite-math-only. */
static inline int is_finite(double a) { uint64_t u; memcpy(&u, &a, 8); return (u >> 52 & 0x7ff) != 0x7ff; }
static inline int are_finite(const double *a, int64_t n)
{
    int bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad |= !is_finite(a[i]);
    return !bad;
}
static inline int is_rotation(const double *R)
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            const double e = R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] + R[3 * i + 2] * R[3 * j + 2] - (i == j);
            sum += e * e;
        }
    const double det = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) + R[2] * (R[3] * R[7] - R[4] * R[6]);
    return is_finite(sum) && sum <= 1e-12 && det > 0.0;
}
static inline int set_row(struct hd_model *m, int row, const double *values, int all)
{
    double *at = (double *)m->legs + row * ROW;
    int good = 1;
    if (all)
        for (int64_t i = 0; i < m->moving; i++) {
            const double value = values[m->free[i].joint];
            good &= is_finite(value) && fabs(value) <= 1e6;
            at[m->free[i].place] = value;
        }
    else
        for (int64_t i = 0; i < m->moving; i++)
            at[m->free[i].place] = values[i];
    return good;
}
static inline void get_row(const struct hd_model *m, int row, double *values)
{
    const double *at = (const double *)m->legs + row * ROW;
    for (int64_t i = 0; i < m->moving; i++)
        values[i] = at[m->free[i].place];
}
static inline void set_tau(struct hd_model *m, const double *tau)
{
    double *at = (double *)m->legs + TAU * ROW;
    for (int64_t i = 0; i < m->moving; i++)
        at[m->free[i].place] = tau[i] * m->free[i].driven;
}
HD_INLINE spatial splat_spatial(const double *a) { return (spatial){{splat(a[0]), splat(a[1]), splat(a[2])}, {splat(a[3]), splat(a[4]), splat(a[5])}}; }
HD_INLINE inertia main_body(const struct hd_model *m)
{
    return (inertia){splat(m->mass), {splat(m->h[0]), splat(m->h[1]), splat(m->h[2])}, splat(m->inertia[0]), splat(m->inertia[1]),
                  splat(m->inertia[2]), splat(m->inertia[3]), splat(m->inertia[4]), splat(m->inertia[5])};
}
/* The sum of all lanes in every lane. */
HD_INLINE real total(real a)
{
#if HD_LANES == 8
    a += __builtin_shuffle(a, (hd_whole_lanes){4, 5, 6, 7, 0, 1, 2, 3});
    a += __builtin_shuffle(a, (hd_whole_lanes){2, 3, 0, 1, 6, 7, 4, 5});
    a += __builtin_shuffle(a, (hd_whole_lanes){1, 0, 3, 2, 5, 4, 7, 6});
#elif HD_LANES == 4
    a += __builtin_shuffle(a, (hd_whole_lanes){2, 3, 0, 1});
    a += __builtin_shuffle(a, (hd_whole_lanes){1, 0, 3, 2});
#else
    a += __builtin_shuffle(a, (hd_whole_lanes){1, 0});
#endif
    return a;
}
HD_INLINE void sum_numbers(real *a, int count)
{
    for (int i = 0; i < count; i++)
        a[i] = total(a[i]);
}
HD_INLINE spatial body_wrench(const struct hd_model *m, spatial V0, spatial A0)
{
    const inertia B = main_body(m);
    return add_spatial(momentum(B, A0), cross_force(V0, momentum(B, V0)));
}
HD_INLINE spatial gravity_acceleration(const struct hd_model *m, const double *R)
{
    const real zero = splat(0.0);
    return (spatial){{splat(R[6] * m->gravity), splat(R[7] * m->gravity), splat(R[8] * m->gravity)}, {zero, zero, zero}};
}
HD_INLINE void sub_from(spatial f, real F[6]) { F[0] -= f.v.x, F[1] -= f.v.y, F[2] -= f.v.z, F[3] -= f.w.x, F[4] -= f.w.y, F[5] -= f.w.z; }

static void add_tip_force(struct hd_model *m, int64_t leg, const double *R, const double *world, real F[6])
{
    struct hd_leg *b = m->legs + leg / HD_LANES;
    const int lane = leg % HD_LANES, last = (int)m->last[leg];
    const double f[3] = {R[0] * world[0] + R[3] * world[1] + R[6] * world[2], R[1] * world[0] + R[4] * world[1] + R[7] * world[2],
                         R[2] * world[0] + R[5] * world[1] + R[8] * world[2]};
    const vec3 p = b->point[last];
    const double x = p.x[lane], y = p.y[lane], z = p.z[lane];
    const double wrench[6] = {f[0], f[1], f[2], y * f[2] - z * f[1], z * f[0] - x * f[2], x * f[1] - y * f[0]};
    for (int i = 0; i < 6; i++)
        F[i][0] += wrench[i];
    for (int k = 0; k <= last; k++) {
        const real *J = (const real *)&b->J[k];
        double share = 0.0;
        for (int i = 0; i < 6; i++)
            share += J[i][lane] * wrench[i];
        b->force[k][lane] += b->link[k].mask[lane] * share;
    }
}

static int hd_forward(struct hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                      const double *const *forces, double *out)
{
    const struct hd_kernels *run = hd_kernels + m->shape;
    if (!is_rotation(R) || !set_row(m, Q, q, 1))
        return 0;
    set_row(m, RATE, nu + 6, 0);
    set_tau(m, tau);
    const spatial V0 = splat_spatial(nu), A0 = gravity_acceleration(m, R);
    real H[21] = {{0}}, F[6] = {{0}}, x[6];
    for (int64_t i = 0; i < m->blocks; i++) {
        struct hd_leg *b = m->legs + i;
        struct hd_share t;
        if (forces)
            run->terms_and_points(b, &V0, &A0, &t);
        else {
            run->terms(b, &V0, &A0, &t);
            run->eliminate(b, H, F);
        }
        add_to_head(t.composite, H);
        sub_from(t.wrench, F);
    }
    if (forces) {
        for (int64_t leg = 0; leg < m->robot->legs; leg++)
            if (forces[leg]) {
                if (m->last[leg] < 0)
                    return 0;
                add_tip_force(m, leg, R, forces[leg], F);
            }
        for (int64_t i = 0; i < m->blocks; i++)
            run->eliminate(m->legs + i, H, F);
    }
    sum_numbers(H, 21), sum_numbers(F, 6);
    add_to_head(main_body(m), H);
    sub_from(body_wrench(m, V0, A0), F);
    solve_head(H, F, x);
    const spatial a0 = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    for (int64_t i = 0; i < m->blocks; i++)
        run->substitute(m->legs + i, &a0);
    for (int i = 0; i < 6; i++)
        out[i] = x[i][0];
    get_row(m, ACC, out + 6);
    return are_finite(out, 6 + m->moving);
}

static int hd_inverse(struct hd_model *m, const double *R, const double *q, const double *nu, const double *nudot, double *out)
{
    static const double still[6 + HD_ALL];
    nu = nu ? nu : still, nudot = nudot ? nudot : still;
    const struct hd_kernels *run = hd_kernels + m->shape;
    if (!is_rotation(R) || !set_row(m, Q, q, 1))
        return 0;
    set_row(m, RATE, nu + 6, 0);
    set_row(m, QDD, nudot + 6, 0);
    const spatial V0 = splat_spatial(nu), A0 = add_spatial(gravity_acceleration(m, R), splat_spatial(nudot));
    spatial F = {{{0}}};
    for (int64_t i = 0; i < m->blocks; i++) {
        spatial f;
        run->inverse(m->legs + i, &V0, &A0, &f);
        F = add_spatial(F, f);
    }
    real *f = (real *)&F;
    sum_numbers(f, 6);
    F = add_spatial(F, body_wrench(m, V0, A0));
    for (int i = 0; i < 6; i++)
        out[i] = f[i][0];
    get_row(m, OUT, out + 6);
    return are_finite(out, 6 + m->moving);
}

/* Vectors of full size, for simulation: arrow and right-hand side, with points and screws; then the solution. */
static void hd_terms(struct hd_model *m, const double *R, const double *q, const double *nu, real H[21], real F[6])
{
    const struct hd_kernels *run = hd_kernels + m->shape;
    double *at = (double *)m->legs;
    const spatial V0 = splat_spatial(nu), A0 = gravity_acceleration(m, R);
    for (int64_t i = 0; i < m->moving; i++) {
        at[Q * ROW + m->free[i].place] = q[m->free[i].joint];
        at[RATE * ROW + m->free[i].place] = nu[6 + m->free[i].joint];
        at[TAU * ROW + m->free[i].place] = 0.0;
    }
    memset(H, 0, 21 * sizeof(real)), memset(F, 0, 6 * sizeof(real));
    for (int64_t i = 0; i < m->blocks; i++) {
        struct hd_share t;
        run->terms_and_points(m->legs + i, &V0, &A0, &t);
        add_to_head(t.composite, H);
        sub_from(t.wrench, F);
    }
    real body_H[21] = {{0}}, body_F[6] = {{0}};
    add_to_head(main_body(m), body_H);
    sub_from(body_wrench(m, V0, A0), body_F);
    for (int i = 0; i < 21; i++)
        H[i][0] += body_H[i][0];
    for (int i = 0; i < 6; i++)
        F[i][0] += body_F[i][0];
}
static void hd_solve(struct hd_model *m, real H[21], real F[6], double *out)
{
    const struct hd_kernels *run = hd_kernels + m->shape;
    real x[6];
    for (int64_t i = 0; i < m->blocks; i++)
        run->eliminate(m->legs + i, H, F);
    sum_numbers(H, 21), sum_numbers(F, 6);
    solve_head(H, F, x);
    const spatial a0 = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    for (int64_t i = 0; i < m->blocks; i++)
        run->substitute(m->legs + i, &a0);
    for (int i = 0; i < 6; i++)
        out[i] = x[i][0];
    for (int64_t j = 0; j < m->robot->joints; j++)
        out[6 + j] = 0.0;
    for (int64_t i = 0; i < m->moving; i++)
        out[6 + m->free[i].joint] = ((const double *)m->legs)[ACC * ROW + m->free[i].place];
}

/* Where the first moving joint of each leg stands. */
#define HD_MOVING(m, i, b, lane, k)                                                               \
    const int64_t joint_ = (m)->free[i].joint, offset_ = (m)->free[i].place;                      \
    const struct hd_leg *b = (m)->legs + offset_ * 8 / (int64_t)sizeof(struct hd_leg);            \
    const int64_t row_ = (const double *)(m)->legs + offset_ - (const double *)b->q;              \
    const int64_t k = row_ / HD_LANES, lane = row_ % HD_LANES, begin_ = joint_ - k

/* An arrow's arms and blocks to a full matrix. */
HD_INLINE void write_arrow(const struct hd_model *m, double *out, ptrdiff_t column, ptrdiff_t row, ptrdiff_t square, int triangle)
{
    const int64_t n = m->moving, size = 6 + n;
    int64_t start = 0;
    for (int64_t i = 0; i < n; i++) {
        HD_MOVING(m, i, b, lane, k);
        while (m->free[start].joint < begin_)
            start++;
        const double *own = (const double *)b + lane, *c = own + column + 6 * HD_LANES * k, *r = own + row + 6 * HD_LANES * k;
        for (int e = 0; e < 6; e++) {
            out[e * size + 6 + i] = c[e * HD_LANES];
            out[(6 + i) * size + e] = r[e * HD_LANES];
        }
        for (int64_t o = start; o <= i; o++) {
            const int64_t l = m->free[o].joint - begin_;
            const double low = own[square + (HD_JOINTS * k + l) * HD_LANES];
            out[(6 + i) * size + 6 + o] = low;
            out[(6 + o) * size + 6 + i] = triangle ? low : own[square + (HD_JOINTS * l + k) * HD_LANES];
        }
    }
}
#define AT(section) ((ptrdiff_t)(offsetof(struct hd_leg, section) / sizeof(double)))

static int hd_mass(struct hd_model *m, const double *q, double *out)
{
    const struct hd_kernels *run = hd_kernels + m->shape;
    const int64_t size = 6 + m->moving;
    if (!set_row(m, Q, q, 1))
        return 0;
    const real zero = splat(0.0);
    const spatial still = {{zero, zero, zero}, {zero, zero, zero}};
    real H[21] = {{0}};
    memset(out, 0, (size_t)(size * size) * sizeof(double));
    for (int64_t i = 0; i < m->blocks; i++) {
        struct hd_leg *b = m->legs + i;
        struct hd_share t;
        run->terms(b, &still, &still, &t);
        add_to_head(t.composite, H);
    }
    sum_numbers(H, 21);
    add_to_head(main_body(m), H);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c <= r; c++)
            out[r * size + c] = out[c * size + r] = H[r * (r + 1) / 2 + c][0];
    write_arrow(m, out, AT(A), AT(A), AT(block), 1);
    return 1;
}

/* Add a matrix that takes x to x x* f, to a symmetric one of an inertia, to an inertia's times [V x]. */
static void add_force_matrix(double *a, int64_t size, const double *f)
{
    for (int c = 0; c < 3; c++) {
        const int i = (c + 1) % 3, j = (c + 2) % 3; /* -[f]: entry (i, j) is f_c, (j, i) is -f_c */
        a[i * size + 3 + j] += f[c], a[j * size + 3 + i] -= f[c];
        a[(3 + i) * size + j] += f[c], a[(3 + j) * size + i] -= f[c];
        a[(3 + i) * size + 3 + j] += f[3 + c], a[(3 + j) * size + 3 + i] -= f[3 + c];
    }
}
static void inertia_matrix(double *a, int64_t size, const double *I, double scale) /* I: m, h, xx yy zz xy xz yz */
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

HD_INLINE struct hd_rates all_rates(struct hd_model *m, spatial V0, spatial A0, const int derivatives)
{
    const struct hd_kernels *run = hd_kernels + m->shape;
    const real zero = splat(0.0);
    struct hd_rates sum = {{zero}, {zero}, {zero}, {{zero}}, {{zero}}};
    for (int64_t i = 0; i < m->blocks; i++) {
        struct hd_leg *b = m->legs + i;
        struct hd_rates t;
        (derivatives ? run->derivatives : run->coriolis)(b, &V0, &A0, &t);
        for (unsigned e = 0; e < sizeof sum / sizeof(real); e++)
            ((real *)&sum)[e] += ((real *)&t)[e];
    }
    sum_numbers((real *)&sum, sizeof sum / sizeof(real));
    const inertia B = main_body(m);
    sum.C = add_inertia(sum.C, B);
    sum.D = add_inertia(sum.D, inertia_rate(B, V0));
    sum.P = add_spatial(sum.P, momentum(B, V0));
    return sum;
}
static void first_lane(const void *of, double *out, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = ((const real *)of)[i][0];
}

static int hd_coriolis(struct hd_model *m, const double *q, const double *nu, double *out)
{
    const int64_t size = 6 + m->moving;
    if (!set_row(m, Q, q, 1) || !are_finite(nu, size))
        return 0;
    set_row(m, RATE, nu + 6, 0);
    memset(out, 0, (size_t)(size * size) * sizeof(double));
    const real zero = splat(0.0);
    const struct hd_rates t = all_rates(m, splat_spatial(nu), (spatial){{zero, zero, zero}, {zero, zero, zero}}, 0);
    double E[10], P[6];
    first_lane(&t.E, E, 10), first_lane(&t.P, P, 6);
    inertia_matrix(out, size, E, 0.5);
    add_force_matrix(out, size, P);
    write_arrow(m, out, AT(upper), AT(lower), AT(square), 0);
    return 1;
}

static int hd_derivatives(struct hd_model *m, const double *R, const double *q, const double *nu, const double *nudot,
                          double *by_conf, double *by_nu, double *mass)
{
    const int64_t size = 6 + m->moving;
    const size_t bytes = (size_t)(size * size) * sizeof(double);
    if (!is_rotation(R) || !set_row(m, Q, q, 1))
        return 0;
    set_row(m, RATE, nu + 6, 0);
    set_row(m, QDD, nudot + 6, 0);
    const struct hd_rates t = all_rates(m, splat_spatial(nu), add_spatial(gravity_acceleration(m, R), splat_spatial(nudot)), 1);
    double C[10], D[10], P[6], full[36] = {0}, g[3];
    first_lane(&t.C, C, 10), first_lane(&t.D, D, 10), first_lane(&t.P, P, 6);
    memset(by_conf, 0, bytes), memset(by_nu, 0, bytes), memset(mass, 0, bytes);
    inertia_matrix(mass, size, C, 1.0);
    inertia_matrix(full, 6, C, 1.0);
    inertia_matrix(by_nu, size, D, 1.0);
    add_force_matrix(by_nu, size, P);
    for (int r = 0; r < 6; r++) /* C [V x]: columns (w x, 0) and (v x, w x) */
        for (int c = 0; c < 3; c++) {
            const int i = (c + 1) % 3, j = (c + 2) % 3;
            const double *M = full + 6 * r, *v = nu, *w = nu + 3;
            by_nu[r * size + c] += M[i] * w[j] - M[j] * w[i];
            by_nu[r * size + 3 + c] += M[i] * v[j] - M[j] * v[i] + M[3 + i] * w[j] - M[3 + j] * w[i];
        }
    write_arrow(m, mass, AT(A), AT(A), AT(block), 1);
    write_arrow(m, by_conf, AT(upper), AT(upper), AT(by_q), 0);
    write_arrow(m, by_nu, AT(lower), AT(scaled), AT(by_rate), 0);
    for (int i = 0; i < 3; i++)
        g[i] = R[6 + i] * m->gravity;
    for (int64_t r = 0; r < size; r++) {
        const double *M = mass + r * size;
        if (r >= 6)
            memset(by_conf + r * size, 0, 6 * sizeof(double));
        by_conf[r * size + 3] = M[1] * g[2] - M[2] * g[1];
        by_conf[r * size + 4] = M[2] * g[0] - M[0] * g[2];
        by_conf[r * size + 5] = M[0] * g[1] - M[1] * g[0];
    }
    return are_finite(by_conf, size * size) && are_finite(by_nu, size * size);
}

static int hd_jacobian(struct hd_model *m, const double *q, int64_t leg, double *out)
{
    const int64_t size = 6 + m->moving, last = m->last[leg], first = m->robot->first[leg];
    if (last < 0 || !set_row(m, Q, q, 1))
        return 0;
    struct hd_leg *b = m->legs + leg / HD_LANES;
    const int64_t lane = leg % HD_LANES;
    hd_kernels[m->shape].frames(b);
    const double *frame = (const double *)&b->frame[last] + lane, *axes = m->robot->joint[first + last].axes;
    double x[3], a[9], d[9];
    for (int i = 0; i < 3; i++)
        x[i] = ((const double *)&b->point[last])[i * HD_LANES + lane];
    for (int i = 0; i < 3; i++) /* row i of a: axis i of the link in the body */
        for (int r = 0; r < 3; r++)
            a[3 * i + r] = frame[r * HD_LANES] * axes[i] + frame[(3 + r) * HD_LANES] * axes[3 + i] + frame[(6 + r) * HD_LANES] * axes[6 + i];
    memset(out, 0, (size_t)(6 * size) * sizeof(double));
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 3; r++) {
            const int u = (r + 1) % 3, w = (r + 2) % 3;
            d[3 * i + r] = x[u] * a[3 * i + w] - x[w] * a[3 * i + u];
            out[i * size + r] = out[(3 + i) * size + 3 + r] = a[3 * i + r];
            out[i * size + 3 + r] = d[3 * i + r];
        }
    int64_t c = 6;
    for (int64_t j = 0; j < first; j++)
        c += m->moves[j] != 0.0;
    for (int64_t k = 0; k <= last; k++) {
        if (m->moves[first + k] == 0.0)
            continue;
        const double *J = (const double *)&b->J[k] + lane;
        for (int i = 0; i < 3; i++) {
            double linear = 0.0, angular = 0.0;
            for (int r = 0; r < 3; r++) {
                linear += a[3 * i + r] * J[r * HD_LANES] + d[3 * i + r] * J[(3 + r) * HD_LANES];
                angular += a[3 * i + r] * J[(3 + r) * HD_LANES];
            }
            out[i * size + c] = linear, out[(3 + i) * size + c] = angular;
        }
        c++;
    }
    return 1;
}

/* Forward dynamics with a state in each lane, and a leg in each struct hd_leg. */
static int64_t hd_batch_size(const struct hd_model *m) { return m->robot->legs * (int64_t)sizeof(struct hd_leg); }
static int64_t hd_batch(struct hd_model *m, int64_t count, const double *R, const double *q, const double *nu, const double *tau,
                        double *out, void *memory)
{
    struct hd_leg *legs = memory;
    const struct hd_robot *r = m->robot;
    const int64_t joints = r->joints, size = 6 + m->moving;
    double table[4 * HD_ALL];
    int64_t owner[HD_ALL], used = 0;
    (void)table, (void)joints;
    for (int64_t leg = 0; leg < r->legs; leg++) {
        if (m->last[leg] < 0)
            continue;
        struct hd_leg *b = legs + used;
        const struct hd_leg *from = m->legs + leg / HD_LANES;
        const int64_t lane = leg % HD_LANES;
        *b = *from;
        for (double *a = (double *)b->mount; a < (double *)&b->rate[0]; a += HD_LANES) {
            const double value = a[lane];
            for (int l = 0; l < HD_LANES; l++)
                a[l] = value;
        }
        memset(b->rate, 0, sizeof b->rate), memset(b->tau, 0, sizeof b->tau);
        for (int64_t j = r->first[leg]; j < r->first[leg + 1]; j++)
            owner[j] = used;
        used++;
    }
    const struct hd_kernels *run = hd_kernels + m->shape;
    int64_t bad = -1;
    for (int64_t group = 0; group < count; group += HD_LANES) {
        real state[6], H[21], F[6], x[6], g[3];
        for (int lane = 0; lane < HD_LANES; lane++) {
            const int64_t at = group + lane < count ? group + lane : count - 1;
            const double *own = nu + at * size;
            for (int i = 0; i < 6; i++)
                state[i][lane] = own[i];
            for (int i = 0; i < 3; i++)
                g[i][lane] = R[9 * at + 6 + i] * m->gravity;
            if (!is_rotation(R + 9 * at) && bad < 0)
                bad = at;
        }
        for (int64_t i = 0; i < m->moving; i++) {
            const int64_t j = m->free[i].joint;
            HD_MOVING(m, i, unused, lane_, k);
            (void)unused, (void)lane_, (void)joint_;
            struct hd_leg *b = legs + owner[j];
            for (int lane = 0; lane < HD_LANES; lane++) {
                const int64_t at = group + lane < count ? group + lane : count - 1;
                b->q[k][lane] = q[at * joints + j];
                b->rate[k][lane] = nu[at * size + 6 + i];
                b->tau[k][lane] = tau[at * m->moving + i] * m->free[i].driven;
            }
        }
        const real zero = splat(0.0);
        const spatial V0 = {{state[0], state[1], state[2]}, {state[3], state[4], state[5]}}, A0 = {{g[0], g[1], g[2]}, {zero, zero, zero}};
        memset(H, 0, sizeof H), memset(F, 0, sizeof F);
        add_to_head(main_body(m), H);
        sub_from(body_wrench(m, V0, A0), F);
        for (int64_t i = 0; i < used; i++) {
            struct hd_leg *b = legs + i;
            struct hd_share t;
            run->terms(b, &V0, &A0, &t);
            run->eliminate(b, H, F);
            add_to_head(t.composite, H);
            sub_from(t.wrench, F);
        }
        solve_head(H, F, x);
        const spatial a0 = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
        for (int64_t i = 0; i < used; i++) {
            run->substitute(legs + i, &a0);
        }
        const int64_t live = count - group < HD_LANES ? count - group : HD_LANES;
        for (int64_t lane = 0; lane < live; lane++)
            for (int i = 0; i < 6; i++)
                out[(group + lane) * size + i] = x[i][lane];
        for (int64_t i = 0; i < m->moving; i++) {
            HD_MOVING(m, i, unused, lane_, k);
            (void)unused, (void)lane_;
            const real acc = legs[owner[joint_]].acc[k];
            for (int64_t lane = 0; lane < live; lane++)
                out[(group + lane) * size + 6 + i] = acc[lane];
        }
        for (int64_t lane = 0; lane < live && bad < 0; lane++)
            if (!are_finite(out + (group + lane) * size, size))
                bad = group + lane;
    }
    return bad;
}
#endif
