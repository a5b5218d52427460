# The whole-body model.

cdef extern from "robot.h" nogil:
    enum: HD_LEGS, HD_ALL, HD_JOINTS
    struct hd_joint:
        double offset[3]
        double end[3]
        double mass
        double h[3]
        double inertia[6]
        double rotor
        double axis[3]
        double turn
        double slide
        double direction[3]
        double along
        double central[6]
        double com[3]
        double axes[9]
    struct hd_robot:
        int64_t legs, joints
        int64_t first[9]
        double gravity
        double mass
        double h[3]
        double inertia[6]
        double mount[8][12]
        hd_joint joint[48]
    struct hd_model:
        const hd_functions *run
        int64_t moving, shape
        int64_t last[8]
    struct hd_functions:
        int64_t lanes
        int64_t (*size)(const hd_robot *) noexcept nogil
        void (*set)(hd_model *, const hd_robot *, const double *, void *) noexcept nogil
        int (*forward)(hd_model *, const double *, const double *, const double *, const double *, const double **, double *) noexcept nogil
        int (*inverse)(hd_model *, const double *, const double *, const double *, const double *, double *) noexcept nogil
        int (*mass)(hd_model *, const double *, double *) noexcept nogil
        int (*coriolis)(hd_model *, const double *, const double *, double *) noexcept nogil
        int (*jacobian)(hd_model *, const double *, int64_t, double *) noexcept nogil
        int (*derivatives)(hd_model *, const double *, const double *, const double *, const double *, double *, double *, double *) noexcept nogil
        int64_t (*batch)(hd_model *, int64_t, const double *, const double *, const double *, const double *, double *, void *) noexcept nogil
        void (*steps)(hd_model *, hd_world *, double, int64_t) noexcept nogil
        int64_t (*batch_size)(const hd_model *) noexcept nogil
    const hd_functions hd_table_2, hd_table_4, hd_table_8
cdef extern from *:
    """
    static int hd_best(void) {
    #if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return 8;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 4;
    #endif
        return 2; }
    """
    int hd_best()


def widest():
    return hd_best()

def symmetric(m):
    return np.asarray(m)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]

cdef class Description:
    """A robot's numbers, once."""
    cdef hd_robot r
    def __cinit__(self, robot):
        cdef hd_joint *j
        cdef hd_robot *r = &self.r
        r.legs, r.joints, r.gravity, r.mass = len(robot.legs), robot.joint_count, robot.gravity, robot.body.mass
        if r.legs > HD_LEGS or max(len(leg.joints) for leg in robot.legs) > HD_JOINTS:
            raise ValueError("too many legs or joints")
        put(r.h, robot.body.mass * robot.body.com)
        put(r.inertia, symmetric(robot.body.spatial_inertia[3:, 3:]))
        at = 0
        for i, leg in enumerate(robot.legs):
            r.first[i] = at
            put(r.mount[i], np.concatenate([leg.mount_rotation.ravel(), leg.mount_position]))
            inner = np.zeros(3)
            for joint, link in zip(leg.joints, leg.links):
                j = &r.joint[at]
                com, central = link.com_in_leg, link.inertia_in_leg
                inertia = symmetric(central + link.mass * (com @ com * np.eye(3) - np.outer(com, com)))
                rows = [joint.origin - inner, link.tip, link.mass * com, inertia]
                for row in rows:
                    row[np.abs(row) < 1e-15 * np.abs(row).max()] = 0.0
                put(j.offset, rows[0]); put(j.end, rows[1]); put(j.h, rows[2]); put(j.inertia, rows[3])
                j.mass, j.rotor = link.mass, joint.rotor_inertia
                put(j.axis, joint.axis)
                j.turn = joint.kind != "prismatic"
                j.slide = 1.0 if joint.kind == "prismatic" else joint.pitch
                put(j.direction, link.rotation[:, 0]); put(j.central, symmetric(central)); put(j.com, com)
                put(j.axes, link.rotation)
                j.along = link.inertia[0, 0]
                inner = joint.origin
                at += 1
        r.first[r.legs] = at

cdef class Selection:
    """Memory of one morphology."""
    cdef hd_model m
    cdef void *memory
    cdef Description description
    def __cinit__(self, Description description, hd_functions_address, morphology):
        cdef const hd_functions *run = <const hd_functions *><size_t>hd_functions_address
        table = np.ascontiguousarray(morphology.table)
        self.description = description
        self.memory = room(run.size(&description.r))
        self.m.run = run
        run.set(&self.m, &description.r, <double *>cnp.PyArray_DATA(table), self.memory)
    def __dealloc__(self):
        free(self.memory)

@cython.final
cdef class Model:
    cdef Description description
    cdef const hd_functions *run
    cdef dict known, legs
    cdef object given
    cdef Selection selected
    cdef int joints, generic
    def __init__(self, robot, whole, int lanes=0, bint generic=False):
        self.description = Description(robot)
        lanes = lanes or hd_best()
        self.run = &hd_table_8 if lanes == 8 else &hd_table_4 if lanes == 4 else &hd_table_2
        self.known, self.joints, self.generic = {}, robot.joint_count, generic
        self.legs = {leg.name: i for i, leg in enumerate(robot.legs)}
        self.pick(whole)
    cdef int pick(self, morphology) except -1:
        found = self.known.get(morphology)
        if found is None:
            found = self.known[morphology] = Selection(self.description, <size_t>self.run, morphology)
        self.selected, self.given = found, morphology
        if self.generic:
            self.selected.m.shape = 0
        return 0
    cdef inline hd_model *choose(self, morphology) except NULL:
        if morphology is not self.given:
            self.pick(morphology)
        return &self.selected.m
    property lanes:
        def __get__(self): return self.run.lanes
    property shape:
        def __get__(self): return self.selected.m.shape

    def forward_dynamics(self, rotation, q, nu, tau, morphology, tip_forces=None):
        cdef hd_model *m = self.choose(morphology)
        cdef double *R = given(rotation, 9)
        cdef double *a = given(q, self.joints)
        cdef double *b = given(nu, 6 + m.moving)
        cdef double *c = given(tau, m.moving)
        cdef const double *forces[8]
        if R == NULL or a == NULL or b == NULL or c == NULL:
            return self.again(Model.forward_dynamics, (rotation, q, nu, tau), morphology, tip_forces)
        out = vector(6 + m.moving)
        if tip_forces:
            for i in range(8):
                forces[i] = NULL
            for leg, force in tip_forces.items():
                forces[<int>self.legs[leg]] = given(force, 3)
        if not self.run.forward(m, R, a, b, c, forces if tip_forces else NULL, <double *>cnp.PyArray_DATA(out)):
            raise ValueError("not finite, or no rotation")
        return out

    cdef object again(self, call, states, morphology, extra):
        made = [np.ascontiguousarray(s, float) for s in states]
        m = self.selected.m.moving
        for a, size in zip(made, (9, self.joints, 6 + m, 6 + m if extra is None else m)):
            if a.size not in (size, m):
                raise ValueError(f"shape {a.shape} given, {size} numbers needed")
        return call(self, *made, morphology) if extra is None else call(self, *made, morphology, extra)

    def inverse_dynamics(self, rotation, q, nu, nudot, morphology):
        cdef hd_model *m = self.choose(morphology)
        cdef double *R = given(rotation, 9)
        cdef double *a = given(q, self.joints)
        cdef double *b = given(nu, 6 + m.moving)
        cdef double *c = given(nudot, 6 + m.moving)
        if R == NULL or a == NULL or b == NULL or c == NULL:
            return self.again(Model.inverse_dynamics, (rotation, q, nu, nudot), morphology, None)
        out = vector(6 + m.moving)
        if not self.run.inverse(m, R, a, b, c, <double *>cnp.PyArray_DATA(out)):
            raise ValueError("not finite, or no rotation")
        return out

    def gravity_force(self, rotation, q, morphology):
        cdef hd_model *m = self.choose(morphology)
        cdef double *R = given(rotation, 9)
        cdef double *a = given(q, self.joints)
        if R == NULL or a == NULL:
            return self.again(Model.gravity_force, (rotation, q), morphology, None)
        out = vector(6 + m.moving)
        if not self.run.inverse(m, R, a, NULL, NULL, <double *>cnp.PyArray_DATA(out)):
            raise ValueError("not finite, or no rotation")
        return out

    def mass_matrix(self, q, morphology):
        cdef hd_model *m = self.choose(morphology)
        cdef double *a = given(q, self.joints)
        out = matrix(6 + m.moving, 6 + m.moving)
        if a == NULL or not self.run.mass(m, a, <double *>cnp.PyArray_DATA(out)):
            raise ValueError("q")
        return out

    def coriolis_matrix(self, q, nu, morphology):
        cdef hd_model *m = self.choose(morphology)
        cdef double *a = given(q, self.joints)
        cdef double *b = given(nu, 6 + m.moving)
        out = matrix(6 + m.moving, 6 + m.moving)
        if a == NULL or b == NULL or not self.run.coriolis(m, a, b, <double *>cnp.PyArray_DATA(out)):
            raise ValueError("q, nu")
        return out

    def tip_jacobian(self, leg, q, morphology):
        cdef hd_model *m = self.choose(morphology)
        cdef double *a = given(q, self.joints)
        out = matrix(6, 6 + m.moving)
        if a == NULL or not self.run.jacobian(m, a, self.legs[leg], <double *>cnp.PyArray_DATA(out)):
            raise ValueError("q, leg")
        return out

    def inverse_dynamics_derivatives(self, rotation, q, nu, nudot, morphology):
        cdef hd_model *m = self.choose(morphology)
        cdef double *R = given(rotation, 9)
        cdef double *a = given(q, self.joints)
        cdef double *b = given(nu, 6 + m.moving)
        cdef double *c = given(nudot, 6 + m.moving)
        cdef Py_ssize_t n = 6 + m.moving
        if R == NULL or a == NULL or b == NULL or c == NULL:
            raise ValueError("arrays")
        x, y, z = matrix(n, n), matrix(n, n), matrix(n, n)
        if not self.run.derivatives(m, R, a, b, c, <double *>cnp.PyArray_DATA(x), <double *>cnp.PyArray_DATA(y), <double *>cnp.PyArray_DATA(z)):
            raise ValueError("not finite, or no rotation")
        return x, y, z

    def forward_dynamics_batch(self, rotation, q, nu, tau, morphology):
        cdef hd_model *m = self.choose(morphology)
        cdef Py_ssize_t count = len(q)
        cdef double *R = given(rotation, 9 * count)
        cdef double *a = given(q, self.joints * count)
        cdef double *b = given(nu, (6 + m.moving) * count)
        cdef double *c = given(tau, m.moving * count)
        if R == NULL or a == NULL or b == NULL or c == NULL:
            raise ValueError("arrays")
        out = matrix(count, 6 + m.moving)
        cdef void *memory = room(self.run.batch_size(m))
        cdef double *o = <double *>cnp.PyArray_DATA(out)
        cdef int64_t bad
        with nogil:
            bad = self.run.batch(m, count, R, a, b, c, o, memory)
            free(memory)
        if bad >= 0:
            raise ValueError(f"state {bad}")
        return out

    def loop(self, int which, long repeats, rotation, q, nu, tau, morphology):
        """For timing: forward (0) or inverse (1) in C."""
        cdef hd_model *m = self.choose(morphology)
        cdef double *R = given(rotation, 9)
        cdef double *a = given(q, self.joints)
        cdef double *b = given(nu, 6 + m.moving)
        cdef double *c = given(tau, 6 * which + m.moving)
        cdef double out[60]
        cdef long i
        for i in range(repeats):
            if which == 0:
                self.run.forward(m, R, a, b, c, NULL, out)
            else:
                self.run.inverse(m, R, a, b, c, out)

