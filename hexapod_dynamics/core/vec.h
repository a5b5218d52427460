/* Vectors of lanes: three numbers, twists and wrenches (linear first), inertias (m, h = m com, I about the origin). */
#ifndef HD_VEC_H
#define HD_VEC_H
#include "lanes.h"
/* Before loops of six: unrolled also where -O2 would not. */
#define HD_SIX _Pragma("GCC unroll 6")
typedef hd_lanes real;
typedef struct { real x, y, z; } vec3;
typedef struct { vec3 x, y, z; } mat3; /* columns */
typedef struct { vec3 v, w; } spatial;
typedef struct { real m; vec3 h; real xx, yy, zz, xy, xz, yz; } inertia;

HD_INLINE real splat(double a) { return hd_splat(a); }
HD_INLINE vec3 add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
HD_INLINE vec3 sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
HD_INLINE vec3 scale(real s, vec3 a) { return (vec3){s * a.x, s * a.y, s * a.z}; }
HD_INLINE real dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD_INLINE vec3 cross(vec3 a, vec3 b) { return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
HD_INLINE vec3 rotate(mat3 R, vec3 a) { return add(add(scale(a.x, R.x), scale(a.y, R.y)), scale(a.z, R.z)); }
HD_INLINE vec3 rotate_back(mat3 R, vec3 a) { return (vec3){dot(R.x, a), dot(R.y, a), dot(R.z, a)}; }
HD_INLINE spatial add_spatial(spatial a, spatial b) { return (spatial){add(a.v, b.v), add(a.w, b.w)}; }
HD_INLINE spatial sub_spatial(spatial a, spatial b) { return (spatial){sub(a.v, b.v), sub(a.w, b.w)}; }
HD_INLINE spatial scale_spatial(real s, spatial a) { return (spatial){scale(s, a.v), scale(s, a.w)}; }
HD_INLINE real dot_spatial(spatial a, spatial b) { return dot(a.v, b.v) + dot(a.w, b.w); }
HD_INLINE spatial cross_motion(spatial a, spatial b) { return (spatial){add(cross(a.w, b.v), cross(a.v, b.w)), cross(a.w, b.w)}; }
HD_INLINE spatial cross_force(spatial a, spatial f) { return (spatial){cross(a.w, f.v), add(cross(a.v, f.v), cross(a.w, f.w))}; }
HD_INLINE vec3 rotational_part(inertia I, vec3 w)
{
    return (vec3){I.xx * w.x + I.xy * w.y + I.xz * w.z, I.xy * w.x + I.yy * w.y + I.yz * w.z,
                I.xz * w.x + I.yz * w.y + I.zz * w.z};
}
HD_INLINE spatial momentum(inertia I, spatial t) { return (spatial){add(scale(I.m, t.v), cross(t.w, I.h)), add(cross(I.h, t.v), rotational_part(I, t.w))}; }
HD_INLINE inertia add_inertia(inertia a, inertia b)
{
    return (inertia){a.m + b.m, add(a.h, b.h), a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
}
/* Inertia in a frame in which its own has rotation R and position p. */
HD_INLINE inertia transform_inertia(inertia b, mat3 R, vec3 p)
{
    vec3 a = add(add(scale(b.xx, R.x), scale(b.xy, R.y)), scale(b.xz, R.z)); /* columns of R I */
    vec3 c = add(add(scale(b.xy, R.x), scale(b.yy, R.y)), scale(b.yz, R.z));
    vec3 d = add(add(scale(b.xz, R.x), scale(b.yz, R.y)), scale(b.zz, R.z));
    vec3 h = rotate(R, b.h), n = add(h, scale(b.m, p));
    real gx = p.x * (h.x + n.x), gy = p.y * (h.y + n.y), gz = p.z * (h.z + n.z);
    return (inertia){b.m, n,
                  a.x * R.x.x + c.x * R.y.x + d.x * R.z.x + (gy + gz), a.y * R.x.y + c.y * R.y.y + d.y * R.z.y + (gx + gz),
                  a.z * R.x.z + c.z * R.y.z + d.z * R.z.z + (gx + gy),
                  a.x * R.x.y + c.x * R.y.y + d.x * R.z.y - (p.x * n.y + p.y * h.x),
                  a.x * R.x.z + c.x * R.y.z + d.x * R.z.z - (p.x * n.z + p.z * h.x),
                  a.y * R.x.z + c.y * R.y.z + d.y * R.z.z - (p.y * n.z + p.z * h.y)};
}
/* Rate of an inertia that moves with a twist: h' = m v + w x h, I' symmetric; the mass stays. */
HD_INLINE inertia inertia_rate(inertia b, spatial t)
{
    const vec3 w = t.w, v = t.v, h = b.h;
    const real vh = 2.0 * dot(v, h);
    const vec3 a = cross(w, (vec3){b.xx, b.xy, b.xz}), c = cross(w, (vec3){b.xy, b.yy, b.yz}), d = cross(w, (vec3){b.xz, b.yz, b.zz});
    return (inertia){splat(0.0), add(cross(w, h), scale(b.m, v)),
                  2.0 * (a.x - v.x * h.x) + vh, 2.0 * (c.y - v.y * h.y) + vh, 2.0 * (d.z - v.z * h.z) + vh,
                  a.y + c.x - v.x * h.y - v.y * h.x, a.z + d.x - v.x * h.z - v.z * h.x, c.z + d.y - v.y * h.z - v.z * h.y};
}

#ifdef __clang__
#define HD_SHUFFLED(a, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
#else
#define HD_SHUFFLED(a, ...) __builtin_shuffle(a, (hd_whole_lanes){__VA_ARGS__})
#endif
/* The sum of all lanes in each lane. */
HD_INLINE real total(real a)
{
#if HD_LANES == 8
    a += HD_SHUFFLED(a, 4, 5, 6, 7, 0, 1, 2, 3);
    a += HD_SHUFFLED(a, 2, 3, 0, 1, 6, 7, 4, 5);
    a += HD_SHUFFLED(a, 1, 0, 3, 2, 5, 4, 7, 6);
#elif HD_LANES == 4
    a += HD_SHUFFLED(a, 2, 3, 0, 1);
    a += HD_SHUFFLED(a, 1, 0, 3, 2);
#elif HD_LANES == 2
    a += HD_SHUFFLED(a, 1, 0);
#endif
    return a;
}
HD_INLINE void total_each(real *a, int count)
{
    for (int i = 0; i < count; i++)
        a[i] = total(a[i]);
}
#endif
