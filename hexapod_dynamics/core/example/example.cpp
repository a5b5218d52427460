// The model from C++: the robot falls freely with one torque on, whole and without its last leg.
#include <array>
#include <cstdio>

#include "hexapod_model.h"

int main()
{
    static hd_memory memory; // all that the model needs; nothing is allocated
    hd_model *model = hd_init(&memory);

    const std::array<double, 9> rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}; // world <- body, row by row
    std::array<double, HD_JOINTS> q{}, torque{};
    std::array<double, 6 + HD_JOINTS> velocity{}, acceleration{}, check{};
    for (int j = 0; j < HD_JOINTS; j++)
        q[j] = 0.1 * (j % 3);
    torque[0] = 0.5;

    std::array<double, HD_JOINTS> remaining; // 1: whole, 0: missing
    remaining.fill(1.0);
    for (int round = 0; round < 2; round++) {
        if (!hd_forward_dynamics(model, rotation.data(), q.data(), velocity.data(), torque.data(), acceleration.data()))
            return 1;
        if (!hd_inverse_dynamics(model, rotation.data(), q.data(), velocity.data(), acceleration.data(), check.data()))
            return 1;
        const long n = static_cast<long>(model->moving); // joints that exist and move
        for (long i = 0; i < 6 + n; i++)
            std::printf("%.17g %.17g\n", acceleration[i], check[i]);
        for (int j = static_cast<int>(model->robot->first[HD_LEGS - 1]); j < HD_JOINTS; j++)
            remaining[j] = 0.0;
        if (hd_set_morphology(model, remaining.data(), nullptr, nullptr) < 0)
            return 1;
    }
}
