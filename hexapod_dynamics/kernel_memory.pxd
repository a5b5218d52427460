cimport cython
from cpython cimport buffer

cdef int FLOAT64, INT64

cdef double *numbers(object array, Py_ssize_t count) except NULL
cdef double *values(object array, Py_ssize_t count) except NULL
cdef long long *integers(object array, Py_ssize_t count) except NULL
cdef void *structs(object array, object layout, Py_ssize_t count) except NULL
cdef void *struct(object array, object layout) except NULL

@cython.locals(view=buffer.Py_buffer, fits=cython.bint, flags=cython.int)
cdef void *address_of(object array, Py_ssize_t count, int kind, object layout, bint written=*) except NULL
