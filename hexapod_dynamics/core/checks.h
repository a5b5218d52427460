/* Checks of numbers; vectors and symmetric systems of doubles. */
#ifndef HD_CHECKS_H
#define HD_CHECKS_H
#include <stdint.h>
#include <string.h>
#include "inline.h"
#ifdef HD_LANES
#include "vec.h"
#endif

#define HD_ROTATION_TOLERANCE 1e-6
/* Largest position [rad or m] of a joint: the reduction of hd_sincos is exact up to here, with and without fused products; from
 * 1e15 on its error is as large as the sine. */
#define HD_FARTHEST_POSITION 1e6

/* Comparisons of magnitudes by the bits of a double, which see infinity and NaN whatever a compiler assumes of numbers. */
#define HD_MAGNITUDE INT64_C(0x7FFFFFFFFFFFFFFF)
#define HD_EXPONENT INT64_C(0x7FF0000000000000)
#define HD_LARGEST_EXPONENT INT64_C(0x7FE0000000000000) /* of a finite number; less the exponent of another, it is negative */

HD_INLINE int64_t hd_bits_of(double number)
{
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}
/* Whether -limit <= number <= limit; no for NaN. limit: positive. */
HD_INLINE int hd_is_within(double number, double limit) { return (hd_bits_of(number) & HD_MAGNITUDE) <= hd_bits_of(limit); }

/* Whether all numbers are finite. */
HD_INLINE int hd_are_finite(const double *numbers, int64_t count)
{
    int64_t i = 0;
    uint64_t wrong = 0;
#ifdef HD_LANES
    hd_whole_lanes lanes = hd_bits(hd_splat(0.0));
    for (; i + HD_LANES <= count; i += HD_LANES)
        lanes |= hd_not_finite(hd_load(numbers + i));
    wrong = (uint64_t)hd_any(lanes);
#endif
    for (; i < count; i++)
        wrong |= (uint64_t)(HD_LARGEST_EXPONENT - (hd_bits_of(numbers[i]) & HD_EXPONENT));
    return wrong >> 63 == 0;
}

/* Whether R (3, 3), row by row, is a rotation within HD_ROTATION_TOLERANCE. */
HD_INLINE int hd_is_rotation(const double *R)
{
    int good = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            const double *a = R + 3 * i, *b = R + 3 * j;
            good &= hd_is_within(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - (i == j ? 1.0 : 0.0), HD_ROTATION_TOLERANCE);
        }
    const double determinant = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
                               R[2] * (R[3] * R[7] - R[4] * R[6]);
    return good && determinant > 0.0;
}

/* Rows and columns of an inertia's six numbers xx yy zz xy xz yz. */
static const int hd_rows_of_six[6] = {0, 1, 2, 0, 0, 1}, hd_columns_of_six[6] = {0, 1, 2, 1, 2, 2};

HD_INLINE void hd_cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
HD_INLINE void hd_add_cross(const double *a, const double *b, double *sum)
{
    double part[3];
    hd_cross(a, b, part);
    for (int i = 0; i < 3; i++)
        sum[i] += part[i];
}
HD_INLINE double hd_dot(const double *a, const double *b, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}
/* R a and R^T a, R (3, 3) row by row. */
HD_INLINE void hd_turn(const double *R, const double *a, double *out)
{
    for (int r = 0; r < 3; r++)
        out[r] = R[3 * r] * a[0] + R[3 * r + 1] * a[1] + R[3 * r + 2] * a[2];
}
HD_INLINE void hd_turn_back(const double *R, const double *a, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = R[i] * a[0] + R[3 + i] * a[1] + R[6 + i] * a[2];
}

/* Factor a symmetric matrix, given by its lower triangle with rows `stride` apart: L of B = L D L^T, 1 / D on its diagonal. */
static inline void hd_factor(double *B, int64_t stride, int64_t size)
{
    for (int64_t a = 0; a < size; a++) {
        double *row = B + a * stride, pivot;
        for (int64_t b = 0; b < a; b++) /* row a of L D */
            for (int64_t c = 0; c < b; c++)
                row[b] -= row[c] * B[b * stride + c];
        pivot = row[a];
        for (int64_t b = 0; b < a; b++) { /* then of L */
            const double factor = row[b] * B[b * stride + b];
            pivot -= row[b] * factor;
            row[b] = factor;
        }
        row[a] = 1.0 / pivot;
    }
}

/* Replace columns first to last of `size` rows of x by B^-1 times them. */
static inline void hd_substitute(const double *B, int64_t stride, int64_t size, double *x, int64_t columns, int64_t first,
                                 int64_t last)
{
    for (int64_t a = 0; a < size; a++)
        for (int64_t b = 0; b < a; b++) {
            const double factor = B[a * stride + b];
            for (int64_t c = first; c < last; c++)
                x[a * columns + c] -= factor * x[b * columns + c];
        }
    for (int64_t a = size - 1; a >= 0; a--) {
        const double pivot = B[a * stride + a];
        for (int64_t c = first; c < last; c++)
            x[a * columns + c] *= pivot;
        for (int64_t b = a + 1; b < size; b++) {
            const double factor = B[b * stride + a];
            for (int64_t c = first; c < last; c++)
                x[a * columns + c] -= factor * x[b * columns + c];
        }
    }
}

/* Numbers that lie `stride` doubles apart: those of one lane. */
HD_INLINE void hd_read(const void *first, int64_t lane, int64_t stride, int count, double *out)
{
    const double *from = (const double *)first + lane;
    for (int i = 0; i < count; i++)
        out[i] = from[i * stride];
}
#endif
