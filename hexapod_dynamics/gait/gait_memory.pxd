from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.gait cimport adaptive_state, tripod_state
from hexapod_dynamics.gait.leg_table cimport Leg
from hexapod_dynamics.gait.plan_numbers cimport Plan

cdef Leg *legs_of(object table) except NULL
cdef Plan *plan_of(object array) except NULL

cdef class WalkMemory:
    cdef readonly object arrays
    cdef int legs_count
    cdef Plan *plan
    cdef Leg *legs
    cdef adaptive_state.Settings *settings
    cdef adaptive_state.Command *command
    cdef adaptive_state.State *state
    cdef adaptive_state.Foot *feet
    cdef double *start
    cdef double *position
    cdef double *velocity

cdef class TripodMemory:
    cdef readonly object arrays
    cdef int legs_count
    cdef tripod_state.Parameters *parameters
    cdef Leg *legs
    cdef tripod_state.State *state
    cdef tripod_state.Foot *feet
    cdef double *command
    cdef double *start
    cdef double *position
    cdef double *velocity
