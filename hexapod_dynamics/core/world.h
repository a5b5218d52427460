/* A simulated robot's state, surroundings and servos, as Python and C see them; one step is simulation.h. */
#ifndef HD_WORLD_H
#define HD_WORLD_H
#include "ground.h"
#include "robot.h"
#include "servo.h"

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
    int64_t *contact_count, rise_count;
};
#endif
