/* How Python calls a function of a robot's library: its name, shapes of arguments and results; see _model.c.
 *
 * Shapes of arguments behind the memory: 33 (3, 3), 3 (3), q (joints), v (6 + n), n (n), t (4, joints); leg, an int64
 * array of indices; forces, a (3) array for each leg or ABSENT; legs, any number of int64 arrays; names, a tuple.
 * Results: v, vv, 6v, 3v, vn, 3, 6; 1, a float; forces, a (3) array for each of `legs`; poses, a dict by `names`;
 * nothing, which gives n.
 *
 * given: pointers to the arguments' numbers, NULL behind the last one and for what is ABSENT. Functions return whether
 * they computed.
 */
#ifndef HD_ENTRY_H
#define HD_ENTRY_H

#include "hd_model.h"

struct hd_entry {
    const char *name, *shapes, *results;
    int (*call)(struct hd_model *m, const void *const *given, double *const *out);
};

#endif
