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

#define HD_ENTRY(type, name, arguments) .name = hd_##name,
const struct hd_functions HD_TABLE_OF(HD_LANES) = {.lanes = HD_LANES, HD_FUNCTIONS(HD_ENTRY)};
