# Gaits: legs, plans, one tick of the adaptive and of the tripod gait, evaluation of plans. See gait.h and the headers named below.

cdef extern from "gait.h" nogil:
    struct hd_gait_leg:
        double[9] to_leg
        double[3] mount, lengths, lower, upper
        double[2] knee
        double[3] free, held, mass, centre
        double used, phase
        double[2] foothold
        double[3] rest
    struct hd_plan:
        double period, duty, height, lift, crawls, rise
        double[32] sway
    struct hd_xy:
        double x, y
    struct hd_xyz:
        double x, y, z
    struct hd_value:
        double value, rate
    struct hd_angles:
        double[3] q, rate
    double hd_wrapped(double angle)
    double hd_fraction(double value)
    hd_xyz hd_foot_at(const double *q, const double *lengths)
    hd_angles hd_solve_leg(const hd_gait_leg *, hd_xyz to, hd_xyz rate)
    int hd_cycle_foot(const hd_plan *, const hd_gait_leg *, double phase, const double *twist, hd_xyz *foot)

cdef extern from "adaptive_gait.h" nogil:
    enum hd_mode:
        HD_STAND, HD_START, HD_WALK, HD_SETTLE, HD_LOWER, HD_MOVE, HD_SAT, HD_RISE, HD_PROBE
    struct hd_gait_settings:
        double acceleration, turning, speed, folding, yaw_gain, yaw_limit, tilt, belly, body, asked_period
    struct hd_gait_command:
        double[3] twist
        double[6] offset
    struct hd_gait_state:
        double mode, phase, time, span
        double[3] twist, corrected
        double yaw, yaw_reference, sensed, tilted, tilted_for
        double height, height_rate, height_from, weight
        double[2] from_sway
        double[6] body_offset
        double blend, blend_time
        double stay_down, skip_pause, reflexes, level_for, command_scale, scaled_cycles, probed
    struct hd_gait_foot:
        double[3] place, rate
        double[2] lift_off, touch_down
        double in_air
        double[3] start
        double returns
    struct hd_walk:
        int legs_count
        hd_plan *plan
        hd_gait_leg *legs
        hd_gait_settings *settings
        hd_gait_command *command
        hd_gait_state *state
        hd_gait_foot *feet
        double *start
        double *position
        double *velocity
    void hd_adaptive_tick(hd_walk *, double dt, int limited)
    void hd_enter(hd_walk *, hd_mode mode, int quick)
    void hd_place_feet(hd_walk *)
    double hd_standing_height(const hd_walk *)
    hd_value hd_present_sway(const hd_walk *, int axis)
    double hd_off_belly(const hd_walk *)
    hd_xy hd_body_speed(const hd_walk *)

cdef extern from "tripod_gait.h" nogil:
    struct hd_tripod_parameters:
        double period, step_height, step_depth, response_time, speed_limit, smooth
    struct hd_tripod_state:
        double phase
        double[4] twist, rate
        double walking, blend, blend_time
    struct hd_tripod_foot:
        double[2] place, lift_off, touch_down
    struct hd_tripod:
        int legs_count
        hd_tripod_parameters *parameters
        hd_gait_leg *legs
        hd_tripod_state *state
        hd_tripod_foot *feet
        double *command
        double *start
        double *position
        double *velocity
    void hd_tripod_tick(hd_tripod *, double dt)
    void hd_tripod_put_feet(hd_tripod *)
    double hd_longest_stroke(const hd_tripod *, const double *twist)
    int hd_tripod_reaches(hd_tripod *, double height, double length, int directions, int samples)

cdef extern from "plan_evaluation.h" nogil:
    double HD_FAR, HD_PLENTY
    struct hd_segment:
        double[3] knee, foot
    struct hd_weights:
        const double *box
        double body, gravity
    struct hd_findings:
        double margin, reach, range, rate, apart
    struct hd_first_cycle:
        double score, margin, miss, rate
    struct hd_cycle:
        int legs_count, samples
        double *angles
        hd_xyz *course
        hd_xyz *centres
        hd_xy *feet
    double hd_margin_in_hull(const hd_xy *, int count, double x, double y)
    double hd_margin_on_two_feet(const hd_xy *, const double *box, double x, double y)
    double hd_segment_distance(const hd_segment *, const hd_segment *)
    void hd_place_links(const hd_gait_leg *, const double *q, hd_xyz *out, hd_segment *ends)
    void hd_judge(const hd_plan *, const hd_gait_leg *, const hd_weights *, const double *twist, double guard, hd_cycle *, hd_findings *)
    void hd_rehearse(hd_walk *, const hd_weights *, double least, hd_first_cycle *)

MODES = {
    "STAND": HD_STAND,
    "START": HD_START,
    "WALK": HD_WALK,
    "SETTLE": HD_SETTLE,
    "LOWER": HD_LOWER,
    "MOVE": HD_MOVE,
    "SAT": HD_SAT,
    "RISE": HD_RISE,
    "PROBE": HD_PROBE,
}
FAR, PLENTY, SAMPLES = HD_FAR, HD_PLENTY, 48


# ---- structs of numbers, with their fields as attributes -----------------------------------------------------------------


cdef class Record:
    """The memory of a C struct of doubles; classes made by `record` have its fields as attributes: numbers, or arrays.

    values (n,): all numbers. A copy and a pickled record are independent.
    """

    cdef double *p
    cdef readonly object values

    def __init__(self, values=None):
        cdef Py_ssize_t count = type(self).count
        self.values = np.zeros(count)
        self.p = <double *>cnp.PyArray_DATA(self.values)
        if values is not None:
            self.values[:] = values

    def __reduce__(self):
        return type(self), (self.values.copy(),)

    def copy(self):
        """Return an independent copy."""
        return type(self)(self.values)

    def load(self, Record other) -> None:
        """Copy the numbers of a record of the same class."""
        if type(other) is not type(self):
            raise TypeError(f"{type(other).__name__} given, {type(self).__name__} needed")
        memcpy(self.p, other.p, type(self).count * sizeof(double))


cdef class Number:
    """A number of a record, as a Python property."""

    cdef Py_ssize_t at

    def __init__(self, at):
        self.at = at

    def __get__(self, instance, owner):
        return self if instance is None else (<Record>instance).p[self.at]

    def __set__(self, instance, double value):
        (<Record>instance).p[self.at] = value


cdef class NumbersOf:
    """Some numbers of a record, as a Python property: an array that is a view."""

    cdef Py_ssize_t at, end

    def __init__(self, at, size):
        self.at, self.end = at, at + size

    def __get__(self, instance, owner):
        return self if instance is None else (<Record>instance).values[self.at : self.end]

    def __set__(self, instance, values):
        (<Record>instance).values[self.at : self.end] = values


def record(name, dtype):
    """Return the class of records with the fields of a dtype of doubles."""
    fields = {"__slots__": (), "count": dtype.itemsize // 8, "dtype": dtype, "__module__": "hexapod_dynamics.core._core"}
    for field, (kind, offset, *_) in dtype.fields.items():
        fields[field] = Number(offset // 8) if kind.shape == () else NumbersOf(offset // 8, kind.shape[0])
    return type(name, (Record,), fields)


cdef hd_gait_leg a_gait_leg
cdef hd_gait_foot a_gait_foot
cdef hd_tripod_foot a_tripod_foot
cdef hd_plan a_plan
cdef hd_gait_settings some_settings
cdef hd_gait_command a_gait_command
cdef hd_gait_state a_gait_state
cdef hd_tripod_parameters some_parameters
cdef hd_tripod_state a_tripod_state
cdef hd_findings some_findings
cdef hd_first_cycle a_first_cycle
GAIT_LEG = np.asarray(<hd_gait_leg[:1]>&a_gait_leg).dtype
GAIT_FOOT = np.asarray(<hd_gait_foot[:1]>&a_gait_foot).dtype
TRIPOD_FOOT = np.asarray(<hd_tripod_foot[:1]>&a_tripod_foot).dtype
PlanNumbers = record("PlanNumbers", np.asarray(<hd_plan[:1]>&a_plan).dtype)
GaitNumbers = record("GaitNumbers", np.asarray(<hd_gait_settings[:1]>&some_settings).dtype)
GaitCommand = record("GaitCommand", np.asarray(<hd_gait_command[:1]>&a_gait_command).dtype)
GaitState = record("GaitState", np.asarray(<hd_gait_state[:1]>&a_gait_state).dtype)
TripodNumbers = record("TripodNumbers", np.asarray(<hd_tripod_parameters[:1]>&some_parameters).dtype)
TripodState = record("TripodState", np.asarray(<hd_tripod_state[:1]>&a_tripod_state).dtype)
Findings = record("Findings", np.asarray(<hd_findings[:1]>&some_findings).dtype)
FirstCycle = record("FirstCycle", np.asarray(<hd_first_cycle[:1]>&a_first_cycle).dtype)


cdef hd_gait_leg *gait_legs(legs) except NULL:
    if not 0 < len(legs) <= HD_MOST_LEGS:
        raise ValueError(f"{len(legs)} legs given, 1 to {HD_MOST_LEGS} are allowed")
    return <hd_gait_leg *>structs(legs, GAIT_LEG, len(legs))


cdef hd_gait_leg *gait_leg(legs, Py_ssize_t i) except NULL:
    if not 0 <= i < len(legs):
        raise IndexError(f"leg {i} given, of {len(legs)}")
    return gait_legs(legs) + i


cdef double *record_of(Record values, kind) except NULL:
    """Return the numbers of a record after a check of its class."""
    if type(values) is not kind:
        raise TypeError(f"{type(values).__name__} given, {kind.__name__} needed")
    return values.p


# ---- kinematics of a leg -------------------------------------------------------------------------------------------------


def wrap(double angle) -> float:
    """Return the equivalent angle in [-pi, pi)."""
    return hd_wrapped(angle)


def foot_position(double q1, double q2, double q3, double l1, double l2, double l3) -> tuple:
    """Return the foot (x, y, z) [m] in the leg frame, from joint angles [rad] and link lengths [m]."""
    cdef double[3] q = [q1, q2, q3]
    cdef double[3] lengths = [l1, l2, l3]
    cdef hd_xyz foot = hd_foot_at(q, lengths)
    return foot.x, foot.y, foot.z


def place_foot(target, rate, lengths, free, held, knee) -> tuple:
    """Return the angles (3) [rad] that bring a foot nearest to a target [m, leg frame], and their rates for its rate [m/s].

    lengths (3) [m]; free (3): false for a joint that is locked at the angle held [rad]; knee: cosines of the smallest and the
    largest knee angle that the tibia's limits allow. See `hd_solve_leg`.
    """
    cdef hd_gait_leg leg
    leg.lengths[0], leg.lengths[1], leg.lengths[2] = lengths
    leg.free[0], leg.free[1], leg.free[2] = free
    leg.held[0], leg.held[1], leg.held[2] = held
    leg.knee[0], leg.knee[1] = knee
    cdef hd_angles out = hd_solve_leg(&leg, hd_xyz(target[0], target[1], target[2]), hd_xyz(rate[0], rate[1], rate[2]))
    return (out.q[0], out.q[1], out.q[2]), (out.rate[0], out.rate[1], out.rate[2])


# ---- gaits ---------------------------------------------------------------------------------------------------------------


cdef class Walk:
    """The memory of the adaptive gait, for a table of legs (n,) of GAIT_LEG, which it copies.

    plan, settings, command, state: records; legs, feet (n,) arrays of structs; start, position, velocity (3 n,) [rad, rad/s].
    """

    cdef hd_walk w
    cdef readonly object plan, legs, settings, command, state, feet, start, position, velocity

    def __init__(self, legs):
        cdef Py_ssize_t n = len(legs)
        self.legs, self.feet = legs.copy(), np.zeros(n, GAIT_FOOT)
        self.plan, self.settings, self.command, self.state = PlanNumbers(), GaitNumbers(), GaitCommand(), GaitState()
        self.start, self.position, self.velocity = (np.zeros(3 * n) for _ in range(3))
        self.w.legs_count, self.w.legs = n, gait_legs(self.legs)
        self.w.plan, self.w.settings = <hd_plan *>(<Record>self.plan).p, <hd_gait_settings *>(<Record>self.settings).p
        self.w.command, self.w.state = <hd_gait_command *>(<Record>self.command).p, <hd_gait_state *>(<Record>self.state).p
        self.w.feet = <hd_gait_foot *>cnp.PyArray_DATA(self.feet)
        self.w.start, self.w.position, self.w.velocity = data(self.start), data(self.position), data(self.velocity)

    def __reduce__(self):
        arrays = self.feet, self.start, self.position, self.velocity
        return _walk, (self.legs, [self.plan, self.settings, self.command, self.state], arrays)

    def copy(self):
        """Return an independent copy."""
        twin = Walk(self.legs)
        twin.load(self)
        return twin

    def load(self, Walk other) -> None:
        """Copy all numbers of a walk with as many legs."""
        if other.w.legs_count != self.w.legs_count:
            raise ValueError(f"a walk of {other.w.legs_count} legs given, {self.w.legs_count} needed")
        cdef size_t n = self.w.legs_count
        self.w.plan[0], self.w.settings[0] = other.w.plan[0], other.w.settings[0]
        self.w.command[0], self.w.state[0] = other.w.command[0], other.w.state[0]
        memcpy(self.w.legs, other.w.legs, n * sizeof(hd_gait_leg))
        memcpy(self.w.feet, other.w.feet, n * sizeof(hd_gait_foot))
        copy(self.w.start, other.w.start, 3 * n)
        copy(self.w.position, other.w.position, 3 * n)
        copy(self.w.velocity, other.w.velocity, 3 * n)

    def advance(self, double dt) -> None:
        """Advance by dt [s], with set-points no faster than the servos; dt = 0 only fills position and velocity."""
        hd_adaptive_tick(&self.w, dt, 1)

    def enter(self, int mode, bint quick=False) -> None:
        """Begin one of the MODES; quick: sit down as fast as possible."""
        hd_enter(&self.w, <hd_mode>mode, quick)

    def place_feet(self) -> None:
        """Place every foot as in a steady walk (or stand) with the twist and phase of the state."""
        hd_place_feet(&self.w)

    @property
    def standing_height(self) -> float:
        """Height [m] of base_link when the robot stands."""
        return hd_standing_height(&self.w)

    @property
    def body_place(self) -> tuple:
        """Sway (x, y) [m] of the body now, and how far [m] it is off its belly in a crawl stroke."""
        return (hd_present_sway(&self.w, 0).value, hd_present_sway(&self.w, 1).value), hd_off_belly(&self.w)

    @property
    def body_speed(self) -> tuple:
        """Planned speed (x, y) [m/s] of a walking body over its feet, along its axes."""
        cdef hd_xy speed = hd_body_speed(&self.w)
        return speed.x, speed.y

    def rehearse(self, box, double mass, double gravity, double least, found) -> None:
        """Rehearse the first cycles, which overwrites this walk; write the worst values to a FirstCycle.

        box (6,) [m]: the body's box and its centre of mass; mass [kg] of the body. It ends early when the score is not above
        `least` [m]. Other threads run meanwhile.
        """
        cdef hd_weights weights = hd_weights(must(box, 6), mass, gravity)
        cdef hd_first_cycle *out = <hd_first_cycle *>record_of(found, FirstCycle)
        with nogil:
            hd_rehearse(&self.w, &weights, least, out)


def _walk(legs, records, arrays):
    """Return a Walk with these numbers, for pickle."""
    walk = Walk(legs)
    for to, values in zip((walk.plan, walk.settings, walk.command, walk.state), records):
        to.load(values)
    for to, values in zip((walk.feet, walk.start, walk.position, walk.velocity), arrays):
        to[:] = values
    return walk


cdef void tripod_tick(void *gait, double dt) noexcept nogil:
    hd_tripod_tick(<hd_tripod *>gait, dt)


cdef class Tripod(Tick):
    """The memory of the tripod gait, for a table of legs (n,) of GAIT_LEG, which it copies; the Simulation's loop can step it.

    parameters, state: records; legs, feet (n,) arrays of structs; command (4,): vx, vy, wz, body height; start, position, velocity
    (3 n,) [rad, rad/s].
    """

    cdef hd_tripod g
    cdef readonly object parameters, legs, state, feet, command, start, position, velocity

    def __init__(self, legs):
        cdef Py_ssize_t n = len(legs)
        self.legs, self.feet = legs.copy(), np.zeros(n, TRIPOD_FOOT)
        self.parameters, self.state, self.command = TripodNumbers(), TripodState(), np.zeros(4)
        self.start, self.position, self.velocity = (np.zeros(3 * n) for _ in range(3))
        self.g.legs_count, self.g.legs, self.g.command = n, gait_legs(self.legs), data(self.command)
        self.g.parameters = <hd_tripod_parameters *>(<Record>self.parameters).p
        self.g.state = <hd_tripod_state *>(<Record>self.state).p
        self.g.feet = <hd_tripod_foot *>cnp.PyArray_DATA(self.feet)
        self.g.start, self.g.position, self.g.velocity = data(self.start), data(self.position), data(self.velocity)
        self.tick, self.gait, self.setpoints, self.joints = tripod_tick, &self.g, self.g.position, 3 * n

    def __reduce__(self):
        arrays = self.feet, self.command, self.start, self.position, self.velocity
        return _tripod, (self.legs, [self.parameters, self.state], arrays)

    def copy(self):
        """Return an independent copy."""
        constructor, arguments = self.__reduce__()
        return constructor(*arguments)

    def advance(self, double dt) -> None:
        """Advance by dt [s], less than half a period; dt = 0 only fills position and velocity."""
        hd_tripod_tick(&self.g, dt)

    def place_feet(self) -> None:
        """Place every foot as in a steady walk (or stand) with the twist and phase of the state."""
        hd_tripod_put_feet(&self.g)

    def longest_stroke(self, double vx, double vy, double wz) -> float:
        """Return the longest stroke [m] over the legs for a twist [m/s, m/s, rad/s]."""
        cdef double[3] twist = [vx, vy, wz]
        return hd_longest_stroke(&self.g, twist)

    def reaches(self, double height, double length, int directions, int samples) -> bool:
        """Return whether every leg can walk strokes of this length [m] in every direction; the state is overwritten."""
        return bool(hd_tripod_reaches(&self.g, height, length, directions, samples))


def _tripod(legs, records, arrays):
    """Return a Tripod with these numbers, for pickle and copies."""
    gait = Tripod(legs)
    for to, values in zip((gait.parameters, gait.state), records):
        to.load(values)
    for to, values in zip((gait.feet, gait.command, gait.start, gait.position, gait.velocity), arrays):
        to[:] = values
    return gait


# ---- evaluation of plans -------------------------------------------------------------------------------------------------


cdef class PlanCycle:
    """The memory in which a plan is evaluated, for a number of legs and of samples in a cycle; see plan_evaluation.h.

    angles (samples, legs, 3) [rad]; course (samples, 3): zero-moment point (x, y) in the nominal frame and its margin [m].
    """

    cdef hd_cycle c
    cdef readonly object angles, course
    cdef object kept

    def __init__(self, legs, samples=SAMPLES):
        if not 0 < legs <= HD_MOST_LEGS:
            raise ValueError(f"{legs} legs given, 1 to {HD_MOST_LEGS} are allowed")
        self.angles, self.course = np.zeros((samples, legs, 3)), np.zeros((samples, 3))
        self.kept = np.zeros((samples, 3 * legs + 1, 3)), np.zeros((samples, legs, 2))
        self.c.legs_count, self.c.samples = legs, samples
        self.c.angles, self.c.course = data(self.angles), <hd_xyz *>data(self.course)
        self.c.centres, self.c.feet = <hd_xyz *>data(self.kept[0]), <hd_xy *>data(self.kept[1])

    def __reduce__(self):
        return type(self), (self.c.legs_count, self.c.samples)

    def evaluate(self, plan, legs, box, double mass, double gravity, twist, double guard, found) -> None:
        """Write the worst over a steady cycle of PlanNumbers at a twist (3,) to Findings.

        legs (n,) of GAIT_LEG; box (6,) [m]: the body's box and its centre of mass; mass [kg] of the body; guard: share of the
        cycle in which a foot at the ends of its stance does not count as standing. Other threads run meanwhile.
        """
        cdef hd_plan *p = <hd_plan *>record_of(plan, PlanNumbers)
        cdef hd_gait_leg *table = <hd_gait_leg *>structs(legs, GAIT_LEG, self.c.legs_count)
        cdef hd_weights weights = hd_weights(must(box, 6), mass, gravity)
        cdef hd_findings *out = <hd_findings *>record_of(found, Findings)
        cdef double[3] at
        at[0], at[1], at[2] = twist
        with nogil:
            hd_judge(p, table, &weights, at, guard, &self.c, out)


def cycle_foot(plan, legs, int i, double phase, double vx, double vy, double wz) -> tuple:
    """Return the foot (x, y) [m], its lift [m] and whether it stands (1, else 0), of a leg in the steady gait of PlanNumbers."""
    cdef double[3] twist = [vx, vy, wz]
    cdef hd_xyz foot
    cdef int stands = hd_cycle_foot(<hd_plan *>record_of(plan, PlanNumbers), gait_leg(legs, i), phase, twist, &foot)
    return foot.x, foot.y, foot.z, stands


def hull_margin(points, count, double x, double y) -> float:
    """Return the distance [m] of (x, y) from the edge of the convex hull of the first points (count, 2), negative outside."""
    points = np.ascontiguousarray(points, float)
    return hd_margin_in_hull(<hd_xy *>must(points, 2 * len(points)), min(count, len(points)), x, y)


def two_feet_margin(points, box, double x, double y) -> float:
    """Return the margin [m] of a robot that crawls on two feet (2, 2); see `hd_margin_on_two_feet`."""
    points, box = np.ascontiguousarray(points, float), np.array(box, float)
    return hd_margin_on_two_feet(<hd_xy *>must(points, 4), must(box, box.size), x, y)


def least_distance(some, others) -> float:
    """Return the least distance [m] between segments (N, 6) and others (M, 6), FAR at most."""
    some, others = np.ascontiguousarray(some, float), np.ascontiguousarray(others, float)
    cdef Py_ssize_t n = len(some), m = len(others), i, j
    cdef hd_segment *ours = <hd_segment *>must(some, 6 * n)
    cdef hd_segment *theirs = <hd_segment *>must(others, 6 * m)
    cdef double least = HD_FAR, distance
    for i in range(n):
        for j in range(m):
            distance = hd_segment_distance(ours + i, theirs + j)
            least = distance if distance < least else least
    return least


def link_points(legs, int i, angles) -> tuple:
    """Return the centres of mass (3, 3) of a leg's links at its joint angles (3,) [rad], and its knee and foot (2, 3) [m]."""
    cdef double[3] q
    q[0], q[1], q[2] = angles
    centres, ends = matrix(3, 3), matrix(2, 3)
    hd_place_links(gait_leg(legs, i), q, <hd_xyz *>data(centres), <hd_segment *>data(ends))
    return centres, ends


# ---- cost of a plan in its search ----------------------------------------------------------------------------------------

cdef extern from *:
    """
    /* Requirements on a plan: reach [m], joint range [rad], share of the servos' speed, distance between legs [m]. */
    static const double HD_REACH_LEFT = 0.006, HD_RANGE_LEFT = 0.06, HD_SPEED_SHARE = 1.05, HD_LEGS_APART = 0.03;
    /* A foot at the ends of its stance does not count as standing for this time [s]; margins above HD_ENOUGH [m] give no reward. */
    static const double HD_STANDING_AFTER = 0.02, HD_ENOUGH = 0.035;
    /* The fast walk of a plan: share of its period, share of the servos' speed (they saturate a little), margin [m] below which it
     * is penalised. Two feet that crawl are at least HD_BESIDE [m] beside the body. */
    static const double HD_FAST_PERIOD = 0.72, HD_FAST_SPEED = 1.35, HD_FAST_MARGIN = 0.006, HD_BESIDE = 0.05;
    """
    const double HD_REACH_LEFT, HD_RANGE_LEFT, HD_SPEED_SHARE, HD_LEGS_APART, HD_STANDING_AFTER, HD_ENOUGH
    const double HD_FAST_PERIOD, HD_FAST_SPEED, HD_FAST_MARGIN, HD_BESIDE


cdef double penalty(hd_findings *found, double speed) noexcept nogil:
    """The penalty for violated limits of reach, joint range, joint rates (speed [rad/s]), distance of legs."""
    cdef double broken = max(0.0, HD_REACH_LEFT - found.reach) / 0.01
    broken += max(0.0, HD_RANGE_LEFT - found.range) / 0.1
    broken += max(0.0, found.rate / speed - 1.0) / 0.03
    return broken + max(0.0, HD_LEGS_APART - found.apart) / 0.01


cdef class PlanProblem:
    """The problem of a search for a plan; PlanNumbers and legs (n,) of GAIT_LEG hold the plan that was evaluated last.

    crawls: whether it is a crawl stroke, without sway. spread: largest difference of a leg's phase from the evenly spaced phase of
    its order. phases (K,) and neutral footholds (K, 2) [m] of the legs used (K,), rows of the table. periods, duties: middle and
    half width of the allowed range. body: its box and centre of mass (6,), mass [kg], gravity [m/s^2]. speed_limit [rad/s]. twists
    (N, 3) and fast [m/s]: see `Demands`.
    """

    cdef bint crawls
    cdef double spread, speed_limit, fast, period, period_width, duty, duty_width
    cdef Py_ssize_t used_count, twist_count
    cdef hd_weights weights
    cdef PlanCycle cycle
    cdef hd_plan *plan
    cdef hd_gait_leg *legs
    cdef int64_t *used
    cdef double *phases
    cdef double *neutral
    cdef double *twists
    cdef hd_findings found
    cdef object kept

    def __init__(self, *, crawls, spread, phases, plan, legs, used, neutral, body, speed_limit, twists, fast, cycle, periods, duties):
        box, mass, gravity = body
        self.crawls, self.spread, self.speed_limit, self.fast, self.cycle = crawls, spread, speed_limit, fast, cycle
        self.period, self.period_width = periods
        self.duty, self.duty_width = duties
        self.used_count, self.twist_count = len(used), len(twists)
        phases, twists, neutral = np.array(phases, float), np.array(twists, float), np.array(neutral, float)
        used = np.array(used, np.int64)
        self.kept = phases, plan, legs, used, neutral, box, twists
        self.plan, self.legs = <hd_plan *>record_of(plan, PlanNumbers), <hd_gait_leg *>structs(legs, GAIT_LEG, self.cycle.c.legs_count)
        self.phases, self.neutral = must(phases, self.used_count), must(neutral, 2 * self.used_count)
        self.used, self.twists = <int64_t *>cnp.PyArray_DATA(used), must(twists, 3 * self.twist_count)
        self.weights = hd_weights(must(box, 6), mass, gravity)

    cdef void judge(self, const double *twist) noexcept nogil:
        hd_judge(self.plan, self.legs, &self.weights, twist, HD_STANDING_AFTER / self.plan.period, &self.cycle.c, &self.found)

    cdef double cost(self, double *x, Py_ssize_t count) noexcept nogil:
        """The cost of a plan given as numbers, see `set`; it consists of the least margin, a share of the mean margin, and
        penalties for violated constraints.
        """
        cdef double least = 1.0, mean = 0.0, broken = 0.0, effort = 0.0, far = 0.0, margin, dx, dy, side
        cdef double[3] fast = [self.fast, 0.0, 0.0]
        cdef Py_ssize_t t, i, k
        cdef hd_gait_leg *leg
        self.set(x, count)
        for t in range(self.twist_count):
            self.judge(self.twists + 3 * t)
            margin = min(self.found.margin, HD_ENOUGH)
            least = min(least, margin)
            mean += margin / self.twist_count
            broken += penalty(&self.found, HD_SPEED_SHARE * self.speed_limit)
        if self.fast > 0.0:
            self.plan.period *= HD_FAST_PERIOD
            self.judge(fast)
            broken += penalty(&self.found, HD_FAST_SPEED * self.speed_limit)
            broken += max(0.0, HD_FAST_MARGIN - self.found.margin) / 0.004
        for i in range(self.used_count):
            leg = self.legs + self.used[i]
            if self.used_count == 2:
                side = 1.0 if leg.mount[1] >= 0.0 else -1.0
                broken += max(0.0, 0.5 * self.weights.box[1] + HD_BESIDE - side * leg.foothold[1]) / 0.01
            dx, dy = leg.foothold[0] - self.neutral[2 * i], leg.foothold[1] - self.neutral[2 * i + 1]
            far += dx * dx + dy * dy
        for k in range(32):
            effort += self.plan.sway[k] * self.plan.sway[k]
        return -least / 0.01 - 0.2 * mean / 0.01 + broken + 20.0 * effort + 3.0 * far

    cdef void set(self, const double *x, Py_ssize_t count) noexcept nogil:
        """Write numbers into plan and legs: footholds less the neutral ones (2 a leg), sway (8 or 32) [10 mm]; period and duty
        factor as differences from their middles in units of their half widths; with spread, the difference of each leg's phase
        from that of its order.
        """
        cdef Py_ssize_t n = self.used_count, sways = 0, i, k
        cdef hd_gait_leg *leg
        if not self.crawls:
            sways = 32 if count > 2 * n + 2 + 8 + n else 8
        cdef const double *timing = x + 2 * n + sways
        for i in range(n):
            leg = self.legs + self.used[i]
            leg.foothold[0] = self.neutral[2 * i] + 0.01 * x[2 * i]
            leg.foothold[1] = self.neutral[2 * i + 1] + 0.01 * x[2 * i + 1]
            leg.phase = self.phases[i]
            if not self.crawls and self.spread != 0.0:
                leg.phase = hd_fraction(self.phases[i] + self.spread * tanh(timing[2 + i]))
        for k in range(sways):
            self.plan.sway[k] = 0.01 * x[2 * n + k]
        self.plan.period = self.period + self.period_width * tanh(timing[0])
        self.plan.duty = self.duty + self.duty_width * tanh(timing[1])

    def costs(self, points, out) -> None:
        """Write the cost of each of the points (K, numbers) to out (K,)."""
        cdef Py_ssize_t count = points.shape[0], size = points.shape[1], k
        cdef double *x = must(points, count * size)
        cdef double *values = must(out, count)
        with nogil:
            for k in range(count):
                values[k] = self.cost(x + k * size, size)

    def fill(self, x) -> None:
        """Write the numbers of a point into the plan and the legs."""
        self.set(must(x, len(x)), len(x))
