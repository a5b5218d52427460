/* Memory of a robot's model: what every function of these headers works on.
 *
 * The model of a robot has one "lane" for each leg, so that a vector register holds the same number of several legs.
 * Legs of one type (equal joint axes, equal zeros among their parameters) lie side by side in a block of lanes:
 *
 *     lanes[(block * row_count + row) * width + lane]
 *
 * The rows of a lane are the sections of struct hd_rows: parameters of the leg, its state, and results. What all legs
 * have in common (twist and acceleration of the body, the head of the arrow-shaped mass matrix) stands in `shared`.
 *
 * A missing or locked joint is a zero in the row `mask`; arrays always have the robot's full size, so a change of the
 * morphology changes numbers only. Farghdani & Chhabra 2025, section V.
 *
 * Units are SI. Twists and wrenches have the linear part first. hexapod_dynamics/dynamics/workspace.py states the same
 * layout for Python.
 */
#ifndef HD_MODEL_H
#define HD_MODEL_H

#include <stdint.h>

/* A model that is written for one robot (ros2 run hexapod_dynamics compile --out) exports these functions. */
#ifndef HD_PUBLIC
#define HD_PUBLIC static inline
#endif

/* First places of the numbers in hd_model.shared. */
enum {
    HD_TWIST = 0,             /* twist V of the body, in its own axes */
    HD_BASE_ACCELERATION = 6, /* acceleration of the body; gravity counts as an upward acceleration */
    HD_COMPOSITE = 12,        /* sum over the legs of (m, h, I), body frame: mass, m com, xx yy zz xy xz yz */
    HD_HEAD = 22,             /* 6x6 head of the mass matrix, lower triangle: row r column c at r (r + 1) / 2 + c */
    HD_HEAD_FORCE = 43,       /* right-hand side of the body's rows */
    HD_HEAD_ACC = 49,         /* accelerations of the body */
    HD_EXTERNAL = 55,         /* external wrench on the body, body frame */
    HD_GRAVITY = 61,          /* acceleration of gravity, a positive number */
    HD_BODY = 62,             /* (m, h, I) of the main body */
    HD_WRENCH_BY_TWIST = 72,  /* derivatives of the wrench on the body by its twist, 6x6 row by row */
    HD_BASE_POSE = 72,        /* rotation 9 and position 3 of the body in the world, while `poses` runs */
    HD_MOMENTUM = 22,         /* momentum 6, while `coriolis` runs */
    HD_COMPOSITE_RATE = 28,   /* rate of h 3 and I 6 of the composite, while `coriolis` runs */
    HD_SHARED_SIZE = 108
};

/* Numbers of a link: offset from the inner joint 3, end 3, mass, m com 3, inertia about the joint 6, rotor inertia. */
enum { HD_LINK_SIZE = 17, HD_LINK_END = 3, HD_LINK_MASS = 6, HD_ROTOR = 16 };
/* Numbers for cutting a link: its direction 3, inertia about it; inertia about the centre of mass 6, com 3. */
enum { HD_CUT_SIZE = 13 };

/* Kernels of a leg; the generated code has one of each for every type of leg. */
enum hd_kernel {
    HD_TERMS,       /* arrow, right-hand side and geometry */
    HD_ELIMINATE,   /* Schur complement of the leg's block onto the head */
    HD_FORWARD,     /* both of these in one, without geometry */
    HD_SUBSTITUTE,  /* the joints' accelerations from the body's */
    HD_INVERSE,     /* joint torques and the wrench on the body for given accelerations */
    HD_FRAMES,      /* screws, ends and rotations of the links, body frame */
    HD_CENTER,      /* mass and mass times centre of mass */
    HD_POSES,       /* poses of the links in the world */
    HD_CORIOLIS,    /* the leg's share of the Coriolis matrix */
    HD_DERIVATIVES, /* derivatives of inverse dynamics */
    HD_KERNELS
};
typedef void (*hd_leg_kernel)(double *block, double *shared);

/* First row of each section of a lane, for legs of up to `count` joints. */
struct hd_rows {
    int64_t count;
    int64_t mount;           /* rotation 9 row by row, position 3, of the mount in the body */
    int64_t links;           /* HD_LINK_SIZE for each link */
    int64_t mask;            /* 1: the joint moves, 0: it is locked or missing */
    int64_t q;               /* joint positions */
    int64_t rate;            /* joint rates */
    int64_t torque;          /* joint torques */
    int64_t qdd;             /* joint accelerations, input of `inverse` */
    int64_t arm;             /* 6 for each joint: its column of M_0i */
    int64_t block;           /* lower triangle of M_ii */
    int64_t force;           /* right-hand side of the joints' rows */
    int64_t screw;           /* 6 for each joint, body frame */
    int64_t point;           /* 3 for each link: its end, body frame */
    int64_t factor;          /* L of M_ii = L D L^T, below the diagonal */
    int64_t scaled;          /* 6 for each joint: D^-1 L^-1 M_i0 */
    int64_t reduced;         /* D^-1 L^-1 force */
    int64_t acc;             /* joint accelerations, result */
    int64_t out;             /* joint torques, result of `inverse` */
    int64_t upper;           /* 6 for each joint k: column k of C_0i */
    int64_t lower;           /* 6 for each joint k: row k of C_i0 */
    int64_t square;          /* C_ii, `count` columns */
    int64_t frame;           /* 9 for each link: rotation of its frame in the body */
    int64_t torque_by_q;     /* square: row k the derivatives of joint k's torque */
    int64_t torque_by_rate;
    int64_t torque_by_twist; /* 6 for each joint */
    int64_t wrench_by_q;     /* 6 for each joint: derivatives of the wrench on the body by joint k's position */
    int64_t wrench_by_rate;
    int64_t axes;            /* 9 for each link: rotation of its axes in its frame */
    int64_t pose;            /* 12 for each link: rotation 9 and start 3 in the world, result of `poses` */
    int64_t size;            /* number of rows */
};

struct hd_leg {
    int64_t block, lane, first; /* first: its first joint among all joints */
    int64_t count, last;        /* joints of the whole leg; last link that exists, -1: none */
};

struct hd_joint {
    int64_t block, lane, k; /* k: place in its leg */
};

/* A joint that exists and moves: its index among all, its place in row 0 of a section, 0 where it is limp, else 1. */
struct hd_free {
    int64_t joint, place;
    double driven;
};

struct hd_model {
    int64_t moving_count; /* n: joints that exist and move */
    /* memory of this morphology */
    double *lanes;
    double *shared;
    struct hd_leg *legs;
    double *moving; /* 1: the joint moves, 0: it is locked or missing */
    double *locked; /* position where it is locked */
    struct hd_free *free;
    /* what all morphologies of the robot have in common */
    const struct hd_joint *joints;
    const hd_leg_kernel *code;       /* HD_KERNELS for each block */
    const hd_leg_kernel *solve_head; /* one */
    const double *links;             /* of the whole robot, HD_LINK_SIZE for each joint */
    const double *cut;               /* HD_CUT_SIZE for each joint */
    const double *whole_lanes;
    const double *whole_shared;
    const struct hd_leg *whole_legs;
    double *scratch;
    int64_t blocks, row_count, width, leg_count, joint_count;
    struct hd_rows rows;
};

/* Code that is made for one robot knows the layout: HD_ROW_q and so on, and HD_LANES, are constants there. */
#ifdef HD_FIXED_ROWS
#define HD_ROW(model, section) ((int64_t)HD_ROW_##section)
#define HD_WIDTH(model) ((int64_t)HD_LANES)
#define HD_ROW_COUNT(model) ((int64_t)HD_ROW_size)
#else
#define HD_ROW(model, section) ((model)->rows.section)
#define HD_WIDTH(model) ((model)->width)
#define HD_ROW_COUNT(model) ((model)->row_count)
#endif

/* Address of row 0 of a lane; row r lies HD_WIDTH(model) * r doubles behind it. */
static inline double *hd_lane(const struct hd_model *m, int64_t block, int64_t lane)
{
    return m->lanes + block * HD_ROW_COUNT(m) * HD_WIDTH(m) + lane;
}

static inline double *hd_at(const struct hd_model *m, int64_t block, int64_t lane, int64_t row)
{
    return hd_lane(m, block, lane) + row * HD_WIDTH(m);
}

/* Run one of a leg's kernels on every block. */
static inline void hd_run(const struct hd_model *m, enum hd_kernel which)
{
    const int64_t size = HD_ROW_COUNT(m) * HD_WIDTH(m);
    for (int64_t block = 0; block < m->blocks; block++)
        m->code[block * HD_KERNELS + which](m->lanes + block * size, m->shared);
}

#endif
