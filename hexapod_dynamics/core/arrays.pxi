# Memory, and checks of numpy arrays.

cdef extern from "numpy/arrayobject.h":
    object PyArray_EMPTY(int nd, cnp.npy_intp *dims, int typenum, int fortran)
    int PyArray_ISCARRAY_RO(cnp.ndarray) nogil


cdef void *room(int64_t size) except NULL:
    """Allocate memory that begins on a cache line; to be freed by `free`."""
    cdef void *p = NULL
    if posix_memalign(&p, 64, size):
        raise MemoryError
    return p


cdef inline bint fits(object a, int dimensions, Py_ssize_t rows, Py_ssize_t columns) noexcept:
    """Whether `a` is an aligned C-contiguous float64 array of this shape; columns: 0 of one with one dimension."""
    return (
        cnp.PyArray_CheckExact(a)
        and cnp.PyArray_TYPE(a) == cnp.NPY_DOUBLE
        and PyArray_ISCARRAY_RO(<cnp.ndarray>a)
        and cnp.PyArray_NDIM(a) == dimensions
        and cnp.PyArray_DIMS(a)[0] == rows
        and (dimensions == 1 or cnp.PyArray_DIMS(a)[1] == columns)
    )


cdef inline double *vector_of(object a, Py_ssize_t size) noexcept:
    """Return the numbers of such an array (size,), NULL if `a` is none."""
    return <double *>cnp.PyArray_DATA(a) if fits(a, 1, size, 0) else NULL


cdef inline double *rotation_of(object a) noexcept:
    """Return the numbers of such an array (3, 3), NULL if `a` is none."""
    return <double *>cnp.PyArray_DATA(a) if fits(a, 2, 3, 3) else NULL


cdef inline double *data(object a) noexcept:
    """Return the numbers of an array that this module made."""
    return <double *>cnp.PyArray_DATA(a)


cdef inline object vector(cnp.npy_intp n):
    """Return an array (n,) without values."""
    return PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)


cdef inline object matrix(cnp.npy_intp rows, cnp.npy_intp columns):
    """Return an array (rows, columns) without values."""
    cdef cnp.npy_intp n[2]
    n[0], n[1] = rows, columns
    return PyArray_EMPTY(2, n, cnp.NPY_DOUBLE, 0)


cdef int put(double *to, values) except -1:
    """Copy all numbers of an array-like."""
    for i, value in enumerate(np.asarray(values, float).ravel()):
        to[i] = value
    return 0


cdef double *must(object a, Py_ssize_t size) except NULL:
    """Return the numbers of an array of `size` numbers that may be written; raise ValueError if `a` is none."""
    if not (cnp.PyArray_CheckExact(a) and cnp.PyArray_TYPE(a) == cnp.NPY_DOUBLE and PyArray_ISCARRAY_RO(<cnp.ndarray>a) and cnp.PyArray_SIZE(a) == size):
        raise ValueError(f"a contiguous float64 array of {size} numbers needed")
    return <double *>cnp.PyArray_DATA(a)
