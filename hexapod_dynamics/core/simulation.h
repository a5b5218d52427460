/* One step in time: model, contacts, servos, with all forces at the end of the step.
 *
 * With M the mass matrix and D the derivative of contact and servo forces by the new velocity (implicit part):
 *
 *     (M + h D) a = tau(old velocity) - C nu - N,    nu' = nu + h a,    g' = g exp(h V'),    q' = q + h qdot'
 *
 * The scheme is of first order in h, and stable for any stiffness of contact and servos. M + h D is an arrow like M, and is
 * solved as one.
 */
#ifndef HD_SIMULATION_H
#define HD_SIMULATION_H
#include "contact.h"

/* Largest number of corrections, in each step, of the predicted contact, friction and saturation states. */
enum { HD_CORRECTIONS = 4 };
/* Stiffness and damping of a joint stop, as multiples of those of the servo. */
static const double HD_STOP_STIFFNESS = 20.0, HD_STOP_DAMPING = 4.0;
/* Rate [rad/s] at which a gear that sticks creeps under all its dry friction: the friction is a damper up to there. */
static const double HD_CREEP = 1e-3;

/* ---- torques of the servos, at the end of the step; see simulation/world.py ------------------------------------------ */

/* Lag of a joint behind its set-point less the dead band, and the stiffness there. */
static double stretch(double lag, double band) { return lag - hd_clamp(lag, -band, band); }
static double stiffness_at(const struct hd_drive *d, double lag)
{
    return fabs(lag) > d->dead_band || d->dead_band == 0.0 ? d->stiffness : 0.0;
}
static int is_on(const struct hd_servo *s) { return s->loaded * s->driven != 0.0; }

/* Damping of a servo that holds its torque, with its gear's friction. */
static double holding_damping(const struct hd_servo *s, const struct hd_drive *d)
{
    const double damping = s->viscous + (s->sliding == 0.0 ? s->dry / HD_CREEP : 0.0);
    return !is_on(s) ? damping + d->damping : s->saturated == 0.0 ? damping + s->damping : damping;
}

/* Friction of a servo that holds its torque, at the new rate; return whether its gear slides otherwise than assumed, which is
 * corrected. A gear that slides sticks before it slides the other way. */
static int settle_gear(struct hd_servo *s, const struct hd_drive *d, double rate)
{
    double sliding = s->sliding;
    s->friction = s->viscous * rate + sliding * s->dry + (is_on(s) ? 0.0 : d->damping * rate);
    if (sliding == 0.0) {
        s->friction += s->dry * hd_clamp(rate / HD_CREEP, -1.0, 1.0);
        if (fabs(rate) > HD_CREEP)
            sliding = rate > 0.0 ? 1.0 : -1.0;
    } else if (sliding * rate < HD_CREEP)
        sliding = 0.0;
    const int wrong = sliding != s->sliding && s->dry > 0.0;
    s->sliding = sliding;
    return wrong;
}

/* Add the servos' torques at the old velocity to the right-hand side, their implicit part to the mass matrix. */
static void add_servos(struct hd_model *m, const struct hd_world *w, double h)
{
    const struct hd_drive *d = w->drive;
    for (int64_t i = 0; i < m->moving; i++) {
        const struct hd_free *at = m->free + i;
        const struct hd_servo *s = w->servos + at->joint;
        const double rate = w->nu[6 + at->joint], q = w->q[at->joint], on = s->loaded * s->driven;
        double torque, stiff = 0.0, *lane = (double *)m->scratch + at->scratch;
        if (s->holds != 0.0) {
            stiff = holding_damping(s, d);
            torque = -s->sliding * s->dry - stiff * rate;
            torque += s->saturated != 0.0 ? s->saturated * d->torque_limit : on * s->held;
        } else if (s->saturated == 0.0) {
            const double lag = s->setpoint - q, stiffness = on * stiffness_at(d, lag);
            torque = stiffness * (stretch(lag, d->dead_band) - h * rate);
            torque += d->damping * (on * d->feed_forward * s->rate - rate);
            stiff = d->damping + h * stiffness;
        } else
            torque = s->saturated * d->torque_limit;
        if (s->stopped != 0.0) {
            const double K = HD_STOP_STIFFNESS * d->stiffness, B = HD_STOP_DAMPING * d->damping;
            torque += K * ((s->stopped > 0.0 ? s->upper : s->lower) - q - h * rate) - B * rate;
            stiff += B + h * K;
        }
        lane[HD_AT(block) + (HD_MOST_JOINTS + 1) * HD_LANES * at->k] += h * stiff;
        lane[HD_AT(force) + HD_LANES * at->k] += torque;
    }
}

/* Torques at the new velocity; return whether a servo saturates, a gear slides, or a joint is at its stop otherwise than
 * assumed, which is corrected. */
static int settle_servos(const struct hd_model *m, struct hd_world *w, double h)
{
    const struct hd_drive *d = w->drive;
    const double limit = d->torque_limit;
    int wrong = 0;
    for (int64_t joint = 0; joint < m->robot->joints; joint++) {
        struct hd_servo *s = w->servos + joint;
        const double rate = w->nu[6 + joint], at = w->q[joint] + h * rate;
        double torque = 0.0;
        if (m->moves[joint] == 0.0) {
            s->torque = 0.0;
            continue;
        }
        if (s->holds != 0.0) {
            torque = is_on(s) ? s->held - s->damping * rate : 0.0;
            wrong |= settle_gear(s, d, rate);
        } else if (is_on(s)) {
            const double lag = s->setpoint - w->q[joint];
            torque = stiffness_at(d, lag) * (stretch(lag, d->dead_band) - h * rate);
            torque += d->damping * (d->feed_forward * s->rate - rate);
        }
        const double saturated = torque > limit ? 1.0 : torque < -limit ? -1.0 : 0.0;
        const double stopped = at > s->upper ? 1.0 : at < s->lower ? -1.0 : 0.0;
        wrong |= saturated != s->saturated || stopped != s->stopped;
        s->torque = hd_clamp(torque, -limit, limit);
        s->saturated = saturated;
        s->stopped = stopped;
    }
    return wrong;
}

/* ---- the step -------------------------------------------------------------------------------------------------------- */

/* Advance the body by h seconds at its twist: g exp(h V), Rodrigues' formula; the result stays orthogonal. */
static void move_body(double *position, double *rotation, const double *nu, double h)
{
    const xyz w = {h * nu[3], h * nu[4], h * nu[5]}, v = {h * nu[0], h * nu[1], h * nu[2]}, u = cross3(w, v);
    const double square = dot3(w, w), angle = sqrt(square);
    double a = 1.0 - square * (1.0 / 6.0 - square / 120.0), b = 0.5 - square * (1.0 / 24.0 - square / 720.0);
    double c = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0);
    if (square > 1e-6) {
        a = sin(angle) / angle;
        b = (1.0 - cos(angle)) / square;
        c = (1.0 - a) / square;
    }
    const xyz d = to_world(rotation, plus3(plus3(v, b, u), c, cross3(w, u)));
    position[0] += d.x, position[1] += d.y, position[2] += d.z;
    for (int r = 0; r < 3; r++) { /* row r of R times exp: r + a (r x w) + b ((r x w) x w) */
        double *row = rotation + 3 * r;
        const xyz old = {row[0], row[1], row[2]}, t = cross3(old, w), s = plus3(plus3(old, a, t), b, cross3(t, w));
        const double scale = 1.5 - 0.5 * dot3(s, s); /* corrects the rounding of its length to first order */
        row[0] = s.x * scale, row[1] = s.y * scale, row[2] = s.z * scale;
    }
}

static void hd_step(struct hd_model *m, struct hd_world *w, double h)
{
    const int64_t size = 6 + m->robot->joints;
    struct hd_contact contacts[HD_PLACES];
    int64_t count = 0;
    hd_move_setpoints(w->servos, m->robot->joints, h);
    for (int correction = 0; correction <= HD_CORRECTIONS; correction++) {
        real H[21], F[6];
        for (int64_t i = 0; correction && i < size; i++)
            w->nu[i] -= h * w->acceleration[i];
        hd_begin(m, w->rotation, w->q, w->nu, 1, 1, H, F);
        if (!correction)
            count = find_contacts(m, w, contacts);
        move_contacts(contacts, count, w->nu);
        if (!correction) {
            for (int64_t i = 0; i < count; i++)
                contacts[i].pushes = 0;
            settle_contacts(contacts, count, w->law, 0.0);
            begin_friction(contacts, count, w->law, w->slid);
        }
        for (int64_t i = 0; i < count; i++)
            add_contact(contacts + i, w->law, h, H, F);
        add_servos(m, w, h);
        hd_end(m, w->rotation, w->nu, 1, H, F, w->acceleration);
        for (int64_t i = 0; i < size; i++)
            w->nu[i] += h * w->acceleration[i];
        move_contacts(contacts, count, w->nu);
        int wrong = settle_servos(m, w, h);
        wrong |= settle_contacts(contacts, count, w->law, h);
        if (correction == HD_CORRECTIONS)
            break;
        wrong |= settle_friction(contacts, count, w->law, wrong, correction == HD_CORRECTIONS - 1);
        if (!wrong)
            break;
    }
    remember_friction(contacts, count, w->law, w->slid, m->robot->joints + HD_CORNERS);
    record_forces(m, contacts, count, w);
    for (int64_t joint = 0; joint < m->robot->joints; joint++)
        w->q[joint] += h * w->nu[6 + joint];
    move_body(w->position, w->rotation, w->nu, h);
}

static void hd_steps(struct hd_model *m, struct hd_world *w, double h, int64_t count)
{
    hd_set_row(m, HD_TAU, hd_zeros, 1); /* the servos' torques are added to the right-hand side */
    for (int64_t k = 0; k < count; k++)
        hd_step(m, w, h);
}

/* Velocity (6 + joints) of the robot at rest after an impulse (6 + joints), M(q)^-1 impulse; of what does not move it is 0. */
static void hd_strike(struct hd_model *m, const double *q, const double *impulse, double *nu)
{
    double kept[6];
    real H[21], F[6];
    memcpy(kept, m->external, sizeof kept);
    memcpy(m->external, impulse, sizeof kept);
    hd_set_row(m, HD_TAU, impulse + 6, 1);
    hd_begin(m, hd_zeros, q, hd_zeros, 1, 0, H, F);
    hd_end(m, hd_zeros, hd_zeros, 1, H, F, nu);
    memcpy(m->external, kept, sizeof kept);
}

/* ---- queries --------------------------------------------------------------------------------------------------------- */

/* How much higher than the body's origin the ground is below a body-frame point, when that touches it. */
static double clearance(const struct hd_world *w, xyz p)
{
    const xyz at = to_world(w->rotation, p);
    double normal[3];
    return hd_surface(w->plane, w->rises, w->rise_count, at.x, at.y, normal) - at.z;
}

/* Height of the body over the origin at which its lowest link end or corner just touches the ground. */
static double hd_resting_height(struct hd_model *m, const struct hd_world *w)
{
    double highest = -1e9;
    hd_set_q(m, w->q);
    hd_set_all_frames(m, 0);
    for (int64_t leg = 0; leg < m->robot->legs; leg++)
        for (int64_t link = 0; link <= m->last[leg]; link++)
            highest = fmax(highest, clearance(w, link_end(m, leg, link)));
    for (int corner = 0; corner < HD_CORNERS; corner++)
        highest = fmax(highest, clearance(w, corner_point(w->box, corner)));
    return highest;
}

/* End of each leg (legs x 3), zero where none is left, and its velocity at unit rate of each joint (joints x 3), body axes. */
static void hd_feet(struct hd_model *m, const double *q, double *ends, double *columns)
{
    memset(ends, 0, (size_t)(3 * m->robot->legs) * sizeof(double));
    memset(columns, 0, (size_t)(3 * m->robot->joints) * sizeof(double));
    hd_set_q(m, q);
    hd_set_all_frames(m, 0);
    for (int64_t leg = 0; leg < m->robot->legs; leg++) {
        if (m->last[leg] < 0)
            continue;
        const xyz end = link_end(m, leg, m->last[leg]);
        memcpy(ends + 3 * leg, &end, sizeof end);
        for (int64_t k = 0; k <= m->last[leg]; k++) {
            const int64_t joint = m->robot->first[leg] + k;
            const double *J = (const double *)&m->scratch[leg / HD_LANES].J[k] + leg % HD_LANES;
            const xyz column = times3(m->moves[joint], end_velocity(J, end));
            memcpy(columns + 3 * joint, &column, sizeof column);
        }
    }
}
#endif
