cimport cython
from libc cimport math

from hexapod_dynamics cimport kernel_memory

cdef int EDGES
cdef double DEPENDENT, EPSILON

cdef class ForceMemory:
    cdef readonly object wrench
    cdef readonly object rotation
    cdef readonly object tips
    cdef readonly object load
    cdef readonly object forces
    cdef object kept
    cdef int legs
    cdef int n
    cdef int rounds
    cdef int used
    cdef double length
    cdef double r
    cdef double *given_wrench
    cdef double *given_rotation
    cdef double *given_tips
    cdef double *given_load
    cdef double *out
    cdef double *edges
    cdef double *A
    cdef double *L
    cdef double *x
    cdef double *s
    cdef double *w
    cdef double *step
    cdef double *slope
    cdef double *share
    cdef double *b
    cdef double *left
    cdef long long *order

@cython.locals(good=cython.bint)
cdef bint wrenches(ForceMemory m, double *wrench, double *rotation, double *tips, double *load) nogil
cdef void gradient(ForceMemory m, double *x, double *w) nogil
cdef double product(ForceMemory m, int j, int k) nogil
cdef bint add_row(ForceMemory m, int count) nogil
cdef void back_substitute(ForceMemory m, int count) nogil
cdef void minimum(ForceMemory m, int count) nogil
cdef bint factorise(ForceMemory m, int count) nogil
cdef int warm_start(ForceMemory m, int count) nogil
cdef int drop_negative(ForceMemory m, int count) nogil
cdef bint all_positive(ForceMemory m, int count) nogil
cdef double largest_column(ForceMemory m) nogil
cdef int add_edge(ForceMemory m, int count, double tolerance) nogil
cdef int solve_forces(ForceMemory m, double *wrench, double *rotation, double *tips, double *load) nogil
cpdef int foot_forces(ForceMemory memory)
