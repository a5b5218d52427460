/* The kernels of a leg for each shape that the compiler knows, and the memory of a model: legs in lanes, of any morphology. */
#ifndef HD_MORPHOLOGY_H
#define HD_MORPHOLOGY_H
#include "checks.h"
#include "leg.h"

/* ---- kernels ------------------------------------------------------------------------------------------------------- */

struct hd_kernels {
    void (*terms)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, struct hd_share *);
    void (*terms_and_ends)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, struct hd_share *);
    void (*eliminate)(struct hd_leg *, struct hd_scratch *, real *H, real *F);
    void (*substitute)(struct hd_leg *, const spatial *a);
    void (*inverse)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, spatial *F);
    void (*frames)(struct hd_leg *, struct hd_scratch *, const struct hd_place *base);
    void (*center)(struct hd_leg *, struct hd_scratch *, vec3 *h);
    void (*coriolis)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, struct hd_rates *);
    void (*derivatives)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, struct hd_rates *);
};

#define HD_KERNEL(name) any_##name
#define HD_SHAPE(b) hd_general_shape(b)
#define HD_UNROLL
#include "leg_kernels.h"

#define HD_KERNEL(name) zyy_##name
#define HD_SHAPE(b) hd_zyy
#define HD_UNROLL _Pragma("GCC unroll 6")
#include "leg_kernels.h"

enum { HD_ANY, HD_ZYY }; /* hd_model.shape */
static const struct hd_kernels *const hd_kernels_of[] = {&any_kernels, &zyy_kernels};

/* ---- memory -------------------------------------------------------------------------------------------------------- */

enum { HD_MOST_BLOCKS = (HD_MOST_LEGS + HD_LANES - 1) / HD_LANES };
static inline int64_t hd_blocks(const struct hd_robot *r) { return (r->legs + HD_LANES - 1) / HD_LANES; }
static inline int64_t hd_leg_bytes(const struct hd_robot *r) { return hd_blocks(r) * (int64_t)sizeof(struct hd_leg); }
static inline int64_t hd_scratch_bytes(const struct hd_robot *r) { return hd_blocks(r) * (int64_t)sizeof(struct hd_scratch); }

/* Numbers of a link of which the fraction r of its length remains: a rod with thickness, see robot/description. */
static inline void hd_cut_link(double r, const struct hd_joint *j, double out[HD_NUMBERS])
{
    const int *row = hd_rows_of_six, *column = hd_columns_of_six;
    const double mass = r * j->mass, cubed = r * r * r, tube = 0.5 * (r - cubed) * j->along;
    const double c[3] = {r * j->com[0], r * j->com[1], r * j->com[2]};
    const double square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
    memcpy(out + HD_OFFSET, j->offset, sizeof j->offset);
    for (int i = 0; i < 3; i++) {
        out[HD_END + i] = r * j->end[i];
        out[HD_H + i] = r == 1.0 ? j->h[i] : mass * c[i];
    }
    out[HD_MASS] = mass;
    for (int i = 0; i < 6; i++)
        out[HD_INERTIA + i] = r == 1.0 ? j->inertia[i]
                                       : cubed * j->central[i] + tube * j->direction[row[i]] * j->direction[column[i]] -
                                             mass * c[row[i]] * c[column[i]] + (i < 3 ? tube + mass * square : 0.0);
    out[HD_ROTOR] = r == 0.0 ? 0.0 : j->rotor;
}

/* Which axis of the mount frame a joint has. */
static inline int hd_axis_of(const double *axis)
{
    for (int i = 0; i < 3; i++)
        if (axis[i] == 1.0 || axis[i] == -1.0)
            return HD_X + i;
    return HD_OBLIQUE;
}

/* Whether the kernels of hd_zyy fit a robot's legs, with links whole or cut. */
static inline int hd_fits_zyy(const struct hd_robot *r)
{
    for (int64_t leg = 0; leg < r->legs; leg++) {
        const double *mount = r->mount[leg];
        const int64_t first = r->first[leg], n = r->first[leg + 1] - first;
        if (n > hd_zyy.n || mount[2] != 0.0 || mount[5] != 0.0 || mount[6] != 0.0 || mount[7] != 0.0)
            return 0;
        for (int64_t k = 0; k < n; k++) {
            const struct hd_joint *j = &r->joint[first + k];
            double whole[HD_NUMBERS], half[HD_NUMBERS];
            if (hd_axis_of(j->axis) != hd_zyy.axis[k] || j->slide != 0.0)
                return 0;
            hd_cut_link(1.0, j, whole), hd_cut_link(0.5, j, half);
            for (int i = 0; i < HD_NUMBERS; i++)
                if ((whole[i] != 0.0 || half[i] != 0.0) && !(hd_zyy.nonzero[k] >> i & 1))
                    return 0;
        }
    }
    return 1;
}

/* Change the morphology; table: rows remaining (0 to 1), moves, locked position, driven of all joints. */
static inline void hd_change_morphology(struct hd_model *m, const double *table)
{
    const struct hd_robot *r = m->robot;
    const int64_t joints = r->joints;
    m->moving = 0, m->links_mass = 0.0;
    for (int64_t leg = 0; leg < r->legs; leg++) {
        const int64_t block = leg / HD_LANES, lane = leg % HD_LANES, first = r->first[leg];
        struct hd_leg *b = m->legs + block;
        m->last[leg] = -1, m->start[leg] = m->moving;
        for (int64_t j = first; j < r->first[leg + 1]; j++) {
            const int64_t k = j - first;
            double number[HD_NUMBERS];
            if (table[j] != m->remaining[j]) {
                hd_cut_link(table[j], &r->joint[j], number);
                for (int i = 0; i < HD_NUMBERS; i++)
                    lane_of(b->link[k].number + i, lane) = number[i];
            }
            m->remaining[j] = table[j], m->moves[j] = table[joints + j], m->locked[j] = table[2 * joints + j];
            m->last[leg] = table[j] > 0.0 ? k : m->last[leg];
            m->links_mass += table[j] * r->joint[j].mass;
            lane_of(&b->link[k].mask, lane) = m->moves[j];
            lane_of(b->q + k, lane) = m->locked[j];
            lane_of(b->rate + k, lane) = lane_of(b->tau + k, lane) = lane_of(b->qdd + k, lane) = 0.0;
            if (m->moves[j] != 0.0)
                m->free[m->moving++] = (struct hd_free){
                    j, &lane_of(b->q + k, lane) - (const double *)m->legs, table[3 * joints + j],
                    &lane_of(m->scratch + block, lane) - (const double *)m->scratch, k};
        }
    }
    m->start[r->legs] = m->moving;
}

/* Make the model of the whole robot. */
static inline void hd_build_model(struct hd_model *m, const struct hd_robot *r, void *legs, void *scratch)
{
    double table[4 * HD_MOST];
    memset(m, 0, sizeof *m), memset(legs, 0, (size_t)hd_leg_bytes(r));
    m->robot = r, m->legs = legs, m->scratch = scratch, m->blocks = hd_blocks(r), m->shape = hd_fits_zyy(r) ? HD_ZYY : HD_ANY;
    m->gravity = r->gravity, m->mass = r->mass;
    memcpy(m->h, r->h, sizeof m->h);
    memcpy(m->inertia, r->inertia, sizeof m->inertia);
    for (int64_t leg = 0; leg < r->legs; leg++) {
        const int64_t lane = leg % HD_LANES, first = r->first[leg], n = r->first[leg + 1] - first;
        struct hd_leg *b = m->legs + leg / HD_LANES;
        b->n = n > b->n ? n : b->n;
        for (int i = 0; i < 12; i++)
            lane_of(b->mount + i, lane) = r->mount[leg][i];
        for (int64_t k = 0; k < n; k++) {
            const struct hd_joint *j = &r->joint[first + k];
            const int axis = hd_axis_of(j->axis);
            for (int i = 0; i < 3; i++)
                lane_of(b->link[k].axis + i, lane) = j->axis[i];
            b->axis[k] = b->axis[k] == HD_NO_AXIS || b->axis[k] == axis ? axis : HD_OBLIQUE;
        }
    }
    for (int64_t j = 0, leg = 0; j < r->joints; j++) {
        leg += j == r->first[leg + 1];
        const int64_t lane = leg % HD_LANES, k = j - r->first[leg];
        struct hd_leg *b = m->legs + leg / HD_LANES;
        /* where all axes of a joint are along the mount frame's, these carry their sign */
        const double sign = b->axis[k] == HD_OBLIQUE ? 1.0 : r->joint[j].axis[b->axis[k] - HD_X];
        lane_of(&b->link[k].turn, lane) = sign * r->joint[j].turn;
        lane_of(&b->link[k].slide, lane) = sign * r->joint[j].slide;
        m->remaining[j] = -1.0;
        table[j] = table[r->joints + j] = table[3 * r->joints + j] = 1.0, table[2 * r->joints + j] = 0.0;
    }
    for (int64_t i = 0; i < m->blocks && m->shape == HD_ZYY; i++)
        m->legs[i].n = hd_zyy.n;
    hd_change_morphology(m, table);
}
#endif
