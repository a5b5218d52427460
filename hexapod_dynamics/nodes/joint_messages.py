"""Reads messages with named joints: their names, times and values, and the faults in them."""

import math
import time
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.control.command_check import CommandCheck, stamp_refusal
from hexapod_dynamics.ros.node_functions import stamp_seconds

# Number of orders of joints that are remembered, because `servos` publishes a message for each joint.
ORDERS = 100
# A message stamped longer ago than this [s], or as far in the future, is refused.
OLDEST = 0.5
# A fault is reported for this time [s].
KEPT = 2.5


class Order(NamedTuple):
    """Order of the joints in a message: positions in the message and joint indices, as lists and as arrays."""

    places: list[int]
    joints: list[int]
    places_array: np.ndarray
    joints_array: np.ndarray


class Faults:
    """The last fault of each input."""

    def __init__(self):
        self._last = {}

    def add(self, about, what):
        """Store a fault."""
        self._last[about] = (time.monotonic(), what)

    def recent(self, now):
        """Return the faults of the last seconds, as texts."""
        self._last = {about: (at, what) for about, (at, what) in self._last.items() if now - at < KEPT}
        return [what for _, what in self._last.values()]


class JointMessages:
    """Reads the joints of one robot from messages; faults of a message are stored in `faults`."""

    def __init__(self, robot, faults):
        self._names, self._faults = robot.joint_names, faults
        self._index = {name: j for j, name in enumerate(robot.joint_names)}
        self._all = list(range(robot.joint_count))
        self._check = CommandCheck.of_robot(robot)
        self._orders = {}

    def order(self, topic, names):
        """Return the Order of the names of a message."""
        key = (topic, *names)
        order = self._orders.get(key)
        if order is None:
            if len(self._orders) >= ORDERS:
                self._orders.clear()
            unknown = [name for name in names if name not in self._index]
            if unknown:
                self._faults.add(
                    topic,
                    f"{topic} names the joint {unknown[0]!r}, which this robot has not; it has {self._names[0]}, ...",
                )
            known = [k for k, name in enumerate(names) if name in self._index]
            joints = [self._index[names[k]] for k in known]
            order = Order(known, joints, np.array(known, np.intp), np.array(joints, np.intp))
            self._orders[key] = order
        return order

    def time_of(self, topic, stamp):
        """Return the monotonic time of a stamp, or of the arrival if there is none; None if it is too old, so that
        the message is rejected.
        """
        now = time.monotonic()
        if stamp.sec == 0 and stamp.nanosec == 0:
            return now
        age = time.time() - stamp_seconds(stamp)
        refusal = stamp_refusal(age, OLDEST)
        if refusal:
            self._faults.add(topic, f"{topic} is refused: {refusal}")
            return None
        return now - max(age, 0.0)

    def as_many(self, topic, names, values):
        """Return whether a message has as many values as names."""
        if len(values) == len(names):
            return True
        self._faults.add(topic, f"{topic} has {len(names)} names and {len(values)} values; as many are needed")
        return False

    def not_finite(self, topic, joint):
        """Report that a joint's value is left out."""
        self._faults.add(topic, f"{topic} has a value that is not finite for {self._names[joint]}; it is left out")

    def scatter(self, topic, names, values, out):
        """Write the values of a message in joint order, NaN if missing; return False if it is rejected."""
        order = self.order(topic, names)
        if not self.as_many(topic, names, values):
            return False
        if order.joints == self._all and order.places == self._all and math.isfinite(sum(values)):
            out[:] = values
            return True
        out[:] = np.nan
        given = np.asarray(values, float)[order.places_array]
        out[order.joints_array] = given
        good = np.isfinite(given)
        if not good.all():
            self.not_finite(topic, order.joints[int(np.argmin(good))])
            out[~np.isfinite(out)] = np.nan
        return True

    def is_refused(self, topic, names, positions, velocities):
        """Return whether no joint can follow a command, by the same rule as in `servos`."""
        order = self.order(topic, names)
        given = [velocities[k] for k in order.places] if velocities else ()
        refusal = self._check.refusal(order.joints, [positions[k] for k in order.places], given)
        if refusal:
            self._faults.add(topic, f"{topic} is refused: {refusal}")
        return bool(refusal)
