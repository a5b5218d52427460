from libc cimport math

from hexapod_dynamics.gait cimport leg_motion
from hexapod_dynamics.gait.leg_table cimport Leg
from hexapod_dynamics.gait.plan_numbers cimport Plan

cdef double TURN, SPEED_UNIT, TURN_UNIT, UP, START, RAMP, RISING

cdef (double, double) over_ground(double s) nogil
cdef (double, double) lifted(double s) nogil
cdef (double, double) sway(Plan *plan, double phase, int axis, double vx, double vy, double wz) nogil
cdef (double, double) sway_at(Plan *plan, double c1, double s1, int axis, double vx, double vy, double wz) nogil
cdef (double, double) raised(Plan *plan, double phase) nogil
cdef (double, double) progress(Plan *plan, double phase) nogil
cdef double stance_time(Plan *plan, double p) nogil
cdef (double, double, double, int) cycle_foot(
    Plan *plan, Leg *legs, int i, double phase, double vx, double vy, double wz) nogil
