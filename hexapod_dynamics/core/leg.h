/* Legs in the lanes of vector registers: their memory, their shape, and the steps that every recursion takes.
 *
 * A lane holds one leg (a call for one state) or one state (a batch). Everything is in base_link axes, if nothing else is said.
 */
#ifndef HD_LEG_H
#define HD_LEG_H
#include <string.h>
#include "robot.h"
#include "vec.h"

#if defined(__GNUC__) && !defined(__clang__) /* a leg has a joint at least, which the compiler does not see */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/* Numbers of a link, as in struct hd_joint: offset 3, end 3, m, h 3, I 6, rotor. */
enum { HD_OFFSET = 0, HD_END = 3, HD_MASS = 6, HD_H = 7, HD_INERTIA = 10, HD_ROTOR = 16, HD_NUMBERS = 17 };

struct hd_link {
    real number[HD_NUMBERS], axis[3], turn, slide, mask; /* mask: 1, of a locked or missing joint 0 */
};

/* Legs of a morphology. The rows from q on follow each other, see HD_ROW. */
struct hd_leg {
    int64_t n, axis[HD_MOST_JOINTS]; /* joints of the longest leg; HD_X, ..., HD_OBLIQUE of all legs */
    real q[HD_MOST_JOINTS], rate[HD_MOST_JOINTS], tau[HD_MOST_JOINTS], qdd[HD_MOST_JOINTS]; /* what is given */
    real acc[HD_MOST_JOINTS], out[HD_MOST_JOINTS];                                          /* what results */
    real mount[12];                                                                         /* rotation row by row, position */
    struct hd_link link[HD_MOST_JOINTS];
    /* of M_ii = L D L^T, from which the joints' accelerations follow: D^-1 L^-1 M_i0, L, D^-1 L^-1 force */
    spatial scaled[HD_MOST_JOINTS];
    real factor[HD_MOST_JOINTS][HD_MOST_JOINTS], reduced[HD_MOST_JOINTS];
};

/* Intermediate results of a call; each call writes what it reads, so that all morphologies share them. */
struct hd_scratch {
    spatial J[HD_MOST_JOINTS];                                        /* screws (14) */
    spatial arm[HD_MOST_JOINTS];                                      /* columns of M_0i */
    real block[HD_MOST_JOINTS][HD_MOST_JOINTS], force[HD_MOST_JOINTS]; /* M_ii (lower triangle), right-hand side */
    vec3 end[HD_MOST_JOINTS];                                         /* ends of the links */
    vec3 origin[HD_MOST_JOINTS];                                      /* where the links begin */
    mat3 frame[HD_MOST_JOINTS];                                       /* their rotations */
    /* derivatives of the wrench, of the torques by the body's twist, of the torques; by positions and by rates: see `rates` */
    spatial wrench_by_q[HD_MOST_JOINTS], wrench_by_rate[HD_MOST_JOINTS], by_twist[HD_MOST_JOINTS];
    real by_q[HD_MOST_JOINTS][HD_MOST_JOINTS], by_rate[HD_MOST_JOINTS][HD_MOST_JOINTS];
};

/* What the compiler may know of a leg: joints, mount turned about z only, joints that slide, axes, numbers that are not 0. */
enum { HD_NO_AXIS, HD_X, HD_Y, HD_Z, HD_OBLIQUE };
struct hd_shape {
    int n, level, slides, axis[HD_MOST_JOINTS];
    unsigned nonzero[HD_MOST_JOINTS];
};
/* The leg of nearly all hexapods: axes z, y, y, links in one plane. */
static const struct hd_shape hd_zyy = {3, 1, 0, {HD_Z, HD_Y, HD_Y}, {0x11CC8, 0x11CC9, 0x11E61}};
HD_INLINE struct hd_shape hd_general_shape(const struct hd_leg *b)
{
    struct hd_shape s = {(int)b->n, 0, 1, {0}, {0}};
    for (int k = 0; k < HD_MOST_JOINTS; k++)
        s.axis[k] = (int)b->axis[k], s.nonzero[k] = ~0u;
    return s;
}

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
    return (inertia){number(b, s, k, 6),  three(b, s, k, 7),    number(b, s, k, 10), number(b, s, k, 11),
                     number(b, s, k, 12), number(b, s, k, 13), number(b, s, k, 14), number(b, s, k, 15)};
}

/* R times the rotation about one of its own axes, or about u (in base_link axes). */
HD_INLINE mat3 turn_about(mat3 R, int axis, vec3 u, real s, real c)
{
    switch (axis) {
    case HD_X: return (mat3){R.x, add(scale(c, R.y), scale(s, R.z)), sub(scale(c, R.z), scale(s, R.y))};
    case HD_Y: return (mat3){sub(scale(c, R.x), scale(s, R.z)), R.y, add(scale(c, R.z), scale(s, R.x))};
    case HD_Z: return (mat3){add(scale(c, R.x), scale(s, R.y)), sub(scale(c, R.y), scale(s, R.x)), R.z};
    }
    /* Rodrigues: u (u . r) (1 - c) + c r + s u x r, column by column */
    const vec3 e = rotate_back(R, u), rest = scale(1.0 - c, u);
    return (mat3){add(add(scale(c, R.x), scale(e.x, rest)), scale(s, cross(u, R.x))),
                  add(add(scale(c, R.y), scale(e.y, rest)), scale(s, cross(u, R.y))),
                  add(add(scale(c, R.z), scale(e.z, rest)), scale(s, cross(u, R.z)))};
}

struct hd_place {
    mat3 R;
    vec3 p;
};
HD_INLINE struct hd_place mount_of(const struct hd_leg *b, const struct hd_shape *s)
{
    const real *m = b->mount, zero = splat(0.0), one = splat(1.0);
    if (s->level)
        return (struct hd_place){{{m[0], m[3], zero}, {m[1], m[4], zero}, {zero, zero, one}}, {m[9], m[10], m[11]}};
    return (struct hd_place){{{m[0], m[3], m[6]}, {m[1], m[4], m[7]}, {m[2], m[5], m[8]}}, {m[9], m[10], m[11]}};
}

/* Move a place past joint k to where its link begins (12); return the joint's screw J^k (14). */
HD_INLINE spatial pass_joint(const struct hd_leg *b, const struct hd_shape *s, int k, struct hd_place *at)
{
    const struct hd_link *l = &b->link[k];
    const real q = b->q[k];
    real sine, cosine;
    const int axis = s->axis[k];
    const vec3 u = axis == HD_X ? at->R.x : axis == HD_Y ? at->R.y : axis == HD_Z ? at->R.z
                 : rotate(at->R, (vec3){l->axis[0], l->axis[1], l->axis[2]});
    at->p = add(at->p, rotate(at->R, three(b, s, k, HD_OFFSET)));
    hd_sincos(q * l->turn, &sine, &cosine);
    const vec3 w = scale(l->turn, u);
    vec3 v = cross(at->p, w);
    if (s->slides) {
        v = add(v, scale(l->slide, u));
        at->p = add(at->p, scale(q * l->slide, u));
    }
    at->R = turn_about(at->R, axis, u, sine, cosine);
    return (spatial){v, w};
}

/* Place of link k in the axes of the link before it, of the first one in those of base_link. */
HD_INLINE struct hd_place place_in_previous(const struct hd_leg *b, const struct hd_shape *s, int k)
{
    const real zero = splat(0.0), one = splat(1.0);
    struct hd_place at = {{{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}, {zero, zero, zero}};
    if (k == 0)
        at = mount_of(b, s);
    pass_joint(b, s, k, &at);
    return at;
}
/* The screw of joint k in its own link's axes. */
HD_INLINE spatial own_screw(const struct hd_leg *b, const struct hd_shape *s, int k)
{
    const struct hd_link *l = &b->link[k];
    const real zero = splat(0.0), one = splat(1.0);
    const int axis = s->axis[k];
    const vec3 u = axis == HD_OBLIQUE ? (vec3){l->axis[0], l->axis[1], l->axis[2]}
                                      : (vec3){axis == HD_X ? one : zero, axis == HD_Y ? one : zero, axis == HD_Z ? one : zero};
    return (spatial){scale(s->slides ? l->slide : zero, u), scale(l->turn, u)};
}
/* A twist or an acceleration, in the axes of a place and about its origin. */
HD_INLINE spatial motion_at(struct hd_place at, spatial t)
{
    return (spatial){rotate_back(at.R, add(t.v, cross(t.w, at.p))), rotate_back(at.R, t.w)};
}
/* A wrench in the axes of a place, about its origin, in the axes in which the place is given. */
HD_INLINE spatial wrench_from(struct hd_place at, spatial f)
{
    const vec3 force = rotate(at.R, f.v);
    return (spatial){force, add(rotate(at.R, f.w), cross(at.p, force))};
}

/* Sums over the legs: composite inertia C, its rate D, momentum P, wrench F. */
struct hd_share {
    inertia composite;
    spatial wrench;
};
struct hd_rates {
    inertia C, D;
    spatial P, F;
};

/* Add an inertia to the head M_00, row by row of its lower triangle. */
HD_INLINE void add_to_head(inertia C, real H[21])
{
    H[0] += C.m, H[2] += C.m, H[5] += C.m;
    H[7] -= C.h.z, H[8] += C.h.y, H[9] += C.xx;
    H[10] += C.h.z, H[12] -= C.h.x, H[13] += C.xy, H[14] += C.yy;
    H[15] -= C.h.y, H[16] += C.h.x, H[18] += C.xz, H[19] += C.yz, H[20] += C.zz;
}
#endif
