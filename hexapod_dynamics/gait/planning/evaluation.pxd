cimport cython
from libc cimport math

from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.gait cimport cycle, gait_memory, leg_motion
from hexapod_dynamics.gait.leg_table cimport Leg
from hexapod_dynamics.gait.plan_numbers cimport Plan

cdef struct Point:
    double x
    double y
    double z

cdef struct Spot:
    double x
    double y

cdef struct Segment:
    double knee[3]
    double foot[3]

cdef struct Findings:
    double margin
    double reach
    double range
    double rate
    double apart

cdef double FAR, TURN

cdef class Scratch:
    cdef int legs_count
    cdef int samples
    cdef int bodies
    cdef readonly object angles
    cdef readonly object course
    cdef object kept
    cdef double *q
    cdef Point *margins
    cdef Point *centres
    cdef Spot *feet
    cdef Segment *segments
    cdef Spot *points

cdef Point *points_of(object array, Py_ssize_t count) except NULL
cdef Spot *spots_of(object array, Py_ssize_t count) except NULL
cdef Segment *segments_of(object array, Py_ssize_t count) except NULL
cdef Findings *findings_of(object array) except NULL

@cython.locals(outer=cython.bint)
cdef double margin_in_hull(Spot *points, int count, double x, double y) nogil
cdef double margin_on_two_feet(Spot *points, double *box, double x, double y) nogil
cdef double segment_distance(Segment *segments, int i, Segment *others, int j) nogil
cdef void place_links(
    Leg *legs, int i, double q1, double q2, double q3, Point *out, int first, Segment *segments, int at) nogil
cdef (double, double, double, double) leg_joints(Leg *legs, int i, double x, double y, double z) nogil
cdef void judge(Plan *plan, Leg *legs, double *box, double body_mass, double gravity, double vx, double vy, double wz,
                double guard, Scratch scratch, Findings *found) nogil
@cython.locals(vx=cython.double, vy=cython.double, wz=cython.double)
cpdef object evaluate(object numbers, object table, object box, double body_mass, double gravity, object twist,
                      double guard, Scratch scratch, object found)
cdef void _find_rates(Plan *plan, Leg *legs, Scratch scratch, Findings *found) nogil
@cython.locals(rows=cython.bint)
cdef void zero_moment_course(Plan *plan, Leg *legs, double *box, double body_mass, double gravity, double vx, double vy,
                             double guard, Scratch scratch) nogil
