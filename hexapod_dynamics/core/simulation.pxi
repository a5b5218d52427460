# The simulated robot: ground, servos, steps in time, loops over them.

cdef double zeros[9 + HD_MOST]  # rates of what does not move; a rotation with which nothing has weight
PLANE = DTYPES["hd_plane"]
RISE = DTYPES["hd_rise"]
DRIVE = DTYPES["hd_drive"]
SERVO = DTYPES["hd_servo"]
LAW = DTYPES["hd_law"]


cdef void *structs(object a, object dtype, Py_ssize_t count) except? NULL:
    """Return the memory of an array of `count` structs; raise ValueError if `a` is none. NULL if `count` is 0."""
    if not (cnp.PyArray_CheckExact(a) and a.dtype == dtype and a.flags.c_contiguous and a.size == count):
        raise ValueError(f"a contiguous array of {count} numbers with the fields {', '.join(dtype.names)} needed")
    return cnp.PyArray_DATA(a) if count else NULL


# ---- ground ----------------------------------------------------------------------------------------------------------


def surface(plane, rises, double x, double y) -> tuple:
    """Return the height [m] at (x, y) [m] and the upward unit normal, three numbers."""
    cdef double n[3]
    cdef hd_rise *steps = <hd_rise *>structs(rises, RISE, len(rises))
    cdef double height = hd_surface(<hd_plane *>structs(plane, PLANE, 1), steps, len(rises), x, y, n)
    return height, n[0], n[1], n[2]


def heights(plane, rises, xs, ys) -> object:
    """Return the heights (len(ys), len(xs)) [m] over a grid."""
    cdef double n[3]
    cdef hd_plane *p = <hd_plane *>structs(plane, PLANE, 1)
    cdef hd_rise *steps = <hd_rise *>structs(rises, RISE, len(rises))
    cdef Py_ssize_t width = len(xs), rows = len(ys), count = len(rises), r, c
    cdef double *along = must(xs, width)
    cdef double *across = must(ys, rows)
    out = matrix(rows, width)
    cdef double *z = data(out)
    for r in range(rows):
        for c in range(width):
            z[r * width + c] = hd_surface(p, steps, count, along[c], across[r], n)
    return out


def drawn(int64_t i, int64_t j, int64_t seed) -> float:
    """Return a pseudo-random number from 0 to 1 for whole numbers i, j and a seed."""
    return hd_corner_number(i, j, seed) + 0.5


# ---- steps -----------------------------------------------------------------------------------------------------------


cdef class Tick:
    """A compiled gait: a function that advances it by a time [s] and leaves set-points of its joints [rad]; see gait.pxi."""

    cdef void (*tick)(void *gait, double dt) noexcept nogil
    cdef void *gait
    cdef const double *setpoints
    cdef readonly Py_ssize_t joints


cdef class Simulation:
    """A robot's model with its ground and servos, and the memory of its state: what a step reads and writes.

    plane (1,) of PLANE, rises (k,) of RISE, law (1,) of LAW, drive (1,) of DRIVE: see simulation/world.py. memory: all numbers
    that steps change; views of it: position (3,), rotation (3, 3), q (n,), nu (6 + n,), results of the last step: foot_forces
    (legs, 3), ground_force (3,), acceleration (6 + n,), and servos (n,) of SERVO. row_width: numbers of a row of a log. The loops
    release the interpreter's lock, so each thread needs a Simulation of its own. external (6,): wrench on the main body [N, N m],
    force first, in base_link.
    """

    cdef readonly Selection model
    cdef hd_world w
    cdef readonly Py_ssize_t joints, legs, row_width
    cdef Py_ssize_t logged  # how many numbers of the memory a log has as they are
    cdef readonly object plane, drive, external, memory, position, rotation, q, nu, servos, acceleration, foot_forces, ground_force
    cdef object rises, law, box, results, kept

    def __init__(self, robot, morphology, plane, rises, law, drive):
        cdef hd_world *w = &self.w
        cdef Py_ssize_t n = robot.joint_count, legs = len(robot.legs)
        cdef cnp.npy_intp six = 6
        self.model = Selection(Numbers(robot), morphology, None)
        self.external = cnp.PyArray_SimpleNewFromData(1, &six, cnp.NPY_DOUBLE, self.model.m.external)
        cnp.set_array_base(self.external, self.model)
        self.joints, self.legs = n, legs
        self.plane, self.rises, self.law, self.drive, self.box = plane, rises, law, drive, np.array(robot.body.box, float)
        sizes = 3, 9, n, 6 + n, 3 * legs, 3, 6 + n, (n + HD_CORNERS) * (sizeof(hd_slid) // 8), n * (sizeof(hd_servo) // 8)
        self.memory, self.kept, self.logged = np.zeros(sum(sizes)), np.zeros(sum(sizes)), sum(sizes[:6])
        self.row_width = self.logged + 2 * n
        parts = np.split(self.memory, np.cumsum(sizes)[:-1])
        self.position, turn, self.q, self.nu, feet, self.ground_force, self.acceleration, slid, servos = parts
        self.rotation, self.servos, self.foot_forces = turn.reshape(3, 3), servos.view(SERVO), feet.reshape(legs, 3)
        self.results = self.memory[sum(sizes[:4]) : sum(sizes[:8])]
        w.position, w.rotation, w.q, w.nu = data(self.position), data(self.rotation), data(self.q), data(self.nu)
        w.acceleration, w.foot_forces = data(self.acceleration), data(self.foot_forces)
        w.ground_force, w.box, w.slid = data(self.ground_force), data(self.box), <hd_slid *>data(slid)
        w.plane, w.rise_count = <hd_plane *>structs(plane, PLANE, 1), len(rises)
        w.rises = <hd_rise *>structs(rises, RISE, w.rise_count)
        w.law, w.drive = <hd_law *>structs(law, LAW, 1), <hd_drive *>structs(drive, DRIVE, 1)
        w.servos = <hd_servo *>cnp.PyArray_DATA(self.servos)

    def forget(self) -> None:
        """Clear what the last step has stored for the next one: forces, sliding contacts, saturated servos."""
        self.results[:] = 0.0
        for name in ("torque", "saturated", "stopped"):
            self.servos[name] = 0.0

    def add_payload(self, double mass, double x, double y, double z) -> None:
        """Add a point mass [kg] at (x, y, z) [m] in base_link to the main body."""
        cdef hd_model *m = &self.model.m
        m.mass += mass
        place = (x, y, z)
        inertia = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z)
        for i in range(3):
            m.h[i] += mass * <double>place[i]
        for i in range(6):
            m.inertia[i] += mass * <double>inertia[i]

    # ---- steps ----

    def run_steps(self, double h, int64_t count) -> None:
        """Simulate steps of h [s] while the servos move to their targets."""
        with nogil:
            self.model.m.run.steps(&self.model.m, &self.w, h, count)

    def walk(
        self, Tick gait, double h, int64_t steps, int64_t since, int64_t period, double resolution, log, int64_t every
    ) -> int:
        """Simulate while a gait, if any, commands the servos every `period` steps, in multiples of a resolution [rad].

        since: number of steps since its last command; the new number is returned. Every `every`-th step is written to the log
        (rows, row_width), see `log_state`.
        """
        cdef int64_t k, width = self.row_width
        cdef double *rows = must(log, len(log) * width)
        cdef bint commanded = gait is not None
        if commanded and gait.joints != self.joints:
            raise ValueError(f"gait: of {gait.joints} joints, {self.joints} are needed")
        if len(log) < steps // every:
            raise ValueError(f"log: {len(log)} rows given, {steps // every} are needed")
        with nogil:
            for k in range(steps):
                if commanded and since % period == 0:
                    gait.tick(gait.gait, period * h)
                    self.send(gait.setpoints, period * h, resolution)
                since += 1
                self.model.m.run.steps(&self.model.m, &self.w, h, 1)
                if (k + 1) % every == 0:
                    self.write(rows + ((k + 1) // every - 1) * width)
        return since % period

    def log_state(self, row) -> None:
        """Write the present state to a row (row_width,) of a log, in the order of `trajectory.split`."""
        self.write(must(row, self.row_width))

    cdef void write(self, double *row) noexcept nogil:
        cdef Py_ssize_t j
        copy(row, self.w.position, self.logged)  # and what follows it in the memory
        for j in range(self.joints):
            row[self.logged + j] = self.w.servos[j].setpoint
            row[self.logged + self.joints + j] = self.w.servos[j].torque

    def command(self, targets, double duration, double resolution) -> None:
        """Send every servo to its target (n,) [rad], rounded to the resolution unless that is 0, in a duration [s]."""
        self.send(must(targets, self.joints), duration, resolution)

    def command_joint(self, Py_ssize_t joint, double target, double duration) -> None:
        """Send the servo of one joint, by its index, to a target [rad or m] in a duration [s], within its speed limit."""
        if not 0 <= joint < self.joints:
            raise IndexError(f"joint {joint} given, of {self.joints}")
        hd_start_motion(self.w.servos + joint, self.w.drive, target, duration)

    def move_setpoints(self, double h) -> None:
        """Advance every set-point by h seconds."""
        hd_move_setpoints(self.w.servos, self.joints, h)

    cdef void send(self, const double *targets, double duration, double resolution) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.joints):
            hd_start_motion(self.w.servos + j, self.w.drive, hd_quantise(targets[j], resolution), duration)

    def predict(self, targets, double period, double h, int64_t steps, positions, rotations, joints) -> None:
        """Predict from the present state under targets (K, n) [rad], one every period [s]; nothing is changed by it.

        The results after each period go to positions (K, 3), rotations (K, 3, 3), joints (K, n).
        """
        cdef hd_world *w = &self.w
        cdef Py_ssize_t count = len(targets), n = self.joints, k
        cdef double *wanted = must(targets, count * n)
        cdef double *places = must(positions, 3 * count)
        cdef double *turns = must(rotations, 9 * count)
        cdef double *angles = must(joints, count * n)
        self.kept[:] = self.memory
        with nogil:
            for k in range(count):
                self.send(wanted + k * n, period, 0.0)
                self.model.m.run.steps(&self.model.m, w, h, steps)
                copy(places + 3 * k, w.position, 3)
                copy(turns + 9 * k, w.rotation, 9)
                copy(angles + n * k, w.q, n)
        self.memory[:] = self.kept

    # ---- queries ----

    def resting_height(self) -> float:
        """Return the height [m] of the body over the origin at which its lowest link end or corner touches the ground."""
        return self.model.m.run.resting_height(&self.model.m, &self.w)

    def needs(self, rotation, q, nu, nudot, tips, columns, out) -> None:
        """Write inverse dynamics without contact to out (6 + n,), all joints, and the feet's places and Jacobians.

        rotation (3, 3) world <- base_link, q (n,), nu and nudot (6 + n,). tips (legs, 3): end of each leg, columns (n, 3): its
        velocity per joint rate, body frame.
        """
        cdef hd_model *m = &self.model.m
        cdef Py_ssize_t n = self.joints
        cdef double *angles = must(q, n)
        m.run.feet(m, angles, must(tips, 3 * self.legs), must(columns, 3 * n))
        m.run.inverse_all(m, must(rotation, 9), angles, must(nu, 6 + n), must(nudot, 6 + n), must(out, 6 + n))

    def inertial(self, nudot, out) -> None:
        """Write M(q) nudot to out (6 + n,), all joints: what accelerates the robot, without gravity and motion."""
        cdef double *a = must(nudot, 6 + self.joints)
        self.model.m.run.inverse_all(&self.model.m, zeros, self.w.q, zeros, a, must(out, 6 + self.joints))

    def strike(self, impulse, out) -> None:
        """Write M(q)^-1 impulse to out (6 + n,), all joints; what is locked or missing has no velocity."""
        cdef double *p = must(impulse, 6 + self.joints)
        self.model.m.run.strike(&self.model.m, self.w.q, p, must(out, 6 + self.joints))


cdef inline void copy(double *to, const double *source, Py_ssize_t count) noexcept nogil:
    memcpy(to, source, count * sizeof(double))
