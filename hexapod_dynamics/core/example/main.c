/* The model in C99 without heap, files or output, as on a microcontroller; exit status 0: forward and inverse agree. */
#include "hexapod_model.h"

static hd_memory memory;
static double q[HD_JOINTS], torque[HD_JOINTS], velocity[6 + HD_JOINTS], acceleration[6 + HD_JOINTS], check[6 + HD_JOINTS];

int main(void)
{
    static const double rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    hd_model *model = hd_init(&memory);
    for (int j = 0; j < HD_JOINTS; j++) {
        q[j] = 0.1 * (j % 3);
        torque[j] = 0.01 * j;
    }
    if (!hd_forward_dynamics(model, rotation, q, velocity, torque, acceleration) ||
        !hd_inverse_dynamics(model, rotation, q, velocity, acceleration, check))
        return 1;
    for (int i = 0; i < 6 + HD_JOINTS; i++) {
        const double error = check[i] - (i < 6 ? 0.0 : torque[i - 6]);
        if (!(error < 1e-9 && -error < 1e-9))
            return 2;
    }
    return 0;
}
