/* The kernels of a leg for each shape that the compiler knows, and how they run on the legs of a model. */
#ifndef HD_KERNELS_H
#define HD_KERNELS_H
#include "leg.h"

struct hd_kernels {
    void (*terms)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, struct hd_share *);
    void (*terms_and_ends)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, struct hd_share *);
    void (*eliminate)(struct hd_leg *, struct hd_scratch *, real *H, real *F);
    void (*substitute)(struct hd_leg *, const spatial *a);
    void (*inverse)(struct hd_leg *, struct hd_scratch *, const spatial *V, const spatial *A, spatial *F);
    void (*frames)(struct hd_leg *, struct hd_scratch *, const struct hd_place *base);
    void (*center)(struct hd_leg *, struct hd_scratch *, vec3 *h);
    void (*coriolis)(struct hd_leg *, struct hd_scratch *, const spatial *V, struct hd_rates *);
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
#endif
