/* Changes of the morphology: numbers of the same memory; nothing is allocated. */
#ifndef HD_MORPHOLOGY_H
#define HD_MORPHOLOGY_H

#include <string.h>

#include "hd_model.h"

/* Parameters of a link that is cut to the fraction r of its length, by those of the whole link (Link.cut in robot/):
 * a tube along x that loses its end keeps r^3 of the inertia across and r of that along it,
 * r^3 I + (r - r^3) Ia / 2 (1 + x x^T). About the joint: + m (c.c 1 - c c^T). */
static inline void hd_cut_link(double r, const double *link, const double *cut, double *lane, int64_t width)
{
    const double mass = r * link[HD_LINK_MASS], cubed = r * r * r, tube = 0.5 * (r - cubed) * cut[3];
    const double *x = cut, c[3] = {r * cut[10], r * cut[11], r * cut[12]};
    const double square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    lane[HD_LINK_MASS * width] = mass;
    for (int i = 0; i < 3; i++)
        lane[(HD_LINK_MASS + 1 + i) * width] = mass * c[i];
    for (int i = 0; i < 6; i++) {
        const int a = row[i], b = column[i];
        double entry = cubed * cut[4 + i] + tube * x[a] * x[b] - mass * c[a] * c[b];
        if (a == b)
            entry += tube + mass * square;
        lane[(HD_LINK_MASS + 4 + i) * width] = entry;
    }
    lane[HD_ROTOR * width] = link[HD_ROTOR]; /* the joint's own: no cut makes it smaller */
}

/* Take over a morphology's table, for all joints: how much of each link remains (0: missing, 1: whole), which joints
 * move (1), where the others are locked [rad or m], and which have a motor that gives torque (1). */
static inline void hd_set_table(struct hd_model *m, const double *remaining, const double *moving,
                                const double *locked, const double *driven)
{
    const int64_t width = HD_WIDTH(m);
    for (int64_t i = 0; i < m->leg_count; i++) {
        struct hd_leg *leg = m->legs + i;
        leg->last = -1;
        for (int64_t k = 0; k < leg->count; k++)
            if (remaining[leg->first + k] > 0.0)
                leg->last = k;
    }
    m->moving_count = 0;
    for (int64_t j = 0; j < m->joint_count; j++) {
        const struct hd_joint *joint = m->joints + j;
        const int64_t k = joint->k;
        const double r = remaining[j], *link = m->links + HD_LINK_SIZE * j;
        double *lane = hd_lane(m, joint->block, joint->lane);
        double *own = lane + (HD_ROW(m, links) + HD_LINK_SIZE * k) * width;
        m->moving[j] = moving[j];
        m->locked[j] = locked[j];
        lane[(HD_ROW(m, mask) + k) * width] = moving[j];
        lane[(HD_ROW(m, q) + k) * width] = locked[j];
        lane[(HD_ROW(m, rate) + k) * width] = 0.0;
        lane[(HD_ROW(m, torque) + k) * width] = 0.0;
        lane[(HD_ROW(m, qdd) + k) * width] = 0.0;
        lane[(HD_ROW(m, acc) + k) * width] = 0.0;
        for (int i = HD_LINK_END; i < HD_LINK_END + 3; i++)
            own[i * width] = r * link[i];
        if (r == 0.0 || r == 1.0)
            for (int i = HD_LINK_MASS; i < HD_LINK_SIZE; i++)
                own[i * width] = r * link[i];
        else
            hd_cut_link(r, link, m->cut + HD_CUT_SIZE * j, own, width);
        if (moving[j] != 0.0) {
            struct hd_free *free = m->free + m->moving_count++;
            free->joint = j;
            free->place = (joint->block * HD_ROW_COUNT(m) + k) * width + joint->lane;
            free->driven = driven[j] != 0.0 ? 1.0 : 0.0;
        }
    }
}

/* Doubles that the memory of a morphology takes behind struct hd_model. */
static inline int64_t hd_room_size(const struct hd_model *m)
{
    return m->blocks * HD_ROW_COUNT(m) * HD_WIDTH(m) + HD_SHARED_SIZE + 5 * m->leg_count + 5 * m->joint_count;
}

/* Divide `room` (hd_room_size) among the parts of the memory. It should begin on a cache line: lanes fill whole ones. */
static inline void hd_lay_out(struct hd_model *m, double *room)
{
    m->lanes = room;
    m->shared = m->lanes + m->blocks * HD_ROW_COUNT(m) * HD_WIDTH(m);
    m->moving = m->shared + HD_SHARED_SIZE;
    m->locked = m->moving + m->joint_count;
    m->free = (struct hd_free *)(m->locked + m->joint_count);
    m->legs = (struct hd_leg *)(m->free + m->joint_count);
}

/* Give the memory of a morphology the whole robot's numbers. */
static inline void hd_set_whole(struct hd_model *m)
{
    const size_t lanes = (size_t)(m->blocks * HD_ROW_COUNT(m) * HD_WIDTH(m));
    memcpy(m->lanes, m->whole_lanes, lanes * sizeof(double));
    memcpy(m->shared, m->whole_shared, HD_SHARED_SIZE * sizeof(double));
    memcpy(m->legs, m->whole_legs, (size_t)m->leg_count * sizeof(struct hd_leg));
}

#endif
