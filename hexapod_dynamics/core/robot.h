/* What Python and other C code see of the core: the description of a robot, a model, the table of functions. */
#ifndef HD_H
#define HD_H
#include <stdint.h>

enum { HD_JOINTS = 6, HD_LEGS = 8, HD_ALL = 48 }; /* most joints of a leg, legs, joints in all */

/* A leg's joint and its link, in axes parallel to the mount frame with all joints at zero. */
struct hd_joint {
    double offset[3], end[3], mass, h[3], inertia[6], rotor;
    double axis[3], turn, slide; /* turn: 1, of a prismatic joint 0; slide [m/rad or 1] along the axis */
    double direction[3], along, central[6], com[3]; /* for cutting the link */
    double axes[9];                                 /* link axes in the frame */
};
struct hd_robot {
    int64_t legs, joints, first[HD_LEGS + 1];
    double gravity, mass, h[3], inertia[6], mount[HD_LEGS][12]; /* rotation, position */
    struct hd_joint joint[HD_ALL];
};

struct hd_leg; /* lanes; known to units that are compiled for a width */
struct hd_free { int64_t joint, place; double driven; };
struct hd_model {
    const struct hd_robot *robot;
    const struct hd_functions *run;
    int64_t moving, blocks, shape;
    int64_t last[HD_LEGS];                       /* last link that exists, -1: none */
    double moves[HD_ALL], locked[HD_ALL];
    struct hd_free free[HD_ALL];
    double gravity, mass, h[3], inertia[6];      /* main body, with its payload */
    struct hd_leg *legs;
};

struct hd_world;
struct hd_functions {
    int64_t lanes;
    int64_t (*size)(const struct hd_robot *);
    void (*set)(struct hd_model *, const struct hd_robot *, const double *table, void *memory);
    int (*forward)(struct hd_model *, const double *R, const double *q, const double *nu, const double *tau,
                   const double *const *forces, double *out);
    int (*inverse)(struct hd_model *, const double *R, const double *q, const double *nu, const double *nudot,
                   double *out);
    int (*mass)(struct hd_model *, const double *q, double *out);
    int (*coriolis)(struct hd_model *, const double *q, const double *nu, double *out);
    int (*jacobian)(struct hd_model *, const double *q, int64_t leg, double *out);
    int (*derivatives)(struct hd_model *, const double *R, const double *q, const double *nu, const double *nudot,
                       double *by_conf, double *by_nu, double *mass);
    int64_t (*batch)(struct hd_model *, int64_t count, const double *R, const double *q, const double *nu,
                     const double *tau, double *out, void *memory);
    void (*steps)(struct hd_model *, struct hd_world *, double h, int64_t count);
    int64_t (*batch_size)(const struct hd_model *);
};
extern const struct hd_functions hd_table_2, hd_table_4, hd_table_8; /* the last two on x86-64 only */
#endif
