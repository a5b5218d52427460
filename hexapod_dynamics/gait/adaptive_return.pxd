cimport cython
from hexapod_dynamics.gait cimport leg_motion
from hexapod_dynamics.gait.gait_memory cimport WalkMemory

@cython.locals(found=cython.bint)
cdef bint begin_return(WalkMemory walk) nogil
cdef void feet_below(WalkMemory walk) nogil
cdef void return_leg(WalkMemory walk, int i, double s, double span) nogil
cdef void end_return(WalkMemory walk) nogil
