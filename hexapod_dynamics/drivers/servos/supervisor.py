"""Decides what the servos do: follow commands, hold when these stop, sit down, switch torque off, freeze.

A person's request (`StopState`) outlasts commands, a lost port and, by means of `keep`, a crash of this process;
only the next request of a person ends it. Times are monotonic seconds and arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, MotionTime, PoseGuard
from hexapod_dynamics.control.posture import SitDown, SupplyLimits, SupplyMonitor
from hexapod_dynamics.drivers.servos.chain_state import ChainState
from hexapod_dynamics.drivers.servos.health import SEVERITY
from hexapod_dynamics.drivers.stop_request import resume_command
from hexapod_dynamics.errors import DeviceError

FOLLOW, HOLD, SIT, OFF = "follow", "hold", "sit", "off"
MODES = {
    FOLLOW: "joint_commands move the robot",
    HOLD: "torque is on, the pose is held, joint_commands are ignored",
    SIT: "the robot sits down, then its torque is switched off",
    OFF: "torque is off",
}

Joints = Sequence[int] | np.ndarray | slice  # indices of joints


@dataclass(frozen=True)
class StopState:
    """mode: one of MODES; frozen: emergency stop on top of it; reason: why, for people."""

    mode: str = FOLLOW
    frozen: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        kinds = [type(value) for value in vars(self).values()]
        if kinds != [str, bool, str] or self.mode not in MODES:
            raise DeviceError(
                f"invalid stop state {str(self)[:200]}: mode is one of {', '.join(MODES)}, frozen true or false"
            )

    def to_values(self) -> dict[str, str | bool]:
        """Values for a JSON file."""
        return asdict(self)

    @classmethod
    def from_values(cls, values: object) -> StopState:
        """Read the values of `to_values`; None (nothing stored): the initial state; DeviceError for other values."""
        if values is None:
            return cls()
        if not isinstance(values, dict) or values.keys() != asdict(cls()).keys():
            raise DeviceError(f"invalid stop state {str(values)[:200]}: mode, frozen and reason are needed")
        return cls(**values)

    @classmethod
    def unreadable(cls, why: object) -> StopState:
        """Return an emergency stop, because the request that cannot be read may have been one."""
        return cls(HOLD, True, f"the request from before the restart cannot be read ({why})")

    @classmethod
    def lost(cls, remembered: StopState | None, why: str) -> StopState:
        """Return what is known after a restart without the stored request; joint_commands are not followed."""
        stop = remembered or cls()
        mode = HOLD if stop.mode == FOLLOW else stop.mode
        return cls(mode, stop.frozen, f"the request from before the restart was deleted ({why})")


_SOONEST = 0.75  # share of a period, least time between motions: shorter intervals would leave no time for reads


@dataclass(frozen=True)
class SupervisorSettings:
    """period [s]: in which a servo moves to a new target. command_timeout [s]: without a newer one the pose is held.

    seated (n,) [rad]: pose in which the belly is on the ground; a joint with NaN does not move. sit_speed [rad/s]:
    of the joint with the longest way. namespace: of the robot, for the commands in messages.
    """

    seated: np.ndarray
    period: float = 0.02
    command_timeout: float = COMMAND_TIMEOUT
    sit_speed: float = 0.6
    supply: SupplyLimits = field(default_factory=SupplyLimits)
    namespace: str = ""


class SupervisedChain(Protocol):
    """The methods of `chain.ServoChain`, documented there, that a supervisor calls; `onboard` has its own."""

    def restore(self, *, torque: bool, frozen: bool) -> None:
        """Start with torque off or frozen."""

    def set_targets(self, angles: np.ndarray, duration: float, epoch: int, speed: np.ndarray | None = None) -> None:
        """Move to joint angles (n,) [rad] in `duration` [s], unless the state has another epoch."""

    def freeze(self) -> bool:
        """Stop all motion until `unfreeze`; return whether that was sent."""

    def unfreeze(self) -> None:
        """Allow poses again."""

    def set_torque(self, on: bool) -> None:
        """Switch torque on or off."""

    def snapshot(self, into: ChainState | None = None) -> ChainState:
        """Return a copy of the state, in `into` if given."""


class ServoSupervisor:
    """Passes joint commands on to the bus thread after all checks.

    Args:
        chain: SupervisedChain, not started yet.
        guard: PoseGuard that bounds the commands.
        settings: SupervisorSettings.
        notify: notify(text), called when the action of the robot changes.
        stop: initial StopState, restored after a crash.
        keep: keep(StopState), called at each change to store the state; it returns without waiting. `not_kept`:
        why storing has failed, for `doing`; empty if it has not.

    """

    def __init__(
        self,
        chain: SupervisedChain,
        guard: PoseGuard,
        settings: SupervisorSettings,
        notify: Callable[[str], object],
        stop: StopState | None = None,
        keep: Callable[[StopState], object] | None = None,
    ) -> None:
        self.chain, self.guard, self.settings = chain, guard, settings
        self.state = chain.snapshot()
        n = len(self.state.angle)
        self.stop = stop or StopState()
        self.holding = True  # there are no commands
        self.sitting: SitDown | None = None
        self.supply_level = "ok"
        self._notify, self._keep = notify, keep
        self._frozen = f"the pose is frozen until `{resume_command(settings.namespace)}`, or emergency_stop with false"
        self._supply = SupplyMonitor(settings.supply)
        self._command, self._torques = np.full(n, np.nan), np.zeros(n)
        self._command_time = self._torque_time = -np.inf
        self._motion_time = MotionTime(settings.period)
        self.pending = False  # a command arrived too soon after the previous one and is not executed yet
        self._settled_epoch = self._sit_epoch = -1
        self.not_kept = ""
        chain.restore(torque=self.stop.mode != OFF, frozen=self.stop.frozen)

    # Commands --------------------------------------------------------------------------------------------------------

    @property
    def is_following(self) -> bool:
        """Whether joint commands may move the robot."""
        return self.stop.mode == FOLLOW and not self.stop.frozen

    @property
    def is_executing(self) -> bool:
        """Whether joint commands are executed, by `state`: they may move the robot, and all joints are measured."""
        return self.is_following and self._ready()

    def follow(self, joints: Joints, positions: np.ndarray, t: float) -> None:
        """Command angles [rad] of joints (indices); all others hold, as do those whose angle is NaN.

        The speed is bounded for any rate of the commands: a command moves a joint by at most the guard's speed
        times the time since the last motion and what that has left (MotionTime), at most two periods.
        """
        self.hold_when_commands_stop(t)
        self.holding, self._command_time = False, t
        self._command[:] = np.nan
        self._command[joints] = positions
        self.guard.clamped["not finite"] += int(np.count_nonzero(np.isnan(positions)))
        if self._motion_time.since(t) < _SOONEST * self.settings.period:
            self.pending = True  # `step` or the next command executes it
        else:
            self._apply_command(t)

    def feed_forward(self, joints: Joints, torques: npt.ArrayLike, t: float) -> None:
        """Set the feed-forward torques [N m] by which set-points are shifted; other joints have none."""
        self._torques[:] = 0.0
        self._torques[joints] = torques
        self._torque_time = t

    def hold_when_commands_stop(self, t: float) -> None:
        """Hold the pose when the last command is older than `command_timeout`."""
        if not self.holding and t - self._command_time > self.settings.command_timeout:
            self.hold(f"no joint_commands for {self.settings.command_timeout} s: holding the pose")

    def hold(self, why: str) -> None:
        """Hold the pose; the next commands are approached slowly."""
        if not self.holding:
            self.holding, self.pending = True, False
            self.guard.pause()
            self._notify(why)

    # What a person asks for ------------------------------------------------------------------------------------------

    def resume(self) -> tuple[bool, str]:
        """Let joint commands move the robot (again); return whether they do, and a message."""
        if self.stop.frozen:
            return False, "the emergency stop is on: call emergency_stop with false first"
        if self.stop.mode == OFF:
            return False, "torque is off: call ~/torque with true first"
        if self.stop.mode == SIT:
            return False, f"sitting down ({self.stop.reason}): ~/torque with true stops that"
        self._change(StopState(FOLLOW))
        return True, "following joint_commands"

    def stand(self) -> str:
        """Switch torque on where the robot stands, and hold it until `resume`; return why not, or an empty text."""
        if self.supply_level in ("sit", "release"):
            return f"the supply is at {self.state.supply:.1f} V: charge the battery first"
        if refusal := self._unreachable():
            return refusal
        self.sitting = None
        if not self.is_following:
            self._change(replace(self.stop, mode=HOLD, reason="torque was switched on"))
        self.chain.set_torque(True)
        self.guard.pause()
        return ""

    def disable_torque(self, reason: str = "asked to") -> str:
        """Switch torque off at once; return the reason if rejected, else an empty text.

        Rejected while the port is closed: the robot would drop unexpectedly when the cable is plugged in again.
        """
        if refusal := self._unreachable():
            return refusal
        self.sitting = None
        self.chain.set_torque(False)
        self.guard.pause()
        self._change(replace(self.stop, mode=OFF, reason=reason))
        return ""

    def sit_down(self, reason: str, t: float) -> str:
        """Sit down, then switch torque off; at once if the robot sits or is limp. Return the reason if rejected."""
        if self.sitting is not None:
            return ""
        if self.stop.frozen:
            return "the emergency stop is on: ~/release switches torque off, emergency_stop false ends the stop"
        if refusal := self._unreachable():
            return refusal
        if self.state.torque:
            if not self._may_move():
                return "the joints are not all measured yet: call again in a second"
            if self._sit_from_here(t).way > 0.1:  # [rad] else it is as good as seated
                self._change(StopState(SIT, reason=reason))
                self._notify(f"sitting down: {reason}")
                return ""
            self.sitting = None
        return self.disable_torque(reason)

    def emergency_stop(self, on: bool) -> tuple[bool, str]:
        """Freeze the pose at once until called with False; return whether it succeeded, and a message."""
        if on:
            # Send the stops first, then store the request.
            sent = self.chain.freeze()
            self.sitting, self.pending = None, False
            self.guard.pause()
            mode = HOLD if self.stop.mode == SIT else self.stop.mode
            self._change(replace(self.stop, mode=mode, frozen=True, reason="emergency stop"))
            if not sent:
                why = self._unreachable() or "the bus is busy: the stop is sent before anything else"
                return False, f"no further commands are sent, but the stop did not reach the servos yet: {why}"
            return True, self._frozen
        # The bus thread may be frozen alone: the thread that has sent the stop waited in vain for a tick to end.
        if not (self.stop.frozen or self.chain.snapshot(self.state).frozen):
            return True, "no emergency stop was on"
        reason = "" if self.stop.mode == FOLLOW else "the emergency stop has ended"
        self._change(replace(self.stop, frozen=False, reason=reason))
        self.chain.unfreeze()
        self.guard.pause()
        going_on = {
            FOLLOW: "joint_commands move the robot again, slowly at first",
            HOLD: "the pose is held until ~/follow",
            OFF: "torque is off",
        }
        return True, f"the emergency stop has ended: {going_on[self.stop.mode]}"

    # Time ------------------------------------------------------------------------------------------------------------

    def step(self, t: float) -> None:
        """Check the supply and continue sitting down; to be called every `period`."""
        state = self.chain.snapshot(self.state)
        if state.connected:
            self._watch_supply(state, t)
            if state.torque and self.stop.mode == OFF:
                self.chain.set_torque(False)  # the port was lost before torque was off
        if self.pending and self._motion_time.since(t) >= _SOONEST * self.settings.period:
            self._apply_command(t)
        if self.stop.mode != SIT or self.stop.frozen or not self._may_move():
            return
        if self.sitting is None or self._sit_epoch != self.state.epoch:  # after a restart, or the port was lost
            self._sit_from_here(t)
        else:
            self._torques[:] = 0.0
            if self._motion_time.since(t) > self.settings.command_timeout:
                self.guard.pause()  # this process has stalled: approach the missed targets slowly
            before = self.guard.setpoint.copy()
            self._move(self.sitting.pose(t), t)
            # After a stall the duration may have passed while the joints are still moving.
            arrived = np.array_equal(before, self.guard.setpoint, equal_nan=True)
            if arrived and self.sitting.done(t):
                self.disable_torque(self.stop.reason)

    def doing(self) -> tuple[str, list[str]]:
        """Level ('ok', 'warn', 'error') and message on the supply and on what the robot does."""
        stop, supply = self.stop, f"supply at {self.state.supply:.1f} V"
        off = stop.mode == OFF or (self.state.connected and not self.state.torque)
        found = []  # levels with their words
        if self.supply_level == "warn":
            found.append(("warn", f"{supply}: charge soon"))
        elif self.supply_level != "ok":
            sat = "sat down, torque off; " if stop.mode == OFF else ""
            found.append(("error", f"{supply}: {sat}charge the battery"))
        if self.not_kept:
            found.append(("error", f"a restart of this node would lose this state: {self.not_kept}"))
        if stop.frozen or self.state.frozen:
            found.append(("error", f"emergency stop: {self._frozen}"))
        elif stop.mode == SIT:
            found.append(("warn", f"sitting down: {stop.reason}"))
        elif off:
            found.append(("warn", "torque is off: ~/torque with true switches it on, then ~/follow"))
        elif stop.mode == HOLD:
            found.append(("warn", f"holding where it stands, {stop.reason}: ~/follow lets joint_commands move it"))
        else:
            found.append(("ok", "holding the pose, no commands" if self.holding else "following commands"))
        return max((level for level, _ in found), key=SEVERITY.index), [words for _, words in found]

    def _watch_supply(self, state: ChainState, t: float) -> None:
        self.supply_level, why = self._supply.update(state.supply, t), f"supply at {state.supply:.1f} V"
        if self.stop.frozen or not state.torque:
            return
        if self.supply_level == "release":
            self.disable_torque(why)
        elif self.supply_level == "sit" and self.stop.mode in (FOLLOW, HOLD):  # also after a stop on the way down
            self.sit_down(why, t)

    def _change(self, stop: StopState) -> None:
        if stop != self.stop or self.not_kept:
            self.stop = stop
            if self._keep is not None:
                self._keep(stop)

    def _unreachable(self) -> str:
        state = self.chain.snapshot(self.state)
        if state.connected:
            return ""
        return f"nothing is changed, the servos cannot be reached: {state.last_port_error or 'opening the port'}"

    def _may_move(self) -> bool:
        """Whether each joint was read since the port was opened or torque switched; none moves before that."""
        self.chain.snapshot(self.state)
        return self._ready()

    def _ready(self) -> bool:
        state = self.state
        if state.epoch != self._settled_epoch and state.settled:
            self._settled_epoch = state.epoch
        return state.torque and state.connected and not state.frozen and self._settled_epoch == state.epoch

    def _sit_from_here(self, t: float) -> SitDown:
        self._synchronise_setpoint()
        self.guard.pause()
        start = np.where(np.isnan(self.guard.setpoint), self.settings.seated, self.guard.setpoint)
        self.sitting = SitDown(start, self.settings.seated, self.settings.sit_speed, t)
        self._sit_epoch = self.state.epoch
        return self.sitting

    def _apply_command(self, t: float) -> None:
        """Move towards the last command, if commands move the robot."""
        self.pending = False
        if not self.is_following or not self._may_move():
            return
        if t - self._torque_time > self.settings.command_timeout:
            self._torques[:] = 0.0
        self._move(self._command, t)

    def _synchronise_setpoint(self) -> None:
        state = self.state
        # A joint that comes back, or answers again, may have been moved by hand: it waits until it is measured.
        self.guard.setpoint[~state.known] = np.nan
        self.guard.synchronise_setpoint(state.generation, state.start_angle, state.known)

    def _move(self, pose: np.ndarray, t: float) -> None:
        period = self.settings.period
        since = self._motion_time.since(t)
        interval = self._motion_time.begin_motion(t, self.guard.unused, self.settings.command_timeout)
        self._synchronise_setpoint()
        setpoints = self.guard.update(pose, self._torques, interval)
        duration = max(period, min(since, interval), interval - self.guard.unused)
        self.chain.set_targets(setpoints, duration, self.state.epoch, self.guard.speed_bound)
