cimport cython
from libc cimport math

from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.gait cimport adaptive_kernel
from hexapod_dynamics.gait cimport adaptive_state as layout
from hexapod_dynamics.gait.gait_memory cimport WalkMemory
from hexapod_dynamics.gait.leg_table cimport Leg
from hexapod_dynamics.gait.planning cimport evaluation

cdef struct Found:
    double score
    double margin
    double miss
    double rate

cdef double ENOUGH, MISSED, FASTEST, SPEEDING, CYCLES, STEP
cdef int MOST

cdef class Scratch:
    cdef int legs_count
    cdef int bodies
    cdef object kept
    cdef evaluation.Point *centres
    cdef evaluation.Point *feet
    cdef evaluation.Spot *points
    cdef evaluation.Segment *segment
    cdef double *before

cdef Found *found_of(object array) except NULL
cdef void rehearse(WalkMemory walk, double *box, double body_mass, double gravity, double least, Scratch scratch,
                   Found *found) nogil
cpdef object first_cycle(WalkMemory walk, object box, double body_mass, double gravity, double least, Scratch scratch,
                         object found)
cdef double _margin(Leg *legs, double body_mass, double gravity, int k, Scratch scratch) nogil
