/* Two lanes: SSE2 and NEON, on any processor. */
#define HD_LANES 2
#include "unit.h"
