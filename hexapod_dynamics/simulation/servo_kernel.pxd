from libc cimport math
from libc.stdint cimport int64_t

from hexapod_dynamics cimport kernel_memory

cdef double ROUNDING

cdef struct Drive:
    double stiffness
    double damping
    double torque_limit
    double speed_limit
    double dead_band
    double feed_forward

cdef struct Servo:
    double setpoint
    double rate
    double target
    double speed
    double torque
    double saturated
    double loaded
    double driven
    double lower
    double upper
    double stopped
    double holds
    double held
    double damping
    double viscous
    double dry
    double sliding
    double friction

cdef Drive *drive_of(object array) except NULL
cdef Servo *servos_of(object array) except NULL
cdef double quantised(double angle, double resolution) nogil
cdef void send(Servo *servos, Drive *drive, int64_t joint, double target, double duration) nogil
cdef void move(Servo *servos, int64_t count, double h) nogil
