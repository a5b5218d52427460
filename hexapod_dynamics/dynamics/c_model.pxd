# The C model of native/include/hd_dynamics.h, as kernels call it. Leg kernels are called by the model's own addresses,
# so that nothing is linked.
from libc.stdint cimport int64_t

cdef extern from "include/hd_dynamics.h" nogil:
    cdef enum:
        HD_TWIST, HD_HEAD, HD_HEAD_FORCE, HD_LINK_SIZE, HD_LINK_MASS

    cdef struct hd_rows:
        int64_t links
        int64_t arm
        int64_t block
        int64_t force
        int64_t screw
        int64_t point

    cdef struct hd_leg:
        int64_t block
        int64_t lane
        int64_t first
        int64_t count
        int64_t last

    cdef struct hd_joint:
        int64_t block
        int64_t lane
        int64_t k

    cdef struct hd_model:
        double *lanes
        double *shared
        hd_leg *legs
        double *moving
        const hd_joint *joints
        int64_t width
        int64_t leg_count
        int64_t joint_count
        hd_rows rows

    double *hd_lane(const hd_model *m, int64_t block, int64_t lane)
    void hd_set_state(hd_model *m, const double *rotation, const double *q, const double *nu, const double *torque)
    void hd_leg_terms(hd_model *m)
    void hd_solve_arrow(hd_model *m)
    void hd_get_acceleration(const hd_model *m, double *out)
    void hd_forward(hd_model *m, const double *rotation, const double *q, const double *nu, const double *torque,
                    double *out)
    void hd_inverse(hd_model *m, const double *rotation, const double *q, const double *nu, const double *nudot,
                    double *out)
