cimport cython
from cpython cimport buffer

cdef double *numbers(object array, Py_ssize_t count) except NULL
cdef long long *integers(object array, Py_ssize_t count) except NULL
cdef void *structs(object array, object layout, Py_ssize_t count) except NULL
cdef void *struct(object array, object layout) except NULL

@cython.locals(view=buffer.Py_buffer)
cdef void *address_of(object array, object layout) except NULL
