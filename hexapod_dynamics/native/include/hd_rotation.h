/* Checks of given numbers. */
#ifndef HD_ROTATION_H
#define HD_ROTATION_H

#include <stdint.h>

#define HD_ROTATION_TOLERANCE 1e-6
/* Largest position [rad or m] of a joint. The reduction of angles in hd_sincos is exact up to here; from 1e15 on its
 * error is as large as the sine. */
#define HD_FARTHEST_POSITION 1e6

/* Whether all numbers are finite. A number less itself is nan for what is not finite. */
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

#endif
