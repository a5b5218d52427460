cimport cython
from libc cimport math

from hexapod_dynamics.gait cimport adaptive_feet, adaptive_press, adaptive_return, cycle, leg_motion
from hexapod_dynamics.gait cimport adaptive_state as layout
from hexapod_dynamics.gait.gait_memory cimport WalkMemory

cdef double LIFTING, SHIFTING, STARTING, LOWERING, MOVING, RETURNING, QUICK, IN_PLACE, LEVEL, LEVEL_TIME, INCLINED, PATIENCE
cdef double BEYOND, ROWING_TILT

cdef void _follow_command(
    layout.Settings *settings, layout.Command *command, layout.State *state, double share, double dt) nogil
cdef double _pace(cycle.Plan *plan) nogil
cdef (double, double) planned_sway(WalkMemory walk, int axis) nogil
cdef (double, double, double) _current_sway(WalkMemory walk, int axis) nogil
cdef void _bake(WalkMemory walk) nogil
cdef void begin(WalkMemory walk, int mode, bint quick) nogil
cdef void _go_on(WalkMemory walk) nogil
cdef double standing_height(WalkMemory walk) nogil
cdef void _change_height(layout.State *state, double goal) nogil
@cython.locals(share=cython.double, walked=cython.double)
cdef void _advance_mode(WalkMemory walk, double dt) nogil
cdef void _joints(WalkMemory walk, double dt, bint limited) nogil
cdef void _shift_body(layout.Command *command, layout.State *state, double dt) nogil
cdef bint _tipping(WalkMemory walk, double dt) nogil
@cython.locals(blending=cython.bint)
cdef void tick(WalkMemory walk, double dt, bint limited) nogil
cdef (double, double, double) body_place(WalkMemory walk) nogil
cdef (double, double) body_speed(WalkMemory walk) nogil
