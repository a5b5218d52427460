/* One step in time: model, contacts, servos, with all forces at the end of the step.
 *
 * (M + h D) a = tau(old velocity) - C nu - N, nu' = nu + h a; D is the derivative of contact and servo forces by the new
 * velocity. M + h D is an arrow like M. Contact: f_n = max(0, -K d - B v_n), Coulomb's cone regularised; see the docs. */
#ifndef HD_SIMULATION_H
#define HD_SIMULATION_H
#include <math.h>
#include "model.h"
#include "world.h"

#define STICTION_VISCOSITY 2e5
enum { CORRECTIONS = 4 };
static const double CONE_SHARE = 0.05, CONE_FORCE = 0.02, STOP_STIFFNESS = 20.0, STOP_DAMPING = 4.0, CREEP = 1e-3;

typedef struct { double x, y, z; } xyz;
struct hd_contact {
    int64_t leg, link, place, first, joints; /* leg -1: a corner of the body; joints: up to its link */
    double *lane;                            /* of its leg */
    xyz jacobian[HD_MOST_JOINTS], point, normal, velocity, sliding; /* sliding: direction, zero where it sticks */
    double distance, force, grip, glide;     /* normal force at the end; friction by the velocity, and besides */
    int pushes;
};
static inline double dot3(xyz a, xyz b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline xyz cross3(xyz a, xyz b) { return (xyz){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static inline xyz plus3(xyz a, double s, xyz b) { return (xyz){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z}; }
static inline xyz to_body(const double *R, xyz a)
{
    return (xyz){R[0] * a.x + R[3] * a.y + R[6] * a.z, R[1] * a.x + R[4] * a.y + R[7] * a.z, R[2] * a.x + R[5] * a.y + R[8] * a.z};
}
static inline xyz to_world(const double *R, xyz a)
{
    return (xyz){R[0] * a.x + R[1] * a.y + R[2] * a.z, R[3] * a.x + R[4] * a.y + R[5] * a.z, R[6] * a.x + R[7] * a.y + R[8] * a.z};
}
static inline double clamp(double a, double low, double high) { return a < low ? low : a > high ? high : a; }
static inline xyz read3(const double *row) { return (xyz){row[0], row[HD_LANES], row[2 * HD_LANES]}; }

/* ---- the ground -------------------------------------------------------------------------------------------------- */

static double corner_number(int64_t i, int64_t j, int64_t seed)
{
    uint64_t x = (uint64_t)(i * 374761393 + j * 668265263 + seed * 1274126177) & 0xffffffffu;
    x = ((x ^ x >> 13) * 1274126177u) & 0xffffffffu;
    x = ((x ^ x >> 16) * 668265263u) & 0xffffffffu;
    return (double)(x ^ x >> 15) / 4294967296.0 - 0.5;
}
static double surface_at(const struct hd_plane *p, const struct hd_rise *rises, int64_t count, double x, double y, xyz *normal)
{
    double height = p->level + p->slope_x * x + p->slope_y * y, slope = p->slope_x, across = p->slope_y;
    if (p->rough > 0.0) {
        const double i = floor(x / p->cell), j = floor(y / p->cell), share = p->edge / p->cell;
        const double u = clamp(0.5 + (x / p->cell - i - 0.5) / share, 0.0, 1.0), v = clamp(0.5 + (y / p->cell - j - 0.5) / share, 0.0, 1.0);
        const double su = u * u * u * (u * (u * 6.0 - 15.0) + 10.0), sv = v * v * v * (v * (v * 6.0 - 15.0) + 10.0);
        const double du = 30.0 * u * u * (u - 1.0) * (u - 1.0), dv = 30.0 * v * v * (v - 1.0) * (v - 1.0);
        const int64_t r = (int64_t)i, c = (int64_t)j, seed = (int64_t)floor(p->seed);
        const double a = corner_number(r, c, seed), b = corner_number(r + 1, c, seed), d = corner_number(r, c + 1, seed);
        const double twist = a - b - d + corner_number(r + 1, c + 1, seed);
        height += p->rough * (a + (b - a) * su + (d - a) * sv + twist * su * sv);
        slope += p->rough / p->edge * du * (b - a + twist * sv);
        across += p->rough / p->edge * dv * (d - a + twist * su);
    }
    for (int64_t k = 0; k < count; k++) {
        const double u = clamp((x - rises[k].at) / rises[k].half_width, -1.0, 1.0);
        height += rises[k].rise * (0.5 + u * (0.75 - 0.25 * u * u));
        slope += rises[k].rise * 0.75 * (1.0 - u * u) / rises[k].half_width;
    }
    const double nz = 1.0 / sqrt(1.0 + slope * slope + across * across);
    *normal = (xyz){-slope * nz, -across * nz, nz};
    return height;
}
static int is_flat(const struct hd_plane *p, int64_t count)
{
    return count == 0 && p->rough == 0.0 && p->slope_x == 0.0 && p->slope_y == 0.0 && p->level == 0.0;
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

static int touch(const struct hd_world *w, struct hd_contact *c, xyz p)
{
    xyz at = to_world(w->rotation, p), normal;
    at = plus3(at, 1.0, (xyz){w->position[0], w->position[1], w->position[2]});
    if (at.z > w->plane->level + w->plane->slope_x * at.x + w->plane->slope_y * at.y + w->plane->highest)
        return 0;
    const double height = surface_at(w->plane, w->rises, w->rise_count, at.x, at.y, &normal);
    c->point = p, c->normal = to_body(w->rotation, normal), c->distance = (at.z - height) * normal.z;
    return at.z < height;
}

/* List the link ends and corners below the ground; needs the points and screws of the leg terms. */
static int64_t find_contacts(const struct hd_model *m, const struct hd_world *w, struct hd_contact *contacts)
{
    const int level = is_flat(w->plane, w->rise_count);
    const double height = level ? w->position[2] : -1e9, *box = w->box;
    const xyz up = {w->rotation[6], w->rotation[7], w->rotation[8]};
    int64_t count = 0;
    for (int64_t leg = 0; leg < m->robot->legs; leg++) {
        struct hd_scratch *b = m->scratch + leg / HD_LANES;
        const int64_t lane = leg % HD_LANES;
        for (int64_t j = 0; j <= m->last[leg]; j++) {
            struct hd_contact *c = contacts + count;
            const xyz p = read3((const double *)&b->end[j] + lane);
            if (dot3(up, p) >= -height || !touch(w, c, p))
                continue;
            c->leg = leg, c->link = j, c->first = m->robot->first[leg], c->joints = j + 1, c->place = c->first + j;
            c->lane = (double *)b + lane;
            for (int64_t k = 0; k <= j; k++) {
                const double *J = (const double *)&b->J[k] + lane;
                const xyz turn = cross3(read3(J + 3 * HD_LANES), p);
                const double moves = m->moves[c->first + k];
                c->jacobian[k] = (xyz){moves * (J[0] + turn.x), moves * (J[HD_LANES] + turn.y), moves * (J[2 * HD_LANES] + turn.z)};
            }
            count++;
        }
    }
    if (level && 2.0 * height > sqrt(box[0] * box[0] + box[1] * box[1] + box[2] * box[2]))
        return count;
    for (int corner = 0; corner < HD_CORNERS; corner++) {
        const xyz p = {corner & 1 ? 0.5 * box[0] : -0.5 * box[0], corner & 2 ? 0.5 * box[1] : -0.5 * box[1], corner & 4 ? 0.5 * box[2] : -0.5 * box[2]};
        struct hd_contact *c = contacts + count;
        if (touch(w, c, p)) {
            c->leg = c->link = -1, c->first = c->joints = 0, c->place = m->robot->joints + corner;
            count++;
        }
    }
    return count;
}

static void move_contacts(struct hd_contact *contacts, int64_t count, const double *nu)
{
    for (struct hd_contact *c = contacts; c < contacts + count; c++) {
        c->velocity = plus3((xyz){nu[0], nu[1], nu[2]}, 1.0, cross3((xyz){nu[3], nu[4], nu[5]}, c->point));
        for (int64_t k = 0; k < c->joints; k++)
            c->velocity = plus3(c->velocity, nu[6 + c->first + k], c->jacobian[k]);
    }
}
static xyz slip(const struct hd_contact *c, double *speed)
{
    const xyz t = plus3(c->velocity, -dot3(c->normal, c->velocity), c->normal);
    *speed = sqrt(dot3(t, t));
    return t;
}
static void stick(struct hd_contact *c, double grip) { c->grip = grip, c->glide = 0.0, c->sliding = (xyz){0.0, 0.0, 0.0}; }

/* Linearise friction about the velocity and the normal force; secant: use the secant, which always dissipates. */
static void linearise(struct hd_contact *c, const struct hd_law *law, int secant)
{
    double speed;
    if (law->coulomb < 0.0 || !c->pushes) {
        stick(c, law->coulomb < 0.0 ? law->viscous : 0.0);
        return;
    }
    const xyz t = slip(c, &speed);
    const double limit = law->coulomb * c->force;
    if (law->stiction * speed <= limit) {
        stick(c, law->stiction);
        return;
    }
    stick(c, limit / speed);
    if (!secant)
        c->glide = limit, c->sliding = plus3((xyz){0.0, 0.0, 0.0}, 1.0 / speed, t);
}
static void begin_friction(struct hd_contact *contacts, int64_t count, const struct hd_law *law, const struct hd_slid *memory)
{
    for (struct hd_contact *c = contacts; c < contacts + count; c++) {
        const struct hd_slid *before = memory + c->place;
        if (before->slides != 0.0)
            c->force = before->force;
        if (before->slides != 0.0 || law->coulomb < 0.0)
            linearise(c, law, 0);
        else
            stick(c, c->pushes ? law->stiction : 0.0);
    }
}
static int is_wrong(const struct hd_contact *c, const struct hd_law *law)
{
    double speed;
    if (!c->pushes)
        return c->grip != 0.0;
    const xyz t = slip(c, &speed);
    const double limit = law->coulomb * c->force, slack = CONE_SHARE * limit + CONE_FORCE, along = dot3(t, c->sliding);
    if (c->glide > 0.0)
        return along <= 0.0 || fabs(limit - c->glide) > slack || along < 0.9 * speed;
    return c->grip * speed > limit + slack || c->grip == 0.0;
}
static int settle_contact_friction(struct hd_contact *contacts, int64_t count, const struct hd_law *law, int again, int last)
{
    int wrong = 0;
    if (law->coulomb < 0.0)
        return 0;
    for (int64_t i = 0; i < count; i++)
        wrong |= is_wrong(contacts + i, law);
    if (!wrong && !again)
        return 0;
    for (struct hd_contact *c = contacts; c < contacts + count; c++) {
        double speed;
        const int turned = c->glide > 0.0 && !last && dot3(slip(c, &speed), c->sliding) <= 0.0;
        linearise(c, law, last);
        if (turned && c->pushes)
            stick(c, law->stiction); /* it came to rest within the step */
    }
    return wrong;
}
static int settle_contacts(struct hd_contact *contacts, int64_t count, const struct hd_law *law, double h)
{
    int wrong = 0;
    for (struct hd_contact *c = contacts; c < contacts + count; c++) {
        const double vn = dot3(c->normal, c->velocity), force = -law->stiffness * (c->distance + h * vn) - law->damping * vn;
        wrong |= (force > 0.0) != c->pushes;
        c->pushes = force > 0.0, c->force = force > 0.0 ? force : 0.0;
    }
    return wrong;
}

/* Add a contact's force to the right-hand side, and h times its derivative D = grip (1 - s s^T) + along n n^T. */
static void add_contact(struct hd_contact *c, const struct hd_law *law, double h, real H[21], real F[6])
{
    const xyz n = c->normal, s = c->sliding, v = c->velocity, p = c->point;
    const double along = -c->grip + (c->pushes ? law->damping + h * law->stiffness : 0.0);
    const double push = (c->pushes ? -law->stiffness * c->distance : 0.0) - along * dot3(n, v), glide = c->glide - c->grip * dot3(s, v);
    const xyz f = plus3(plus3(plus3((xyz){0.0, 0.0, 0.0}, push, n), -c->grip, v), -glide, s), moment = cross3(p, f);
    const double wrench[6] = {f.x, f.y, f.z, moment.x, moment.y, moment.z};
    for (int i = 0; i < 6; i++)
        lane_of(F + i, 0) += wrench[i];
    const double g = h * c->grip, a = h * along;
    const xyz D[3] = {{g + a * n.x * n.x - g * s.x * s.x, a * n.x * n.y - g * s.x * s.y, a * n.x * n.z - g * s.x * s.z},
                      {a * n.x * n.y - g * s.x * s.y, g + a * n.y * n.y - g * s.y * s.y, a * n.y * n.z - g * s.y * s.z},
                      {a * n.x * n.z - g * s.x * s.z, a * n.y * n.z - g * s.y * s.z, g + a * n.z * n.z - g * s.z * s.z}};
    const xyz X[3] = {cross3(p, D[0]), cross3(p, D[1]), cross3(p, D[2])}; /* columns of [p] D */
    const xyz Z[3] = {cross3(p, (xyz){X[0].x, X[1].x, X[2].x}), cross3(p, (xyz){X[0].y, X[1].y, X[2].y}), cross3(p, (xyz){X[0].z, X[1].z, X[2].z})};
    const double lower[21] = {D[0].x, D[0].y, D[1].y, D[0].z, D[1].z, D[2].z, X[0].x, X[1].x, X[2].x, Z[0].x, X[0].y, X[1].y, X[2].y,
                              Z[0].y, Z[1].y, X[0].z, X[1].z, X[2].z, Z[0].z, Z[1].z, Z[2].z};
    for (int i = 0; i < 21; i++)
        lane_of(H + i, 0) += lower[i];
    for (int64_t k = 0; k < c->joints; k++) {
        const xyz J = c->jacobian[k], y = {dot3(D[0], J), dot3(D[1], J), dot3(D[2], J)}, m = cross3(p, y);
        const double column[6] = {y.x, y.y, y.z, m.x, m.y, m.z};
        double *arm = c->lane + HD_AT(arm) + 6 * HD_LANES * k, *block = c->lane + HD_AT(block) + HD_MOST_JOINTS * HD_LANES * k;
        for (int i = 0; i < 6; i++)
            arm[i * HD_LANES] += column[i];
        c->lane[HD_AT(force) + HD_LANES * k] += dot3(J, f);
        for (int64_t l = 0; l <= k; l++)
            block[l * HD_LANES] += dot3(c->jacobian[l], y);
    }
}
static void remember_friction(const struct hd_contact *contacts, int64_t count, const struct hd_law *law, struct hd_slid *memory, int64_t places)
{
    memset(memory, 0, (size_t)places * sizeof *memory);
    for (const struct hd_contact *c = contacts; c < contacts + count; c++)
        if (0.0 < c->grip && c->grip < law->stiction)
            memory[c->place] = (struct hd_slid){1.0, c->force};
}
static void record_forces(const struct hd_model *m, const struct hd_contact *contacts, int64_t count, struct hd_world *w)
{
    memset(w->foot_forces, 0, (size_t)(3 * m->robot->legs) * sizeof(double)), memset(w->ground_force, 0, 3 * sizeof(double));
    for (const struct hd_contact *c = contacts; c < contacts + count; c++) {
        const double glide = c->glide - c->grip * dot3(c->sliding, c->velocity), push = c->force + c->grip * dot3(c->normal, c->velocity);
        const xyz f = to_world(w->rotation, plus3(plus3(plus3((xyz){0.0, 0.0, 0.0}, push, c->normal), -c->grip, c->velocity), -glide, c->sliding));
        w->ground_force[0] += f.x, w->ground_force[1] += f.y, w->ground_force[2] += f.z;
        if (c->leg >= 0 && c->link == m->last[c->leg])
            memcpy(w->foot_forces + 3 * c->leg, &f, sizeof f);
    }
}

/* ---- servos ------------------------------------------------------------------------------------------------------ */

static void move_servos(struct hd_servo *servos, int64_t count, double h)
{
    for (struct hd_servo *s = servos; s < servos + count; s++) {
        const double left = s->target - s->setpoint, furthest = s->speed * h;
        if (fabs(left) <= furthest * (1.0 + 1e-9))
            s->rate = left / h, s->setpoint = s->target;
        else
            s->rate = left > 0.0 ? s->speed : -s->speed, s->setpoint += s->rate * h;
    }
}
static double stretch(double lag, double band) { return lag - clamp(lag, -band, band); }
static double stiffness_at(const struct hd_drive *d, double lag) { return fabs(lag) > d->dead_band || d->dead_band == 0.0 ? d->stiffness : 0.0; }
static double holding_damping(const struct hd_servo *s, const struct hd_drive *d)
{
    const double damping = s->viscous + (s->sliding == 0.0 ? s->dry / CREEP : 0.0);
    return s->loaded * s->driven == 0.0 ? damping + d->damping : s->saturated == 0.0 ? damping + s->damping : damping;
}
static int settle_gear(struct hd_servo *s, const struct hd_drive *d, double rate)
{
    double sliding = s->sliding;
    s->friction = s->viscous * rate + sliding * s->dry + (s->loaded * s->driven == 0.0 ? d->damping * rate : 0.0);
    if (sliding == 0.0) {
        s->friction += s->dry * clamp(rate / CREEP, -1.0, 1.0);
        if (fabs(rate) > CREEP)
            sliding = rate > 0.0 ? 1.0 : -1.0;
    } else if (sliding * rate < CREEP)
        sliding = 0.0;
    const int wrong = sliding != s->sliding && s->dry > 0.0;
    s->sliding = sliding;
    return wrong;
}
static void add_servos(struct hd_model *m, struct hd_world *w, double h)
{
    const struct hd_drive *d = w->drive;
    for (int64_t i = 0; i < m->moving; i++) {
        const int64_t joint = m->free[i].joint;
        const struct hd_servo *s = w->servos + joint;
        const int64_t k = m->free[i].k;
        const double rate = w->nu[6 + joint], q = w->q[joint], on = s->loaded * s->driven;
        double torque, stiff = 0.0;
        if (s->holds != 0.0) {
            stiff = holding_damping(s, d);
            torque = -s->sliding * s->dry - stiff * rate + (s->saturated != 0.0 ? s->saturated * d->torque_limit : on * s->held);
        } else if (s->saturated == 0.0) {
            const double lag = s->setpoint - q, stiffness = on * stiffness_at(d, lag);
            torque = stiffness * (stretch(lag, d->dead_band) - h * rate) + d->damping * (on * d->feed_forward * s->rate - rate);
            stiff = d->damping + h * stiffness;
        } else
            torque = s->saturated * d->torque_limit;
        if (s->stopped != 0.0) {
            const double K = STOP_STIFFNESS * d->stiffness, B = STOP_DAMPING * d->damping;
            torque += K * ((s->stopped > 0.0 ? s->upper : s->lower) - q - h * rate) - B * rate;
            stiff += B + h * K;
        }
        double *own = (double *)m->scratch + m->free[i].scratch;
        own[HD_AT(block) + (HD_MOST_JOINTS + 1) * HD_LANES * k] += h * stiff;
        own[HD_AT(force) + HD_LANES * k] += torque;
    }
}
static int settle_servos(struct hd_model *m, struct hd_world *w, double h)
{
    const struct hd_drive *d = w->drive;
    const double limit = d->torque_limit;
    int wrong = 0;
    for (int64_t joint = 0; joint < m->robot->joints; joint++) {
        struct hd_servo *s = w->servos + joint;
        const double rate = w->nu[6 + joint], on = s->loaded * s->driven;
        double torque = 0.0;
        if (m->moves[joint] == 0.0) {
            s->torque = 0.0;
            continue;
        }
        if (s->holds != 0.0) {
            torque = on != 0.0 ? s->held - s->damping * rate : 0.0;
            wrong |= settle_gear(s, d, rate);
        } else if (on != 0.0) {
            const double lag = s->setpoint - w->q[joint];
            torque = stiffness_at(d, lag) * (stretch(lag, d->dead_band) - h * rate) + d->damping * (d->feed_forward * s->rate - rate);
        }
        s->torque = clamp(torque, -limit, limit);
        const double saturated = torque > limit ? 1.0 : torque < -limit ? -1.0 : 0.0, at = w->q[joint] + h * rate;
        const double stopped = at > s->upper ? 1.0 : at < s->lower ? -1.0 : 0.0;
        wrong |= saturated != s->saturated || stopped != s->stopped;
        s->saturated = saturated, s->stopped = stopped;
    }
    return wrong;
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

static void move_body(double *position, double *rotation, const double *nu, double h)
{
    const xyz w = {h * nu[3], h * nu[4], h * nu[5]}, v = {h * nu[0], h * nu[1], h * nu[2]}, u = cross3(w, v);
    const double square = dot3(w, w), angle = sqrt(square);
    double a = 1.0 - square * (1.0 / 6.0 - square / 120.0), b = 0.5 - square * (1.0 / 24.0 - square / 720.0);
    double c = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0);
    if (square > 1e-6)
        a = sin(angle) / angle, b = (1.0 - cos(angle)) / square, c = (1.0 - a) / square;
    const xyz d = to_world(rotation, plus3(plus3(v, b, u), c, cross3(w, u)));
    position[0] += d.x, position[1] += d.y, position[2] += d.z;
    for (int r = 0; r < 3; r++) { /* row r of R times exp: r + a (r x w) + b ((r x w) x w), its length corrected */
        double *row = rotation + 3 * r;
        const xyz old = {row[0], row[1], row[2]}, t = cross3(old, w), s = plus3(plus3(old, a, t), b, cross3(t, w));
        const double scale = 1.5 - 0.5 * dot3(s, s);
        row[0] = s.x * scale, row[1] = s.y * scale, row[2] = s.z * scale;
    }
}
static void hd_step(struct hd_model *m, struct hd_world *w, double h)
{
    const int64_t size = 6 + m->robot->joints;
    struct hd_contact contacts[HD_PLACES];
    int64_t count = 0;
    contacts[0].pushes = 0;
    move_servos(w->servos, m->robot->joints, h);
    for (int correction = 0; correction <= CORRECTIONS; correction++) {
        real H[21], F[6];
        if (correction)
            for (int64_t i = 0; i < size; i++)
                w->nu[i] -= h * w->acceleration[i];
        hd_clear_row(m, HD_TAU);
        hd_begin_all(m, w->rotation, w->q, w->nu, H, F);
        if (!correction) {
            count = find_contacts(m, w, contacts);
            move_contacts(contacts, count, w->nu);
            for (int64_t i = 0; i < count; i++)
                contacts[i].pushes = 0;
            settle_contacts(contacts, count, w->law, 0.0);
            begin_friction(contacts, count, w->law, w->slid);
        } else
            move_contacts(contacts, count, w->nu);
        for (int64_t i = 0; i < count; i++)
            add_contact(contacts + i, w->law, h, H, F);
        add_servos(m, w, h);
        hd_end_all(m, w->rotation, w->nu, H, F, w->acceleration);
        for (int64_t i = 0; i < size; i++)
            w->nu[i] += h * w->acceleration[i];
        move_contacts(contacts, count, w->nu);
        int wrong = settle_servos(m, w, h);
        wrong |= settle_contacts(contacts, count, w->law, h);
        if (correction == CORRECTIONS)
            break;
        wrong |= settle_contact_friction(contacts, count, w->law, wrong, correction == CORRECTIONS - 1);
        if (!wrong)
            break;
    }
    *w->contact_count = count;
    remember_friction(contacts, count, w->law, w->slid, m->robot->joints + HD_CORNERS);
    record_forces(m, contacts, count, w);
    for (int64_t joint = 0; joint < m->robot->joints; joint++)
        w->q[joint] += h * w->nu[6 + joint];
    move_body(w->position, w->rotation, w->nu, h);
}
static void hd_steps(struct hd_model *m, struct hd_world *w, double h, int64_t steps)
{
    for (int64_t k = 0; k < steps; k++)
        hd_step(m, w, h);
}
#endif
