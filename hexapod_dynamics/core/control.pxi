# Foot forces, and the joint torques that a commanded motion needs.

cdef class FootForces:
    """Memory of the foot forces of a robot; see control/foot_forces.py.

    edges (3, 4): of a friction pyramid; length [m] converts moments to forces; r: regularisation; rounds: most changes of the
    edges in use. Inputs: wrench (6,) on the body, rotation (3, 3) world <- body, tips (legs, 3), load (legs,). Result: forces
    (legs, 3), world axes [N]. The edges in use are kept between calls.
    """

    cdef hd_foot_forces m
    cdef object given
    cdef readonly object wrench, rotation, tips, load, forces

    def __init__(self, edges, Py_ssize_t legs, double length, double r, Py_ssize_t rounds):
        if not 0 < legs <= HD_MOST_LEGS:
            raise ValueError(f"legs: {legs} given, at most {HD_MOST_LEGS} are possible")
        self.given = edges, legs, length, r, rounds
        self.m.legs, self.m.n, self.m.rounds, self.m.length, self.m.r = legs, HD_EDGES * legs, rounds, length, r
        put(&self.m.edges[0][0], np.asarray(edges, float).reshape(3, HD_EDGES))
        self.wrench, self.rotation, self.tips = np.zeros(6), np.zeros((3, 3)), np.zeros((legs, 3))
        self.load, self.forces = np.zeros(legs), np.zeros((legs, 3))

    def __reduce__(self):
        return type(self), self.given

    def solve(self) -> int:
        """Write the forces for the inputs; return 0, 1: an input is not finite, 2: no minimum after `rounds` changes."""
        return hd_solve_forces(&self.m, data(self.wrench), data(self.rotation), data(self.tips), data(self.load), data(self.forces))


cdef class CommandedTorques:
    """Joint torques that a commanded motion needs, with the model of a Simulation and its FootForces; see
    control/feedforward.py.

    Inputs: rotation (3, 3) world <- base_link, predicted and joints (n,) [rad], nu and nudot (6 + n,), driven (n,): 1 if a joint
    has torque. Results: needs (6 + n,), inverse dynamics without contact; tips (legs, 3) and columns (n, 3), ends of the legs and
    their velocities by the joints' rates, body frame; load (legs,); forces (legs, 3), body axes [N]; torques (n,) [N m].
    """

    cdef Selection model
    cdef FootForces feet
    cdef readonly object rotation, predicted, joints, nu, nudot, driven, needs, tips, columns, load, forces, torques
    cdef Py_ssize_t legs

    def __init__(self, Simulation model, FootForces feet):
        cdef Py_ssize_t n = model.joints
        self.model, self.feet, self.legs = model.model, feet, model.legs
        self.rotation, self.driven = np.zeros((3, 3)), np.ones(n)
        self.predicted, self.joints = np.zeros(n), np.zeros(n)
        self.nu, self.nudot, self.needs, self.torques = (np.zeros(size) for size in (6 + n, 6 + n, 6 + n, n))
        self.tips, self.columns = np.zeros((self.legs, 3)), np.zeros((n, 3))
        self.load, self.forces = np.zeros(self.legs), np.zeros((self.legs, 3))

    def solve(self, double slope_x, double slope_y, double height, double clearance) -> int:
        """Write the torques for the inputs, on a ground with this slope, `height` [m] below base_link; return what
        `FootForces.solve` returns.

        Feet less than `clearance` [m] over the ground carry load.
        """
        cdef hd_model *m = &self.model.m
        cdef double *R = data(self.rotation)
        cdef double *tips = data(self.tips)
        cdef double *columns = data(self.columns)
        cdef double *load = data(self.load)
        cdef double *forces = data(self.forces)
        cdef double *needs = data(self.needs)
        cdef double *driven = data(self.driven)
        cdef double *torques = data(self.torques)
        cdef double *world = data(self.feet.forces)
        cdef double over
        cdef Py_ssize_t leg, k, j
        cdef int outcome
        m.run.feet(m, data(self.predicted), tips, columns)
        for leg in range(self.legs):
            over = height
            for k in range(3):
                over += tips[3 * leg + k] * (R[6 + k] - slope_x * R[k] - slope_y * R[3 + k])
            load[leg] = min(max(1.0 - over / clearance, 0.0), 1.0) if m.last[leg] >= 0 else 0.0
        m.run.feet(m, data(self.joints), tips, columns)
        m.run.inverse_all(m, R, data(self.joints), data(self.nu), data(self.nudot), needs)
        outcome = hd_solve_forces(&self.feet.m, needs, R, tips, load, world)
        if outcome:
            return outcome
        for leg in range(self.legs):
            for k in range(3):  # body axes
                forces[3 * leg + k] = world[3 * leg] * R[k] + world[3 * leg + 1] * R[3 + k] + world[3 * leg + 2] * R[6 + k]
            for j in range(m.robot.first[leg], m.robot.first[leg + 1]):
                torques[j] = needs[6 + j]
                for k in range(3):
                    torques[j] -= columns[3 * j + k] * forces[3 * leg + k]
                if driven[j] == 0.0:
                    torques[j] = 0.0
        return 0
