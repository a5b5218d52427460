cimport cython
from libc cimport math

from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.gait cimport gait_memory, leg_motion
from hexapod_dynamics.gait.leg_table cimport Leg
from hexapod_dynamics.gait.plan_numbers cimport Plan
from hexapod_dynamics.gait.planning cimport evaluation

cdef double REACH_LEFT, RANGE_LEFT, SPEED_SHARE, LEGS_APART, STANDING_AFTER, ENOUGH
cdef double FAST_PERIOD, FAST_SPEED_SHARE, FAST_MARGIN, BESIDE

cdef class Problem:
    cdef object kept
    cdef int rows
    cdef double spread, speed_limit, fast, mass, gravity
    cdef double period, period_width, duty, duty_width
    cdef int used_count, twist_count
    cdef evaluation.Scratch scratch
    cdef Plan *plan
    cdef Leg *legs
    cdef double *phases
    cdef long long *used
    cdef evaluation.Spot *neutral
    cdef double *box
    cdef evaluation.Point *twists
    cdef evaluation.Findings *found

cdef double _broken(evaluation.Findings *found, double speed) nogil
cdef void _judge(Problem problem, double vx, double vy, double wz) nogil
cdef double _cost(Problem problem, double *x, int at, int count) nogil
cdef void _fill(Problem problem, double *x, int at, int count) nogil

@cython.locals(count=cython.int, size=cython.int, k=cython.int)
cpdef object costs(Problem problem, object points, object out)
