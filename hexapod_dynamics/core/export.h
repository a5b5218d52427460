/* The functions of a model that is written for one robot: dynamics/c_export.py declares each with its comment. */

/* Memory of the legs: as much as HD_ROOM says. */
typedef char hd_room_is_enough[HD_BLOCKS * (sizeof(struct hd_leg) + sizeof(struct hd_scratch)) + 64 <= sizeof(double) * HD_ROOM ? 1 : -1];

/* Set the memory up for the whole robot, once; the model is its first part. */
hd_model *hd_init(hd_memory *memory)
{
    char *room = (char *)(((uintptr_t)memory->room + 63) / 64 * 64);
    hd_build_model(&memory->model, &hd_robot_of_export, room, room + HD_BLOCKS * sizeof(struct hd_leg));
    return &memory->model;
}

/* Another morphology: for every joint, how much of its link's length remains (0: missing, 1: whole), what the joint
 * does, and where a locked one stands [rad or m]. 0 in place of an array: whole, HD_MOVES, position 0. Returns n, the
 * number of joints that move; -1, and nothing changes, where a number is impossible or a link has lost the one that it
 * hangs on. The model's body and its external wrench stay. */
int hd_set_morphology(hd_model *m, const double *remaining, const int *state, const double *locked)
{
    double table[4 * HD_JOINTS];
    for (int i = 0; i < HD_LEGS; i++) {
        double inner = 1.0;
        for (int64_t j = hd_robot_of_export.first[i]; j < hd_robot_of_export.first[i + 1]; j++) {
            const double r = remaining ? remaining[j] : 1.0, at = locked ? locked[j] : 0.0;
            const int what = state ? state[j] : HD_MOVES;
            if (!(r >= 0.0 && r <= 1.0) || (inner < 1.0 && r > 0.0))
                return -1;
            if (r > 0.0 && (what < HD_MOVES || what > HD_LIMP || !hd_is_within(at, HD_FARTHEST_POSITION)))
                return -1;
            table[j] = inner = r;
            table[HD_JOINTS + j] = r > 0.0 && what != HD_LOCKED ? 1.0 : 0.0;
            table[2 * HD_JOINTS + j] = r > 0.0 && what == HD_LOCKED ? at : 0.0;
            table[3 * HD_JOINTS + j] = r > 0.0 && what == HD_MOVES ? 1.0 : 0.0;
        }
    }
    hd_change_morphology(m, table);
    return (int)m->moving;
}

/* Accelerations (6 + n) under joint torques tau (n). */
int hd_forward_dynamics(hd_model *m, const double *R, const double *q, const double *nu, const double *tau, double *acceleration)
{
    return hd_forward(m, R, q, nu, tau, 0, acceleration);
}
/* The same under forces (3) in world axes at the tips, an array of HD_LEGS pointers, 0 where there is none. */
int hd_forward_under(hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                     const double *const *forces, double *acceleration)
{
    return hd_forward(m, R, q, nu, tau, forces, acceleration);
}
/* Wrench on the body and joint torques (6 + n) that accelerations (6 + n) need. */
int hd_inverse_dynamics(hd_model *m, const double *R, const double *q, const double *nu, const double *acceleration, double *tau)
{
    return hd_inverse(m, R, q, nu, acceleration, 0, tau);
}
/* Mass matrix (6 + n, 6 + n). */
int hd_mass_matrix(hd_model *m, const double *q, double *M)
{
    return hd_mass(m, q, M);
}
/* Gravity (6 + n) on the left-hand side. */
int hd_gravity_force(hd_model *m, const double *R, const double *q, double *g)
{
    return hd_inverse(m, R, q, 0, 0, 0, g);
}
/* Jacobian (6, 6 + n) of a leg's tip, in the axes of its last link; 0 also where the leg is missing. */
int hd_tip_jacobian(hd_model *m, const double *q, int64_t leg, double *J)
{
    return hd_tip(m, q, leg, J);
}
