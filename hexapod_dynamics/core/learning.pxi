# One control period of a walking robot for reinforcement learning: see learning/walking_robot.py.

cdef extern from *:
    """
    /* Deviation of the velocity [m/s] at which the reward has fallen to 1/e; lever arm [m] that converts a deviation of the yaw
     * rate into one of the velocity; cosine of the tilt beyond which the robot has fallen. */
    static const double HD_SPEED_SCALE = 0.05, HD_TURN_ARM = 0.1, HD_TILTED = 0.5;
    """
    const double HD_SPEED_SCALE, HD_TURN_ARM, HD_TILTED


cdef class Period:
    """The memory of a control period of a Simulation.

    pose (n,) [rad], reach [rad], asked (3,) [m/s, rad/s], limits (13 + 3 n,) of the observation, all kept. exists (n,): 1 if a
    joint exists. Results: observation (13 + 3 n,), reward, fallen, power [W].
    """

    cdef Simulation robot
    cdef readonly object observation, exists
    cdef object pose, asked, limits
    cdef double reach, power_weight
    cdef readonly double reward, power
    cdef readonly bint fallen

    def __init__(self, Simulation robot, pose, double reach, asked, double power_weight, limits):
        cdef Py_ssize_t size = 13 + 3 * robot.joints
        must(pose, robot.joints)
        must(asked, 3)
        must(limits, size)
        self.robot, self.pose, self.reach, self.asked = robot, pose, reach, asked
        self.power_weight, self.limits = power_weight, limits
        self.observation, self.exists = np.zeros(size), np.ones(robot.joints)

    def observe(self) -> None:
        """Write the observation."""
        cdef hd_world *w = &self.robot.w
        cdef double *out = data(self.observation)
        cdef double *pose = data(self.pose)
        cdef double *limits = data(self.limits)
        cdef double *exists = data(self.exists)
        cdef double normal[3]
        cdef Py_ssize_t n = self.robot.joints, j
        copy(out, w.rotation + 6, 3)
        copy(out + 3, w.nu, 6)
        out[9] = w.position[2] - hd_surface(w.plane, w.rises, w.rise_count, w.position[0], w.position[1], normal)
        copy(out + 10, data(self.asked), 3)
        for j in range(n):
            out[13 + j] = w.q[j] - pose[j] if exists[j] else 0.0
            out[13 + n + j] = w.nu[6 + j]
            out[13 + 2 * n + j] = w.servos[j].setpoint - pose[j] if exists[j] else 0.0
        for j in range(13 + 3 * n):
            out[j] = min(limits[j], max(-limits[j], out[j]))

    def run(self, action, double period, int64_t steps) -> None:
        """Send the servos to pose + reach * action, (n,) limited to [-1, 1], in `period` [s], simulate, observe, reward."""
        cdef hd_world *w = &self.robot.w
        cdef hd_model *m = &self.robot.model.m
        cdef Py_ssize_t n = self.robot.joints, j
        cdef double *wanted = must(action, n)
        cdef double *pose = data(self.pose)
        cdef double *asked = data(self.asked)
        cdef double h = period / steps
        # the heading at the start: x axis of base_link on the ground
        cdef double cx = w.rotation[0], cy = w.rotation[3], x = w.position[0], y = w.position[1], turned = 0.0, power = 0.0
        cdef double size = sqrt(cx * cx + cy * cy), dx, dy, forward, left, yaw
        cdef int64_t k
        with nogil:
            for j in range(n):
                hd_send(w.servos + j, w.drive, pose[j] + self.reach * min(1.0, max(-1.0, wanted[j])), period)
            for k in range(steps):
                m.run.steps(m, w, h, 1)
                for j in range(3):
                    turned += h * w.rotation[6 + j] * w.nu[3 + j]
                for j in range(n):
                    power += fabs(w.servos[j].torque * w.nu[6 + j])
        self.power = power / steps
        cx, cy = (cx / size, cy / size) if size > 1e-9 else (1.0, 0.0)
        dx, dy = (w.position[0] - x) / period, (w.position[1] - y) / period
        forward, left = cx * dx + cy * dy - asked[0], cx * dy - cy * dx - asked[1]
        yaw = HD_TURN_ARM * (turned / period - asked[2])
        self.reward = exp(-(forward * forward + left * left + yaw * yaw) / (HD_SPEED_SCALE * HD_SPEED_SCALE))
        self.reward -= self.power_weight * self.power
        self.fallen = not (w.rotation[8] >= HD_TILTED and self.reward - self.reward == 0.0)
        self.observe()
