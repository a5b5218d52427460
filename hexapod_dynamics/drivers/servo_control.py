"""What the servos are told: follow commands, hold when they stop, sit down (asked to, or on low supply), let go.

Times come in as monotonic seconds; the only thing moved is the chain that is handed in.
"""

from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.drivers.pose_guard import PoseGuard
from hexapod_dynamics.drivers.posture import SitDown, SupplyJudge, SupplyLimits
from hexapod_dynamics.drivers.servo_chain import ServoChain


@dataclass(frozen=True)
class ControlSettings:
    """period [s]: in which a servo moves to a new target. command_timeout [s]: older commands are held no longer.

    seated (n,) [rad]: pose in which the belly is on the ground, NaN leaves a joint alone. sit_speed [rad/s]: of the
    joint that has furthest to go there.
    """

    seated: np.ndarray
    period: float = 0.02
    command_timeout: float = 0.3
    sit_speed: float = 0.6
    supply: SupplyLimits = field(default_factory=SupplyLimits)


class ServoControl:
    """Stands between whoever commands joints and the bus thread. tell(text): called when the robot does a new thing."""

    def __init__(self, chain: ServoChain, guard: PoseGuard, settings: ControlSettings, tell):
        n = len(chain.map)
        self.chain, self.guard, self.settings = chain, guard, settings
        self.state = chain.snapshot()
        self.holding = True                 # no commands
        self.sitting: SitDown | None = None
        self.supply_level = 'ok'
        self._tell, self._sit_reason = tell, ''
        self._supply = SupplyJudge(settings.supply)
        self._command, self._torques = np.full(n, np.nan), np.zeros(n)
        self._command_time = self._torque_time = -np.inf
        self._settled_epoch = self._sit_epoch = -1
        self._supply_answered = False       # what the supply level asks for has been begun

    def follow(self, joints, positions, t: float) -> None:
        """Take joint angles [rad] for the joints (indices); all others hold, as do those whose angle is NaN."""
        period = self.settings.period
        interval = period if self.holding else min(max(t - self._command_time, 0.5 * period), 2.0 * period)
        self.holding, self._command_time = False, t
        self._command[:] = np.nan
        self._command[joints] = positions
        self.guard.clamped['not finite'] += int(np.count_nonzero(np.isnan(positions)))
        if self.sitting is not None or not self._may_move():
            return
        if t - self._torque_time > self.settings.command_timeout:
            self._torques[:] = 0.0
        self._move(self._command, interval)

    def feed_forward(self, joints, torques, t: float) -> None:
        """Take joint torques [N m] that the load will ask for, by which set-points are shifted; others have none."""
        self._torques[:] = 0.0
        self._torques[joints] = torques
        self._torque_time = t

    def hold_when_commands_stop(self, t: float) -> None:
        """Hold the pose when the last command is older than `command_timeout`."""
        if not self.holding and t - self._command_time > self.settings.command_timeout:
            self.holding = True
            self.guard.pause()
            self._tell(f'no joint_commands for {self.settings.command_timeout} s: holding the pose')

    def stand(self) -> str:
        """Torque on, where the joints are now; returns why not, or nothing."""
        if self.supply_level in ('sit', 'release'):
            return f'the supply is at {self.state.supply:.1f} V: charge the battery first'
        if refusal := self._unreachable():
            return refusal
        self.sitting = None
        self.chain.set_torque(True)
        self.guard.pause()
        return ''

    def let_go(self) -> str:
        """Torque off at once; returns why not, or nothing.

        While the port is closed this is refused: a robot that lets go when its cable is put back would surprise.
        """
        if refusal := self._unreachable():
            return refusal
        self.sitting = None
        self.chain.set_torque(False)
        self.guard.pause()
        return ''

    def sit_down(self, reason: str, t: float) -> str:
        """Begin to sit down and then let go; where the robot sits already, or is limp, let go. Returns why not."""
        if self.sitting is not None:
            return ''
        if refusal := self._unreachable():
            return refusal
        if self.state.torque:
            if not self._may_move():
                return 'the joints are not all measured yet: ask again in a second'
            self._meet()
            sitting = SitDown(self.guard.setpoint, self.settings.seated, self.settings.sit_speed, t)
            if sitting.duration >= 0.1 / self.settings.sit_speed:
                self.guard.pause()
                self.sitting, self._sit_reason, self._sit_epoch = sitting, reason, self.state.epoch
                self._tell(f'sitting down: {reason}')
                return ''
        return self.let_go()

    def step(self, t: float) -> None:
        """Watch the supply, and move on while sitting down; to be called every `period`."""
        state = self.chain.snapshot(self.state)
        if state.connected:
            level = self._supply.update(state.supply, t)
            self._supply_answered &= level == self.supply_level
            self.supply_level = level
            if level in ('sit', 'release') and state.torque and not self._supply_answered:
                self._supply_answered = not (self.let_go() if level == 'release' else
                                             self.sit_down(f'supply at {state.supply:.1f} V', t))
        if self.sitting is None or not self._may_move():
            return
        if self._sit_epoch != self.state.epoch:         # the port was lost meanwhile: from where the joints are now
            self.sitting = None
            self.sit_down(self._sit_reason, t)
        elif self.sitting.done(t):
            self.let_go()
        else:
            self._torques[:] = 0.0
            self._move(self.sitting.pose(t), self.settings.period)

    def doing(self) -> tuple[str, list[str]]:
        """Level ('ok', 'warn', 'error') and what there is to say about the supply and what the robot does."""
        supply, words = f'supply at {self.state.supply:.1f} V', []
        level = {'ok': 'ok', 'warn': 'warn'}.get(self.supply_level, 'error')
        if level == 'error':
            words.append(f'{supply}: sat down, let go; charge the battery')
        elif level == 'warn':
            words.append(f'{supply}: charge soon')
        if self.sitting is not None:
            return 'warn' if level == 'ok' else level, [*words, f'sitting down: {self._sit_reason}']
        if self.state.connected and not self.state.torque:
            return 'warn' if level == 'ok' else level, [*words, 'torque is off']
        return level, [*words, 'holding the pose, no commands' if self.holding else 'following commands']

    def _unreachable(self) -> str:
        state = self.chain.snapshot(self.state)
        if state.connected:
            return ''
        return f'nothing is changed, the servos cannot be reached: {state.last_port_error or "opening the port"}'

    def _may_move(self) -> bool:
        """Nothing moves before the whole pose has been understood once since the port was opened."""
        state = self.chain.snapshot(self.state)
        if state.settled:
            self._settled_epoch = state.epoch
        return state.torque and state.connected and self._settled_epoch == state.epoch

    def _meet(self) -> None:
        self.guard.meet(self.state.generation, self.state.start_angle, self.state.known)

    def _move(self, pose, interval: float) -> None:
        self._meet()
        self.chain.set_targets(self.guard.update(pose, self._torques, interval), max(interval, self.settings.period),
                               self.state.epoch)
