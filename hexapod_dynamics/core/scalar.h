/* What computes without lanes: the gaits' tick, foot forces, evaluation of plans. Cython's own code around it is compiled with -O1,
 * which takes half as long (build_core.py). */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif
#include "foot_forces.h"
#include "plan_evaluation.h"
#include "tripod_gait.h"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
