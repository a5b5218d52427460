/* Four lanes: AVX2 with fused products. Empty where the processor's family has none. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma,bmi2")
#define HD_LANES 4
#include "unit.h"
#endif
