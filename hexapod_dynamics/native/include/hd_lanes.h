/* One leg (or one state of a batch) in each lane of a vector register; what the generated leg kernels are made of.
 *
 * HD_LANES says how many. With 1, or where the compiler has no vector extension (that of gcc and clang), a lane is a
 * plain double and everything here is C99.
 */
#ifndef HD_LANES_H
#define HD_LANES_H

#include <stdint.h>
#include <string.h>

#ifndef HD_LANES
#error "HD_LANES: 1, 2, 4 or 8 needed"
#endif
#if HD_LANES > 1 && !defined(__GNUC__)
#error "HD_LANES: 1 needed, this compiler has no vector extension"
#endif

#if HD_LANES > 1
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
static inline hd_lanes hd_load(const double *row) { return *(const hd_stored_lanes *)row; }
static inline void hd_store(double *row, hd_lanes value) { *(hd_stored_lanes *)row = value; }

/* A row of lanes that begins on a multiple of its own size. */
#if HD_LANES > 1
typedef double hd_line __attribute__((vector_size(8 * HD_LANES), may_alias));
#else
typedef double hd_line;
#endif
static inline hd_lanes hd_load_line(const double *row) { return *(const hd_line *)row; }
static inline void hd_store_line(double *row, hd_lanes value) { *(hd_line *)row = value; }

/* One number in every lane. */
static inline hd_lanes hd_splat(double number)
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

/* Sum over the lanes, in halves. */
static inline double hd_sum(hd_lanes value)
{
#if HD_LANES == 8
    typedef double half __attribute__((vector_size(32)));
    typedef double quarter __attribute__((vector_size(16)));
    union { hd_lanes whole; half halves[2]; } a = {value};
    union { half whole; quarter halves[2]; } b = {a.halves[0] + a.halves[1]};
    const quarter c = b.halves[0] + b.halves[1];
    return c[0] + c[1];
#elif HD_LANES == 4
    typedef double half __attribute__((vector_size(16)));
    union { hd_lanes whole; half halves[2]; } a = {value};
    const half b = a.halves[0] + a.halves[1];
    return b[0] + b[1];
#elif HD_LANES == 2
    return value[0] + value[1];
#else
    return value;
#endif
}

static inline hd_whole_lanes hd_bits(hd_lanes value)
{
    hd_whole_lanes bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline hd_lanes hd_from_bits(hd_whole_lanes bits)
{
    hd_lanes value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Sine and cosine to about one unit in the last place of the angle's own rounding.
 *
 * The angle is reduced by multiples of pi / 2 in three parts of 33 bits (Cody and Waite), as in fdlibm's rem_pio2; the
 * polynomials are those of fdlibm's k_sin and k_cos, minimax on [-pi / 4, pi / 4]. */
static inline void hd_sincos(hd_lanes angle, hd_lanes *sine, hd_lanes *cosine)
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

#endif
