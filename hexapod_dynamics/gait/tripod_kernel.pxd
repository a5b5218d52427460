cimport cython
from libc cimport math

from hexapod_dynamics.gait cimport leg_motion
from hexapod_dynamics.gait.gait_memory cimport TripodMemory
from hexapod_dynamics.gait.leg_table cimport Leg
from hexapod_dynamics.gait.tripod_state cimport Foot, Parameters, State
from hexapod_dynamics.kinematics cimport three_joint_leg

cdef double PI, STANDING, NEAR, RETARGETING, ON_THE_BOUNDARY

cdef (double, double) stroke(Parameters *parameters, Leg *legs, int i, double vx, double vy, double wz) nogil
cdef double longest(TripodMemory gait, double vx, double vy, double wz) nogil
cdef void _filter(Parameters *parameters, double *command, State *state, double dt) nogil
cdef (double, double) _touch_down(Parameters *parameters, Leg *legs, int i, State *state, double s) nogil
cdef (double, double) _swing(Parameters *parameters, Leg *legs, Foot *feet, int i, State *state, double s) nogil
cdef (double, double) _lift(Parameters *parameters, double s, double amplitude) nogil
cdef void _carry_ground(Foot *feet, int i, double vx, double vy, double wz, double dt) nogil
cdef void _lift_off(Parameters *parameters, Leg *legs, Foot *feet, int i, State *state, double since) nogil
cdef void put_feet(TripodMemory gait) nogil
@cython.locals(halted=cython.bint, changes=cython.bint)
cdef void _advance_feet(TripodMemory gait, double dt) nogil
cdef void _joints(TripodMemory gait) nogil
@cython.locals(blending=cython.bint)
cdef void tick(TripodMemory gait, double dt) nogil
cdef bint reaches_all(TripodMemory gait, double height, double length, int directions, int samples) nogil
cdef bint _is_placed(TripodMemory gait, int i, double height) nogil
