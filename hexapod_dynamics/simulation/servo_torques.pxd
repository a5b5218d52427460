cimport cython
from libc cimport math
from libc.stdint cimport int64_t

from hexapod_dynamics.dynamics cimport c_model
from hexapod_dynamics.simulation cimport servo_kernel

cdef double STOP_STIFFNESS, STOP_DAMPING, CREEP

cdef double stretch(double lag, double band) nogil
cdef double stiffness_at(servo_kernel.Drive *drive, double lag) nogil
cdef double holding_damping(servo_kernel.Servo *servos, servo_kernel.Drive *drive, int64_t joint) nogil
cdef double holding_torque(servo_kernel.Servo *servos, servo_kernel.Drive *drive, int64_t joint, double rate) nogil
@cython.locals(wrong=cython.bint)
cdef bint settle_friction(servo_kernel.Servo *servos, servo_kernel.Drive *drive, int64_t joint, double rate) nogil
cdef void add_servos(
    c_model.hd_model *m, servo_kernel.Servo *servos, servo_kernel.Drive *drive, double *q, double *nu, double h
) nogil
@cython.locals(wrong=cython.bint)
cdef bint settle_servos(
    c_model.hd_model *m, servo_kernel.Servo *servos, servo_kernel.Drive *drive, double *q, double *nu, double h
) nogil
