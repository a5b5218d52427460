"""Checks of what comes in, one for all nodes: joint commands, values with joint names, IMU samples.

A joint command is rejected as a whole if it is far beyond the joint limits, too old, or from a second source; the nodes
that follow `joint_commands` (`servos`, `dynamics`, `damage_detector`) use the same checks, so that models move as the
robot. Of other messages, values with unknown and repeated names and values that are not finite or not plausible are
left out. Faults are counted, and reported for some seconds.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hexapod_dynamics.errors import HexapodError, is_finite, shorten
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.parts import MEAN_FORCE
from hexapod_dynamics.se3 import rotation_from_quaternion

POSITION_MARGIN = 0.5  # [rad] beyond a joint's limits: up to here a command is clamped, beyond it is rejected
FARTHEST_READING = 2.0  # [rad] beyond a joint's limits: a measured angle in radians is nowhere so far outside
OLDEST_READING = 1.0  # [s] an older one is of no use
SPEED_MARGIN = 3.0  # multiple of the servo's speed limit
MEAN_RATE = 8.0  # [rad/s] plausible mean: a robot does not spin; others show other units

Vector = tuple[float, float, float]


class Faults:
    """The last fault of each input, and the number of faults of each input."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, str]] = {}
        self._counts: Counter[str] = Counter()

    def add(self, about: str, what: str, now: float | None = None) -> None:
        """Store a fault of the input `about` (a topic) at the monotonic time `now` [s], by default the present."""
        self._last[about] = (time.monotonic() if now is None else now, shorten(what))
        self._counts[about] += 1

    def list_recent(self, now: float) -> list[str]:
        """Return the faults of the last 2.5 s, as texts."""
        self._last = {about: (at, what) for about, (at, what) in self._last.items() if now - at < 2.5}
        return [what for _, what in self._last.values()]

    def last(self, about: str) -> str:
        """Return the last fault of an input as text; empty if it had none since `list_recent` dropped the old ones."""
        return self._last.get(about, (0.0, ""))[1]

    def counts(self, prefix: str = "faults of ") -> dict[str, int]:
        """Return the number of faults of each input so far, as diagnostic values."""
        return {f"{prefix}{about}": count for about, count in self._counts.items()}


def find_stamp_refusal(age: float, limit: float) -> str:
    """Return the reason to reject a command stamped `age` [s] ago; empty if |age| is within `limit` [s]."""
    if age > limit:
        return f"it is {age:.3g} s old, {limit:g} s are allowed: an old recording, or clocks that differ"
    if age < -limit:
        return f"its stamp is {-age:.3g} s in the future: the clocks of sender and receiver differ (is chrony running?)"
    return ""


class ClockCheck:
    """Finds out whether the clock of a sender runs faster or slower than the one of this computer.

    Messages are late at times, and never early: the least age of a stamp in a window of three seconds counts.
    """

    def __init__(self) -> None:
        self._end, self._least = -math.inf, math.inf
        self._ages: deque[float] = deque(maxlen=4)  # least ages of the last windows [s]

    def add_stamp(self, now: float, age: float) -> float:
        """Process a stamp that is `age` [s] old at the monotonic time `now` [s]; return the share by which the
        sender's clock runs too fast once three changes in a row show more than 0.5 %, and nearly the same; else 0.
        """
        self._least = min(self._least, age)
        if now < self._end:
            return 0.0
        self._ages.append(self._least)
        self._end, self._least = now + 3.0, math.inf
        shares = -np.diff(self._ages) / 3.0
        if len(shares) < 3 or np.ptp(shares) > 0.5 * abs(shares.mean()) or abs(shares.mean()) < 0.005:
            return 0.0
        self._ages.clear()
        return float(shares.mean())


class SourceLock:
    """Accepts one source of commands at a time: the first, until it has not published for `timeout` [s]."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.source: str | None = None
        self._last = -np.inf

    def find_refusal(self, source: str, t: float) -> str:
        """Return why a command of `source` at the monotonic time t [s] is not executed; empty if it is."""
        if source != self.source and t - self._last <= self.timeout:
            other, followed = ((name or "one without a name")[:100] for name in (source, self.source))
            return f"{other!r} is not followed, {followed!r} is: one source moves the robot, end the other"
        self.source, self._last = source, t
        return ""


class SourceCheck:
    """Names the publishers of a topic that contradict each other; faults: of the node; publishers(topic): their names.

    They do if a value is elsewhere and back within 0.1 s five times in a second; a walking joint turns less often.
    """

    def __init__(self, faults: Faults, publishers: Callable[[str], Sequence[str]]) -> None:
        self._faults, self._publishers = faults, publishers
        # {(topic, joint or axis): value, its last large step, time of it [s]}
        self._last: dict[tuple[str, int], tuple[float, float, float]] = {}
        self._turns, self._since = defaultdict[str, Counter[int]](Counter), defaultdict[str, float](float)

    def update(self, topic: str, values: Iterable[tuple[int, float]]) -> None:
        """Take the values of a message: (joint or axis, its angle [rad], or velocity [m/s or rad/s])."""
        now, turns = time.monotonic(), self._turns[topic]
        for place, value in values:
            before, step, at = self._last.get((topic, place), (value, 0.0, -math.inf))
            if abs(value - before) > 0.03:
                turns[place] += (value - before) * step < 0.0 and now - at < 0.1
                step, at = value - before, now
            self._last[topic, place] = value, step, at
        if now - self._since[topic] < 1.0:
            return
        self._since[topic], often = now, max(turns.values(), default=0) >= 5
        turns.clear()
        if often and len(names := self._publishers(topic)) > 1:
            two = f"{' and '.join(names)} contradict each other: end all but one"
            self._faults.add(f"{topic} sources", f"{topic} is at two places in turn, {two}")


class JointOrder(NamedTuple):
    """Order of the joints in a message: (place in the message, joint index) of each joint of the robot.

    joints: their indices. unknown: names that are no joint of the robot. repeated: names that come more than once; both
    are left out.
    """

    places: list[tuple[int, int]]
    joints: list[int]
    unknown: list[str]
    repeated: list[str]


class Reading(NamedTuple):
    """A value of a joint (index), and how long before its message's stamp it was read [s]."""

    joint: int
    value: float
    age: float


class JointInput:
    """Reads the joints of one robot from names and values; faults are added to `faults` under the topic's name.

    sources: names the publishers of measured joints that contradict each other.
    """

    def __init__(self, robot: Robot, faults: Faults, sources: SourceCheck | None = None) -> None:
        self._names, self.faults, self._limits = robot.joint_names, faults, robot.joints
        self._sources = sources
        self._bounds = [(joint.lower - POSITION_MARGIN, joint.upper + POSITION_MARGIN) for joint in robot.joints]
        self._speed_limit = robot.servo.speed_limit
        self._index = {name: j for j, name in enumerate(robot.joint_names)}
        self._orders: dict[tuple[str, ...], JointOrder] = {}

    def match_names(self, names: Sequence[str]) -> JointOrder:
        """Return the JointOrder of the names of a message; 400 of a length that a robot may have are remembered."""
        key = tuple(names)
        order = self._orders.get(key)
        if order is None:
            order = self._make_order(key)
            if len(self._orders) >= 400:
                self._orders.clear()
            if sum(map(len, key)) < 10_000:  # characters: anyone may publish giant names, each time others
                self._orders[key] = order
        return order

    def _make_order(self, names: tuple[str, ...]) -> JointOrder:
        counts, index = Counter(names), self._index
        places = [(k, index[name]) for k, name in enumerate(names) if name in index and counts[name] == 1]
        unknown = [name[:100] for name in counts if name not in index]  # they are quoted
        repeated = [name for name, count in counts.items() if count > 1 and name in index]
        return JointOrder(places, [joint for _, joint in places], unknown, repeated)

    def read(
        self,
        topic: str,
        names: Sequence[str],
        values: Sequence[float],
        ages: Sequence[float] = (),
        *,
        others: bool = False,
        measured: bool = False,
    ) -> list[Reading] | None:
        """Return the finite values of a message; None if it is rejected as a whole, because there are not as many.

        Args:
            topic: its name in the faults.
            names: (k,) of the joints.
            values: (k,).
            ages: (k,) how long before the message's stamp each joint was read [s]; empty: all at the stamp.
            others: names of no joint of the robot are no fault.
            measured: they are measured angles [rad]; those that no joint can have are left out.

        """
        for given in (values, *([ages] if len(ages) else [])):
            if len(given) != len(names):
                self.faults.add(topic, f"{topic} has {len(names)} names and {len(given)} values; as many are needed")
                return None
        order = self.match_names(names)
        if order.repeated:
            self.faults.add(topic, f"{topic} names the joint {order.repeated[0]!r} more than once: it is left out")
        if order.unknown and not others:
            robot_has = f"which this robot has not; it has {self._names[0]}, ..."
            self.faults.add(topic, f"{topic} names the joint {order.unknown[0]!r}, {robot_has}")
        readings = []
        for k, joint in order.places:
            value, age = float(values[k]), float(ages[k]) if len(ages) else 0.0
            if not math.isfinite(value):
                name = self._names[joint]
                self.faults.add(topic, f"{topic} has a value that is not finite for {name}; it is left out")
            elif not 0.0 <= age <= OLDEST_READING:
                late = f"was read {age} s before the stamp; it is left out"
                self.faults.add(topic, f"{topic}: {self._names[joint]} {late}")
            elif measured and (refusal := self.refusal(joint, value)):
                self.faults.add(topic, f"{topic} has {refusal}; it is left out")
            else:
                readings.append(Reading(joint, value, age))
        if self._sources is not None and (measured or others):
            self._sources.update(topic, ((joint, value) for joint, value, _ in readings))
        return readings

    def refusal(self, joint: int, angle: float) -> str:
        """Return why an angle of a joint (index) is no measured one [rad]; empty if it may be."""
        name, limits = self._names[joint], self._limits[joint]
        if not is_finite(angle):
            return f"{name}: {angle!r} is no angle"
        if not limits.lower - FARTHEST_READING <= angle <= limits.upper + FARTHEST_READING:
            bounds = f"whose limits are {limits.lower:.4g} and {limits.upper:.4g}"
            return f"{angle:.4g} rad for {name}, {bounds}: are these degrees?"
        return ""

    def arrange_message(
        self, topic: str, names: Sequence[str], values: Sequence[float], *, others: bool = False
    ) -> np.ndarray | None:
        """Return the values of a message in the robot's order (n,), NaN where there is none; None if it is rejected."""
        order = self.match_names(names)
        faultless = len(values) == len(names) and not (order.unknown or order.repeated) and math.isfinite(sum(values))
        if faultless:  # many messages a second: in a quarter of the time
            return self.arrange(names, values)
        readings = self.read(topic, names, values, others=others)
        if readings is None:
            return None
        row = np.full(len(self._names), np.nan)
        for joint, value, _ in readings:
            row[joint] = value
        return row

    def arrange(self, names: Sequence[str], values: Sequence[float]) -> np.ndarray:
        """Return the values of a command that is not refused in the robot's order (n,), NaN where there is none."""
        row = np.full(len(self._names), np.nan)
        row[self.match_names(names).joints] = values
        return row

    def command_refusal(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float] = ()
    ) -> str:
        """Return the reason to reject a command as a whole; empty if it is accepted.

        A command with a name that is unknown or repeated, too few values, or values far beyond what joints can do
        moves nothing. Lists of numbers are processed three times as fast as arrays.

        Args:
            names: (k,) of the joints that are commanded.
            positions: (k,) [rad]; NaN: the joint holds.
            velocities: (k,) [rad/s], or empty where none are given; NaN is no velocity.

        """
        order = self.match_names(names)
        if order.unknown:
            return f"joint {order.unknown[0]!r} is not one of this robot; its joints are {', '.join(self._names)}"
        if order.repeated:
            return f"joint {order.repeated[0]!r} is named more than once: one position for each is needed"
        if len(positions) != len(names):
            return f"it has {len(names)} joints and {len(positions)} positions: one position for each is needed"
        if len(velocities) not in (0, len(names)):
            return f"it has {len(names)} joints and {len(velocities)} velocities: one for each, or none, is needed"
        for joint, position in zip(order.joints, positions, strict=True):
            least, most = self._bounds[joint]
            if position < least or position > most:  # NaN is neither
                limits = f"{self._limits[joint].lower:g}..{self._limits[joint].upper:g} rad"
                beyond = f"whose limits are {limits}: more than {POSITION_MARGIN} rad beyond"
                return f"it asks {position:.6g} rad of {self._names[joint]}, {beyond}"
        for joint, velocity in zip(order.joints, velocities, strict=False):
            if abs(velocity) > SPEED_MARGIN * self._speed_limit:
                most_allowed = f"{SPEED_MARGIN:g} times the servo's {self._speed_limit:g} rad/s"
                return f"it asks {velocity:.6g} rad/s of {self._names[joint]}: more than {most_allowed}"
        return ""


NOT_GIVEN = -1.0  # first variance of a quantity that the IMU does not measure (REP-145)


def imu_quantities(message: Any) -> tuple[Sequence[float] | None, ...]:
    """Return orientation (x, y, z, w), acceleration and angular velocity of a sensor_msgs/Imu; None: not given."""
    o, a, w = message.orientation, message.linear_acceleration, message.angular_velocity
    return (
        None if message.orientation_covariance[0] == NOT_GIVEN else (o.x, o.y, o.z, o.w),
        None if message.linear_acceleration_covariance[0] == NOT_GIVEN else (a.x, a.y, a.z),
        None if message.angular_velocity_covariance[0] == NOT_GIVEN else (w.x, w.y, w.z),
    )


class ImuReading(NamedTuple):
    """What one sample tells, in base_link axes; None for what is not given, not finite or not plausible.

    rotation: (3, 3) world <- base_link. force: specific force (3,) [m/s^2]. rate: angular velocity (3,) [rad/s].
    chip_force, chip_rate: the same in the axes of the chip.
    """

    rotation: np.ndarray | None
    force: Vector | None
    rate: Vector | None
    chip_force: Vector | None
    chip_rate: Vector | None


class ImuInput:
    """Checks the samples of one IMU; faults are added to `faults` under the name of the topic.

    Args:
        chip: rotation (3, 3) base_link <- chip (`robot.imu.rotation`).
        faults: where they are counted and named.
        topic: its name in the messages.

    """

    def __init__(self, chip: np.ndarray, faults: Faults, topic: str = "imu/data") -> None:
        self._chip = np.asarray(chip, float)
        self._axes = self._chip.tolist()
        self._faults, self.topic = faults, topic
        self._time: float | None = None
        self._mean_force, self._mean_rate = sum(MEAN_FORCE) / 2.0, 0.0
        self._clock = ClockCheck()

    def check_clock(self, now: float, age: float) -> None:
        """Name an IMU whose clock runs at another speed; age [s]: of the stamp of a sample at the time `now` [s]."""
        drift = self._clock.add_stamp(now, age)
        if drift:
            speed = f"{100.0 * abs(drift):.1f} % {'faster' if drift > 0.0 else 'slower'}"
            text = f"{self.topic}: its clock runs {speed} than the one of this computer (is chrony running?)"
            self._faults.add(f"{self.topic} clock", text, now)

    def read(
        self,
        now: float,
        orientation: Sequence[float] | None,
        acceleration: Sequence[float] | None,
        angular_velocity: Sequence[float] | None,
    ) -> ImuReading:
        """Return what a sample at the time `now` [s] tells.

        Args:
            now: on a monotonic clock [s].
            orientation: quaternion (x, y, z, w), world <- chip; None if the IMU gives none.
            acceleration: specific force (3,) [m/s^2] in chip axes; None if it is not measured.
            angular_velocity: (3,) [rad/s] in chip axes; None if it is not measured.

        """
        rotation = None
        if orientation is not None:
            try:
                rotation = rotation_from_quaternion(orientation) @ self._chip.T
            except HexapodError as error:
                self._refuse(now, "orientation", str(error))
        # Ranges of usual chips: 16 g, and 2000 degrees a second; more shows that the driver publishes other units.
        force = self._check(now, "linear_acceleration", acceleration, 16.5 * 9.80665, "m/s^2")
        rate = self._check(now, "angular_velocity", angular_velocity, math.radians(2000.0), "rad/s")
        force, rate = self._check_units(now, force, rate)
        return ImuReading(rotation, self._rotate(force), self._rotate(rate), force, rate)

    def _check(self, now: float, name: str, values: Sequence[float] | None, most: float, unit: str) -> Vector | None:
        """Return a quantity as numbers; None if it is not given, not finite or larger than `most`."""
        if values is None:
            return None
        x, y, z = map(float, values)
        largest = max(abs(x), abs(y), abs(z))
        if not math.isfinite(x + y + z):
            self._refuse(now, name, "has a value that is not finite")
        elif largest > most:
            self._refuse(now, name, f"is {largest:.3g} {unit}, more than {most:.3g}: REP-145 wants {unit}")
        else:
            return x, y, z
        return None

    def _refuse(self, now: float, name: str, what: str) -> None:
        self._faults.add(f"{self.topic} {name}", f"{self.topic}: {name} {what}; it is not used", now)

    def _check_units(
        self, now: float, force: Vector | None, rate: Vector | None
    ) -> tuple[Vector | None, Vector | None]:
        """Leave out quantities whose mean over 2 s shows other units, or that gravity has been subtracted."""
        share = 0.0 if self._time is None else 0.5 * min(max(now - self._time, 0.0), 0.1)  # a gap counts as 0.1 s
        self._time = now
        if force is not None:
            self._mean_force += share * (math.hypot(*force) - self._mean_force)
            if not MEAN_FORCE[0] <= self._mean_force <= MEAN_FORCE[1]:
                mean = f"is {self._mean_force:.2g} m/s^2 in the mean"
                self._refuse(now, "linear_acceleration", f"{mean}: REP-145 wants m/s^2 with gravity, 9.8 at rest")
                force = None
        if rate is not None:
            self._mean_rate += share * (math.hypot(*rate) - self._mean_rate)
            if self._mean_rate > MEAN_RATE:
                mean = f"is {self._mean_rate:.2g} rad/s in the mean"
                self._refuse(now, "angular_velocity", f"{mean}: REP-145 wants rad/s")
                rate = None
        return force, rate

    def _rotate(self, vector: Vector | None) -> Vector | None:
        """Return a vector of the chip in base_link axes; plain numbers, because numpy takes three times as long."""
        if vector is None:
            return None
        a, b, c = vector
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self._axes
        return xx * a + xy * b + xz * c, yx * a + yy * b + yz * c, zx * a + zy * b + zz * c
