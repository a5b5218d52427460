/* Checks of numbers, and small vectors of doubles. */
#ifndef HD_CHECKS_H
#define HD_CHECKS_H
#include <stdint.h>

#define HD_ROTATION_TOLERANCE 1e-6
/* Largest position [rad or m] of a joint: hd_sincos is exact up to here; from 1e15 on its error is as large as the sine. */
#define HD_FARTHEST_POSITION 1e6

/* Whether all numbers are finite. A number less itself is NaN for what is not finite. */
static inline int hd_are_finite(const double *numbers, int64_t count)
{
    double even = 0.0, odd = 0.0; /* two sums, which need not wait for each other */
    int64_t i = 0;
    for (; i + 1 < count; i += 2) {
        even += numbers[i] - numbers[i];
        odd += numbers[i + 1] - numbers[i + 1];
    }
    if (i < count)
        odd += numbers[i] - numbers[i];
    return even + odd == 0.0;
}

/* Whether R (3, 3), row by row, is a rotation within HD_ROTATION_TOLERANCE. */
static inline int hd_is_rotation(const double *R)
{
    double errors[6], sum = 0.0;
    int at = 0, good = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            const double *a = R + 3 * i, *b = R + 3 * j;
            const double error = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - (i == j ? 1.0 : 0.0);
            errors[at++] = error;
            sum += error * error;
        }
    const double determinant = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
                               R[2] * (R[3] * R[7] - R[4] * R[6]);
    if (!(sum <= HD_ROTATION_TOLERANCE * HD_ROTATION_TOLERANCE)) /* else each is small enough */
        for (int i = 0; i < 6; i++)
            good &= errors[i] <= HD_ROTATION_TOLERANCE && -errors[i] <= HD_ROTATION_TOLERANCE;
    return good && determinant > 0.0;
}

static inline void hd_cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
static inline double hd_dot(const double *a, const double *b, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}
/* R a and R^T a, R (3, 3) row by row. */
static inline void hd_turn(const double *R, const double *a, double *out)
{
    for (int r = 0; r < 3; r++)
        out[r] = R[3 * r] * a[0] + R[3 * r + 1] * a[1] + R[3 * r + 2] * a[2];
}
static inline void hd_turn_back(const double *R, const double *a, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = R[i] * a[0] + R[3 + i] * a[1] + R[6 + i] * a[2];
}

/* Numbers that lie `stride` doubles apart: those of one lane. */
static inline void hd_read(const void *first, int64_t lane, int64_t stride, int count, double *out)
{
    const double *from = (const double *)first + lane;
    for (int i = 0; i < count; i++)
        out[i] = from[i * stride];
}
#endif
