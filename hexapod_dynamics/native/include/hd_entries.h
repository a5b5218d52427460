/* What Python calls of a robot's library: a table of names, shapes and functions; see hd_entry.h. */
#ifndef HD_ENTRIES_H
#define HD_ENTRIES_H

#include "hd_derivatives.h"
#include "hd_energy.h"
#include "hd_entry.h"
#include "hd_mixed.h"
#include "hd_morphology.h"
#include "hd_stance.h"

#define HD_ENTRY(name) \
    static int entry_##name(struct hd_model *m, const void *const *given, double *const *out)

HD_ENTRY(forward) { return hd_forward_dynamics(m, given[0], given[1], given[2], given[3], out[0]); }
HD_ENTRY(forward_under)
{
    return hd_forward_under(m, given[0], given[1], given[2], given[3], (const double *const *)(given + 4), out[0]);
}
HD_ENTRY(inverse) { return hd_inverse_dynamics(m, given[0], given[1], given[2], given[3], out[0]); }
HD_ENTRY(gravity) { return hd_gravity_force(m, given[0], given[1], out[0]); }
HD_ENTRY(mass) { return hd_mass_matrix(m, given[0], out[0]); }
HD_ENTRY(coriolis) { return hd_coriolis_matrix(m, given[0], given[1], out[0]); }
HD_ENTRY(tip_forces)
{
    return hd_tip_force_rows(m, given[0], given[1], (const double *const *)(given + 2), out[0]);
}
HD_ENTRY(inverse_derivatives)
{
    return hd_inverse_derivatives(m, given[0], given[1], given[2], given[3], out[0], out[1], out[2]);
}
HD_ENTRY(forward_derivatives)
{
    return hd_forward_derivatives(m, given[0], given[1], given[2], given[3], out[0], out[1], out[2]);
}
HD_ENTRY(tip) { return hd_tip_jacobian(m, given[0], *(const int64_t *)given[1], out[0]); }
HD_ENTRY(poses) { return hd_link_poses(m, given[0], given[1], given[2], out[0]); }
HD_ENTRY(point_jacobian) { return hd_point_jacobian(m, given[0], given[1], given[2], out[0]); }
HD_ENTRY(point_bias) { return hd_point_bias(m, given[0], given[1], given[2], given[3], out[0]); }
HD_ENTRY(center) { return hd_center(m, given[0], given[1], given[2], out[0]); }
HD_ENTRY(potential_energy) { return hd_potential_energy(m, given[0], given[1], given[2], out[0]); }
HD_ENTRY(kinetic_energy) { return hd_kinetic_energy(m, given[0], given[1], out[0]); }
HD_ENTRY(centroidal_momentum) { return hd_centroidal_momentum(m, given[0], given[1], given[2], out[0]); }
HD_ENTRY(held)
{
    int64_t feet = 0;
    while (given[4 + feet])
        feet++;
    return hd_held(m, given[0], given[1], given[2], given[3], (const int64_t *const *)(given + 4), feet, out[0],
                   out + 1);
}
HD_ENTRY(place)
{
    const double *table = given[0];
    const int64_t joints = m->joint_count;
    (void)out;
    hd_lay_out(m, (double *)(((uintptr_t)(m + 1) + 63) / 64 * 64));
    hd_set_whole(m);
    hd_set_table(m, table, table + joints, table + 2 * joints, table + 3 * joints);
    return 1;
}

HD_ENTRY(change)
{
    const double *table = given[0];
    const int64_t joints = m->joint_count;
    (void)out;
    hd_set_table(m, table, table + joints, table + 2 * joints, table + 3 * joints);
    return 1;
}

extern const struct hd_entry hd_entries[];
const struct hd_entry hd_entries[] = {
    {"forward", "33 q v n", "v", entry_forward},
    {"forward_under", "33 q v n forces", "v", entry_forward_under},
    {"inverse", "33 q v v", "v", entry_inverse},
    {"gravity", "33 q", "v", entry_gravity},
    {"mass", "q", "vv", entry_mass},
    {"coriolis", "q v", "vv", entry_coriolis},
    {"tip_forces", "33 q forces", "v", entry_tip_forces},
    {"inverse_derivatives", "33 q v v", "vv vv vv", entry_inverse_derivatives},
    {"forward_derivatives", "33 q v n", "vv vv vn", entry_forward_derivatives},
    {"tip", "q leg", "6v", entry_tip},
    {"poses", "33 3 q names", "poses", entry_poses},
    {"point_jacobian", "q 3 leg", "3v", entry_point_jacobian},
    {"point_bias", "q v 3 leg", "3", entry_point_bias},
    {"center", "33 3 q", "3", entry_center},
    {"potential_energy", "33 3 q", "1", entry_potential_energy},
    {"kinetic_energy", "q v", "1", entry_kinetic_energy},
    {"centroidal_momentum", "33 q v", "6", entry_centroidal_momentum},
    {"held", "33 q v n legs", "v forces", entry_held},
    {"place", "t", "nothing", entry_place},
    {"change", "t", "nothing", entry_change},
    {0, 0, 0, 0},
};

#endif
