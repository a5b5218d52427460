/* Eight lanes: AVX-512. Empty where the processor's family has none. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma,bmi2,avx512f,avx512dq,avx512vl")
#define HD_LANES 8
#include "unit.h"
#endif
