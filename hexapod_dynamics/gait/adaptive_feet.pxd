from libc cimport math

cimport cython
from hexapod_dynamics.gait cimport adaptive_state as layout
from hexapod_dynamics.gait cimport cycle, leg_motion
from hexapod_dynamics.gait.gait_memory cimport WalkMemory

cdef double STANDING, NEAR, SETTLING, CLEAR

cdef bint going(layout.State *state) nogil
cdef bint asked(layout.Command *command) nogil
cdef (double, double) touch_down(WalkMemory walk, int i, double s) nogil
cdef void carry_ground(WalkMemory walk, double dt) nogil
cdef void standing_rates(WalkMemory walk, double pace) nogil
@cython.locals(down=cython.bint)
cdef bint put_feet_down(WalkMemory walk, double dt) nogil
@cython.locals(near=cython.bint, home=cython.bint, halting=cython.bint)
cdef bint step_feet(WalkMemory walk, double dt) nogil
cdef bint feet_are_in_place(WalkMemory walk) nogil
cdef void move_feet(WalkMemory walk) nogil
cdef void place_all_feet(WalkMemory walk) nogil
