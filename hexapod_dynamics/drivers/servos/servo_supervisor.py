"""Decides what the servos do: follow commands, hold when these stop, sit down, switch torque off, freeze.

What a person asked for (`StopState`) outlives commands, a lost port and, by `keep`, this process: only a person's next
word ends it. Times come in as monotonic seconds; the only thing moved is the chain that is handed in.
"""

from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.control.posture import SitDown, SupplyLimits, SupplyMonitor
from hexapod_dynamics.drivers.servos.servo_chain import ServoChain
from hexapod_dynamics.drivers.servos.stop_state import FOLLOW, HOLD, OFF, SIT, StopState

_SOONEST = 0.75  # of a period after a motion the next may follow: more would leave no time for reads
_SEATED = 0.1  # [rad] of the seated pose is seated


@dataclass(frozen=True)
class SupervisorSettings:
    """period [s]: in which a servo moves to a new target. command_timeout [s]: older commands are held no longer.

    seated (n,) [rad]: pose in which the belly is on the ground, NaN leaves a joint alone. sit_speed [rad/s]: of the
    joint that has furthest to go there.
    """

    seated: np.ndarray
    period: float = 0.02
    command_timeout: float = 0.3
    sit_speed: float = 0.6
    supply: SupplyLimits = field(default_factory=SupplyLimits)


class ServoSupervisor:
    """Passes joint commands on to the bus thread after all checks.

    Args:
        chain: ServoChain, not started yet.
        guard: PoseGuard that bounds the commands.
        settings: SupervisorSettings.
        tell: tell(text), called when the robot does a new thing.
        stop: StopState to begin with, what was kept over a crash.
        keep: keep(StopState), called at each change; returns why it could not be kept, or nothing.

    """

    def __init__(self, chain: ServoChain, guard: PoseGuard, settings: SupervisorSettings, tell, stop=None, keep=None):
        n = len(chain.map)
        self.chain, self.guard, self.settings = chain, guard, settings
        self.state = chain.snapshot()
        self.stop = stop or StopState()
        self.holding = True  # no commands
        self.sitting: SitDown | None = None
        self.supply_level = "ok"
        self._tell, self._keep = tell, keep
        self._supply = SupplyMonitor(settings.supply)
        self._command, self._torques = np.full(n, np.nan), np.zeros(n)
        self._command_time = self._torque_time = self._moved = -np.inf
        self._pending = False  # a command has come too soon after the one before to be acted on
        self._settled_epoch = self._sit_epoch = -1
        self._supply_answered = False  # what the supply level asks for has been begun
        # Kept from the start: a file that is there can be written to even when the disk is full.
        self.not_kept = (keep(self.stop) or "") if keep is not None else ""
        chain.restore(torque=self.stop.mode != OFF, frozen=self.stop.frozen)

    # Commands --------------------------------------------------------------------------------------------------------

    @property
    def follows(self) -> bool:
        """Whether joint commands may move the robot."""
        return self.stop.mode == FOLLOW and not self.stop.frozen

    def follow(self, joints, positions, t: float) -> None:
        """Take joint angles [rad] for the joints (indices); all others hold, as do those whose angle is NaN.

        The speed is bounded by time, however many commands come: what a command may move is the guard's speed times
        the time since the last motion, at most two periods.
        """
        self.hold_when_commands_stop(t)
        self.holding, self._command_time = False, t
        self._command[:] = np.nan
        self._command[joints] = positions
        self.guard.clamped["not finite"] += int(np.count_nonzero(np.isnan(positions)))
        if t - self._moved < _SOONEST * self.settings.period:
            self._pending = True  # `step` or the next command acts on it
        else:
            self._act(t)

    def feed_forward(self, joints, torques, t: float) -> None:
        """Take joint torques [N m] that the load will ask for, by which set-points are shifted; others have none."""
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
            self.holding, self._pending = True, False
            self.guard.pause()
            self._tell(why)

    # What a person asks for ------------------------------------------------------------------------------------------

    def resume(self) -> tuple[bool, str]:
        """Let joint commands move the robot (again); returns whether it is so, and what there is to say."""
        if self.stop.frozen:
            return False, "the emergency stop is on: call emergency_stop with false first"
        if self.stop.mode == OFF:
            return False, "torque is off: call ~/torque with true first"
        if self.stop.mode == SIT:
            return False, f"sitting down ({self.stop.reason}): ~/torque with true stops that"
        self._change(StopState(FOLLOW))
        return True, "following joint_commands"

    def stand(self) -> str:
        """Torque on where the joints are now, and hold there until `resume`; returns why not, or nothing."""
        if self.supply_level in ("sit", "release"):
            return f"the supply is at {self.state.supply:.1f} V: charge the battery first"
        if refusal := self._unreachable():
            return refusal
        self.sitting = None
        if self.stop.mode != FOLLOW:
            self._change(self.stop.changed(mode=HOLD, reason="torque was switched on"))
        self.chain.set_torque(True)
        self.guard.pause()
        return ""

    def let_go(self, reason: str = "asked to") -> str:
        """Torque off at once; returns why not, or nothing.

        Rejected while the port is closed: the robot would drop unexpectedly when the cable is plugged in again.
        """
        if refusal := self._unreachable():
            return refusal
        self.sitting = None
        self.chain.set_torque(False)
        self.guard.pause()
        self._change(self.stop.changed(mode=OFF, reason=reason))
        return ""

    def sit_down(self, reason: str, t: float) -> str:
        """Sit down, then switch torque off; at once if the robot sits or is limp. Return the reason if rejected."""
        if self.sitting is not None:
            return ""
        if self.stop.frozen:
            return "the emergency stop is on, nothing moves: ~/release lets go at once, emergency_stop false ends it"
        if refusal := self._unreachable():
            return refusal
        if self.state.torque:
            if not self._may_move():
                return "the joints are not all measured yet: ask again in a second"
            if self._sit_from_here(t).way > _SEATED:
                self._change(StopState(SIT, reason=reason))
                self._tell(f"sitting down: {reason}")
                return ""
            self.sitting = None
        return self.let_go(reason)

    def emergency_stop(self, on: bool) -> tuple[bool, str]:
        """Freeze the pose at once and until this is called with False; returns whether it is so, and what to say."""
        if on:
            # First the wire, then the file.
            sent = self.chain.freeze()
            self.sitting, self._pending = None, False
            self.guard.pause()
            mode = HOLD if self.stop.mode == SIT else self.stop.mode
            self._change(self.stop.changed(mode=mode, frozen=True, reason="emergency stop"))
            if not sent:
                why = self._unreachable() or "the bus is busy: the stop is sent before anything else"
                return False, f"nothing is sent to the servos any more, but they were not reached yet: {why}"
            return True, "the pose is frozen until emergency_stop is called with false"
        if not self.stop.frozen:
            return True, "no emergency stop was on"
        reason = "" if self.stop.mode == FOLLOW else "the emergency stop has ended"
        self._change(self.stop.changed(frozen=False, reason=reason))
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
        """Watch the supply, and move on while sitting down; to be called every `period`."""
        state = self.chain.snapshot(self.state)
        if state.connected:
            self._watch_supply(state, t)
            if state.torque and self.stop.mode == OFF:
                self.chain.set_torque(False)  # the port was lost before it was done
        if self._pending and t - self._moved >= _SOONEST * self.settings.period:
            self._act(t)
        if self.stop.mode != SIT or self.stop.frozen or not self._may_move():
            return
        if self.sitting is None or self._sit_epoch != self.state.epoch:  # after a restart, or the port was lost
            self._sit_from_here(t)
        elif self.sitting.done(t):
            self.let_go(self.stop.reason)
        else:
            self._torques[:] = 0.0
            self._move(self.sitting.pose(t), t)

    def doing(self) -> tuple[str, list[str]]:
        """Level ('ok', 'warn', 'error') and what there is to say about the supply and what the robot does."""
        supply, words, stop = f"supply at {self.state.supply:.1f} V", [], self.stop
        level = {"ok": "ok", "warn": "warn"}.get(self.supply_level, "error")
        if level == "error":
            words.append(f"{supply}: {'sat down, let go; ' if stop.mode == OFF else ''}charge the battery")
        elif level == "warn":
            words.append(f"{supply}: charge soon")
        if self.not_kept:
            level = "error"
            words.append(f"a restart of this node would forget what it was told: {self.not_kept}")
        if stop.frozen:
            return "error", [*words, "emergency stop: the pose is frozen until emergency_stop is called with false"]
        if stop.mode == SIT:
            return "warn" if level == "ok" else level, [*words, f"sitting down: {stop.reason}"]
        if stop.mode == OFF or (self.state.connected and not self.state.torque):
            return "warn" if level == "ok" else level, [*words, "torque is off"]
        if stop.mode == HOLD:
            why = f"holding where it stands, {stop.reason}: ~/follow lets joint_commands move it"
            return "warn" if level == "ok" else level, [*words, why]
        return level, [*words, "holding the pose, no commands" if self.holding else "following commands"]

    def _watch_supply(self, state, t: float) -> None:
        level = self._supply.update(state.supply, t)
        self._supply_answered &= level == self.supply_level
        self.supply_level = level
        if level not in ("sit", "release") or not state.torque or self._supply_answered or self.stop.frozen:
            return
        why = f"supply at {state.supply:.1f} V"
        self._supply_answered = not (self.let_go(why) if level == "release" else self.sit_down(why, t))

    def _change(self, stop: StopState) -> None:
        if stop != self.stop or self.not_kept:
            self.stop = stop
            self.not_kept = (self._keep(stop) or "") if self._keep is not None else ""

    def _unreachable(self) -> str:
        state = self.chain.snapshot(self.state)
        if state.connected:
            return ""
        return f"nothing is changed, the servos cannot be reached: {state.last_port_error or 'opening the port'}"

    def _may_move(self) -> bool:
        """Nothing moves before the whole pose has been understood since the port was opened or torque switched."""
        state = self.chain.snapshot(self.state)
        if state.settled:
            self._settled_epoch = state.epoch
        return state.torque and state.connected and not state.frozen and self._settled_epoch == state.epoch

    def _sit_from_here(self, t: float) -> SitDown:
        self._meet()
        self.guard.pause()
        self.sitting = SitDown(self.guard.setpoint, self.settings.seated, self.settings.sit_speed, t)
        self._sit_epoch = self.state.epoch
        return self.sitting

    def _act(self, t: float) -> None:
        """Move on towards the last command, where commands move the robot."""
        self._pending = False
        if not self.follows or not self._may_move():
            return
        if t - self._torque_time > self.settings.command_timeout:
            self._torques[:] = 0.0
        self._move(self._command, t)

    def _meet(self) -> None:
        self.guard.meet(self.state.generation, self.state.start_angle, self.state.known)

    def _move(self, pose, t: float) -> None:
        period = self.settings.period
        interval = min(t - self._moved, 2.0 * period)
        if t - self._moved > self.settings.command_timeout:
            interval = period  # the first motion after a rest
        self._moved = t
        self._meet()
        setpoints = self.guard.update(pose, self._torques, interval)
        self.chain.set_targets(setpoints, max(interval, period), self.state.epoch, self.guard.speed_bound)
