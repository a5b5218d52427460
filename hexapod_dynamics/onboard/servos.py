"""What the node `servos` does, without a wire: the supervisor of the driver on readings that the caller brings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from hexapod_dynamics.control.pose_guard import GuardSettings, PoseGuard
from hexapod_dynamics.drivers.servos.chain import ChainSettings, ChainState, ReadSchedule, ServoChain
from hexapod_dynamics.drivers.servos.reader import ServoLossDetector
from hexapod_dynamics.drivers.servos.supervisor import ServoSupervisor, StopState, SupervisorSettings
from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_counts import BUS_SERVO

# Positions that the wire of 115200 baud carries a second, beside the set-points.
READS_A_SECOND = 150.0
MOST_READS = 4.0  # in one call, after a pause
# A joint that was not measured for this time [s] starts from its measured position, and so does one whose measured
# position is further than this [rad] from its set-point.
AWAY, NEAR = 0.7, 0.15
# Joint angles of each leg, from the body outward, when the belly is on the ground [rad]; further joints hold.
SIT_POSE = 0.0, 1.2, -0.45


def seated_pose(robot: Robot, leg_pose: Sequence[float] = SIT_POSE) -> np.ndarray:
    """Return the pose (n,) [rad] in which the belly is on the ground, NaN for joints that hold.

    Raises ParameterError if an angle is outside the limits of a joint.
    """
    pose = []
    for leg in robot.legs:
        for k, joint in enumerate(leg.joints):
            angle = leg_pose[k] if k < len(leg_pose) else math.nan
            if not (math.isnan(angle) or joint.lower <= angle <= joint.upper):
                raise ParameterError(
                    f"parameter sit_pose: {angle} rad is outside {joint.name}'s limits {joint.lower}..{joint.upper}"
                )
            pose.append(angle)
    return np.array(pose)


class ReadingsBus:
    """Stands for the driver's ServoChain: keeps its ChainState by readings and set-points of the caller.

    Silent servos, restarts from the measured pose and the order of the reads are as in the driver.
    """

    def __init__(self, robot: Robot, settings: ChainSettings | None = None) -> None:
        n = robot.joint_count
        self.map = range(n)
        self.settings = settings or ChainSettings()
        self.state = ChainState.empty(n)
        self.state.connected, self.state.epoch, self.state.opened = True, 1, 1
        self.targets = np.full(n, np.nan)
        self._resolution = robot.servo.resolution
        self._schedule = ReadSchedule(n, self.settings)
        self._loss = ServoLossDetector(n, self.settings.silent_after)
        self._initialised = np.zeros(n, bool)  # start_angle has been determined since the joint was last lost
        self._last, self._credit = -math.inf, 0.0
        self._next_probe, self._probed = -math.inf, -1

    # ---- what a ServoSupervisor calls --------------------------------------------------------------------------------

    def snapshot(self, into: ChainState | None = None) -> ChainState:
        """Return a copy of the state, in `into` if given."""
        state = into or ChainState.empty(len(self.map))
        state.copy_from(self.state)
        return state

    def restore(self, *, torque: bool, frozen: bool) -> None:
        """Start with torque off or frozen, as before a restart."""
        self.state.torque, self.state.frozen = torque, frozen

    def set_targets(self, angles: np.ndarray, duration: float, epoch: int, speed: np.ndarray | None = None) -> None:
        """Move to joint angles (n,) [rad]; NaN: the joint gets no new target. A pose of an older epoch is dropped."""
        if epoch == self.state.epoch and self.state.torque and not self.state.frozen:
            given = np.isfinite(angles) & ~self.state.missing
            self.targets[given] = BUS_SERVO.quantise(angles[given])

    def freeze(self) -> bool:
        """Stop all motion: each joint holds where it was measured last."""
        self.state.frozen = True
        self.state.epoch += 1
        measured = np.isfinite(self.state.angle)
        self.targets[measured] = self.state.angle[measured]
        return True

    def unfreeze(self) -> None:
        """Allow poses again, planned from newly measured positions."""
        self.state.frozen = False
        self._measure_again()

    def set_torque(self, on: bool) -> None:
        """Switch torque of all servos; they start again from newly measured positions, and hold there until then."""
        if not on:
            self.targets[:] = np.nan
        elif not self.state.torque:
            self.targets[:] = np.where(self.state.missing, np.nan, self.state.angle)
        self.state.torque = on
        self._measure_again()

    def set_missing(self, missing: np.ndarray) -> None:
        """Set the joints (n,) bool that are not on the robot: they are neither moved nor read."""
        state = self.state
        back = state.missing & ~missing
        state.missing[:] = missing
        state.missing_but_answering[~missing] = False
        state.angle[back] = np.nan
        state.silent[back | missing] = False
        state.back[back | ~missing] = 0
        self.targets[missing] = np.nan
        self._initialised[back | missing] = False
        self._loss.forget(back)
        self._schedule.forget(back)

    def _measure_again(self) -> None:
        self.state.epoch += 1
        self.state.angle[:] = np.nan
        self._initialised[:] = False

    # ---- readings ----------------------------------------------------------------------------------------------------

    def reads(self, t: float) -> list[int]:
        """Return the joints (indices) that are asked from the last call to the time t [s], in this order."""
        elapsed = t - self._last if math.isfinite(self._last) else 1.0 / READS_A_SECOND
        self._last = t
        self._credit = min(self._credit + elapsed * READS_A_SECOND, MOST_READS)
        joints: list[int] = []
        while self._credit >= 1.0:
            joint, due = self._schedule.position(self.state, t)
            if joint < 0 or due > t:
                break
            self._credit -= 1.0
            self._schedule.asked(joint, t, bool(self.state.silent[joint]))
            joints.append(joint)
        if t >= self._next_probe and self.state.missing.any():
            missing = np.flatnonzero(self.state.missing)
            after = missing[missing > self._probed]
            self._probed = int(after[0] if after.size else missing[0])
            self._next_probe = t + self.settings.missing_probe_interval
            joints.append(self._probed)
        return joints

    def answered(self, t: float, joint: int, angle: float) -> bool:
        """Process an answer; return whether it is a measurement, because the joint is not declared missing."""
        state = self.state
        state.last_received, state.unanswered = t, 0
        state.reads += 1
        if state.missing[joint]:
            state.missing_but_answering[joint] = True
            state.back[joint] += 1
            return False
        self._loss.note(joint, True)
        if state.silent[joint]:
            self._schedule.probe_soon(state.silent)
        if t - state.stamp[joint] > AWAY:
            self._initialised[joint] = False
        if not self._initialised[joint]:
            target = self.targets[joint]
            near = state.torque and abs(target - angle) < NEAR  # a loaded joint sags below its set-point
            state.start_angle[joint] = target if near else angle
            state.generation[joint] += 1
            self._initialised[joint] = True
        step = t - state.stamp[joint]
        rate = (angle - state.angle[joint]) / step if 0.0 < step < 1.0 else 0.0
        state.rate[joint] = rate if math.isfinite(rate) else 0.0
        state.angle[joint], state.stamp[joint], state.silent[joint] = angle, t, False
        return True

    def unanswered(self, t: float, joint: int) -> None:
        """Process a request that was not answered."""
        state = self.state
        state.unanswered += 1
        if state.missing[joint]:
            state.back[joint] = 0
            return
        self._loss.note(joint, False)
        if state.silent[joint]:
            return
        if self._loss.is_silent(joint):
            state.silent[joint], self._initialised[joint] = True, False
        else:
            self._schedule.ask_soon(joint)


class Servos:
    """Commands in, set-points out, in simulated time or on another's hardware; times are seconds on one clock.

    bus: the readings; supervisor: decides whether commands are followed, and stops the robot, which it says by `tell`.
    """

    def __init__(
        self,
        robot: Robot,
        settings: SupervisorSettings | None = None,
        guard: GuardSettings | None = None,
        stop: StopState | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        joints = [joint for leg in robot.legs for joint in leg.joints]
        self.bus = ReadingsBus(robot)
        self.guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], robot.servo.stiffness, guard)
        chain = cast(ServoChain, self.bus)  # it has what a supervisor uses of a chain
        settings = settings or SupervisorSettings(seated_pose(robot))
        self.supervisor = ServoSupervisor(chain, self.guard, settings, tell, stop)
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
        out = self.bus.targets.copy()
        out[state.missing] = np.nan
        if not state.torque:
            out[:] = np.nan
        return out

    @property
    def following(self) -> bool:
        """Whether commands are executed."""
        return self.supervisor.executes
