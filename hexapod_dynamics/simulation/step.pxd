cimport cython
from libc cimport math

from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.dynamics cimport c_model, kernels
from hexapod_dynamics.simulation cimport contact, ground_kernel, servo_kernel, servo_torques

cdef int CORRECTIONS

cdef class StepMemory:
    cdef readonly object workspace
    cdef readonly object world
    cdef readonly object state
    cdef object room
    cdef readonly int joint_count
    cdef int leg_count
    cdef int places
    cdef int rise_count
    cdef c_model.hd_model *model
    cdef double *position
    cdef double *rotation
    cdef double *q
    cdef double *nu
    cdef double *box
    cdef ground_kernel.Plane *plane
    cdef ground_kernel.Rise *rises
    cdef contact.Law *law
    cdef servo_kernel.Drive *drive
    cdef servo_kernel.Servo *servos
    cdef double *acceleration
    cdef double *foot_forces
    cdef double *ground_force
    cdef long long *contact_count
    cdef contact.Slid *slid
    cdef double *no_torque
    cdef contact.Contact *contacts
    @cython.locals(deepest=cython.int, size=cython.Py_ssize_t, place=cython.int)
    cdef object _make_room(self, object workspace)

cdef void move_body(double *position, double *rotation, double *nu, double h) nogil
cdef void _set_terms(StepMemory memory) nogil
@cython.locals(wrong=cython.bint)
cdef void step(StepMemory memory, double h) nogil
