/* Numbers, vectors and rotations, for contacts and gaits. A rotation R (3, 3), row by row: world (or leg) <- body. */
#ifndef HD_XYZ_H
#define HD_XYZ_H
#include <math.h>

/* As Python's min and max: the first argument unless the second is less or more, also for NaN. */
static inline double hd_least(double a, double b) { return b < a ? b : a; }
static inline double hd_most(double a, double b) { return b > a ? b : a; }
static inline double hd_unit(double s) { return hd_least(1.0, hd_most(0.0, s)); }

struct hd_value { double value, rate; }; /* and its derivative */
/* The quintic from 0 to 1 whose velocity and acceleration are zero at its ends, and its derivative. */
static inline struct hd_value hd_minimum_jerk(double s)
{
    s = hd_unit(s);
    const double r = s * (1.0 - s);
    return (struct hd_value){s * s * s * (10.0 + s * (6.0 * s - 15.0)), 30.0 * (r * r)};
}

struct hd_xyz { double x, y, z; };
typedef struct hd_xyz xyz;

static inline double dot3(xyz a, xyz b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline xyz cross3(xyz a, xyz b)
{
    return (xyz){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline xyz plus3(xyz a, double s, xyz b) { return (xyz){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z}; }
static inline xyz times3(double s, xyz a) { return (xyz){s * a.x, s * a.y, s * a.z}; }
static inline xyz to_body(const double *R, xyz a)
{
    return (xyz){R[0] * a.x + R[3] * a.y + R[6] * a.z, R[1] * a.x + R[4] * a.y + R[7] * a.z,
                 R[2] * a.x + R[5] * a.y + R[8] * a.z};
}
static inline xyz to_world(const double *R, xyz a)
{
    return (xyz){R[0] * a.x + R[1] * a.y + R[2] * a.z, R[3] * a.x + R[4] * a.y + R[5] * a.z,
                 R[6] * a.x + R[7] * a.y + R[8] * a.z};
}
/* Write the rotation Rz Ry Rx of roll, pitch and yaw. */
static inline void rotate3(const double *angles, double R[9])
{
    const double cr = cos(angles[0]), sr = sin(angles[0]), cp = cos(angles[1]), sp = sin(angles[1]);
    const double cy = cos(angles[2]), sy = sin(angles[2]);
    R[0] = cy * cp, R[3] = sy * cp, R[6] = -sp;
    R[1] = cy * sp * sr - sy * cr, R[4] = sy * sp * sr + cy * cr, R[7] = cp * sr;
    R[2] = cy * sp * cr + sy * sr, R[5] = sy * sp * cr - cy * sr, R[8] = cp * cr;
}
#endif
