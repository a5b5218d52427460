# The whole-body model: derivatives, held feet, links and points, momentum and energy, batches.

cdef class Model(ModelCore):
    """The calls of WholeBodyModel: those of ModelCore, derivatives, held feet, links, points, momentum, energy, batches."""

    # ---- derivatives -------------------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(self, rotation, q, nu, nudot, morphology=None):
        """Derivatives of inverse dynamics: (dtau_dconf, dtau_dnu, M), each (6+n, 6+n).

        Columns of dtau_dconf: the tangent of the configuration, body translation and rotation in base_link axes
        (g exp([V])), then the moving joints. The derivative by nudot is the mass matrix M. Exact: Singh, Russell &
        Wensing 2022. Raises DynamicsError.
        """
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        cdef double *c = vector_of(nudot, 6 + m.moving)
        cdef Py_ssize_t n = 6 + m.moving
        x, y, z = matrix(n, n), matrix(n, n), matrix(n, n)
        if R != NULL and a != NULL and b != NULL and c != NULL:
            if m.run.inverse_derivatives(m, R, a, b, c, data(x), data(y), data(z)):
                return x, y, z
        given = self.converted(known, (("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)))
        return self.inverse_dynamics_derivatives(*given, known.given)

    def forward_dynamics_derivatives(self, rotation, q, nu, tau, morphology=None):
        """Derivatives of forward dynamics: (da_dconf, da_dnu), each (6+n, 6+n), and da_dtau (6+n, n).

        Columns as in `inverse_dynamics_derivatives`: they are -M^-1 times those derivatives. da_dtau: the joints'
        columns of M^-1, zero for limp joints. Raises DynamicsError.
        """
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        cdef double *c = vector_of(tau, m.moving)
        cdef Py_ssize_t n = 6 + m.moving
        x, y, z = matrix(n, n), matrix(n, n), matrix(n, m.moving)
        if R != NULL and a != NULL and b != NULL and c != NULL:
            if m.run.forward_derivatives(m, R, a, b, c, data(x), data(y), data(z)):
                return x, y, z
        given = self.converted(known, (("R", rotation), ("q", q), ("nu", nu), ("tau", tau)))
        return self.forward_dynamics_derivatives(*given, known.given)

    cpdef _hold(self, rotation, q, nu, tau, list names, morphology):
        """Accelerations and forces with the tips of legs held; None for what hold_tips or an error is needed."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        cdef double *c = vector_of(tau, m.moving)
        cdef int64_t legs[8]
        cdef int count = len(names), i, k
        if R == NULL or a == NULL or b == NULL or c == NULL or count > HD_MOST_LEGS:
            return None
        for i in range(count):
            index = self.legs.get(names[i]) if isinstance(names[i], str) else None
            if index is None:
                return None
            legs[i] = index
            for k in range(i):
                if legs[k] == legs[i]:
                    return None
        out, forces = vector(6 + m.moving), matrix(count, 3)
        if not m.run.hold(m, R, a, b, c, legs, count, data(out), data(forces)):
            return None
        return out, dict(zip(names, forces))

    # ---- where links and points are ----------------------------------------------------------------------------------

    def link_poses(self, rotation, position, q, morphology=None):
        """Poses of all existing links in the world: {"LF.tibia": (R (3, 3), p (3,) [m]), ...}."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *p = vector_of(position, 3)
        cdef double *a = vector_of(q, self.joints)
        cdef Py_ssize_t i
        if known.links is None:
            known.links = tuple([name for name, (leg, k) in self.links.items() if k <= m.last[<int>leg]])
        rows = matrix(len(known.links), 12)
        if R == NULL or p == NULL or a == NULL or not m.run.link_poses(m, R, p, a, data(rows)):
            given = self.converted(known, (("R", rotation), ("p", position), ("q", q)))
            return self.link_poses(*given, known.given)
        poses = {}
        for i in range(len(known.links)):
            poses[known.links[i]] = view(rows, 12 * i, 2, 3), view(rows, 12 * i + 9, 1, 3)
        return poses

    def point_jacobian(self, link, point, q, morphology=None):
        """Jacobian (3, 6+n) of a point (3,) [m] of a link: its velocity in base_link axes is J nu."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef tuple at = self.link_index(link, known)
        cdef double *x = vector_of(point, 3)
        cdef double *a = vector_of(q, self.joints)
        out = matrix(3, 6 + m.moving)
        if x == NULL or a == NULL or not m.run.point_jacobian(m, a, at[0], at[1], x, data(out)):
            point, q = self.converted(known, (("point", point), ("q", q)))
            return self.point_jacobian(link, point, q, known.given)
        return out

    def point_acceleration_bias(self, link, point, q, nu, morphology=None):
        """Return Jdot nu (3,) [m/s^2], the part of the point's acceleration from the change of its Jacobian.

        In base_link axes. The point's acceleration in the world, written in them, is J nudot + Jdot nu + w x (J nu).
        """
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef tuple at = self.link_index(link, known)
        cdef double *x = vector_of(point, 3)
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        out = vector(3)
        if x == NULL or a == NULL or b == NULL or not m.run.point_bias(m, a, b, at[0], at[1], x, data(out)):
            given = self.converted(known, (("point", point), ("q", q), ("nu", nu)))
            return self.point_acceleration_bias(link, *given, known.given)
        return out

    # ---- mass, momentum, energy --------------------------------------------------------------------------------------

    def total_mass(self, morphology=None):
        """Mass [kg] of the body and of all links that exist."""
        cdef Selection known = self.choose(morphology)
        return known.m.mass + known.m.links_mass

    def center_of_mass(self, rotation, position, q, morphology=None):
        """Centre of mass (3,) [m] in the world."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *p = vector_of(position, 3)
        cdef double *a = vector_of(q, self.joints)
        out = vector(3)
        if R == NULL or p == NULL or a == NULL or not m.run.center(m, R, p, a, data(out)):
            given = self.converted(known, (("R", rotation), ("p", position), ("q", q)))
            return self.center_of_mass(*given, known.given)
        return out

    def potential_energy(self, rotation, position, q, morphology=None):
        """Potential energy [J] of gravity, zero for a centre of mass at height 0."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *p = vector_of(position, 3)
        cdef double *a = vector_of(q, self.joints)
        cdef double energy
        if R == NULL or p == NULL or a == NULL or not m.run.potential_energy(m, R, p, a, &energy):
            given = self.converted(known, (("R", rotation), ("p", position), ("q", q)))
            return self.potential_energy(*given, known.given)
        return energy

    def kinetic_energy(self, q, nu, morphology=None):
        """Kinetic energy 1/2 nu^T M nu [J]."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        cdef double energy
        if a == NULL or b == NULL or not m.run.kinetic_energy(m, a, b, &energy):
            return self.kinetic_energy(*self.converted(known, (("q", q), ("nu", nu))), known.given)
        return energy

    def centroidal_momentum(self, rotation, q, nu, morphology=None):
        """Momentum (6,): linear [kg m/s], then angular about the centre of mass [kg m^2/s], world axes."""
        cdef Selection known = self.choose(morphology)
        cdef hd_model *m = &known.m
        cdef double *R = rotation_of(rotation)
        cdef double *a = vector_of(q, self.joints)
        cdef double *b = vector_of(nu, 6 + m.moving)
        out = vector(6)
        if R == NULL or a == NULL or b == NULL or not m.run.centroidal_momentum(m, R, a, b, data(out)):
            given = self.converted(known, (("R", rotation), ("q", q), ("nu", nu)))
            return self.centroidal_momentum(*given, known.given)
        return out

    # ---- many states -------------------------------------------------------------------------------------------------

    def _run_states(self, bint forward, morphology, bint in_place, states, R, q, nu, given, out):
        """Fill rows of `out` for states (indices, int64) of one morphology; return the first that failed, -1 if none.

        R (N, 3, 3), q, nu, tau or nudot: C-contiguous float64 arrays. in_place: nu, tau, out have all joints, not only
        those that move. The interpreter's lock is released.
        """
        cdef Selection known = self.choose(morphology)
        cdef const hd_functions *run = known.m.run
        cdef int64_t count = len(states), first
        cdef int64_t *which = <int64_t *>cnp.PyArray_DATA(states)
        cdef double *a = data(R)
        cdef double *b = data(q)
        cdef double *c = data(nu)
        cdef double *d = data(given)
        cdef double *e = data(out)
        cdef void *memory = room(run.batch_bytes(&known.m))
        run.batch_begin(&known.m, memory)
        with nogil:
            first = run.batch(&known.m, memory, forward, in_place, which, count, a, b, c, d, e)
        free(memory)
        return first

    def _run_each(self, bint forward, list morphologies, R, q, nu, given, out):
        """Fill rows of `out`, each for its own morphology; return the first that failed, -1 if none. As with in_place."""
        cdef Selection known
        cdef Py_ssize_t i, n = self.joints, size = 6 + n, width = n if forward else size
        cdef double *a
        cdef double *b
        cdef double *c
        cdef double *d
        cdef double *e
        cdef int good
        for i in range(len(morphologies)):
            try:
                known = self.choose(morphologies[i])
            except DynamicsError:
                known = None
            if known is None or known is self.whole:
                checks().check_robot(self.robot, morphologies[i], f"morphology[{i}]")
            a, b, c, d, e = data(R) + 9 * i, data(q) + n * i, data(nu) + size * i, data(given) + width * i, data(out) + size * i
            if forward:
                good = known.m.run.forward_all(&known.m, a, b, c, d, e)
            else:
                good = known.m.run.inverse_all(&known.m, a, b, c, d, e)
            if not good or not hd_is_rotation(a) or not hd_are_finite(e, size):
                return i
        return -1


cdef object view(object base, Py_ssize_t start, int dimensions, cnp.npy_intp size):
    """Return an array (size,) or (size, size) on numbers of another one."""
    cdef cnp.npy_intp sizes[2]
    sizes[0] = sizes[1] = size
    made = cnp.PyArray_SimpleNewFromData(dimensions, sizes, cnp.NPY_DOUBLE, data(base) + start)
    cnp.set_array_base(made, base)
    return made
