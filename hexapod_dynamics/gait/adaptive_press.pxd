from hexapod_dynamics.gait cimport leg_motion
from hexapod_dynamics.gait.gait_memory cimport WalkMemory

cdef double DEPTH, PRESSING, MOVES

cdef bint press_foot(WalkMemory walk) nogil
