cimport cython
from libc cimport math

from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.dynamics cimport c_model
from hexapod_dynamics.simulation cimport ground_kernel, servo_kernel
from hexapod_dynamics.simulation cimport step as stepping

cdef struct Observed:
    double up[3]
    double velocity[3]
    double turning[3]
    double height
    double asked[3]

cdef struct Result:
    double reward
    double fallen
    double power

cdef double SPEED_SCALE, TURN_ARM, TILTED

cdef class PeriodMemory:
    cdef stepping.StepMemory steps
    cdef object kept
    cdef readonly object out
    cdef readonly object results
    cdef int size
    cdef double reach
    cdef double power_weight
    cdef double *pose
    cdef double *asked
    cdef double *limits
    cdef Observed *observed
    cdef double *numbers
    cdef Result *result

@cython.locals(exists=cython.bint)
cdef void _observe(PeriodMemory memory, stepping.StepMemory robot) nogil
cdef void _run(PeriodMemory memory, stepping.StepMemory robot, double *action, double period, int steps) nogil
cpdef object observe(PeriodMemory memory)
@cython.locals(robot=stepping.StepMemory)
cpdef object run_period(PeriodMemory memory, object action, double period, int steps)
