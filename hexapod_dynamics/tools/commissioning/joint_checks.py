"""Checks that move joints: direction of each, reference pose (trim), emergency stop. The operator permits each motion.

Motions are slow: their speed, angle and force are bounded, and afterwards the joints are back in their initial state.
A joint moves in short steps. The target is at most `LEAD` ahead of the measured angle, so that the torque on a
blocked joint is at most the servo's stiffness times `LEAD`; if the program dies, the motion ends after that angle.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from hexapod_dynamics.drivers.servos.interface import BusError, NoReply, read_value
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.tools.commissioning.bench import Answer, Bench
from hexapod_dynamics.tools.commissioning.findings import Finding

_log = logging.getLogger(__name__)
PERIOD = 0.04  # [s] of a step
LEAD = 0.05  # [rad]; times 30 N m/rad: 1.5 N m, 44 % of the stall torque


class BlockedError(DeviceError):
    """A joint does not get nearer to its goal."""


class SlowMove:
    """Moves joints (robot order, by index) of a Bench within their limits at its speed.

    It must be the only user of the bus. Raises NoReply, BusError, BlockedError.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench, self.servos, self.map, self.speed = bench, bench.bus, bench.servo_map, bench.speed
        self.limits = [(joint.lower, joint.upper) for joint in bench.robot.joints]

    def angle(self, index: int) -> float:
        """Measured joint angle [rad]."""
        return self.map.joint_angle(index, read_value(self.servos, index, "position"))

    def holds(self, index: int) -> bool:
        """Whether the servo exerts torque."""
        return bool(read_value(self.servos, index, "loaded"))

    def send(self, index: int, angle: float, duration: float) -> None:
        """Command a joint angle [rad], reached in `duration` [s]."""
        self.servos.write(index, self.map.servo_angle(index, angle), duration)
        self.servos.drain()

    def move_to(self, index: int, goal: float) -> float:
        """Move a joint to `goal` [rad], clamped to its limits; return the measured angle when it is there."""
        here, (lower, upper) = self.angle(index), self.limits[index]
        goal = float(np.clip(goal, min(lower, here), max(upper, here)))
        target, before, nearest, since = here, time.monotonic(), np.inf, time.monotonic()
        while True:
            now = time.monotonic()
            step = self.speed * min(max(now - before, PERIOD), 2.0 * PERIOD)
            wanted = float(np.clip(target + np.clip(goal - target, -step, step), here - LEAD, here + LEAD))
            self.send(index, wanted, max(PERIOD, abs(wanted - target) / self.speed))
            target, before = wanted, now
            time.sleep(PERIOD)
            here = self.angle(index)
            # The sag by a leg's weight and the resolution are together less than half of this angle.
            if target == goal and abs(goal - here) <= 0.035:
                return here
            if abs(goal - here) < nearest - self.servos.resolution:
                nearest, since = abs(goal - here), time.monotonic()
            elif time.monotonic() - since > 1.5:
                raise BlockedError(
                    f"{self.map.joint_names[index]} stays at {here:.3f} rad on its way to {goal:.3f} rad: is "
                    "something in its way, has the servo torque (supply, temperature)?"
                )

    @contextmanager
    def borrow(self, indices: Sequence[int]) -> Iterator[None]:
        """A context in which joints are moved; afterwards they move back, and joints that had no torque before
        lose it again.

        If an exception ends the block (Ctrl-C, a lost servo), the joints stop where they are.
        """
        start = {index: self.angle(index) for index in indices}
        held = {index: self.holds(index) for index in indices}
        try:
            yield
            for index in reversed(indices):
                self.move_to(index, start[index])
        except BaseException:
            for index in indices:
                self._leave(index, held[index])
            raise
        for index in indices:
            if not held[index]:
                self.disable_torque(index)

    def disable_torque(self, index: int) -> None:
        """Switch torque off and read the state back, up to five times; raises NoReply if it is not confirmed."""
        for _ in range(5):
            self.servos.switch_torque((index,), False)
            self.servos.drain()
            if not self.holds(index):
                return
        raise NoReply(f"{self.map.joint_names[index]} does not confirm that its torque is off: it may hold still")

    def _leave(self, index: int, held: bool) -> None:
        """Stop a joint, and switch its torque off if it was off before. A lost port is only logged."""
        try:
            self.servos.stop(index)
            if not held:
                self.servos.switch_torque((index,), False, copies=3)
            self.servos.drain()
        except BusError as error:
            _log.warning("%s was not stopped, it ends its last step: %s", self.map.joint_names[index], error)


def check_directions(bench: Bench) -> Iterator[Finding]:
    """Move each joint a little and ask whether it did what it should."""
    mover = SlowMove(bench)
    return _each({mover.map.joint_names[k]: partial(_direction, mover, k) for k in _choose_joints(bench)})


def check_trim(bench: Bench) -> Iterator[Finding]:
    """Bring one leg after the other to its reference pose, all joints at zero, and ask whether it looks right."""
    mover, chosen = SlowMove(bench), set(_choose_joints(bench))
    legs = {f"leg {leg}": bench.robot.leg_joints(leg) for leg in bench.robot.leg_names}
    return _each({leg: partial(_reference_pose, mover, leg, own) for leg, own in legs.items() if chosen & set(own)})


def check_stop(bench: Bench) -> Iterator[Finding]:
    """Send an emergency stop into a motion and measure that the joint stands still at once and holds."""
    mover, index = SlowMove(bench), _choose_joints(bench)[0]
    return _each({mover.map.joint_names[index]: partial(_stop, mover, index)})


def _choose_joints(bench: Bench) -> list[int]:
    """Return the indices of the joints that may be moved."""
    return [k for k, name in enumerate(bench.robot.joint_names) if not bench.joints or name in bench.joints]


def _each(parts: Mapping[str, Callable[[], Finding]]) -> Iterator[Finding]:
    """Run the checks of parts, by their names; a part that is blocked or does not answer is a finding."""
    for what, check in parts.items():
        try:
            yield check()
        except BlockedError as error:
            yield Finding(what, str(error), "find out why before anything else moves it")
        except NoReply as error:
            yield Finding(what, str(error), "see the check `servos`")


def _ask_seen(
    mover: SlowMove,
    request: str,
    goals: Mapping[int, float],
    question: str,
    expected: Mapping[str, float],
    right: Finding,
    wrong: Finding,
    *,
    absolute: bool = False,
) -> Finding:
    """Move joints to their goals [rad] and back, as often as the operator wants to see it; return the Finding `right`
    if the operator has seen what was asked, else `wrong`. expected, absolute: see `Operator.ask_seen`.
    """
    operator = mover.bench.operator
    if not operator.ask_permission(request):
        return Finding(right.what, "left out", skipped=True)
    answer = Answer.AGAIN
    with mover.borrow(list(goals)):
        start = {index: mover.angle(index) for index in goals}
        while answer is Answer.AGAIN:
            for pose in (start, goals):
                for index in goals:
                    mover.move_to(index, pose[index])
            answer = operator.ask_seen(question, expected, absolute=absolute)
    return right if answer is Answer.YES else wrong


def _swing(mover: SlowMove, index: int, size: float) -> float:
    """A motion [rad] that stays within the joint's limits; it increases the angle if the limits permit that."""
    return size if mover.angle(index) + size <= mover.limits[index][1] else -size


def _direction(mover: SlowMove, index: int) -> Finding:
    joint, swing = mover.bench.robot.joints[index], _swing(mover, index, 0.2)
    motion = describe_motion(mover.bench.robot, index, swing)
    remedy = (
        f"if it moved the other way, change its servo direction from {joint.servo_direction} to "
        f"{-(joint.servo_direction or 1)} in the robot file; if another joint moved, the two have exchanged ids "
        f"(servo_ids, here {joint.servo_id}). Do not start the robot before"
    )
    return _ask_seen(
        mover,
        f"{joint.name} will move by {swing:+.2f} rad and back: {motion}",
        {index: mover.angle(index) + swing},
        f"{joint.name}: {motion}. Do you see that?",
        {joint.name: swing},
        right=Finding(joint.name, f"{swing:+.2f} rad: {motion}"),
        wrong=Finding(joint.name, f"{swing:+.2f} rad: the operator did not see: {motion}", remedy),
    )


def describe_motion(robot: Robot, index: int, change: float) -> str:
    """How the foot moves if the joint turns by `change` [rad] and all others are at zero."""
    leg = next(leg for leg in robot.legs if index in robot.leg_joints(leg.name))
    moved = np.zeros((2, robot.joint_count))
    moved[1, index] = change
    before, after = (LinkTree(robot).base_poses(q)[f"foot_{leg.name}"][:3, 3] for q in moved)
    outward = np.array([*leg.mount_rotation[:2, 0], 0.0])
    shift = after - before
    parts = {
        ("up", "down"): float(shift[2]),
        ("outward", "inward"): float(shift @ outward),
        ("counter-clockwise seen from above", "clockwise seen from above"): float(np.cross(outward, shift)[2]),
    }
    size = float(np.linalg.norm(shift))
    words = [pair[value < 0] for pair, value in parts.items() if abs(value) > 0.4 * size]
    return f"the foot of leg {leg.name} moves {' and '.join(words)} (by about {1000 * size:.0f} mm)"


def _reference_pose(mover: SlowMove, what: str, indices: Sequence[int]) -> Finding:
    names = tuple(mover.map.joint_names[k] for k in indices)
    way = max(abs(mover.angle(k)) for k in indices)
    if way > 2.2:
        remedy = "switch the supply off, bring the leg near to its reference pose by hand, then run this again"
        return Finding(what, f"a joint is {way:.2f} rad away from zero", remedy)
    remedy = (
        f"for each joint that is off: {mover.servos.tool.format(f'calibrate {names[-1]} DEGREES')} sets its deviation "
        "(now: see `supply`); a horn that is a whole tooth off is remounted"
    )
    return _ask_seen(
        mover,
        f"{what} will move slowly (at most {way:.2f} rad) to its reference pose and back",
        dict.fromkeys(indices, 0.0),
        f"{what}: are all joints within 3 degrees of the reference pose?",
        dict.fromkeys(names, 0.0),
        right=Finding(what, "the reference pose looks right"),
        wrong=Finding(what, "the operator sees a joint off its reference pose", remedy),
        absolute=True,
    )


def _stop(mover: SlowMove, index: int) -> Finding:
    name, swing = mover.map.joint_names[index], _swing(mover, index, 0.15)
    if not mover.bench.operator.ask_permission(f"{name} will move by {swing:+.2f} rad and be stopped on its way"):
        return Finding(name, "left out", skipped=True)
    for _ in range(3):
        with mover.borrow([index]):
            start = mover.move_to(index, mover.angle(index))
            finding = assess_stop(name, start, start + swing, *_stop_motion(mover, index, start + swing, abs(swing)))
        if finding is not None:
            return finding
    remedy = "the computer was too busy to stop the joint on its way: end other programs, run this check again"
    return Finding(name, "three motions ended before the stop was sent", remedy)


def _stop_motion(mover: SlowMove, index: int, goal: float, way: float) -> tuple[float, float, float, bool]:
    """Stop a joint 0.2 s after the begin of a motion of 0.25 rad/s; return its angles [rad] at the stop, 0.1 s and
    0.7 s later, and whether torque is on.
    """
    mover.send(index, goal, way / 0.25)
    time.sleep(0.2)
    before = mover.angle(index)
    try:
        sent = mover.servos.stop_now()
    finally:
        mover.servos.resume()
    if not sent:
        raise BusError("the emergency stop could not be sent on the port")
    time.sleep(0.1)
    soon = mover.angle(index)
    time.sleep(0.6)
    return before, soon, mover.angle(index), mover.holds(index)


def assess_stop(
    name: str, start: float, goal: float, before: float, soon: float, later: float, holds: bool
) -> Finding | None:
    """Assess a stop from the angles [rad] before it, 0.1 s and 0.7 s later; None if the motion ended before the
    stop.
    """
    way = abs(goal - start)
    if abs(goal - before) < 0.25 * way:
        return None
    seen = f"stopped {math.degrees(abs(later - start)):.1f} of {math.degrees(way):.1f} deg on its way"
    if abs(later - soon) > 0.02 or abs(goal - later) < 0.15 * way:
        remedy = "it moved on: do not start the robot; does the servo obey MOVE_STOP, are bytes lost (check `servos`)?"
        return Finding(name, f"{seen}, {math.degrees(abs(later - soon)):.1f} deg of it after the stop", remedy)
    return (
        Finding(name, f"{seen}, and holds")
        if holds
        else Finding(name, f"{seen}, but without torque", "a stopped robot must hold: supply, temperature?")
    )
