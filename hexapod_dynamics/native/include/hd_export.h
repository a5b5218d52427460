/* Memory and morphology of a model that is written for one robot, see dynamics/c_export.py. */

/* Set the memory up for the whole robot; call it once. */
hd_model *hd_init(hd_memory *memory)
{
    hd_model *m = &memory->model;
    int used[HD_TYPES] = {0}, first = 0;
    memset(memory, 0, sizeof *memory);
    m->lanes = memory->lanes;
    m->shared = memory->shared;
    m->legs = memory->legs;
    m->moving = memory->moving;
    m->locked = memory->locked;
    m->free = memory->free;
    m->joints = memory->joints;
    m->code = memory->code;
    m->solve_head = &hd_solve_head_of_robot;
    m->links = &hd_links[0][0];
    m->cut = &hd_cuts[0][0];
    m->blocks = HD_BLOCKS, m->row_count = HD_ROW_size, m->width = HD_LANES;
    m->leg_count = HD_LEGS, m->joint_count = HD_JOINTS;
    m->rows = hd_rows_of_robot;
    memcpy(m->shared, hd_shared, sizeof hd_shared);
    for (int i = 0; i < HD_LEGS; i++) {
        const int type = hd_types[i], place = used[type]++;
        const int64_t block = hd_first_blocks[type] + place / HD_LANES, lane = place % HD_LANES;
        double *own = hd_lane(m, block, lane);
        m->legs[i] = (struct hd_leg){block, lane, first, hd_counts[i], hd_counts[i] - 1};
        for (int r = 0; r < 12; r++)
            own[(HD_ROW_mount + r) * HD_LANES] = hd_mounts[i][r];
        for (int k = 0; k < hd_counts[i]; k++) {
            const int j = first + k;
            memory->joints[j] = (struct hd_joint){block, lane, k};
            for (int r = 0; r < HD_LINK_SIZE; r++)
                own[(HD_ROW_links + HD_LINK_SIZE * k + r) * HD_LANES] = hd_links[j][r];
            for (int r = 0; r < 9; r++)
                own[(HD_ROW_axes + 9 * k + r) * HD_LANES] = hd_axes[j][r];
        }
        first += hd_counts[i];
        for (int kernel = 0; kernel < HD_KERNELS; kernel++)
            memory->code[block * HD_KERNELS + kernel] = hd_code[type][kernel];
    }
    hd_set_morphology(m, 0, 0, 0);
    return m;
}

/* See the header. */
int hd_set_morphology(hd_model *m, const double *remaining, const int *state, const double *locked)
{
    double table[4][HD_JOINTS];
    for (int i = 0; i < HD_LEGS; i++) {
        double inner = 1.0;
        for (int64_t k = 0; k < m->legs[i].count; k++) {
            const int64_t j = m->legs[i].first + k;
            const double r = remaining ? remaining[j] : 1.0, at = locked ? locked[j] : 0.0;
            const int what = state ? state[j] : HD_MOVES;
            if (!(r >= 0.0 && r <= 1.0) || (inner < 1.0 && r > 0.0))
                return -1;
            if (r > 0.0 && (what < HD_MOVES || what > HD_LIMP || !hd_are_finite(&at, 1)))
                return -1;
            table[0][j] = inner = r;
            table[1][j] = r > 0.0 && what != HD_LOCKED ? 1.0 : 0.0;
            table[2][j] = r > 0.0 && what == HD_LOCKED ? at : 0.0;
            table[3][j] = r > 0.0 && what == HD_MOVES ? 1.0 : 0.0;
        }
    }
    hd_set_table(m, table[0], table[1], table[2], table[3]);
    return (int)m->moving_count;
}
