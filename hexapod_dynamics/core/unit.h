/* The core for one width of lanes; unit_2.c, unit_4.c and unit_8.c include it with their processor's target. */
/* gcc folds what a shape of leg says is zero, and 0 x is 0: what comes in and goes out is checked by bits (checks.h). */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("finite-math-only", "no-signed-zeros")
#endif
#include "batch.h"
#include "derivatives.h"
#include "held_feet.h"
#include "points.h"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

#include "simulation.h"

#define HD_JOIN(a, b) a##b
#define HD_TABLE_OF(lanes) HD_JOIN(hd_table_, lanes)

const struct hd_functions HD_TABLE_OF(HD_LANES) = {
    .lanes = HD_LANES,
    .leg_bytes = hd_leg_bytes,
    .scratch_bytes = hd_scratch_bytes,
    .set = hd_set,
    .forward = hd_forward,
    .inverse = hd_inverse,
    .forward_all = hd_forward_all,
    .inverse_all = hd_inverse_all,
    .mass = hd_mass,
    .coriolis = hd_coriolis,
    .tip_jacobian = hd_tip,
    .tip_force_rows = hd_tip_force_rows,
    .inverse_derivatives = hd_inverse_derivatives,
    .forward_derivatives = hd_forward_derivatives,
    .hold = hd_hold,
    .link_poses = hd_link_poses,
    .point_jacobian = hd_point_jacobian,
    .point_bias = hd_point_bias,
    .center = hd_center,
    .potential_energy = hd_potential_energy,
    .kinetic_energy = hd_kinetic_energy,
    .centroidal_momentum = hd_centroidal_momentum,
    .batch_bytes = hd_batch_bytes,
    .batch_begin = hd_batch_begin,
    .batch = hd_batch,
    .steps = hd_steps,
    .strike = hd_strike,
    .resting_height = hd_resting_height,
    .feet = hd_feet,
};
