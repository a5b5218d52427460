/* Bus servos: a set-point that moves uniformly to its target; see simulation/world.py for the torque. */
#ifndef HD_SERVO_H
#define HD_SERVO_H
#include <math.h>
#include <stdint.h>

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
static inline double hd_quantised(double angle, double resolution)
{
    return resolution == 0.0 ? angle : rint(angle / resolution) * resolution;
}

/* Send a servo to a target in a duration [s], uniformly, within its speed limit. */
static inline void hd_send(struct hd_servo *s, const struct hd_drive *drive, double target, double duration)
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
#endif
