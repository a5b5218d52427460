/* What Python and scalar C see of the core: a robot, the model of one morphology, and the functions of a width.
 *
 * Units are SI; twists and wrenches have the linear part first. Inertias are xx yy zz xy xz yz.
 */
#ifndef HD_ROBOT_H
#define HD_ROBOT_H
#include <stdint.h>

/* Joints of a leg, legs, joints in all. A C export has the numbers of its robot, and none of the tables below. */
#ifndef HD_ONE_ROBOT
enum { HD_MOST_JOINTS = 6, HD_MOST_LEGS = 8, HD_MOST = 48 };
#endif

/* A joint and its link, in axes parallel to those of the leg's mount when all joints stand at zero. */
struct hd_joint {
    double offset[3];           /* from the previous joint, or from the mount */
    double end[3], mass, h[3];  /* from the joint to the link's end; h: mass times centre of mass */
    double inertia[6], rotor;   /* about the joint; of the motor's rotor */
    double axis[3];
    double turn, slide;         /* rotation [1] and translation [m/rad, or 1] along the axis for each unit of q */
    double direction[3], along; /* of the link, and its inertia about that: what a cut needs */
    double central[6], com[3];  /* inertia about the centre of mass, centre of mass from the joint */
    double axes[9];             /* rotation of the link's axes, row by row */
};

struct hd_robot {
    int64_t legs, joints, first[HD_MOST_LEGS + 1]; /* first: of each leg, its first joint among all */
    double gravity, mass, h[3], inertia[6];        /* of the main body, about base_link's origin */
    double mount[HD_MOST_LEGS][12];                /* rotation row by row, position */
    struct hd_joint joint[HD_MOST];
};

struct hd_leg;     /* the legs that stand in the lanes of one register: leg.h */
struct hd_scratch; /* intermediate results of a call: leg.h */

/* A joint that exists and moves: its index among all joints, its place in row q of the legs, 0 where it is limp; where its
 * leg's lane begins in the scratch memory, its place in the leg. */
struct hd_free {
    int64_t joint, place;
    double driven;
    int64_t scratch, k;
};

/* The model of one morphology. `mass`, `h`, `inertia` are those of the main body with its payload, `external` is a wrench
 * on the body that forward dynamics includes; both may be changed between calls. */
struct hd_model {
    const struct hd_robot *robot;
    const struct hd_functions *run;
    int64_t moving, blocks, shape;           /* joints that move; structs of `legs`; which kernels fit the legs */
    int64_t last[HD_MOST_LEGS];              /* last link that exists, -1: none */
    double remaining[HD_MOST];               /* share of a link's length */
    double moves[HD_MOST], locked[HD_MOST];  /* 1: exists and moves, else 0; position of a locked joint */
    struct hd_free free[HD_MOST];
    int64_t start[HD_MOST_LEGS + 1];         /* of each leg, its first joint among those that move */
    double gravity, mass, h[3], inertia[6], external[6], links_mass; /* links_mass: of all links that exist */
    struct hd_leg *legs;
    struct hd_scratch *scratch;
};

#ifndef HD_ONE_ROBOT
struct hd_world;

/* Functions for one width. Those that return int return 1, or 0 where R is no rotation or a number is not finite.
 *
 * q has all joints of the robot; nu, nudot and results have 6 + n entries, tau n: those of the joints that move. In the
 * functions `_all` they have 6 + joints and joints entries, what does not move is ignored and zero in results, the
 * external wrench acts, and nothing but the positions is checked: of R, any matrix, only the last row counts.
 */
#define HD_FUNCTIONS(F) \
    /* bytes of `legs` and of `scratch`; a model of the whole robot on them, and its change to a table of Morphology */ \
    F(int64_t, leg_bytes, (const struct hd_robot *)) \
    F(int64_t, scratch_bytes, (const struct hd_robot *)) \
    F(void, build_model, (struct hd_model *, const struct hd_robot *, void *legs, void *scratch)) \
    F(void, change_morphology, (struct hd_model *, const double *table)) \
    F(int, forward, (struct hd_model *, const double *R, const double *q, const double *nu, const double *tau, \
                     const double *const *tip_forces, double *nudot)) \
    F(int, inverse, (struct hd_model *, const double *R, const double *q, const double *nu, const double *nudot, \
                     const double *const *tip_forces, double *tau)) \
    F(int, forward_all, (struct hd_model *, const double *R, const double *q, const double *nu, const double *tau, double *nudot)) \
    F(int, inverse_all, (struct hd_model *, const double *R, const double *q, const double *nu, const double *nudot, double *tau)) \
    F(int, mass, (struct hd_model *, const double *q, double *M)) \
    F(int, coriolis, (struct hd_model *, const double *q, const double *nu, double *C)) \
    F(int, tip, (struct hd_model *, const double *q, int64_t leg, double *J)) \
    F(int, inverse_derivatives, (struct hd_model *, const double *R, const double *q, const double *nu, const double *nudot, \
                                 double *by_configuration, double *by_nu, double *M)) \
    F(int, forward_derivatives, (struct hd_model *, const double *R, const double *q, const double *nu, const double *tau, \
                                 double *by_configuration, double *by_nu, double *by_tau)) \
    F(int, regressor, (struct hd_model *, const double *R, const double *q, const double *nu, const double *nudot, double *Y)) \
    F(int, hold, (struct hd_model *, const double *R, const double *q, const double *nu, const double *tau, \
                  const int64_t *legs, int64_t count, double *nudot, double *forces)) \
    F(int, link_poses, (struct hd_model *, const double *R, const double *p, const double *q, double *poses)) \
    F(int, point_jacobian, (struct hd_model *, const double *q, int64_t leg, int64_t link, const double *point, double *J)) \
    F(int, point_bias, (struct hd_model *, const double *q, const double *nu, int64_t leg, int64_t link, const double *point, \
                        double *bias)) \
    F(int, center, (struct hd_model *, const double *R, const double *p, const double *q, double *center)) \
    F(int, potential_energy, (struct hd_model *, const double *R, const double *p, const double *q, double *energy)) \
    F(int, kinetic_energy, (struct hd_model *, const double *q, const double *nu, double *energy)) \
    F(int, centroidal_momentum, (struct hd_model *, const double *R, const double *q, const double *nu, double *momentum)) \
    F(int64_t, batch, (const struct hd_model *, int forward, int all, const int64_t *states, int64_t count, const double *R, \
                       const double *q, const double *nu, const double *given, double *out)) \
    F(void, steps, (struct hd_model *, struct hd_world *, double h, int64_t count)) \
    F(void, strike, (struct hd_model *, const double *q, const double *impulse, double *nu)) \
    F(double, resting_height, (struct hd_model *, const struct hd_world *)) \
    F(void, feet, (struct hd_model *, const double *q, double *ends, double *columns))
#define HD_POINTER(type, name, arguments) type(*name) arguments;
struct hd_functions {
    int64_t lanes;
    HD_FUNCTIONS(HD_POINTER)
};

extern const struct hd_functions hd_table_2, hd_table_4, hd_table_8; /* the last two on x86-64 only */
#endif
#endif
