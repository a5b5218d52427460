# Foot forces, and the joint torques that a commanded motion needs.

cdef class FootForces:
    """Memory of the foot forces of a robot; see control/feedforward.py.

    edges (3, 4): of a friction pyramid; length [m] converts moments to forces; r: regularisation; rounds: most changes of the
    edges in use, which are kept between calls.
    """

    cdef hd_foot_forces m
    cdef readonly object forces

    def __init__(self, edges, Py_ssize_t legs, double length, double r, Py_ssize_t rounds):
        if not 0 < legs <= HD_MOST_LEGS:
            raise ValueError(f"legs: {legs} given, at most {HD_MOST_LEGS} are possible")
        self.m.legs, self.m.n, self.m.rounds, self.m.length, self.m.r = legs, HD_EDGES * legs, rounds, length, r
        put(&self.m.edges[0][0], np.asarray(edges, float).reshape(3, HD_EDGES))
        self.forces = np.zeros((legs, 3))

    def solve(self, wrench, rotation, tips, load):
        """Compute the foot forces whose sum is nearest to the wrench (6,) on the body: force [N] and moment [N m] about the body
        frame's origin, body axes.

        rotation (3, 3): world <- body; tips (legs, 3): foot positions, body axes [m]; load (legs,): load capacity of each foot,
        0 (in the air) to 1. Returns the forces (legs, 3) of the ground on the feet, world axes [N], zero for feet in the air.
        Raises HexapodError if the solver fails.
        """
        wrench, rotation, tips, load = (np.ascontiguousarray(given, float) for given in (wrench, rotation, tips, load))
        self.distribute(wrench, must(rotation, 9), must(tips, 3 * self.m.legs), must(load, self.m.legs))
        return self.forces

    cdef int distribute(self, wrench, const double *rotation, const double *tips, const double *load) except -1:
        cdef int outcome = hd_solve_forces(&self.m, must(wrench, 6), rotation, tips, load, data(self.forces))
        if outcome:
            why = "a value is not finite" if outcome == HD_NOT_FINITE else "the search did not end"
            raise HexapodError(f"no foot forces found for the wrench {wrench.tolist()}: {why}")
        return 0


cdef class CommandedTorques:
    """Joint torques that a commanded motion needs, with the model of a Simulation and its FootForces; see
    control/feedforward.py.

    Inputs: rotation (3, 3) world <- base_link, joints (n,) [rad], nu and nudot (6 + n,); load (legs,), 0 to 1: what each foot can
    carry, see `set_load`. Results: needs (6 + n,), inverse dynamics without contact; tips (legs, 3) and columns (n, 3), ends of the
    legs and their velocities by the joints' rates, body frame; forces (legs, 3), body axes [N]; torques (n,) [N m], zero where a
    joint is missing, locked or limp.
    """

    cdef Selection model
    cdef FootForces feet
    cdef readonly object rotation, joints, nu, nudot, needs, tips, columns, load, forces, torques
    cdef object wrench  # the first six of needs
    cdef Py_ssize_t legs

    def __init__(self, Simulation model, FootForces feet):
        cdef Py_ssize_t n = model.joints
        self.model, self.feet, self.legs = model.model, feet, model.legs
        self.rotation, self.joints, self.torques, self.columns = np.zeros((3, 3)), np.zeros(n), np.zeros(n), np.zeros((n, 3))
        self.nu, self.nudot, self.needs = np.zeros(6 + n), np.zeros(6 + n), np.zeros(6 + n)
        self.wrench = self.needs[:6]
        self.tips, self.load, self.forces = np.zeros((self.legs, 3)), np.zeros(self.legs), np.zeros((self.legs, 3))

    def set_load(self, joints, double slope_x, double slope_y, double height, double clearance) -> None:
        """Set the load for joints (n,) [rad] on a ground with this slope, `height` [m] below base_link: that of feet less than
        `clearance` [m] over it.
        """
        cdef hd_model *m = &self.model.m
        cdef double *R = data(self.rotation)
        cdef double *tips = data(self.tips)
        cdef double *load = data(self.load)
        cdef double over
        cdef Py_ssize_t leg, k
        m.run.feet(m, must(joints, m.robot.joints), tips, data(self.columns))
        for leg in range(self.legs):
            over = height
            for k in range(3):
                over += tips[3 * leg + k] * (R[6 + k] - slope_x * R[k] - slope_y * R[3 + k])
            load[leg] = min(max(1.0 - over / clearance, 0.0), 1.0) if m.last[leg] >= 0 else 0.0

    def solve(self):
        """Write the torques for the inputs, and return them. Raises HexapodError where no foot forces are found."""
        cdef hd_model *m = &self.model.m
        cdef double *R = data(self.rotation)
        cdef double *forces = data(self.forces)
        cdef double *needs = data(self.needs)
        cdef double *torques = data(self.torques)
        cdef Py_ssize_t leg, i, j
        m.run.feet(m, data(self.joints), data(self.tips), data(self.columns))
        m.run.inverse_all(m, R, data(self.joints), data(self.nu), data(self.nudot), needs)
        self.feet.distribute(self.wrench, R, data(self.tips), data(self.load))
        for leg in range(self.legs):
            hd_turn_back(R, data(self.feet.forces) + 3 * leg, forces + 3 * leg)
            for j in range(m.robot.first[leg], m.robot.first[leg + 1]):
                torques[j] = 0.0
            for i in range(m.start[leg], m.start[leg + 1]):
                j = m.free[i].joint
                torques[j] = m.free[i].driven * (needs[6 + j] - hd_dot(data(self.columns) + 3 * j, forces + 3 * leg, 3))
        return self.torques
