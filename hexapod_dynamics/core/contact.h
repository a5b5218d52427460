/* Ground contact of link ends and body corners, treated implicitly: its forces are those at the end of the step.
 *
 * At a point at the depth -d below the surface (d < 0), with n the ground's normal, v the point's velocity, v_t its
 * tangential part:
 *
 *     f_n = max(0, -K d - B v_n)
 *     f_t = -v_t min(b, mu f_n / |v_t|)     Coulomb's cone, regularised: a contact at rest creeps at |f_t| / b
 *     f_t = -b_viscous v_t                  the paper's viscous law, at every point that is in the ground
 *
 * Over a step of length h the forces are taken at v' and d' = d + h v_n'. If the contact sticks (or is viscous), they are
 * linear in v' and add h J^T (c (1 - n n^T) + (B + h K) n n^T) J to the mass matrix. If it slides along s, the force is
 * linearised about the last iterate: -mu f_n (s + (1 - n n^T - s s^T) v' / |v_t|), a Newton step, symmetric too. All terms
 * are in the arrow's head and one leg's arm and block. The active springs and the sliding contacts are predicted from the
 * previous step and checked against the new velocity; the last correction uses the secant -mu f_n v' / |v_t|, which
 * dissipates energy for every v'.
 */
#ifndef HD_CONTACT_H
#define HD_CONTACT_H
#include "model.h"
#include "world.h"
#include "xyz.h"

/* Friction is accepted if it deviates from the cone by at most this share and this force [N]. */
static const double HD_CONE_SHARE = 0.05, HD_CONE_FORCE = 0.02;

struct hd_contact {
    int64_t leg, link, place, first, joints; /* leg -1: a corner of the body; first joint of the leg, how many up to the link */
    double *lane;                            /* of its leg, in the scratch memory */
    xyz jacobian[HD_MOST_JOINTS], point, normal, velocity, sliding; /* body axes; sliding: direction, zero where it sticks */
    double distance, force, grip, glide; /* along the normal; normal force at the end; friction by the velocity, and besides */
    int pushes;
};

/* Three numbers of a lane. */
static inline xyz read3(const double *row) { return (xyz){row[0], row[HD_LANES], row[2 * HD_LANES]}; }
/* The end of a link, and a corner of the body's box, in body axes. */
static inline xyz link_end(const struct hd_model *m, int64_t leg, int64_t link)
{
    return read3((const double *)&m->scratch[leg / HD_LANES].end[link] + leg % HD_LANES);
}
static inline xyz corner_point(const double *box, int corner)
{
    return (xyz){corner & 1 ? 0.5 * box[0] : -0.5 * box[0], corner & 2 ? 0.5 * box[1] : -0.5 * box[1],
                 corner & 4 ? 0.5 * box[2] : -0.5 * box[2]};
}
/* Velocity of a link's end at unit rate of one joint, whose screw begins at `J`. */
static inline xyz end_velocity(const double *J, xyz end)
{
    const xyz turn = cross3(read3(J + 3 * HD_LANES), end);
    return (xyz){J[0] + turn.x, J[HD_LANES] + turn.y, J[2 * HD_LANES] + turn.z};
}

/* ---- what touches the ground ---------------------------------------------------------------------------------------- */

/* Fill point, normal and distance of a contact at the body-frame point p; return whether it is in the ground. */
static int touch(const struct hd_world *w, struct hd_contact *c, xyz p)
{
    const xyz turned = to_world(w->rotation, p);
    const double x = turned.x + w->position[0], y = turned.y + w->position[1], z = turned.z + w->position[2];
    double n[3];
    if (z > hd_plane_height(w->plane, x, y) + w->plane->highest)
        return 0;
    const double height = hd_surface(w->plane, w->rises, w->rise_count, x, y, n);
    c->point = p;
    c->normal = to_body(w->rotation, (xyz){n[0], n[1], n[2]});
    c->distance = (z - height) * n[2];
    return z < height;
}

static void set_end(const struct hd_model *m, struct hd_contact *c, int64_t leg, int64_t link)
{
    struct hd_scratch *x = m->scratch + leg / HD_LANES;
    c->leg = leg, c->link = link, c->first = m->robot->first[leg], c->joints = link + 1, c->place = c->first + link;
    c->lane = (double *)x + leg % HD_LANES;
    for (int64_t k = 0; k <= link; k++)
        c->jacobian[k] = times3(m->moves[c->first + k], end_velocity((const double *)&x->J[k] + leg % HD_LANES, c->point));
}

/* List what is below the ground, from the ends and screws of the leg terms; return how many. */
static int64_t find_contacts(const struct hd_model *m, const struct hd_world *w, struct hd_contact *contacts)
{
    const int level = hd_is_level(w->plane, w->rise_count);
    const double height = level ? w->position[2] : -1e9, *box = w->box;
    const xyz up = {w->rotation[6], w->rotation[7], w->rotation[8]};
    int64_t count = 0;
    for (int64_t leg = 0; leg < m->robot->legs; leg++)
        for (int64_t link = 0; link <= m->last[leg]; link++) {
            const xyz end = link_end(m, leg, link);
            if (dot3(up, end) < -height && touch(w, contacts + count, end))
                set_end(m, contacts + count++, leg, link);
        }
    if (level && 2.0 * height > sqrt(box[0] * box[0] + box[1] * box[1] + box[2] * box[2]))
        return count;
    for (int corner = 0; corner < HD_CORNERS; corner++) {
        struct hd_contact *c = contacts + count;
        if (touch(w, c, corner_point(box, corner))) {
            c->leg = c->link = -1, c->first = c->joints = 0, c->place = m->robot->joints + corner;
            count++;
        }
    }
    return count;
}

static void move_contacts(struct hd_contact *contacts, int64_t count, const double *nu)
{
    const xyz v = {nu[0], nu[1], nu[2]}, w = {nu[3], nu[4], nu[5]};
    for (struct hd_contact *c = contacts; c < contacts + count; c++) {
        c->velocity = plus3(v, 1.0, cross3(w, c->point));
        for (int64_t k = 0; k < c->joints; k++)
            c->velocity = plus3(c->velocity, nu[6 + c->first + k], c->jacobian[k]);
    }
}

/* ---- friction ------------------------------------------------------------------------------------------------------- */

static xyz slip_velocity(const struct hd_contact *c, double *speed)
{
    const xyz t = plus3(c->velocity, -dot3(c->normal, c->velocity), c->normal);
    *speed = sqrt(dot3(t, t));
    return t;
}
static void stick(struct hd_contact *c, double grip)
{
    c->grip = grip, c->glide = 0.0, c->sliding = (xyz){0.0, 0.0, 0.0};
}

/* Linearise friction about the velocity and the normal force; secant: use the secant, which always dissipates. */
static void linearise(struct hd_contact *c, const struct hd_law *law, int secant)
{
    if (law->coulomb < 0.0 || !c->pushes) {
        stick(c, law->coulomb < 0.0 ? law->viscous : 0.0);
        return;
    }
    double speed;
    const xyz t = slip_velocity(c, &speed);
    const double limit = law->coulomb * c->force;
    if (law->stiction * speed <= limit) {
        stick(c, law->stiction);
        return;
    }
    stick(c, limit / speed);
    if (!secant)
        c->glide = limit, c->sliding = times3(1.0 / speed, t);
}

/* Predict friction from the previous step. */
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

/* Whether friction contradicts the cone at the new velocity. */
static int is_wrong(const struct hd_contact *c, const struct hd_law *law)
{
    if (!c->pushes)
        return c->grip != 0.0;
    double speed;
    const xyz t = slip_velocity(c, &speed);
    const double limit = law->coulomb * c->force, slack = HD_CONE_SHARE * limit + HD_CONE_FORCE, along = dot3(t, c->sliding);
    if (c->glide > 0.0)
        return along <= 0.0 || fabs(limit - c->glide) > slack || along < 0.9 * speed;
    return c->grip * speed > limit + slack || c->grip == 0.0;
}

/* Correct friction that is wrong, or all of it `again`; last: in the last correction. Return whether any was wrong. */
static int settle_friction(struct hd_contact *contacts, int64_t count, const struct hd_law *law, int again, int last)
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
        const int turned = c->glide > 0.0 && !last && dot3(slip_velocity(c, &speed), c->sliding) <= 0.0;
        linearise(c, law, last);
        if (turned && c->pushes)
            stick(c, law->stiction); /* it came to rest within the step */
    }
    return wrong;
}

static void remember_friction(const struct hd_contact *contacts, int64_t count, const struct hd_law *law,
                              struct hd_slid *memory, int64_t places)
{
    memset(memory, 0, (size_t)places * sizeof *memory);
    for (const struct hd_contact *c = contacts; c < contacts + count; c++)
        if (0.0 < c->grip && c->grip < law->stiction)
            memory[c->place] = (struct hd_slid){1.0, c->force};
}

/* ---- forces --------------------------------------------------------------------------------------------------------- */

/* Normal forces at the end of a step of h seconds; return whether a contact pushes otherwise than assumed. */
static int settle_contacts(struct hd_contact *contacts, int64_t count, const struct hd_law *law, double h)
{
    int wrong = 0;
    for (struct hd_contact *c = contacts; c < contacts + count; c++) {
        const double vn = dot3(c->normal, c->velocity);
        const double force = -law->stiffness * (c->distance + h * vn) - law->damping * vn;
        wrong |= (force > 0.0) != c->pushes;
        c->pushes = force > 0.0;
        c->force = force > 0.0 ? force : 0.0;
    }
    return wrong;
}

/* Add a contact's force to the right-hand side, and h times its derivative D = grip (1 - s s^T) + along n n^T. */
static void add_contact(struct hd_contact *c, const struct hd_law *law, double h, real H[21], real F[6])
{
    const xyz n = c->normal, s = c->sliding, v = c->velocity, p = c->point;
    const double along = -c->grip + (c->pushes ? law->damping + h * law->stiffness : 0.0);
    const double push = (c->pushes ? -law->stiffness * c->distance : 0.0) - along * dot3(n, v);
    const double glide = c->glide - c->grip * dot3(s, v);
    const xyz f = plus3(plus3(times3(push, n), -c->grip, v), -glide, s), moment = cross3(p, f);
    const double wrench[6] = {f.x, f.y, f.z, moment.x, moment.y, moment.z};
    const double g = h * c->grip, a = h * along;
    const xyz D[3] = {
        {g + a * n.x * n.x - g * s.x * s.x, a * n.x * n.y - g * s.x * s.y, a * n.x * n.z - g * s.x * s.z},
        {a * n.x * n.y - g * s.x * s.y, g + a * n.y * n.y - g * s.y * s.y, a * n.y * n.z - g * s.y * s.z},
        {a * n.x * n.z - g * s.x * s.z, a * n.y * n.z - g * s.y * s.z, g + a * n.z * n.z - g * s.z * s.z},
    };
    const xyz X[3] = {cross3(p, D[0]), cross3(p, D[1]), cross3(p, D[2])}; /* columns of [p] D */
    const xyz Z[3] = {cross3(p, (xyz){X[0].x, X[1].x, X[2].x}), cross3(p, (xyz){X[0].y, X[1].y, X[2].y}),
                      cross3(p, (xyz){X[0].z, X[1].z, X[2].z})};
    const double lower[21] = {D[0].x, D[0].y, D[1].y, D[0].z, D[1].z, D[2].z, X[0].x, X[1].x, X[2].x, Z[0].x, X[0].y,
                              X[1].y, X[2].y, Z[0].y, Z[1].y, X[0].z, X[1].z, X[2].z, Z[0].z, Z[1].z, Z[2].z};
    for (int i = 0; i < 6; i++)
        lane_of(F + i, 0) += wrench[i];
    for (int i = 0; i < 21; i++)
        lane_of(H + i, 0) += lower[i];
    for (int64_t k = 0; k < c->joints; k++) {
        const xyz J = c->jacobian[k], y = {dot3(D[0], J), dot3(D[1], J), dot3(D[2], J)}, m = cross3(p, y);
        const double column[6] = {y.x, y.y, y.z, m.x, m.y, m.z};
        double *arm = c->lane + HD_AT(arm) + 6 * HD_LANES * k;
        double *block = c->lane + HD_AT(block) + HD_MOST_JOINTS * HD_LANES * k;
        for (int i = 0; i < 6; i++)
            arm[i * HD_LANES] += column[i];
        c->lane[HD_AT(force) + HD_LANES * k] += dot3(J, f);
        for (int64_t l = 0; l <= k; l++)
            block[l * HD_LANES] += dot3(c->jacobian[l], y);
    }
}

/* Write the forces at the feet and of the ground in all, in world axes. */
static void record_forces(const struct hd_model *m, const struct hd_contact *contacts, int64_t count, struct hd_world *w)
{
    memset(w->foot_forces, 0, (size_t)(3 * m->robot->legs) * sizeof(double));
    memset(w->ground_force, 0, 3 * sizeof(double));
    for (const struct hd_contact *c = contacts; c < contacts + count; c++) {
        const double glide = c->glide - c->grip * dot3(c->sliding, c->velocity);
        const double push = c->force + c->grip * dot3(c->normal, c->velocity);
        const xyz own = plus3(plus3(times3(push, c->normal), -c->grip, c->velocity), -glide, c->sliding);
        const xyz f = to_world(w->rotation, own);
        w->ground_force[0] += f.x, w->ground_force[1] += f.y, w->ground_force[2] += f.z;
        if (c->leg >= 0 && c->link == m->last[c->leg])
            memcpy(w->foot_forces + 3 * c->leg, &f, sizeof f);
    }
}
#endif
