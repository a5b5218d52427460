"""The one conversion of values with joint names for all nodes: unknown and repeated names, too few values, NaN."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.control.command_check import CommandCheck
from hexapod_dynamics.onboard.faults import Faults
from hexapod_dynamics.robot import Robot

# Number of orders of joints that are remembered.
ORDERS = 400
# A reading longer before the stamp of its message than this [s] is left out.
OLDEST_READING = 1.0


class Order(NamedTuple):
    """Order of the joints in a message: places in the message and joint indices, as lists and as arrays.

    unknown: names that are no joint of the robot. repeated: names that come more than once; both are left out.
    """

    places: list[int]
    joints: list[int]
    places_array: np.ndarray
    joints_array: np.ndarray
    unknown: list[str]
    repeated: list[str]


class JointInput:
    """Reads the joints of one robot from names and values; faults are added to `faults` under the topic's name."""

    def __init__(self, robot: Robot, faults: Faults) -> None:
        self._names, self._faults = robot.joint_names, faults
        self._index = {name: j for j, name in enumerate(robot.joint_names)}
        self._all = list(range(robot.joint_count))
        self._check = CommandCheck.of_robot(robot)
        self._orders: dict[tuple[str, ...], Order] = {}

    def order(self, topic: str, names: Sequence[str], *, others: bool = False) -> Order:
        """Return the Order of the names of a message; others: names of no joint of the robot are no fault."""
        order = self.order_of_command(names)
        if order.repeated:
            self._faults.add(topic, f"{topic} names the joint {order.repeated[0]!r} more than once: it is left out")
        if order.unknown and not others:
            self._faults.add(
                topic,
                f"{topic} names the joint {order.unknown[0]!r}, which this robot has not; it has {self._names[0]}, ...",
            )
        return order

    def _make_order(self, names: Sequence[str]) -> Order:
        counts = Counter(names)
        known = [k for k, name in enumerate(names) if name in self._index and counts[name] == 1]
        joints = [self._index[names[k]] for k in known]
        return Order(
            known,
            joints,
            np.array(known, np.intp),
            np.array(joints, np.intp),
            [name for name in counts if name not in self._index],
            [name for name, count in counts.items() if count > 1 and name in self._index],
        )

    def as_many(self, topic: str, names: Sequence[str], values: Sequence[float]) -> bool:
        """Return whether a message has as many values as names; else it is rejected as a whole."""
        if len(values) == len(names):
            return True
        self._faults.add(topic, f"{topic} has {len(names)} names and {len(values)} values; as many are needed")
        return False

    def readings(
        self, topic: str, names: Sequence[str], values: Sequence[float], *, others: bool = False
    ) -> Iterator[tuple[int, float]]:
        """Yield (joint index, value) of the finite values of a message; none if it is rejected."""
        if not self.as_many(topic, names, values):
            return
        order = self.order(topic, names, others=others)
        for k, joint in zip(order.places, order.joints, strict=True):  # mostly a single joint
            if math.isfinite(values[k]):
                yield joint, float(values[k])
            else:
                self._not_finite(topic, joint)

    def measurements(
        self, topic: str, names: Sequence[str], values: Sequence[float], ages: Sequence[float]
    ) -> Iterator[tuple[int, float, float]]:
        """Yield (joint index, value, age [s]) of the finite values of a message; none if it is rejected.

        ages: how long before the message's stamp each joint was read [s]; empty: all at the stamp.
        """
        if not self.as_many(topic, names, values) or (len(ages) and not self.as_many(topic, names, ages)):
            return
        order = self.order(topic, names)
        for k, joint in zip(order.places, order.joints, strict=True):
            age = float(ages[k]) if len(ages) else 0.0
            if not math.isfinite(values[k]):
                self._not_finite(topic, joint)
            elif not 0.0 <= age <= OLDEST_READING:
                self._faults.add(
                    topic, f"{topic}: {self._names[joint]} was read {age} s before the stamp; it is left out"
                )
            else:
                yield joint, float(values[k]), age

    def scatter(
        self, topic: str, names: Sequence[str], values: Sequence[float], out: np.ndarray, *, others: bool = False
    ) -> bool:
        """Write the values of a message in joint order, NaN if missing; return False if it is rejected."""
        if not self.as_many(topic, names, values):
            return False
        order = self.order(topic, names, others=others)
        if order.joints == self._all and order.places == self._all and math.isfinite(sum(values)):
            out[:] = values
            return True
        out[:] = np.nan
        given = np.asarray(values, float)[order.places_array]
        out[order.joints_array] = given
        good = np.isfinite(given)
        if not good.all():
            self._not_finite(topic, order.joints[int(np.argmin(good))])
            out[~np.isfinite(out)] = np.nan
        return True

    def _not_finite(self, topic: str, joint: int) -> None:
        self._faults.add(topic, f"{topic} has a value that is not finite for {self._names[joint]}; it is left out")

    def command_refusal(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float] = ()
    ) -> str:
        """Return the reason to reject a command as a whole; empty if it is accepted.

        A command with a name that is unknown or repeated, too few values, or values far beyond what joints can do
        moves nothing.
        """
        order = self.order_of_command(names)
        if order.unknown:
            return f"joint {order.unknown[0]!r} is not one of this robot; its joints are {', '.join(self._names)}"
        if order.repeated:
            return f"joint {order.repeated[0]!r} is named more than once: one position for each is needed"
        return self._check.refusal(order.joints, positions, velocities)

    def order_of_command(self, names: Sequence[str]) -> Order:
        """Return the Order of a command's names; its unknown and repeated names are no fault yet."""
        key = tuple(names)
        order = self._orders.get(key)
        if order is None:
            if len(self._orders) >= ORDERS:
                self._orders.clear()
            order = self._orders[key] = self._make_order(names)
        return order
