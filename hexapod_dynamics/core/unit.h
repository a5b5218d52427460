/* The core for one width of lanes; unit_2.c, unit_4.c and unit_8.c include it with their processor's target. */
#include "simulation.h"

#define HD_JOIN(a, b) a##b
#define HD_TABLE_OF(lanes) HD_JOIN(hd_table_, lanes)

const struct hd_functions HD_TABLE_OF(HD_LANES) = {
    .lanes = HD_LANES,
    .size = hd_size,
    .set = hd_set,
    .forward = hd_forward,
    .inverse = hd_inverse,
    .mass = hd_mass,
    .coriolis = hd_coriolis,
    .jacobian = hd_jacobian,
    .derivatives = hd_derivatives,
    .batch_size = hd_batch_size,
    .batch = hd_batch,
    .steps = hd_steps,
};
