/* A simulated robot's state, surroundings and servos, as Python and C see them; one step is simulation.h. */
#ifndef HD_WORLD_H
#define HD_WORLD_H
#include <math.h>
#include "robot.h"
#include "xyz.h"

/* ---- ground: a sloping plane with steps along x and a rough surface; see simulation/ground.py -------------------------- */

struct hd_plane {
    double slope_x, slope_y;          /* rise over run */
    double rough, seed, cell, edge;   /* height between the highest and lowest corner, squares' sides, width of their flanks [m] */
    double highest, level;            /* upper bound of what stands on the plane; the plane's height at the origin [m] */
};
struct hd_rise {
    double at, rise, half_width; /* of a step: place along x, height, half the length of its ramp [m] */
};

static inline double hd_clamp(double a, double low, double high) { return a < low ? low : a > high ? high : a; }

/* A pseudo-random number from -0.5 to 0.5 of the corner (i, j) of a lattice and a seed. */
static inline double hd_corner_number(int64_t i, int64_t j, int64_t seed)
{
    uint64_t x = (uint64_t)(i * 374761393 + j * 668265263 + seed * 1274126177) & 0xffffffffu;
    x = ((x ^ x >> 13) * 1274126177u) & 0xffffffffu;
    x = ((x ^ x >> 16) * 668265263u) & 0xffffffffu;
    return (double)(x ^ x >> 15) / 4294967296.0 - 0.5;
}

/* Height of the rough surface over the plane, and its slopes (2). */
static inline double hd_roughness(const struct hd_plane *p, double x, double y, double *slopes)
{
    const double i = floor(x / p->cell), j = floor(y / p->cell), share = p->edge / p->cell;
    const struct hd_value u = hd_minimum_jerk(0.5 + (x / p->cell - i - 0.5) / share);
    const struct hd_value v = hd_minimum_jerk(0.5 + (y / p->cell - j - 0.5) / share);
    const int64_t row = (int64_t)i, column = (int64_t)j, seed = (int64_t)floor(p->seed);
    const double a = hd_corner_number(row, column, seed), b = hd_corner_number(row + 1, column, seed);
    const double c = hd_corner_number(row, column + 1, seed);
    const double twist = a - b - c + hd_corner_number(row + 1, column + 1, seed);
    slopes[0] = p->rough / p->edge * u.rate * (b - a + twist * v.value);
    slopes[1] = p->rough / p->edge * v.rate * (c - a + twist * u.value);
    return p->rough * (a + (b - a) * u.value + (c - a) * v.value + twist * u.value * v.value);
}

static inline double hd_plane_height(const struct hd_plane *p, double x, double y)
{
    return p->level + p->slope_x * x + p->slope_y * y;
}

/* Height at (x, y) and the upward unit normal (3). */
static inline double hd_surface(const struct hd_plane *p, const struct hd_rise *rises, int64_t count, double x, double y,
                                double *normal)
{
    double height = hd_plane_height(p, x, y), slope = p->slope_x, across = p->slope_y, slopes[2];
    if (p->rough > 0.0) {
        height += hd_roughness(p, x, y, slopes);
        slope += slopes[0], across += slopes[1];
    }
    for (int64_t k = 0; k < count; k++) { /* smoothstep: flat at both ends */
        const double u = hd_clamp((x - rises[k].at) / rises[k].half_width, -1.0, 1.0);
        height += rises[k].rise * (0.5 + u * (0.75 - 0.25 * u * u));
        slope += rises[k].rise * 0.75 * (1.0 - u * u) / rises[k].half_width;
    }
    normal[2] = 1.0 / sqrt(1.0 + slope * slope + across * across);
    normal[0] = -slope * normal[2], normal[1] = -across * normal[2];
    return height;
}

/* Whether the ground is the plane z = 0. */
static inline int hd_is_level(const struct hd_plane *p, int64_t count)
{
    return count == 0 && p->rough == 0.0 && p->slope_x == 0.0 && p->slope_y == 0.0 && p->level == 0.0;
}

/* ---- bus servos: a set-point that moves uniformly to its target; see simulation/world.py for the torque -------------- */

/* Numbers of all servos of a robot. */
struct hd_drive {
    double stiffness, damping;        /* [N m/rad], [N m s/rad] */
    double torque_limit, speed_limit; /* [N m], [rad/s] */
    double dead_band, feed_forward;   /* [rad]; share of the set-point's rate that is fed forward */
};
struct hd_servo {
    double setpoint, rate, target, speed; /* [rad]; its present rate; where it moves to, and how fast */
    double torque, saturated;             /* [N m] of the last step; +-1 where it was at its limit */
    double loaded, driven;                /* 1: torque is on; 1: the motor can give torque, 0: it is limp */
    double lower, upper, stopped;         /* limits of the joint, +-1 where it is at one */
    /* of a servo with its own law (simulation/servo_law.py): 1 if it has one, the torque that its loop holds, its damping,
     * its gear's viscous friction and limit of dry friction, +-1 if the gear slides, all friction of the last step */
    double holds, held, damping, viscous, dry, sliding, friction;
};

/* The multiple of the resolution nearest to an angle, halves to even; the angle itself if the resolution is 0. */
static inline double hd_quantise(double angle, double resolution)
{
    return resolution == 0.0 ? angle : rint(angle / resolution) * resolution;
}

/* Send a servo to a target in a duration [s], uniformly, within its speed limit. */
static inline void hd_start_motion(struct hd_servo *s, const struct hd_drive *drive, double target, double duration)
{
    const double distance = fabs(target - s->setpoint);
    s->target = target;
    s->speed = distance < drive->speed_limit * duration ? distance / duration : drive->speed_limit;
}

/* Advance the set-points by h seconds. A remaining motion shorter than a step is added to this step. */
static inline void hd_move_setpoints(struct hd_servo *servos, int64_t count, double h)
{
    for (struct hd_servo *s = servos; s < servos + count; s++) {
        const double left = s->target - s->setpoint, furthest = s->speed * h;
        if (fabs(left) <= furthest * (1.0 + 1e-9)) {
            s->rate = left / h;
            s->setpoint = s->target;
        } else {
            s->rate = left > 0.0 ? s->speed : -s->speed;
            s->setpoint += s->rate * h;
        }
    }
}

/* ---- the simulated robot ----------------------------------------------------------------------------------------------- */

enum { HD_CORNERS = 8, HD_PLACES = HD_MOST + HD_CORNERS }; /* of the body's box; what may touch the ground */

/* Of a contact: normal stiffness and damping, the paper's viscous friction, Coulomb's coefficient (negative: the viscous law),
 * viscosity of a contact that sticks. */
struct hd_law {
    double stiffness, damping, viscous, coulomb, stiction;
};
/* What a step leaves for the next: 1 if a place slides, and its normal force [N]. */
struct hd_slid {
    double slides, force;
};
struct hd_world {
    double *position, *rotation, *q, *nu;                /* 3, 3 x 3 world <- base_link, joints, 6 + joints */
    double *acceleration, *foot_forces, *ground_force;   /* 6 + joints; legs x 3 and 3 [N, world], of the last step */
    const double *box;                                   /* sides of the body [m] */
    const struct hd_plane *plane;
    const struct hd_rise *rises;
    const struct hd_law *law;
    const struct hd_drive *drive;
    struct hd_servo *servos;
    struct hd_slid *slid;
    int64_t rise_count;
};
#endif
