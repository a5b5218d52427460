/* One leg (or one state of a batch) in each lane of a vector register, and vectors of lanes: three numbers, twists and
 * wrenches (linear first), inertias (m, h = m com, I about the origin).
 *
 * HD_LANES says how many lanes. With 1, or where the compiler has no vector extension (that of gcc and clang), a lane is a
 * plain double and everything here is C99.
 */
#ifndef HD_VEC_H
#define HD_VEC_H

#include <stdint.h>
#include <string.h>
#include "inline.h"

#ifndef HD_LANES
#error "HD_LANES: 1, 2, 4 or 8 needed"
#endif
#if HD_LANES > 1 && !defined(__GNUC__)
#error "HD_LANES: 1 needed, this compiler has no vector extension"
#endif

#if HD_LANES > 1
/* Lanes are passed to functions of this file only, so it does not matter how. */
#pragma GCC diagnostic ignored "-Wpsabi"
typedef double hd_lanes __attribute__((vector_size(8 * HD_LANES)));
typedef int64_t hd_whole_lanes __attribute__((vector_size(8 * HD_LANES)));
/* As they lie in memory: aligned like a double. */
typedef double hd_stored_lanes __attribute__((vector_size(8 * HD_LANES), aligned(8), may_alias));
#else
typedef double hd_lanes;
typedef int64_t hd_whole_lanes;
typedef double hd_stored_lanes;
#endif

/* A row of lanes. */
HD_INLINE hd_lanes hd_load(const double *row) { return *(const hd_stored_lanes *)row; }

/* A lane of what begins with a row of lanes. */
#define lane_of(row, lane) (((double *)(row))[lane])

/* One number in every lane. */
HD_INLINE hd_lanes hd_splat(double number)
{
#if HD_LANES == 8
    return (hd_lanes){number, number, number, number, number, number, number, number};
#elif HD_LANES == 4
    return (hd_lanes){number, number, number, number};
#elif HD_LANES == 2
    return (hd_lanes){number, number};
#else
    return number;
#endif
}

HD_INLINE hd_whole_lanes hd_bits(hd_lanes value)
{
    hd_whole_lanes bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

HD_INLINE hd_lanes hd_from_bits(hd_whole_lanes bits)
{
    hd_lanes value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Negative in the lanes of what is not finite, or farther from 0 than a limit; by its bits, as in checks.h. */
HD_INLINE hd_whole_lanes hd_not_finite(hd_lanes value)
{
    return INT64_C(0x7FE0000000000000) - (hd_bits(value) & INT64_C(0x7FF0000000000000));
}
HD_INLINE hd_whole_lanes hd_not_within(hd_lanes value, double limit)
{
    return hd_bits(hd_splat(limit)) - (hd_bits(value) & INT64_C(0x7FFFFFFFFFFFFFFF));
}
/* All lanes' bits together: negative if one of them is. */
HD_INLINE int64_t hd_any(hd_whole_lanes value)
{
    int64_t each[HD_LANES], any = 0;
    memcpy(each, &value, sizeof each);
    for (int lane = 0; lane < HD_LANES; lane++)
        any |= each[lane];
    return any;
}

/* Number i of each lane's row. */
HD_INLINE hd_lanes hd_gather(const double *const *row, int64_t i)
{
#if HD_LANES == 8
    return (hd_lanes){row[0][i], row[1][i], row[2][i], row[3][i], row[4][i], row[5][i], row[6][i], row[7][i]};
#elif HD_LANES == 4
    return (hd_lanes){row[0][i], row[1][i], row[2][i], row[3][i]};
#elif HD_LANES == 2
    return (hd_lanes){row[0][i], row[1][i]};
#else
    return row[0][i];
#endif
}

/* Sine and cosine to about one unit in the last place of the angle's own rounding.
 *
 * The angle is reduced by multiples of pi / 2 in three parts of 33 bits (Cody and Waite), as in fdlibm's rem_pio2; the
 * polynomials are those of fdlibm's k_sin and k_cos, minimax on [-pi / 4, pi / 4]. */
HD_INLINE void hd_sincos(hd_lanes angle, hd_lanes *sine, hd_lanes *cosine)
{
    const double round = 6755399441055744.0; /* 1.5 2^52: adding it leaves the nearest whole number in the low bits */
    const hd_lanes rounded = angle * 0.63661977236758134308 + round, turns = rounded - round;
    const hd_whole_lanes quadrant = hd_bits(rounded);
    hd_lanes r = angle - turns * 1.57079632673412561417e+00;
    r = r - turns * 6.07710050630396597660e-11;
    r = r - turns * 2.02226624879595063154e-21;
    const hd_lanes r2 = r * r;
    hd_lanes s = r2 * 1.58969099521155010221e-10 + -2.50507602534068634195e-08;
    s = s * r2 + 2.75573137070700676789e-06;
    s = s * r2 + -1.98412698298579493134e-04;
    s = s * r2 + 8.33333333332248946124e-03;
    s = s * r2 + -1.66666666666666324348e-01;
    s = r + r * r2 * s;
    hd_lanes c = r2 * -1.13596475577881948265e-11 + 2.08757232129817482790e-09;
    c = c * r2 + -2.75573143513906633035e-07;
    c = c * r2 + 2.48015872894767294178e-05;
    c = c * r2 + -1.38888888888741095749e-03;
    c = c * r2 + 4.16666666666666019037e-02;
    c = 1.0 - 0.5 * r2 + r2 * r2 * c;
    /* odd quadrants swap sine and cosine; bit 1 of the quadrant, or of the next one, is the sign */
    const hd_whole_lanes odd = -(quadrant & 1), swapped = (hd_bits(s) ^ hd_bits(c)) & odd;
    *sine = hd_from_bits((hd_bits(s) ^ swapped) ^ ((quadrant >> 1 & 1) << 63));
    *cosine = hd_from_bits((hd_bits(c) ^ swapped) ^ (((quadrant + 1) >> 1 & 1) << 63));
}

/* ---- vectors of lanes ------------------------------------------------------------------------------------------------ */

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
HD_INLINE spatial momentum(inertia I, spatial t)
{
    const vec3 w = t.w, about = {I.xx * w.x + I.xy * w.y + I.xz * w.z, I.xy * w.x + I.yy * w.y + I.yz * w.z,
                                 I.xz * w.x + I.yz * w.y + I.zz * w.z};
    return (spatial){add(scale(I.m, t.v), cross(w, I.h)), add(cross(I.h, t.v), about)};
}
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
