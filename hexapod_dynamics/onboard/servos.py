"""What the node `servos` does, without a wire: the supervisor of the driver on readings that the caller brings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.control.posture import seated_pose
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState, ChainStateMachine
from hexapod_dynamics.drivers.servos.supervisor import ServoSupervisor, SupervisorSettings
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

READS_A_SECOND = 150.0  # positions that a bus at 115,200 bit/s carries a second, beside the set-points


class ReadingsBus:
    """A ChainStateMachine on readings and set-points of the caller.

    targets: the set-points (n,) [rad] of the servos, NaN without one.
    """

    def __init__(self, robot: Robot, reads_a_second: float = READS_A_SECOND) -> None:
        self.state = ChainStateMachine(robot.joint_count, ChainSettings())
        self.targets = np.full(robot.joint_count, np.nan)
        self._read_under = self.targets.copy()  # set-points under which the joints were read last
        with_ids = all(joint.servo_id is not None for joint in robot.joints)
        self._map = ServoMap.from_robot(robot) if with_ids else ServoMap.from_joint_names(robot.joint_names)
        self._pace, self._last, self._credit = reads_a_second, -math.inf, 0.0
        self.state.open(-math.inf)

    # ---- what a ServoSupervisor calls --------------------------------------------------------------------------------

    def snapshot(self, into: ChainState | None = None) -> ChainState:
        """Return a copy of the state, in `into` if given."""
        return self.state.copy(into)

    def restore(self, *, torque: bool, frozen: bool) -> None:
        """Start with torque off or frozen, as before a restart."""
        self.state.torque, self.state.frozen = torque, frozen

    def set_targets(self, angles: np.ndarray, duration: float, epoch: int, speed: np.ndarray | None = None) -> None:
        """Move to joint angles (n,) [rad]; NaN: the joint gets no new target. A pose of an older epoch is dropped."""
        if epoch == self.state.epoch and self.state.torque and not self.state.frozen:
            given = np.isfinite(angles) & ~self.state.missing
            self.targets[given] = self._map.quantise(angles)[given]
            self.state.trusts_targets = True

    def freeze(self) -> bool:
        """Stop all motion: each joint holds where it was measured last, moved as far as its set-point has since."""
        measured = np.isfinite(self.state.angle) & ~self.state.missing
        here = self.state.angle + np.nan_to_num(self.targets - self._read_under)
        self.targets[measured] = here[measured]
        self.state.set_frozen(True, self._last)
        return True

    def unfreeze(self) -> None:
        """Allow poses again, planned from newly measured positions."""
        self.state.set_frozen(False, self._last)

    def set_torque(self, on: bool) -> None:
        """Switch torque of all servos; they start again from newly measured positions, and hold there until then."""
        if not on:
            self.targets[:] = np.nan
        elif not self.state.torque:
            self.targets[:] = np.where(self.state.missing, np.nan, self.state.angle)
        self.state.set_torque(on, self._last)

    def set_missing(self, missing: np.ndarray) -> None:
        """Set the joints (n,) bool that are not on the robot: they are neither moved nor read."""
        self.state.set_missing(missing)
        self.targets[missing] = np.nan

    # ---- readings ----------------------------------------------------------------------------------------------------

    def reads(self, t: float) -> list[int]:
        """Return the joints (indices) that are asked from the last call to the time t [s], in this order."""
        elapsed = max(t - self._last, 0.0) if math.isfinite(self._last) else 1.0 / self._pace
        self._last = max(t, self._last)
        self._credit = min(self._credit + elapsed * self._pace, 4.0)  # requests, after a pause
        joints: list[int] = []
        schedule = self.state.schedule
        while self._credit >= 1.0:
            joint, due = schedule.position(self.state, t)
            if joint < 0 or due > t:
                break
            self._credit -= 1.0
            schedule.note_request(joint, t, bool(self.state.silent[joint]))
            joints.append(joint)
        probed = self.state.next_missing(t)
        return [*joints, probed] if probed >= 0 else joints

    def process_answer(self, t: float, joint: int, angle: float) -> bool:
        """Process an answer; return whether it is a measurement, because the joint is not declared missing."""
        state = self.state
        if state.missing[joint]:
            state.process_probe(joint, True)
            return False
        state.note_answer(joint, t)
        if state.silent[joint] and state.torque:  # it may have lost its supply, and been moved: it holds where it is
            self.targets[joint] = state.start_from(angle, self.targets[joint])
        start = None
        if state.needs_start(joint, t):
            holds = state.torque and state.trusts_targets
            start = state.start_from(angle, self.targets[joint]) if holds else angle
        state.process_reading(joint, angle, t, start)
        self._read_under[joint] = self.targets[joint]
        return True

    def process_silence(self, t: float, joint: int) -> None:
        """Process a request that was not answered."""
        if self.state.missing[joint]:
            self.state.process_probe(joint, False)
            return
        self.state.note_no_answer(joint)
        if not self.state.silent[joint]:
            self.state.schedule.ask_soon(joint)


class Servos:
    """Commands in, set-points out, in simulated time or on another's hardware; times are seconds on one clock.

    bus: the readings; supervisor: decides whether commands are followed, and stops the robot, which it says by `tell`.
    """

    def __init__(
        self,
        robot: Robot,
        tell: Callable[[str], None] = lambda text: None,
        reads_a_second: float = READS_A_SECOND,
    ) -> None:
        self.bus = ReadingsBus(robot, reads_a_second)
        settings = SupervisorSettings(seated_pose(robot))
        self.supervisor = ServoSupervisor(self.bus, PoseGuard.from_robot(robot), settings, tell)
        self._all = np.arange(robot.joint_count)

    def command(self, t: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Command angles (n,) [rad], NaN: the joint holds, with the feed-forward torques (n,) [N m] received before."""
        if torques is not None:
            self.supervisor.feed_forward(self._all, np.nan_to_num(torques), t)
        self.supervisor.follow(self._all, positions, t)

    def step(self, t: float) -> np.ndarray:
        """Return the set-points (n,) [rad]; NaN: torque off, missing, or not measured yet."""
        self.supervisor.step(t)
        self.supervisor.hold_when_commands_stop(t)
        state = self.bus.state
        return np.where(state.missing | (not state.torque), np.nan, self.bus.targets)
