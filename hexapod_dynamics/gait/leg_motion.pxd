from libc cimport math

from hexapod_dynamics.gait.leg_table cimport Leg
from hexapod_dynamics.kinematics cimport three_joint_leg

cdef (double, double) carried(double x, double y, double vx, double vy, double wz, double dt) nogil
cdef double fraction(double value) nogil
cdef double minimum_jerk(double s) nogil
cdef double minimum_jerk_rate(double s) nogil
cdef double run_up(double s) nogil
cdef double run_up_rate(double s) nogil
cdef (double, double, double) in_leg_axes(Leg *legs, int i, double x, double y, double z) nogil
cdef (double, double, double) from_mount(Leg *legs, int i, double x, double y, double z) nogil
cdef (double, double, double, double, double, double) leg_angles(
    Leg *legs, int i, double x, double y, double z, double xd, double yd, double zd) nogil
cdef void set_leg(Leg *legs, int i, double x, double y, double z, double xd, double yd, double zd,
                  double speed_limit, double *q, double *qd) nogil
cdef void set_joint(Leg *legs, int i, int k, double angle, double rate, double speed_limit, double *q, double *qd) nogil
cdef void lead_from(double *start, double elapsed, double duration, double *q, double *qd, int count) nogil
cdef void limit_speed(int j, double before, double speed_limit, double dt, double *q, double *qd) nogil
