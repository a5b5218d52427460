# The whole-body model: the calls of one state, and of batches.

cdef class Model:
    """The calls of WholeBodyModel for one state, and rows of batches; see dynamics/whole_body.py for conventions.

    A call takes arrays of the core's kind as they are, and converts others. The core returns 0 where it could compute no
    result; `Selection.refuse` then names what is wrong. lanes: see `Numbers`.
    """

    cdef readonly object robot
    cdef Numbers numbers
    cdef Selection whole, known
    cdef dict selections, legs, links
    cdef Py_ssize_t joints
    cdef int most_lanes

    def __init__(self, robot, int lanes=0):
        """Prepare the memory of a robot's model. Raises DynamicsError if `robot` is not a Robot."""
        self.robot, self.joints = robot, checks().require_robot(robot).joint_count
        self.numbers, self.most_lanes = Numbers(robot, lanes), lanes
        self.legs = {name: index for index, name in enumerate(robot.leg_names)}
        self.links = {}
        for index, leg in enumerate(robot.legs):
            for k, link in enumerate(leg.link_names):
                self.links[f"{leg.name}.{link}"] = index, k
        self.selections = {}
        self.whole = Selection(self.numbers, checks().Morphology.whole(robot), None)
        self.known = self.whole

    def __reduce__(self):
        return type(self), (self.robot, self.most_lanes)

    @property
    def lanes(self) -> int:
        """Number of legs that a vector register holds."""
        return self.numbers.run.lanes

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
        checks().Morphology.check(self.robot, morphology)
        key = (<char *>data(morphology.table))[: 4 * self.joints * sizeof(double)]
        found = self.selections.get(key)
        if found is None:
            if len(self.selections) >= KEPT_SELECTIONS:
                del self.selections[next(iter(self.selections))]
            found = self.selections[key] = Selection(self.numbers, morphology, morphology)
        found.given, self.known = morphology, found  # for the next call; this call uses the returned selection
        return found

    cdef dict forces_of(self, tip_forces, Selection known, const double **forces):
        """Write the address of each leg's force, NULL where there is none; return the arrays (3,) by leg."""
        cdef int leg
        cdef dict given = tip_forces if type(tip_forces) is dict else self.made_forces(tip_forces)
        for leg in range(HD_MOST_LEGS):
            forces[leg] = NULL
        for name, force in given.items():
            leg = self.leg_index(name, known)
            if not fits(force, 1, 3, 0):
                return self.forces_of(self.made_forces(tip_forces), known, forces)
            forces[leg] = data(force)
        return given

    cdef dict made_forces(self, tip_forces):
        """Return tip forces as arrays (3,); DynamicsError if they are wrong."""
        if not isinstance(tip_forces, Mapping):
            raise DynamicsError(f"tip_forces: {tip_forces!r} given, a dict {{leg: force (3,)}} needed")
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

    # ---- one state ---------------------------------------------------------------------------------------------------

    def forward_dynamics(self, rotation, q, nu, tau, morphology=None, tip_forces=None):
        """Accelerations nudot (6+n,) under joint torques tau (n,) and tip_forces {leg: force (3,) [N], world axes}.

        A limp joint's torque is zero; its entry in tau is ignored. Raises DynamicsError for input of the wrong
        shape or not finite. (6), solved as an arrow: n_i x n_i blocks and one 6x6.
        """
        cdef Selection s = self.choose(morphology)
        cdef const double *forces[8]
        cdef const double *const *pushing = NULL
        R, q, nu, tau, out = s.rotation(rotation), s.positions(q), s.rates(nu), s.torques(tau), vector(s.size)
        if tip_forces is not None:
            tip_forces = self.forces_of(tip_forces, s, forces)
            pushing = forces
        if not s.m.run.forward(&s.m, data(R), data(q), data(nu), data(tau), pushing, data(out)):
            self.made_forces(tip_forces or {})
            s.refuse({"R": R, "q": q, "nu": nu, "tau": tau})
        return out

    def inverse_dynamics(self, rotation, q, nu, nudot, morphology=None, tip_forces=None):
        """Wrench on the base and joint torques (6+n,) that accelerations nudot (6+n,) need, in addition to tip_forces.

        tip_forces {leg: force (3,) [N], world axes}. A limp joint's entry is the torque that it would need: if it
        is not zero, the robot cannot perform this motion. Raises DynamicsError. (6), by recursion along each leg.
        """
        cdef Selection s = self.choose(morphology)
        cdef const double *forces[8]
        cdef const double *const *pushing = NULL
        R, q, nu, nudot, out = s.rotation(rotation), s.positions(q), s.rates(nu), s.accelerations(nudot), vector(s.size)
        if tip_forces is not None:
            tip_forces = self.forces_of(tip_forces, s, forces)
            pushing = forces
        if not s.m.run.inverse(&s.m, data(R), data(q), data(nu), data(nudot), pushing, data(out)):
            self.made_forces(tip_forces or {})
            s.refuse({"R": R, "q": q, "nu": nu, "nudot": nudot})
        return out

    def mass_matrix(self, q, morphology=None):
        """Mass matrix M (6+n, 6+n), (31) and (32)."""
        cdef Selection s = self.choose(morphology)
        q, out = s.positions(q), matrix(s.size, s.size)
        if not s.m.run.mass(&s.m, data(q), data(out)):
            s.refuse({"q": q})
        return out

    def coriolis_matrix(self, q, nu, morphology=None):
        """Coriolis matrix C (6+n, 6+n) such that Mdot - 2C is skew-symmetric, (44)-(51)."""
        cdef Selection s = self.choose(morphology)
        q, nu, out = s.positions(q), s.rates(nu), matrix(s.size, s.size)
        if not s.m.run.coriolis(&s.m, data(q), data(nu), data(out)):
            s.refuse({"q": q, "nu": nu})
        return out

    def gravity_force(self, rotation, q, morphology=None):
        """Gravity g (6+n,) on the left-hand side, M nudot + C nu + g = tau (9)."""
        cdef Selection s = self.choose(morphology)
        R, q, out = s.rotation(rotation), s.positions(q), vector(s.size)
        if not s.m.run.inverse(&s.m, data(R), data(q), NULL, NULL, NULL, data(out)):
            s.refuse({"R": R, "q": q})
        return out

    def tip_jacobian(self, leg, q, morphology=None):
        """Jacobian J (6, 6+n) of a leg's tip, V_tip = J nu (11).

        The tip frame is at the end of the leg's last existing link and has that link's axes, x along the link.
        """
        cdef Selection s = self.choose(morphology)
        cdef int index = self.leg_index(leg, s)
        q, out = s.positions(q), matrix(6, s.size)
        if not s.m.run.tip(&s.m, data(q), index, data(out)):
            s.refuse({"q": q})
        return out

    # ---- derivatives, held feet --------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(self, rotation, q, nu, nudot, morphology=None):
        """Derivatives of inverse dynamics: (dtau_dconf, dtau_dnu, M), each (6+n, 6+n).

        Columns of dtau_dconf: the tangent of the configuration, body translation and rotation in base_link axes
        (g exp([V])), then the moving joints. The derivative by nudot is the mass matrix M. Exact: Singh, Russell &
        Wensing 2022. Raises DynamicsError.
        """
        cdef Selection s = self.choose(morphology)
        cdef Py_ssize_t n = s.size
        R, q, nu, nudot = s.rotation(rotation), s.positions(q), s.rates(nu), s.accelerations(nudot)
        x, y, z = matrix(n, n), matrix(n, n), matrix(n, n)
        if not s.m.run.inverse_derivatives(&s.m, data(R), data(q), data(nu), data(nudot), data(x), data(y), data(z)):
            s.refuse({"R": R, "q": q, "nu": nu, "nudot": nudot})
        return x, y, z

    def forward_dynamics_derivatives(self, rotation, q, nu, tau, morphology=None):
        """Derivatives of forward dynamics: (da_dconf, da_dnu), each (6+n, 6+n), and da_dtau (6+n, n).

        Columns as in `inverse_dynamics_derivatives`: they are -M^-1 times those derivatives. da_dtau: the joints'
        columns of M^-1, zero for limp joints. Raises DynamicsError.
        """
        cdef Selection s = self.choose(morphology)
        cdef Py_ssize_t n = s.size
        R, q, nu, tau = s.rotation(rotation), s.positions(q), s.rates(nu), s.torques(tau)
        x, y, z = matrix(n, n), matrix(n, n), matrix(n, n - 6)
        if not s.m.run.forward_derivatives(&s.m, data(R), data(q), data(nu), data(tau), data(x), data(y), data(z)):
            s.refuse({"R": R, "q": q, "nu": nu, "tau": tau})
        return x, y, z

    def _regressors(self, morphology, R, q, nu, nudot):
        """Regressors (T, 6+n, 10 links) of inverse dynamics for T states, see regressors.py; R (T, 3, 3): any matrices."""
        cdef Selection s = self.choose(morphology)
        cdef Py_ssize_t i
        links = 1 + int(s.morphology.existing_mask.sum())
        out = np.empty((len(q), s.size, 10 * links))
        for i in range(len(q)):
            if not s.m.run.regressor(&s.m, data(R[i]), data(q[i]), data(nu[i]), data(nudot[i]), data(out[i])):
                raise DynamicsError(f"the regressor of state {i} is not finite: nu, nudot are too large")
        return out

    cpdef _hold(self, rotation, q, nu, tau, list names, morphology):
        """Accelerations and forces with the tips of legs held; None for what hold_tips or an error is needed."""
        cdef Selection s = self.choose(morphology)
        cdef int64_t legs[8]
        cdef int count = len(names), seen = 0, i
        if count > HD_MOST_LEGS:
            return None
        for i in range(count):
            legs[i] = self.leg_index(names[i], s)
            if seen >> legs[i] & 1:
                return None
            seen |= 1 << legs[i]
        R, q, nu, tau = s.rotation(rotation), s.positions(q), s.rates(nu), s.torques(tau)
        out, forces = vector(s.size), matrix(count, 3)
        if not s.m.run.hold(&s.m, data(R), data(q), data(nu), data(tau), legs, count, data(out), data(forces)):
            return None
        return out, dict(zip(names, forces))

    # ---- where links and points are ----------------------------------------------------------------------------------

    def link_poses(self, rotation, position, q, morphology=None):
        """Poses of all existing links in the world: {"LF.tibia": (R (3, 3), p (3,) [m]), ...}."""
        cdef Selection s = self.choose(morphology)
        cdef Py_ssize_t i
        if s.links is None:
            s.links = tuple([name for name, (leg, k) in self.links.items() if k <= s.m.last[<int>leg]])
        R, p, q, rows = s.rotation(rotation), s.position(position), s.positions(q), matrix(len(s.links), 12)
        if not s.m.run.link_poses(&s.m, data(R), data(p), data(q), data(rows)):
            s.refuse({"R": R, "p": p, "q": q})
        poses = {}
        for i in range(len(s.links)):
            poses[s.links[i]] = view(rows, 12 * i, 2, 3), view(rows, 12 * i + 9, 1, 3)
        return poses

    def point_jacobian(self, link, point, q, morphology=None):
        """Jacobian (3, 6+n) of a point (3,) [m] of a link: its velocity in base_link axes is J nu."""
        cdef Selection s = self.choose(morphology)
        cdef tuple at = self.link_index(link, s)
        point, q, out = s.point(point), s.positions(q), matrix(3, s.size)
        if not s.m.run.point_jacobian(&s.m, data(q), at[0], at[1], data(point), data(out)):
            s.refuse({"point": point, "q": q})
        return out

    def point_acceleration_bias(self, link, point, q, nu, morphology=None):
        """Return Jdot nu (3,) [m/s^2], the part of the point's acceleration from the change of its Jacobian.

        In base_link axes. The point's acceleration in the world, written in them, is J nudot + Jdot nu + w x (J nu).
        """
        cdef Selection s = self.choose(morphology)
        cdef tuple at = self.link_index(link, s)
        point, q, nu, out = s.point(point), s.positions(q), s.rates(nu), vector(3)
        if not s.m.run.point_bias(&s.m, data(q), data(nu), at[0], at[1], data(point), data(out)):
            s.refuse({"point": point, "q": q, "nu": nu})
        return out

    # ---- mass, momentum, energy --------------------------------------------------------------------------------------

    def total_mass(self, morphology=None):
        """Mass [kg] of the body and of all links that exist."""
        cdef Selection s = self.choose(morphology)
        return s.m.mass + s.m.links_mass

    def center_of_mass(self, rotation, position, q, morphology=None):
        """Centre of mass (3,) [m] in the world."""
        cdef Selection s = self.choose(morphology)
        R, p, q, out = s.rotation(rotation), s.position(position), s.positions(q), vector(3)
        if not s.m.run.center(&s.m, data(R), data(p), data(q), data(out)):
            s.refuse({"R": R, "p": p, "q": q})
        return out

    def potential_energy(self, rotation, position, q, morphology=None):
        """Potential energy [J] of gravity, zero for a centre of mass at height 0."""
        cdef Selection s = self.choose(morphology)
        cdef double energy
        R, p, q = s.rotation(rotation), s.position(position), s.positions(q)
        if not s.m.run.potential_energy(&s.m, data(R), data(p), data(q), &energy):
            s.refuse({"R": R, "p": p, "q": q})
        return energy

    def kinetic_energy(self, q, nu, morphology=None):
        """Kinetic energy 1/2 nu^T M nu [J]."""
        cdef Selection s = self.choose(morphology)
        cdef double energy
        q, nu = s.positions(q), s.rates(nu)
        if not s.m.run.kinetic_energy(&s.m, data(q), data(nu), &energy):
            s.refuse({"q": q, "nu": nu})
        return energy

    def centroidal_momentum(self, rotation, q, nu, morphology=None):
        """Momentum (6,): linear [kg m/s], then angular about the centre of mass [kg m^2/s], world axes."""
        cdef Selection s = self.choose(morphology)
        R, q, nu, out = s.rotation(rotation), s.positions(q), s.rates(nu), vector(6)
        if not s.m.run.centroidal_momentum(&s.m, data(R), data(q), data(nu), data(out)):
            s.refuse({"R": R, "q": q, "nu": nu})
        return out

    # ---- many states -------------------------------------------------------------------------------------------------

    def _run_states(self, bint forward, morphology, bint in_place, states, R, q, nu, given, out):
        """Fill rows of `out` for states (indices, int64) of one morphology; return the first that failed, -1 if none.

        R (N, 3, 3), q, nu, tau or nudot: C-contiguous float64 arrays. in_place: nu, tau, out have all joints, not only
        those that move. The interpreter's lock is released.
        """
        cdef Selection s = self.choose(morphology)
        cdef int64_t count = len(states), first
        cdef int64_t *which = <int64_t *>cnp.PyArray_DATA(states)
        cdef double *p[5]
        p[0], p[1], p[2], p[3], p[4] = data(R), data(q), data(nu), data(given), data(out)
        with nogil:
            first = s.m.run.batch(&s.m, forward, in_place, which, count, p[0], p[1], p[2], p[3], p[4])
        return first

    def _run_each(self, bint forward, list morphologies, R, q, nu, given, out):
        """Fill rows of `out`, each for its own morphology; return the first that failed, -1 if none. As with in_place."""
        cdef Selection s
        cdef Py_ssize_t i, n = self.joints, size = 6 + n, width = n if forward else size
        cdef double *p[5]
        cdef int good
        for i in range(len(morphologies)):
            try:
                s = self.choose(morphologies[i])
            except DynamicsError:
                s = None
            if s is None or s is self.whole:
                checks().Morphology.check(self.robot, morphologies[i], f"morphology[{i}]")
            p[0], p[1], p[2] = data(R) + 9 * i, data(q) + n * i, data(nu) + size * i
            p[3], p[4] = data(given) + width * i, data(out) + size * i
            good = (s.m.run.forward_all if forward else s.m.run.inverse_all)(&s.m, p[0], p[1], p[2], p[3], p[4])
            if not good or not hd_is_rotation(p[0]) or not hd_are_finite(p[4], size):
                return i
        return -1
