# The whole-body model: arrays, a robot's numbers, the memory of a morphology, and what the calls are given.

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


cdef inline double *data(object a) noexcept:
    """Return the numbers of an array that this module made."""
    return <double *>cnp.PyArray_DATA(<cnp.ndarray>a)


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


cdef object view(object base, Py_ssize_t start, int dimensions, cnp.npy_intp size):
    """Return an array (size,) or (size, size) on numbers of another one."""
    cdef cnp.npy_intp sizes[2]
    sizes[0] = sizes[1] = size
    made = cnp.PyArray_SimpleNewFromData(dimensions, sizes, cnp.NPY_DOUBLE, data(base) + start)
    cnp.set_array_base(made, base)
    return made


cdef extern from "checks.h" nogil:
    double HD_FARTHEST_POSITION
    int hd_are_finite(const double *numbers, int64_t count)
    int hd_is_rotation(const double *R)
    double hd_dot(const double *a, const double *b, int count)
    void hd_turn_back(const double *R, const double *a, double *out)

cdef extern from *:
    """
    static const struct hd_functions *hd_functions_of(int lanes)
    {
    #if defined(__x86_64__)
        __builtin_cpu_init();
        const int four = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
        const int eight = four && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
        if (lanes >= 8 && eight)
            return &hd_table_8;
        if (lanes >= 4 && four)
            return &hd_table_4;
    #endif
        (void)lanes;
        return &hd_table_2;
    }
    """
    const hd_functions *hd_functions_of(int lanes)


FARTHEST_POSITION = HD_FARTHEST_POSITION


def is_rotation(R) -> bool:
    """Whether a matrix (3, 3) is a rotation, as far as the model asks for."""
    return bool(hd_is_rotation(must(R, 9)))


def widest() -> int:
    """Return how many doubles a vector register of this processor has, as far as the core uses them: 2, 4 or 8."""
    return hd_functions_of(8).lanes


def joint_table(tuple fractions, tuple damages):
    """Return `Morphology.table`, read-only (4, joint_count): rows remaining, moves, locked position, driven of all joints."""
    cdef tuple leg, joints
    cdef Py_ssize_t n = 0, j = 0, i, k
    if len(fractions) != len(damages):
        raise ValueError(f"links of {len(fractions)} legs and joints of {len(damages)} given")
    for leg in fractions:
        n += len(leg)
    out = matrix(4, n)
    cdef double *table = data(out)
    for i in range(len(fractions)):
        leg, joints = fractions[i], damages[i]
        if len(leg) != len(joints):
            raise ValueError(f"{len(leg)} links and {len(joints)} joints given")
        for k in range(len(leg)):
            table[j] = leg[k]
            table[n + j] = table[3 * n + j] = table[j] > 0.0
            table[2 * n + j] = 0.0
            damage = joints[k]
            if damage is not None:
                table[3 * n + j] = 0.0
                if damage.lock is not None:
                    table[n + j], table[2 * n + j] = 0.0, damage.lock
            j += 1
    cnp.PyArray_CLEARFLAGS(out, cnp.NPY_ARRAY_WRITEABLE)
    return out


def checks():
    """Return the module that checks what the fast path did not take; it is imported on first use."""
    global checks_module
    if checks_module is None:
        from hexapod_dynamics.dynamics import checks as checks_module
    return checks_module


checks_module = None


cdef class Numbers:
    """The numbers of a robot.Robot, struct hd_robot; the functions that use them, and their scratch memory: one call at a time.

    whole: the model of the whole robot, which those of its morphologies begin as. lanes: 2, 4 or 8, at most; 0: as many as this
    processor has.
    """

    cdef hd_robot r
    cdef hd_model whole
    cdef const hd_functions *run
    cdef void *scratch
    cdef void *legs

    def __cinit__(self, robot, int lanes=0):
        cdef hd_robot *r = &self.r
        cdef Py_ssize_t at = 0
        if len(robot.legs) > HD_MOST_LEGS or max(len(leg.joints) for leg in robot.legs) > HD_MOST_JOINTS:
            raise DynamicsError(
                f"robot {robot.name!r}: {len(robot.legs)} legs of up to {max(len(leg.joints) for leg in robot.legs)} joints "
                f"given, at most {HD_MOST_LEGS} legs of {HD_MOST_JOINTS} joints are possible"
            )
        r.legs, r.joints, r.gravity, r.mass = len(robot.legs), robot.joint_count, robot.gravity, robot.body.mass
        put(r.h, robot.body.mass * robot.body.com)
        put(r.inertia, inertia_elements(robot.body.spatial_inertia[3:, 3:]))
        for i, leg in enumerate(robot.legs):
            r.first[i] = at
            put(r.mount[i], leg.mount_rotation)
            put(r.mount[i] + 9, leg.mount_position)
            inner = np.zeros(3)
            for joint, link in zip(leg.joints, leg.links):
                write_joint(&r.joint[at], joint, link, joint.origin - inner)
                inner = joint.origin
                at += 1
        r.first[r.legs] = at
        self.run = hd_functions_of(lanes or 8)
        self.scratch, self.legs = room(self.run.scratch_bytes(r)), room(self.run.leg_bytes(r))
        self.run.build_model(&self.whole, r, self.legs, self.scratch)
        self.whole.run = self.run

    def __dealloc__(self):
        free(self.scratch)
        free(self.legs)

    def values(self) -> dict:
        """Return struct hd_robot as a dict, for the C export."""
        return self.r


def joint_numbers(joint, link, offset) -> dict:
    """Return struct hd_joint of a joint, `offset` (3,) away from the previous one, and its link."""
    cdef hd_joint j
    write_joint(&j, joint, link, offset)
    return j


cdef int put_rounded(double *to, values) except -1:
    """Copy numbers; what the rounding of a rotation left of a zero is 0, as hd_fits_zyy wants it."""
    row = np.array(values, float)
    row[np.abs(row) < 1e-15 * np.abs(row).max()] = 0.0
    return put(to, row)


cdef int write_joint(hd_joint *j, joint, link, offset) except -1:
    com, central = link.com_in_leg, link.inertia_in_leg
    inertia = central + link.mass * (com @ com * np.eye(3) - np.outer(com, com))
    put_rounded(j.offset, offset)
    put_rounded(j.end, link.tip)
    put_rounded(j.h, link.mass * com)
    put_rounded(j.inertia, inertia_elements(inertia))
    put_rounded(j.direction, link.rotation[:, 0])
    put_rounded(j.central, inertia_elements(central))
    put_rounded(j.com, com)
    j.mass, j.rotor = link.mass, joint.rotor_inertia
    put(j.axis, joint.axis)
    j.turn = joint.kind != "prismatic"
    j.slide = 1.0 if joint.kind == "prismatic" else joint.pitch
    put(j.axes, link.rotation)
    j.along = link.inertia[0, 0]
    return 0


cdef class Selection:
    """The model of a morphology: struct hd_model with memory of its own.

    `given`: the object that a caller passed, None for the whole robot.
    """

    cdef hd_model m
    cdef Numbers numbers
    cdef readonly object given, morphology
    cdef readonly Py_ssize_t n, size  # number of joints that exist and move, and of velocities, 6 + n
    cdef tuple links  # names of the existing links, None until they are needed

    def __cinit__(self, Numbers numbers, morphology, given):
        cdef int64_t size = numbers.run.leg_bytes(&numbers.r)
        cdef void *legs = memcpy(room(size), numbers.legs, size)
        self.numbers, self.given, self.m = numbers, given, numbers.whole
        self.m.legs = <hd_leg *>legs
        self.change_morphology(morphology)

    cpdef int change_morphology(self, morphology) except -1:
        """Change to another morphology of the robot; payload and external wrench stay."""
        self.m.run.change_morphology(&self.m, data(morphology.table))
        self.morphology, self.n, self.size = morphology, self.m.moving, 6 + self.m.moving
        return 0

    def __dealloc__(self):
        free(self.m.legs)

    # Arguments of a call as arrays of the core's kind: what is given, or converted; DynamicsError names what is wrong.

    cdef inline object rotation(self, value):
        return value if fits(value, 2, 3, 3) else checks().check_input("R", value, self.morphology)

    cdef inline object positions(self, value):
        return value if fits(value, 1, self.numbers.r.joints, 0) else checks().check_input("q", value, self.morphology)

    cdef inline object rates(self, value):
        return value if fits(value, 1, self.size, 0) else checks().check_input("nu", value, self.morphology)

    cdef inline object accelerations(self, value):
        return value if fits(value, 1, self.size, 0) else checks().check_input("nudot", value, self.morphology)

    cdef inline object torques(self, value):
        return value if fits(value, 1, self.n, 0) else checks().check_input("tau", value, self.morphology)

    cdef inline object position(self, value):
        return value if fits(value, 1, 3, 0) else checks().check_input("p", value, self.morphology)

    cdef inline object point(self, value):
        return value if fits(value, 1, 3, 0) else checks().check_input("point", value, self.morphology)

    cdef int refuse(self, dict given) except -1:
        """Raise the DynamicsError of a call that gave no result; given: its arguments by the names of messages."""
        for name, value in given.items():
            checks().check_input(name, value, self.morphology)
        raise DynamicsError(f"the result is not finite: {', '.join(given)} are too large")


KEPT_SELECTIONS = 256  # number of morphologies whose memory a model keeps, so that each costs only a look-up
