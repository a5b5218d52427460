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

/* Whether the kernels of hd_zyy fit these legs. */
static inline int hd_fits_zyy(const struct hd_leg *b)
{
    for (int lane = 0; lane < HD_LANES; lane++) {
        if (b->n > 3 || lane_of(b->mount + 2, lane) != 0.0 || lane_of(b->mount + 5, lane) != 0.0 ||
            lane_of(b->mount + 6, lane) != 0.0 || lane_of(b->mount + 7, lane) != 0.0)
            return 0;
        for (int k = 0; k < 3; k++) {
            const struct hd_link *link = b->link + k;
            if (lane_of(&link->mask, lane) == 0.0 && lane_of(&link->turn, lane) == 0.0)
                continue; /* there is no joint in this lane, and its numbers are zero */
            if (b->axis[k] != hd_zyy.axis[k] || lane_of(&link->slide, lane) != 0.0)
                return 0;
            for (int i = 0; i < HD_NUMBERS; i++)
                if (lane_of(link->number + i, lane) != 0.0 && !(hd_zyy.nonzero[k] >> i & 1))
                    return 0;
        }
    }
    return 1;
}

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

/* Write a leg to a lane; rows: remaining, moves, locked of all joints, one behind the other. */
static inline void hd_set_leg(struct hd_leg *b, const struct hd_robot *r, int64_t leg, int64_t lane, const double *rows)
{
    const int64_t first = r->first[leg], n = r->first[leg + 1] - first;
    for (int i = 0; i < 12; i++)
        lane_of(b->mount + i, lane) = r->mount[leg][i];
    if (n > b->n)
        b->n = n;
    for (int64_t k = 0; k < n; k++) {
        const struct hd_joint *j = &r->joint[first + k];
        struct hd_link *link = &b->link[k];
        double number[HD_NUMBERS];
        const int axis = hd_axis_of(j->axis);
        hd_cut_link(rows[first + k], j, number);
        for (int i = 0; i < HD_NUMBERS; i++)
            lane_of(link->number + i, lane) = number[i];
        for (int i = 0; i < 3; i++)
            lane_of(link->axis + i, lane) = j->axis[i];
        lane_of(&link->turn, lane) = j->turn;
        lane_of(&link->slide, lane) = j->slide;
        lane_of(&link->mask, lane) = rows[r->joints + first + k];
        lane_of(b->q + k, lane) = rows[2 * r->joints + first + k];
        b->axis[k] = b->axis[k] < 0 || b->axis[k] == axis ? axis : HD_OBLIQUE;
    }
}

/* Where all axes of a joint are along the mount frame's, `turn` and `slide` carry their sign. */
static inline void hd_sign_axes(struct hd_leg *b)
{
    for (int64_t k = 0; k < b->n; k++)
        for (int lane = 0; lane < HD_LANES && b->axis[k] != HD_OBLIQUE; lane++) {
            const double sign = lane_of(b->link[k].axis + b->axis[k], lane);
            lane_of(&b->link[k].turn, lane) *= sign;
            lane_of(&b->link[k].slide, lane) *= sign;
        }
}

/* Make the model of a morphology; table: rows remaining (0 to 1), moves, locked position, driven of all joints. */
static inline void hd_build_model(struct hd_model *m, const struct hd_robot *r, const double *table, void *legs, void *scratch)
{
    const int64_t joints = r->joints;
    m->robot = r, m->legs = legs, m->scratch = scratch, m->moving = 0, m->blocks = hd_blocks(r);
    m->gravity = r->gravity, m->mass = r->mass, m->links_mass = 0.0;
    memcpy(m->h, r->h, sizeof m->h);
    memcpy(m->inertia, r->inertia, sizeof m->inertia);
    memset(m->external, 0, sizeof m->external);
    memset(legs, 0, (size_t)hd_leg_bytes(r));
    for (int64_t i = 0; i < m->blocks; i++)
        for (int k = 0; k < HD_MOST_JOINTS; k++)
            m->legs[i].axis[k] = -1;
    for (int64_t leg = 0; leg < r->legs; leg++) {
        const int64_t block = leg / HD_LANES, lane = leg % HD_LANES;
        hd_set_leg(m->legs + block, r, leg, lane, table);
        m->last[leg] = -1, m->start[leg] = m->moving;
        for (int64_t j = r->first[leg]; j < r->first[leg + 1]; j++) {
            const int64_t k = j - r->first[leg];
            m->last[leg] = table[j] > 0.0 ? k : m->last[leg];
            m->links_mass += table[j] * r->joint[j].mass;
            m->moves[j] = table[joints + j], m->locked[j] = table[2 * joints + j];
            if (m->moves[j] != 0.0)
                m->free[m->moving++] = (struct hd_free){
                    j, &lane_of(m->legs[block].q + k, lane) - (const double *)m->legs, table[3 * joints + j],
                    &lane_of(m->scratch + block, lane) - (const double *)m->scratch, k};
        }
    }
    m->start[r->legs] = m->moving;
    m->shape = HD_ZYY;
    for (int64_t i = 0; i < m->blocks; i++) {
        hd_sign_axes(m->legs + i);
        if (!hd_fits_zyy(m->legs + i))
            m->shape = HD_ANY;
    }
    for (int64_t i = 0; i < m->blocks && m->shape == HD_ZYY; i++)
        m->legs[i].n = hd_zyy.n;
}
#endif
