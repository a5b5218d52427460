/* The functions of a model that is written for one robot: see dynamics/c_export.py, which declares them. */

/* Memory of the legs: as much as HD_ROOM says. */
typedef char hd_room_is_enough[HD_BLOCKS * (sizeof(struct hd_leg) + sizeof(struct hd_scratch)) + 64 <= sizeof(double) * HD_ROOM ? 1 : -1];

hd_model *hd_init(hd_memory *memory)
{
    memory->model.run = 0;
    hd_set_morphology(&memory->model, 0, 0, 0);
    return &memory->model;
}

int hd_set_morphology(hd_model *m, const double *remaining, const int *state, const double *locked)
{
    hd_memory *memory = (hd_memory *)m; /* the model is its first part */
    char *room = (char *)(((uintptr_t)memory->room + 63) / 64 * 64);
    double table[4 * HD_JOINTS];
    for (int i = 0; i < HD_LEGS; i++) {
        double inner = 1.0;
        for (int64_t j = hd_robot_of_export.first[i]; j < hd_robot_of_export.first[i + 1]; j++) {
            const double r = remaining ? remaining[j] : 1.0, at = locked ? locked[j] : 0.0;
            const int what = state ? state[j] : HD_MOVES;
            if (!(r >= 0.0 && r <= 1.0) || (inner < 1.0 && r > 0.0))
                return -1;
            if (r > 0.0 && (what < HD_MOVES || what > HD_LIMP || !hd_are_finite(&at, 1)))
                return -1;
            table[j] = inner = r;
            table[HD_JOINTS + j] = r > 0.0 && what != HD_LOCKED ? 1.0 : 0.0;
            table[2 * HD_JOINTS + j] = r > 0.0 && what == HD_LOCKED ? at : 0.0;
            table[3 * HD_JOINTS + j] = r > 0.0 && what == HD_MOVES ? 1.0 : 0.0;
        }
    }
    hd_set(m, &hd_robot_of_export, table, room, room + HD_BLOCKS * sizeof(struct hd_leg));
    return (int)m->moving;
}

int hd_forward_dynamics(hd_model *m, const double *R, const double *q, const double *nu, const double *tau, double *out)
{
    return hd_forward(m, R, q, nu, tau, 0, out);
}
int hd_forward_under(hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                     const double *const *forces, double *out)
{
    return hd_forward(m, R, q, nu, tau, forces, out);
}
int hd_inverse_dynamics(hd_model *m, const double *R, const double *q, const double *nu, const double *nudot, double *out)
{
    return hd_inverse(m, R, q, nu, nudot, out);
}
int hd_mass_matrix(hd_model *m, const double *q, double *M) { return hd_mass(m, q, M); }
int hd_gravity_force(hd_model *m, const double *R, const double *q, double *g) { return hd_inverse(m, R, q, 0, 0, g); }
int hd_tip_jacobian(hd_model *m, const double *q, int64_t leg, double *J) { return hd_tip(m, q, leg, J); }
