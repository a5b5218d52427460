# Gaits: legs, plans, one tick of the adaptive and of the tripod gait, evaluation of plans. See gait.h and the headers named below.

PLENTY, SAMPLES = HD_PLENTY, 48


# ---- structs of numbers, with their fields as attributes -----------------------------------------------------------------


cdef class Record:
    """The memory of a C struct of doubles; classes made by `record` have its fields as attributes: numbers, or arrays.

    values (n,): all numbers; memory (n,): that of a gait in which they are. A copy and a pickled record are independent.
    """

    cdef double *p
    cdef readonly object values

    def __init__(self, values=None, memory=None):
        self.values = np.zeros(type(self).count) if memory is None else memory
        self.p = data(self.values)
        if values is not None:
            self.values[:] = values

    def __reduce__(self):
        return type(self), (self.values.copy(),)

    def copy(self):
        """Return an independent copy."""
        return type(self)(self.values)

    def load(self, Record other) -> None:
        """Copy the numbers of a record of the same class."""
        memcpy(self.p, record_of(other, type(self)), type(self).count * sizeof(double))


cdef class Number:
    """A number of a record, as a Python property."""

    cdef Py_ssize_t at

    def __init__(self, at):
        self.at = at

    def __get__(self, instance, owner):
        return self if instance is None else (<Record>instance).p[self.at]

    def __set__(self, instance, double value):
        (<Record>instance).p[self.at] = value


def numbers_of(at, end):
    """Return the property of a record that is an array: a view of some of its numbers."""

    def write(record, values):
        record.values[at:end] = values

    return property(lambda record: record.values[at:end], write)


def record(name, dtype):
    """Return the class of records with the fields of a dtype of doubles."""
    fields = {"__slots__": (), "count": dtype.itemsize // 8, "dtype": dtype, "__module__": "hexapod_dynamics.core._core"}
    for field, (kind, offset, *_) in dtype.fields.items():
        at, size = offset // 8, kind.itemsize // 8
        fields[field] = numbers_of(at, at + size) if kind.shape else Number(at)
    return type(name, (Record,), fields)


GAIT_LEG = DTYPES["hd_gait_leg"]
PlanNumbers = record("PlanNumbers", DTYPES["hd_plan"])
GaitNumbers = record("GaitNumbers", DTYPES["hd_gait_settings"])
GaitCommand = record("GaitCommand", DTYPES["hd_gait_command"])
GaitState = record("GaitState", DTYPES["hd_gait_state"])
TripodNumbers = record("TripodNumbers", DTYPES["hd_tripod_parameters"])
TripodState = record("TripodState", DTYPES["hd_tripod_state"])
Findings = record("Findings", DTYPES["hd_findings"])
RECORDS = {kind.dtype: kind for kind in (PlanNumbers, GaitNumbers, GaitCommand, GaitState, TripodNumbers, TripodState)}


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


cdef class Memory(Tick):
    """The memory of a gait, one struct, for a table of legs (n,) of GAIT_LEG, which it copies; the Simulation's loop can step it.

    Views of its fields, by their names in the struct: records; legs, feet (n,): structs; start, position, velocity (3 n,) [rad,
    rad/s]. A copy and a pickled memory are independent.
    """

    cdef object memory, arrays
    cdef dict __dict__

    cdef void *make(self, struct, legs, numbers) except NULL:
        """Make the memory of a struct, with these numbers unless they are None, and its views; return it."""
        gait_legs(legs)
        self.memory, self.joints = np.zeros(struct.itemsize // sizeof(double)), 3 * len(legs)
        for name, (kind, at, *_) in struct.fields.items():
            part = self.memory[at // 8 : (at + kind.itemsize) // 8]
            if kind in RECORDS:
                setattr(self, name, RECORDS[kind](memory=part))
            else:
                setattr(self, name, part.view(kind.base)[: self.joints if kind.base == float else len(legs)])
        self.legs[:], self.legs_count[:] = legs, len(legs)
        if numbers is not None:
            self.memory[:] = numbers
        self.arrays = self.position, self.velocity
        self.gait = data(self.memory)
        return self.gait

    def __reduce__(self):
        return type(self), (self.legs, self.memory)

    def copy(self):
        """Return an independent copy."""
        return type(self)(self.legs, self.memory)

    def advance(self, double dt) -> tuple:
        """Advance by dt [s], less than half a period, and return position and velocity; dt = 0 only fills these."""
        self.tick(self.gait, dt)
        return self.arrays

    def load(self, Memory other) -> None:
        """Copy all numbers of the memory of a gait of the same class."""
        self.memory[:] = other.memory


cdef void walk_tick(void *gait, double dt) noexcept nogil:
    hd_adaptive_tick(<hd_walk *>gait, dt, 1)


cdef class Walk(Memory):
    """The memory of the adaptive gait; records: plan, settings, command, state."""

    cdef hd_walk *w

    def __init__(self, legs, numbers=None):
        self.w = <hd_walk *>self.make(DTYPES["hd_walk"], legs, numbers)
        self.tick, self.setpoints = walk_tick, self.w.position

    def enter(self, int mode) -> None:
        """Begin a mode, as `Mode` numbers them."""
        hd_enter(self.w, <hd_mode>mode, 0)

    def place_feet(self) -> None:
        """Place every foot as in a steady walk (or stand) with the twist and phase of the state."""
        hd_place_feet(self.w)

    @property
    def standing_height(self) -> float:
        """Height [m] of base_link when the robot stands."""
        return hd_standing_height(self.w)

    @property
    def body_place(self) -> tuple:
        """Sway (x, y) [m] of the body now, and how far [m] it is off its belly in a crawl stroke."""
        cdef hd_sway sway = hd_present_sway(self.w)
        return (sway.along[0].value, sway.along[1].value), hd_present_rise(self.w).value

    @property
    def body_speed(self) -> tuple:
        """Planned speed (x, y) [m/s] of a walking body over its feet, along its axes."""
        cdef hd_xy speed = hd_body_speed(self.w)
        return speed.x, speed.y

    def rehearse(self, box, double mass, double gravity, double least) -> dict:
        """Rehearse the first cycles, which overwrites this walk; return the worst values by the names of hd_first_cycle.

        box (6,) [m]: the body's box and its centre of mass; mass [kg] of the body. It ends early when the score is not above
        `least` [m]. Other threads run meanwhile.
        """
        cdef hd_weights weights = hd_weights(must(box, 6), mass, gravity)
        cdef hd_first_cycle found
        with nogil:
            found = hd_rehearse(self.w, &weights, least)
        return found


cdef void tripod_tick(void *gait, double dt) noexcept nogil:
    hd_tripod_tick(<hd_tripod *>gait, dt)


cdef class Tripod(Memory):
    """The memory of the tripod gait; records: parameters, state."""

    cdef hd_tripod *g

    def __init__(self, legs, numbers=None):
        self.g = <hd_tripod *>self.make(DTYPES["hd_tripod"], legs, numbers)
        self.tick, self.setpoints = tripod_tick, self.g.position

    def place_feet(self) -> None:
        """Place every foot as in a steady walk (or stand) with the twist and phase of the state."""
        hd_tripod_put_feet(self.g)


# ---- evaluation of plans -------------------------------------------------------------------------------------------------


def judge(plan, legs, box, double mass, double gravity, twist, angles, course, found) -> None:
    """Write the worst over a steady cycle of PlanNumbers at a twist (3,) to Findings; see plan_evaluation.h.

    legs (n,) of GAIT_LEG; box (6,) [m]: the body's box and its centre of mass; mass [kg] of the body. Written, too: angles
    (samples, n, 3) [rad] and course (samples, 3): zero-moment point (x, y) in the nominal frame and its margin [m]. Other threads
    run meanwhile.
    """
    cdef int n = angles.shape[1], samples = len(course)
    if not 0 < samples <= HD_SAMPLES_MOST:
        raise ValueError(f"{samples} samples given, 1 to {HD_SAMPLES_MOST} are allowed")
    cdef hd_plan *p = <hd_plan *>record_of(plan, PlanNumbers)
    cdef hd_gait_leg *table = <hd_gait_leg *>structs(legs, GAIT_LEG, n)
    cdef hd_weights weights = hd_weights(must(box, 6), mass, gravity)
    cdef double *q = must(angles, 3 * n * samples)
    cdef hd_xyz *points = <hd_xyz *>must(course, 3 * samples)
    cdef hd_findings *out = <hd_findings *>record_of(found, Findings)
    cdef double[3] at
    at[0], at[1], at[2] = twist
    gait_legs(legs)
    with nogil:
        hd_evaluate(p, table, n, &weights, at, samples, q, points, out)


def cycle_foot(plan, legs, int i, double phase, double vx, double vy, double wz) -> tuple:
    """Return the foot (x, y) [m], its lift [m] and whether it stands (1, else 0), of a leg in the steady gait of PlanNumbers."""
    cdef double[3] twist = [vx, vy, wz]
    cdef hd_steady_foot at = hd_cycle_foot(<hd_plan *>record_of(plan, PlanNumbers), gait_leg(legs, i), phase, twist)
    return at.foot.x, at.foot.y, at.foot.z, at.stands


def hull_margin(points, double x, double y) -> float:
    """Return the distance [m] of (x, y) from the edge of the convex hull of points (n, 2), negative outside."""
    points = np.ascontiguousarray(points, float)
    return hd_margin_in_hull(<hd_xy *>must(points, 2 * len(points)), len(points), x, y)


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


def link_centres(legs, int i, angles):
    """Return the centres of mass (3, 3) [m] of a leg's links in base_link, at its joint angles (3,) [rad]."""
    cdef double[3] q
    cdef hd_segment ends
    q[0], q[1], q[2] = angles
    centres = matrix(3, 3)
    hd_place_links(gait_leg(legs, i), q, hd_xyz(0.0, 0.0, 0.0), <hd_xyz *>data(centres), &ends)
    return centres
