from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.dynamics cimport c_model

cdef c_model.hd_model *model_of(object workspace) except NULL
