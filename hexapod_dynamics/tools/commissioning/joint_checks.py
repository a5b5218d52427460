"""Checks that move joints: direction of each, reference pose (trim), emergency stop. Motions are slow, and the
owner permits each of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hexapod_dynamics.drivers.servos.interface import BusError, NoReply
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, not_run, passed
from hexapod_dynamics.tools.commissioning.owner import Answer, Expected, Owner
from hexapod_dynamics.tools.commissioning.slow_move import BlockedError, SlowMove

SWING = 0.2  # [rad] of the check of a direction
FAR = 2.2  # [rad] largest motion to the reference pose
STOP_SWING, STOP_AFTER, STOP_SPEED = 0.15, 0.2, 0.25  # [rad], [s], [rad/s]


class JointChecks:
    """Checks of a robot's joints with a SlowMove and an Owner; only: names of the joints to check, empty for all."""

    def __init__(self, robot: Robot, mover: SlowMove, owner: Owner, only: Sequence[str] = ()) -> None:
        self.robot, self.mover, self.owner = robot, mover, owner
        self.names = list(robot.joint_names)
        self.chosen = [k for k, name in enumerate(self.names) if not only or name in only]
        self._legs = [leg for leg in robot.legs for _ in leg.joints]
        self._joints = robot.joints
        self._tree = LinkTree(robot)

    # Directions ------------------------------------------------------------------------------------------------------

    def directions(self) -> Iterator[Finding]:
        """Move each joint a little and ask whether it did what it should."""
        for index in self.chosen:
            yield self._guarded("directions", self.names[index], lambda: self._direction(index))  # noqa: B023

    @staticmethod
    def _guarded(check: str, what: str, run: Callable[[], Finding]) -> Finding:
        """Run a check of one part; a part that is blocked or does not answer is a finding."""
        try:
            return run()
        except BlockedError as error:
            return failed(check, what, str(error), "find out why before anything else moves it")
        except NoReply as error:
            return failed(check, what, str(error), "see the check `servos`")

    def _direction(self, index: int) -> Finding:
        name, mover, owner = self.names[index], self.mover, self.owner
        swing = self._swing(index, mover.angle(index), SWING)
        motion = self.motion_text(index, swing)
        if not owner.permits(f"{name} will move by {swing:+.2f} rad and back: {motion}"):
            return not_run("directions", name, "left out")
        answer = Answer.AGAIN
        with mover.borrowed([index]):
            start = mover.angle(index)
            while answer is Answer.AGAIN:
                mover.to(index, start)
                mover.to(index, start + swing)
                answer = owner.sees(f"{name}: {motion}. Do you see that?", Expected((name,), (swing,)))
        if answer is Answer.YES:
            return passed("directions", name, f"{swing:+.2f} rad: {motion}")
        joint = self._joints[index]
        remedy = (
            f"if it moved the other way, change its servo direction from {joint.servo_direction} to "
            f"{-(joint.servo_direction or 1)} in the robot file; if another joint moved, the two have exchanged ids "
            f"(servo_ids, here {joint.servo_id}). Do not start the robot before"
        )
        return failed("directions", name, f"{swing:+.2f} rad: the owner did not see: {motion}", remedy)

    def _swing(self, index: int, here: float, size: float) -> float:
        """A motion [rad] that stays within the joint's limits; it increases the angle if the limits permit that."""
        return size if here + size <= self.mover.upper[index] else -size

    def motion_text(self, index: int, change: float) -> str:
        """How the foot moves if the joint turns by `change` [rad] and all others are at zero."""
        zero = np.zeros(len(self.names))
        leg = self._legs[index]
        frame = f"foot_{leg.name}"
        moved = zero.copy()
        moved[index] = change
        before, after = (self._tree.base_poses(q)[frame][:3, 3] for q in (zero, moved))
        outward = np.array([*leg.mount_rotation[:2, 0], 0.0])
        shift = after - before
        sideways = float(np.cross(outward, shift)[2])
        parts = {
            ("up", "down"): float(shift[2]),
            ("outward", "inward"): float(shift @ outward),
            ("counter-clockwise seen from above", "clockwise seen from above"): sideways,
        }
        least = 0.4 * float(np.linalg.norm(shift))
        words = [pair[value < 0] for pair, value in parts.items() if abs(value) > least]
        return (
            f"the foot of leg {leg.name} moves {' and '.join(words)} (by about {1000 * np.linalg.norm(shift):.0f} mm)"
        )

    # Trim ------------------------------------------------------------------------------------------------------------

    def trim(self) -> Iterator[Finding]:
        """Bring one leg after the other to its reference pose, all joints at zero, and ask whether it looks right."""
        for leg in self.robot.leg_names:
            if set(self._indices(leg)) & set(self.chosen):
                yield self._guarded("trim", f"leg {leg}", lambda: self._leg_trim(leg))  # noqa: B023

    def _indices(self, leg: str) -> list[int]:
        return [k for k, each in enumerate(self._legs) if each.name == leg]

    def _leg_trim(self, leg: str) -> Finding:
        mover, owner, indices = self.mover, self.owner, self._indices(leg)
        names = tuple(self.names[k] for k in indices)
        way = max(abs(mover.angle(k)) for k in indices)
        if way > FAR:
            remedy = "switch the supply off, bring the leg near to its reference pose by hand, then run this again"
            return failed("trim", f"leg {leg}", f"a joint is {way:.2f} rad away from zero", remedy)
        text = f"leg {leg} will move slowly (at most {way:.2f} rad) to its reference pose and back"
        if not owner.permits(text):
            return not_run("trim", f"leg {leg}", "left out")
        answer = Answer.AGAIN
        with mover.borrowed(indices):
            while answer is Answer.AGAIN:
                for index in indices:
                    mover.to(index, 0.0)
                question = f"leg {leg}: are all joints within 3 degrees of the reference pose?"
                answer = owner.sees(question, Expected(names, (0.0,) * len(names), absolute=True))
        if answer is Answer.YES:
            return passed("trim", f"leg {leg}", "the reference pose looks right")
        remedy = (
            f"for each joint that is off: `servo_tool calibrate {names[-1]} DEGREES` sets its deviation (now: see "
            "`supply`); a horn that is a whole tooth off is remounted"
        )
        return failed("trim", f"leg {leg}", "the owner sees a joint off its reference pose", remedy)

    # Stop ------------------------------------------------------------------------------------------------------------

    def stop(self) -> Iterator[Finding]:
        """Send an emergency stop into a motion and measure that the joint stands still at once and holds."""
        index = self.chosen[0]
        yield self._guarded("stop", self.names[index], lambda: self._stop(index))

    def _stop(self, index: int) -> Finding:
        name, mover = self.names[index], self.mover
        swing = self._swing(index, mover.angle(index), STOP_SWING)
        if not self.owner.permits(f"{name} will move by {swing:+.2f} rad and be stopped on its way"):
            return not_run("stop", name, "left out")
        for _ in range(3):
            with mover.borrowed([index]):
                start = mover.to(index, mover.angle(index))
                finding = assess_stop(name, start, start + swing, *self._stopped(index, start + swing, abs(swing)))
            if finding is not None:
                return finding
        remedy = "the computer was too busy to stop the joint on its way: end other programs, run this check again"
        return failed("stop", name, "three motions ended before the stop was sent", remedy)

    def _stopped(self, index: int, goal: float, way: float) -> tuple[float, float, float, bool]:
        """Stop a moving joint; return its angles [rad] at the stop, 0.1 s and 0.7 s later, and whether torque is on."""
        mover = self.mover
        mover.send(index, goal, way / STOP_SPEED)
        time.sleep(STOP_AFTER)
        before = mover.angle(index)
        try:
            sent = mover.servos.stop_now()
        finally:
            mover.servos.resume()
        if not sent:
            raise BusError("the port did not take the stop")
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
        return failed("stop", name, f"{seen}, {math.degrees(abs(later - soon)):.1f} deg of it after the stop", remedy)
    if not holds:
        return failed("stop", name, f"{seen}, but without torque", "a stopped robot must hold: supply, temperature?")
    return passed("stop", name, f"{seen}, and holds")
