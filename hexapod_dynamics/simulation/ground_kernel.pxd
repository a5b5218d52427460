cimport cython
from libc cimport math

from hexapod_dynamics cimport kernel_memory

cdef struct Plane:
    double slope_x
    double slope_y
    double rough
    double seed
    double cell
    double highest
    double level
    double edge

cdef struct Rise:
    double at
    double rise
    double half_width

cdef long long LOW_BITS

cdef Plane *plane_of(object ground) except NULL
cdef Rise *rises_of(object ground) except? NULL
cdef int count_rises(object ground) except -1
@cython.locals(x=cython.longlong)
cdef double _corner(long long i, long long j, long long seed) nogil
cpdef double drawn(long long i, long long j, long long seed)
@cython.locals(share=cython.double, seed=cython.longlong, i=cython.longlong, j=cython.longlong)
cdef (double, double, double) _roughness(Plane *plane, double x, double y) nogil
cdef (double, double, double, double) surface_at(Plane *plane, Rise *rises, int count, double x, double y) nogil
cdef double highest_at(Plane *plane, double x, double y) nogil
cdef bint is_flat(Plane *plane, int count) nogil
@cython.locals(r=cython.Py_ssize_t, c=cython.Py_ssize_t, width=cython.Py_ssize_t, height=cython.Py_ssize_t)
cpdef object fill_heights(object ground, object xs, object ys, object out)
