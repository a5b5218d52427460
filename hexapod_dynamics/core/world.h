/* A simulated robot's surroundings and servos, as Python and C see them; one step is simulation.h. */
#ifndef HD_WORLD_H
#define HD_WORLD_H
#include "robot.h"

enum { HD_CORNERS = 8, HD_PLACES = HD_MOST + HD_CORNERS };
struct hd_law { double stiffness, damping, viscous, coulomb, stiction; }; /* coulomb negative: the viscous law */
struct hd_slid { double slides, force; };
struct hd_plane { double slope_x, slope_y, rough, seed, cell, highest, level, edge; };
struct hd_rise { double at, rise, half_width; };
struct hd_drive { double stiffness, damping, torque_limit, speed_limit, dead_band, feed_forward; };
struct hd_servo {
    double setpoint, rate, target, speed, torque, saturated, loaded, driven, lower, upper, stopped;
    double holds, held, damping, viscous, dry, sliding, friction; /* of a servo with its own law */
};
struct hd_world {
    double *position, *rotation, *q, *nu, *acceleration, *foot_forces, *ground_force;
    const double *box;
    const struct hd_plane *plane;
    const struct hd_rise *rises;
    const struct hd_law *law;
    const struct hd_drive *drive;
    struct hd_servo *servos;
    struct hd_slid *slid;
    int64_t *contact_count, rise_count;
};
#endif
