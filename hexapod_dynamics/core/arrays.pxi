# Memory and numpy arrays: checks and results.

cdef extern from "numpy/arrayobject.h":
    object PyArray_EMPTY(int nd, cnp.npy_intp *dims, int typenum, int fortran)
    int PyArray_ISCARRAY_RO(object) nogil

cdef void *room(int64_t size) except NULL:
    cdef void *p = NULL
    if posix_memalign(&p, 64, size):
        raise MemoryError
    return p

cdef inline double *given(object a, Py_ssize_t size) noexcept:
    """Numbers of an array as it should be, else NULL."""
    if cnp.PyArray_CheckExact(a) and cnp.PyArray_TYPE(a) == cnp.NPY_DOUBLE and PyArray_ISCARRAY_RO(a) and cnp.PyArray_SIZE(a) == size:
        return <double *>cnp.PyArray_DATA(a)
    return NULL

cdef object vector(cnp.npy_intp n):
    return PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)

cdef object matrix(cnp.npy_intp rows, cnp.npy_intp columns):
    cdef cnp.npy_intp n[2]
    n[0], n[1] = rows, columns
    return PyArray_EMPTY(2, n, cnp.NPY_DOUBLE, 0)

cdef int put(double *to, values) except -1:
    for i, value in enumerate(np.asarray(values, float).ravel()):
        to[i] = value
    return 0

cdef double *must(object a, Py_ssize_t size) except NULL:
    cdef double *p = given(a, size)
    if p == NULL:
        raise ValueError(f"a contiguous float64 array of {size} numbers needed")
    return p

