# The whole-body model: a robot's numbers, the memory of a morphology, and the calls of one state.

cdef extern from "robot.h" nogil:
    enum: HD_MOST_LEGS, HD_MOST, HD_MOST_JOINTS
    struct hd_joint:
        double offset[3]
        double end[3]
        double mass
        double h[3]
        double inertia[6]
        double rotor
        double axis[3]
        double turn, slide
        double direction[3]
        double along
        double central[6]
        double com[3]
        double axes[9]
    struct hd_robot:
        int64_t legs, joints
        int64_t first[9]
        double gravity, mass
        double h[3]
        double inertia[6]
        double mount[8][12]
        hd_joint joint[48]
    struct hd_model:
        const hd_robot *robot
        const hd_functions *run
        int64_t moving, shape
        int64_t last[8]
        double moves[48]
        double locked[48]
        double mass
        double h[3]
        double inertia[6]
        double external[6]
        double links_mass
    ctypedef const double *numbers "const double *"
    struct hd_functions:
        int64_t lanes
        int64_t (*leg_bytes)(const hd_robot *) noexcept
        int64_t (*scratch_bytes)(const hd_robot *) noexcept
        void (*set)(hd_model *, const hd_robot *, const double *table, void *legs, void *scratch) noexcept
        int (*forward)(hd_model *, double *R, double *q, double *nu, double *tau, const double *const *forces, double *out) noexcept
        int (*inverse)(hd_model *, double *R, double *q, double *nu, double *nudot, double *out) noexcept
        int (*forward_all)(hd_model *, double *R, double *q, double *nu, double *tau, double *out) noexcept
        int (*inverse_all)(hd_model *, double *R, double *q, double *nu, double *nudot, double *out) noexcept nogil
        int (*mass)(hd_model *, double *q, double *out) noexcept
        int (*coriolis)(hd_model *, double *q, double *nu, double *out) noexcept
        int (*tip_jacobian)(hd_model *, double *q, int64_t leg, double *out) noexcept
        int (*tip_force_rows)(hd_model *, double *R, double *q, const double *const *forces, double *out) noexcept
        int (*inverse_derivatives)(hd_model *, double *R, double *q, double *nu, double *nudot, double *, double *, double *) noexcept
        int (*forward_derivatives)(hd_model *, double *R, double *q, double *nu, double *tau, double *, double *, double *) noexcept
        int (*hold)(hd_model *, double *R, double *q, double *nu, double *tau, int64_t *legs, int64_t count, double *, double *) noexcept
        int (*link_poses)(hd_model *, double *R, double *p, double *q, double *out) noexcept
        int (*point_jacobian)(hd_model *, double *q, int64_t leg, int64_t link, double *point, double *out) noexcept
        int (*point_bias)(hd_model *, double *q, double *nu, int64_t leg, int64_t link, double *point, double *out) noexcept
        int (*center)(hd_model *, double *R, double *p, double *q, double *out) noexcept
        int (*potential_energy)(hd_model *, double *R, double *p, double *q, double *out) noexcept
        int (*kinetic_energy)(hd_model *, double *q, double *nu, double *out) noexcept
        int (*centroidal_momentum)(hd_model *, double *R, double *q, double *nu, double *out) noexcept
        int64_t (*batch_bytes)(const hd_model *) noexcept
        void (*batch_begin)(const hd_model *, void *memory) noexcept
        int64_t (*batch)(const hd_model *, void *memory, int forward, int all, const int64_t *states, int64_t count,
                         double *R, double *q, double *nu, double *given, double *out) noexcept nogil
        void (*steps)(hd_model *, hd_world *, double, int64_t) noexcept nogil
        void (*strike)(hd_model *, double *q, double *impulse, double *nu) noexcept nogil
        double (*resting_height)(hd_model *, const hd_world *) noexcept nogil
        void (*feet)(hd_model *, double *q, double *ends, double *columns) noexcept nogil
    const hd_functions hd_table_2, hd_table_4, hd_table_8

cdef extern from "checks.h" nogil:
    int hd_are_finite(const double *numbers, int64_t count)
    int hd_is_rotation(const double *R)

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


def widest() -> int:
    """Return how many doubles a vector register of this processor has, as far as the core uses them: 2, 4 or 8."""
    return hd_functions_of(8).lanes


def checks():
    """Return the module that checks what the fast path did not take; it is imported on first use."""
    global checks_module
    if checks_module is None:
        from hexapod_dynamics.dynamics import checks as checks_module
    return checks_module


checks_module = None


cdef list symmetric(inertia):
    """Return xx yy zz xy xz yz of a symmetric matrix (3, 3)."""
    return [inertia[i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


cdef class Numbers:
    """The numbers of a robot.Robot: struct hd_robot."""

    cdef hd_robot r

    def __cinit__(self, robot):
        cdef hd_robot *r = &self.r
        cdef Py_ssize_t at = 0
        if len(robot.legs) > HD_MOST_LEGS or max(len(leg.joints) for leg in robot.legs) > HD_MOST_JOINTS:
            raise DynamicsError(
                f"robot {robot.name!r}: {len(robot.legs)} legs of up to {max(len(leg.joints) for leg in robot.legs)} joints "
                f"given, at most {HD_MOST_LEGS} legs of {HD_MOST_JOINTS} joints are possible"
            )
        r.legs, r.joints, r.gravity, r.mass = len(robot.legs), robot.joint_count, robot.gravity, robot.body.mass
        put(r.h, robot.body.mass * robot.body.com)
        put(r.inertia, symmetric(robot.body.spatial_inertia[3:, 3:]))
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

    def values(self) -> dict:
        """Return struct hd_robot as a dict, for the C export."""
        return self.r


def joint_numbers(joint, link, offset) -> dict:
    """Return struct hd_joint of a joint, `offset` (3,) away from the previous one, and its link."""
    cdef hd_joint j
    write_joint(&j, joint, link, offset)
    return j


cdef int write_joint(hd_joint *j, joint, link, offset) except -1:
    com, central = link.com_in_leg, link.inertia_in_leg
    rows = [offset, link.tip, link.mass * com, np.array(symmetric(central + link.mass * (com @ com * np.eye(3) - np.outer(com, com))))]
    for row in rows:
        row[np.abs(row) < 1e-15 * np.abs(row).max()] = 0.0  # rounding of rotations, so that hd_fits_zyy sees a zero
    put(j.offset, rows[0])
    put(j.end, rows[1])
    put(j.h, rows[2])
    put(j.inertia, rows[3])
    j.mass, j.rotor = link.mass, joint.rotor_inertia
    put(j.axis, joint.axis)
    j.turn = joint.kind != "prismatic"
    j.slide = 1.0 if joint.kind == "prismatic" else joint.pitch
    put(j.direction, link.rotation[:, 0])
    put(j.central, symmetric(central))
    put(j.com, com)
    put(j.axes, link.rotation)
    j.along = link.inertia[0, 0]
    return 0


cdef class Selection:
    """The model of a morphology: struct hd_model with memory of its own.

    Its scratch memory is shared with other selections of the same Model: one call at a time. `given`: the object that a
    caller passed, None for the whole robot.
    """

    cdef hd_model m
    cdef void *legs
    cdef Scratch scratch
    cdef Numbers numbers
    cdef readonly object given, morphology
    cdef tuple links  # names of the existing links, None until they are needed

    def __cinit__(self, Numbers numbers, Scratch scratch, morphology, given):
        self.numbers, self.scratch, self.morphology, self.given = numbers, scratch, morphology, given
        self.m.run = scratch.run
        self.legs = room(self.m.run.leg_bytes(&numbers.r))
        self.place(morphology)

    cdef int place(self, morphology) except -1:
        """Change to another morphology of the robot, in the same memory."""
        table = np.ascontiguousarray(morphology.table, dtype=float)
        self.m.run.set(&self.m, &self.numbers.r, data(table), self.legs, self.scratch.memory)
        self.morphology = morphology
        return 0

    def __dealloc__(self):
        free(self.legs)

    @property
    def n(self) -> int:
        """Number of joints that exist and move."""
        return self.m.moving

    @property
    def size(self) -> int:
        """Number of velocities, 6 + n."""
        return 6 + self.m.moving


cdef class Scratch:
    """Scratch memory, and the functions that use it."""

    cdef const hd_functions *run
    cdef void *memory

    def __cinit__(self, Numbers numbers, int lanes):
        # a robot with few legs leaves half of wide registers empty
        self.run = hd_functions_of(lanes or (4 if numbers.r.legs <= 4 else 8))
        self.memory = room(self.run.scratch_bytes(&numbers.r))

    def __dealloc__(self):
        free(self.memory)


KEPT_SELECTIONS = 256  # number of morphologies whose memory a model keeps, so that each costs only a look-up


cdef class ModelCore:
    """Input of the calls of WholeBodyModel, and the first of them; see dynamics/whole_body.py for conventions.

    A call first tries what it is given; `again` converts, or refuses by name, what is no array of the right kind, and what
    the core could not compute. lanes: 2, 4 or 8, at most; 0: as many as this processor has and the robot can use.
    """

    cdef readonly object robot
    cdef Numbers numbers
    cdef Scratch scratch
    cdef Selection whole, known
    cdef dict selections, legs, links
    cdef Py_ssize_t joints

    def __init__(self, robot, *, int lanes=0):
        """Prepare the memory of a robot's model. Raises DynamicsError if `robot` is not a Robot."""
        self.robot, self.joints = robot, checks().checked_robot(robot).joint_count
        self.numbers = Numbers(robot)
        self.scratch = Scratch(self.numbers, lanes)
        self.legs = {name: index for index, name in enumerate(robot.leg_names)}
        self.links = {}
        for index, leg in enumerate(robot.legs):
            for k, link in enumerate(leg.link_names):
                self.links[f"{leg.name}.{link}"] = index, k
        self.selections = {}
        self.whole = Selection(self.numbers, self.scratch, checks().Morphology.whole(robot), None)
        self.known = self.whole

    def __reduce__(self):
        return type(self), (self.robot,)

    @property
    def lanes(self) -> int:
        """Number of legs that a vector register holds."""
        return self.scratch.run.lanes

    # ---- input -------------------------------------------------------------------------------------------------------

    cdef inline Selection choose(self, morphology):
        """Return the selection of a morphology; the caller keeps it while it computes."""
        cdef Selection known = self.known
        return known if morphology is known.given else self._select(morphology)

    cpdef Selection _select(self, morphology):
        """Return the selection of a morphology of this robot; DynamicsError for any other morphology."""
        cdef Selection found
        if morphology is None:
            self.known = self.whole
            return self.whole
        try:
            found = self.selections.get(morphology)
        except TypeError:  # it cannot be hashed
            found = None
        if found is None:
            checks().check_robot(self.robot, morphology)
            if len(self.selections) >= KEPT_SELECTIONS:
                self.selections = {}
            found = self.selections[morphology] = Selection(self.numbers, self.scratch, morphology, morphology)
        self.known = found  # for the next call; this call uses the returned selection
        return found

    cdef list converted(self, Selection known, tuple given):
        """Return arrays made of arguments (name, value) that were not taken; DynamicsError names what is wrong."""
        values = [checks().as_input(name, value, known.morphology) for name, value in given]
        for (_, value), array in zip(given, values):
            if not fits(value, array.ndim, array.shape[0], array.shape[array.ndim - 1]):
                return values
        raise DynamicsError(f"the result is not finite: {', '.join(name for name, _ in given)} are too large")

    cdef int listed(self, tip_forces, const double **forces) except -1:
        """Write the address of each leg's force, NULL where there is none; return whether all are arrays (3,)."""
        cdef int leg
        for leg in range(HD_MOST_LEGS):
            forces[leg] = NULL
        if type(tip_forces) is not dict:
            return 0
        for name, force in (<dict>tip_forces).items():
            index = self.legs.get(name) if isinstance(name, str) else None
            if index is None:
                return 0
            leg = index
            forces[leg] = vector_of(force, 3)
            if forces[leg] == NULL:
                return 0
        return 1

    cdef dict made_forces(self, tip_forces, Selection known):
        """Return tip forces as arrays (3,); DynamicsError if they are wrong."""
        if not isinstance(tip_forces, Mapping):
            raise DynamicsError(f"tip_forces: {tip_forces!r} given, a dict {{leg: force (3,)}} needed")
        for leg in tip_forces:
            self.leg_index(leg, known)
        return {leg: checks().as_array(f"tip_forces[{leg!r}]", force, (3,)) for leg, force in tip_forces.items()}

    cdef int leg_index(self, leg, Selection known) except -1:
        """Return the index of an existing leg; DynamicsError if there is none."""
        index = self.legs.get(leg) if isinstance(leg, str) else None
        if index is None:
            raise DynamicsError(f"no leg {leg!r}; the legs are {', '.join(self.robot.leg_names)}")
        if known.m.last[<int>index] < 0:
            raise DynamicsError(f"leg {leg} is missing in this morphology ({known.morphology.describe()})")
        return index

    cdef tuple link_index(self, link, Selection known):
        """Return leg and place in the leg of an existing link; DynamicsError if there is none."""
        found = self.links.get(link) if isinstance(link, str) else None
        if found is None:
            raise DynamicsError(f"no link {link!r}; the links are {', '.join(self.links)}")
        if known.m.last[<int>found[0]] < found[1]:
            raise DynamicsError(f"link {link} is missing in this morphology ({known.morphology.describe()})")
        return found

    def joint_names(self, morphology=None):
        """Names of the n joints that exist and move, in order. Raises DynamicsError."""
        moves = self._select(morphology).morphology.moving_mask
        return [name for name, moving in zip(self.robot.joint_names, moves, strict=True) if moving]

    # ---- the model ---------------------------------------------------------------------------------------------------

    def forward_dynamics(self, rotation, q, nu, tau, morphology=None, tip_forces=None):
        """Accelerations nudot (6+n,) under joint torques tau (n,) and tip_forces {leg: force (3,) [N], world axes}.

        A limp joint's torque is zero; its entry in tau is ignored. Raises DynamicsError for input of the wrong
        shape or not finite. (6), solved as an arrow: n_i x n_i blocks and one 6x6.
        """
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        cdef double *c = vector_of(tau, m.moving)
        cdef const double *forces[8]
        cdef bint pushed = bool(tip_forces)
        out = vector(6 + m.moving)
        if R != NULL and a != NULL and b != NULL and c != NULL and (not pushed or self.listed(tip_forces, forces)):
            if m.run.forward(m, R, a, b, c, forces if pushed else NULL, data(out)):
                return out
        if pushed:
            made = self.made_forces(tip_forces, known)
            if not self.listed(tip_forces, forces):
                return self.forward_dynamics(rotation, q, nu, tau, known.given, made)
        given = self.converted(known, (("R", rotation), ("q", q), ("nu", nu), ("tau", tau)))
        return self.forward_dynamics(*given, known.given, tip_forces)

    def inverse_dynamics(self, rotation, q, nu, nudot, morphology=None, tip_forces=None):
        """Wrench on the base and joint torques (6+n,) that accelerations nudot (6+n,) need, in addition to tip_forces.

        tip_forces {leg: force (3,) [N], world axes}. A limp joint's entry is the torque that it would need: if it
        is not zero, the robot cannot perform this motion. Raises DynamicsError. (6), by recursion along each leg.
        """
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        cdef double *c = vector_of(nudot, 6 + m.moving)
        out = vector(6 + m.moving)
        if R == NULL or a == NULL or b == NULL or c == NULL or not m.run.inverse(m, R, a, b, c, data(out)):
            given = self.converted(known, (("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)))
            out = self.inverse_dynamics(*given, known.given)
        if tip_forces:
            out -= self.tip_force_rows(rotation, q, tip_forces, morphology)
        return out

    def mass_matrix(self, q, morphology=None):
        """Mass matrix M (6+n, 6+n), (31) and (32)."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *a = vector_of(q, self.joints)
        out = matrix(6 + m.moving, 6 + m.moving)
        if a == NULL or not m.run.mass(m, a, data(out)):
            return self.mass_matrix(*self.converted(known, (("q", q),)), known.given)
        return out

    def coriolis_matrix(self, q, nu, morphology=None):
        """Coriolis matrix C (6+n, 6+n) such that Mdot - 2C is skew-symmetric, (44)-(51)."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        out = matrix(6 + m.moving, 6 + m.moving)
        if a == NULL or b == NULL or not m.run.coriolis(m, a, b, data(out)):
            return self.coriolis_matrix(*self.converted(known, (("q", q), ("nu", nu))), known.given)
        return out

    def gravity_force(self, rotation, q, morphology=None):
        """Gravity g (6+n,) on the left-hand side, M nudot + C nu + g = tau (9)."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        out = vector(6 + m.moving)
        if R == NULL or a == NULL or not m.run.inverse(m, R, a, NULL, NULL, data(out)):
            return self.gravity_force(*self.converted(known, (("R", rotation), ("q", q))), known.given)
        return out

    def tip_jacobian(self, leg, q, morphology=None):
        """Jacobian J (6, 6+n) of a leg's tip, V_tip = J nu (11).

        The tip frame is at the end of the leg's last existing link and has that link's axes, x along the link.
        """
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef int index = self.leg_index(leg, known)
        cdef double *a = vector_of(q, self.joints)
        out = matrix(6, 6 + m.moving)
        if a == NULL or not m.run.tip_jacobian(m, a, index, data(out)):
            return self.tip_jacobian(leg, *self.converted(known, (("q", q),)), known.given)
        return out

    def tip_force_rows(self, rotation, q, tip_forces, morphology=None):
        """Sum of J_tip^T F (6+n,) over tip_forces {leg: force (3,) [N], world axes}."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        cdef const double *forces[8]
        out = vector(6 + m.moving)
        if R != NULL and a != NULL and self.listed(tip_forces, forces) and m.run.tip_force_rows(m, R, a, forces, data(out)):
            return out
        made = self.made_forces(tip_forces, known)
        if not self.listed(tip_forces, forces):
            return self.tip_force_rows(rotation, q, made, known.given)
        rotation, q = self.converted(known, (("R", rotation), ("q", q)))
        return self.tip_force_rows(rotation, q, tip_forces, known.given)
