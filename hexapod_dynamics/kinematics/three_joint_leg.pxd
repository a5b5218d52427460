from libc cimport math

cdef double STRETCHED, PI

cdef double wrapped(double angle) nogil
cdef (double, double, double) foot_at(double q1, double q2, double q3, double l1, double l2, double l3) nogil
cdef (double, double, double, double, double, double) solve_leg(
    double x, double y, double z, double xd, double yd, double zd, double l1, double l2, double l3,
    bint free1, bint free2, bint free3, double held1, double held2, double held3, double straight, double folded) nogil
