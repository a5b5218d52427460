cimport cython

from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.control cimport foot_force_kernel
from hexapod_dynamics.control.foot_force_kernel cimport ForceMemory
from hexapod_dynamics.dynamics cimport c_model, kernels

cdef class TorqueMemory:
    cdef readonly object rotation
    cdef readonly object predicted
    cdef readonly object joints
    cdef readonly object nu
    cdef readonly object nudot
    cdef readonly object driven
    cdef readonly object needs
    cdef readonly object tips
    cdef readonly object columns
    cdef readonly object load
    cdef readonly object forces
    cdef readonly object torques
    cdef object workspace
    cdef ForceMemory feet
    cdef c_model.hd_model *model
    cdef double *given_rotation
    cdef double *given_predicted
    cdef double *given_joints
    cdef double *given_nu
    cdef double *given_nudot
    cdef double *given_driven
    cdef double *needed
    cdef double *ends
    cdef double *jacobians
    cdef double *loads
    cdef double *pushes
    cdef double *out

cdef void feet_of(c_model.hd_model *m, double *tips, double *columns) nogil
cdef void find_needed(c_model.hd_model *m, double *rotation, double *q, double *nu, double *nudot, double *tips,
                      double *columns, double *out) nogil
cdef void _find_load(TorqueMemory memory, double slope_x, double slope_y, double height, double clearance) nogil
cdef int find_torques(TorqueMemory memory, ForceMemory feet, double slope_x, double slope_y, double height,
                      double clearance) nogil
cpdef object needed(object workspace, object rotation, object q, object nu, object nudot, object tips, object columns,
                    object out)
@cython.locals(feet=ForceMemory, outcome=cython.int)
cpdef int commanded_torques(TorqueMemory memory, double slope_x, double slope_y, double height, double clearance)
