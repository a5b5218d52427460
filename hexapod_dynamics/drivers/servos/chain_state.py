"""State machine of a servo chain: what is known of each joint, by readings, missing answers and commands.

It does no input or output: the driver (`chain.ServoChain`) applies it to a bus, `onboard` to readings that the caller
brings. Times are seconds on one clock.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from hexapod_dynamics.drivers.servos.interface import FAULTS, Quantity

Joints = int | slice | np.ndarray  # an index, all, or a mask


@dataclass
class ChainSettings:
    """How the bus thread shares the bus among reads and writes; times in seconds, rates in 1/s."""

    position_rate: float = 20.0  # of each joint, at most
    slow_interval: float = 0.2  # between two reads of voltage, temperature or load state
    refresh_interval: float = 0.5  # an unchanged target is sent again after this
    # (age [s] of the oldest measurement, change [rad] of a target below which the write then waits) ...
    starving: tuple = ((0.4, 0.019), (0.15, 0.006))
    defer_interval: float = 0.05  # ... at most this long
    silent_write_interval: float = 0.2  # between two targets of a servo that does not answer
    silent_after: int = 3  # reads in a row without an answer, more on a lossy line
    silent_probe_interval: float = 0.5  # between two requests to one silent servo ...
    # ... and between two requests to any silent servos, so that many of them leave the wire to the others
    silent_probe_pace: float = 0.15
    newly_silent: float = 1.0  # after its last answer, for which a silent servo is asked ...
    newly_silent_pace: float = 0.07  # ... this long after the last request to any silent servo
    rereads_at_once: int = 4  # requests to suspected joints between two poses, if several are suspected
    confirm_interval: float = 0.02  # between two writes of torque on or off to one servo that has not obeyed yet
    lag: float = 0.25  # [rad] away from its target for `lag_reads` reads a joint does not follow
    lag_reads: int = 3  # a joint that was read twice counts twice
    lag_many: int = 3  # if this number of joints do not follow, one read is enough for another joint
    # [rad] distance from its target at which a servo is asked whether it exerts torque ...
    load_check_lag: float = 0.15
    load_check_interval: float = 0.1  # ... one servo in each such interval
    suspect_interval: float = 0.05  # between two slow reads while a joint does not follow
    reread_interval: float = 0.02  # [s] within which a suspected joint is read after the joint whose turn it is
    missing_probe_interval: float = 0.5  # between two requests to servos that are known to be off the robot
    reopen_interval: float = 0.5


@dataclass
class ChainState:
    """State of the bus thread; arrays are (n,) in joint order, times are monotonic seconds, NaN = never measured."""

    # The rows of `numbers`:
    angle: np.ndarray
    stamp: np.ndarray
    rate: np.ndarray
    voltage: np.ndarray
    temperature: np.ndarray
    torque_on: np.ndarray  # 1: torque on, 0: torque off, NaN: not read
    # [rad] the servo's own set-point when its joint is measured for the first time, or again after a loss
    start_angle: np.ndarray
    # The rows of `flags`:
    silent: np.ndarray  # does not answer
    missing: np.ndarray  # not on the robot, not read
    lagging: np.ndarray  # joint does not reach its target: no torque, blocked or overloaded
    unconfirmed: np.ndarray  # has not confirmed the last torque command
    moving: np.ndarray  # found to move although the pose is frozen
    missing_but_answering: np.ndarray  # declared missing, but its servo answers
    # torque was switched off while the joint was declared missing, and has not been switched on since
    torque_left_off: np.ndarray
    # Whole numbers:
    generation: np.ndarray  # incremented each time start_angle is determined: then start from it
    back: np.ndarray  # consecutive answers of a servo that is declared missing
    errors: np.ndarray  # (n, len(FAULTS))
    numbers: np.ndarray  # float (7, n), and bool (7, n): so that one copy copies all rows
    flags: np.ndarray
    connected: bool = False
    epoch: int = 0  # increases with every opening of the port, torque command and freeze: older plans are invalid
    opened: int = 0  # how often the port was opened
    torque: bool = True
    torque_time: float = 0.0  # monotonic [s] of the last switch
    frozen: bool = False  # emergency stop: nothing is moved
    unanswered: int = 0  # requests to any servo since the last valid answer
    port_errors: int = 0
    last_port_error: str = ""
    reports: tuple[str, ...] = ()  # what each servo reports about itself, in words; empty: nothing
    supply: float = math.nan  # [V] median of the last voltages of any servo
    bus_load: float = 0.0  # 0..1, share of the wire's time in use (1 s average)
    last_received: float = 0.0  # monotonic [s] time of the last good answer of any servo
    writes: int = 0
    reads: int = 0
    late_answers: int = 0  # number of `reads` that were answered later than the bus's `reply_timeout`
    late_wakes: int = 0  # waits of the bus thread that ended late: the machine is too slow or too busy
    write_time: float = 0.0  # monotonic [s] at which the start of the last pose had been sent

    @classmethod
    def empty(cls, n: int) -> ChainState:
        """Return the state of n joints about which nothing is known."""
        numbers, flags, counts = np.full((7, n), np.nan), np.zeros((7, n), bool), np.zeros((2, n), np.int64)
        arrays: list[Any] = [*numbers, *flags, *counts, np.zeros((n, len(FAULTS)), np.int64), numbers, flags]
        state = cls(*arrays)
        state.rate[:] = 0.0
        return state

    @property
    def known(self) -> np.ndarray:
        """Joints that are measured and present (n,) bool."""
        return ~(np.isnan(self.angle) | self.silent | self.missing)

    @property
    def unconfirmed_there(self) -> np.ndarray:
        """Joints (n,) bool that have not confirmed the last torque command, except joints that are really missing."""
        return self.unconfirmed & (~self.missing | self.missing_but_answering)

    @property
    def settled(self) -> bool:
        """Whether each joint is either measured, silent or missing."""
        return self.connected and not np.any(np.isnan(self.angle) & ~self.silent & ~self.missing)

    def copy(self, into: ChainState | None = None) -> ChainState:
        """Return a copy, in the arrays of `into` if given."""
        copy = into or ChainState.empty(len(self.angle))
        for name in _ARRAYS:
            copy.__dict__[name][...] = self.__dict__[name]
        for name in _SINGLE:
            copy.__dict__[name] = self.__dict__[name]
        return copy


# The names of what `copy` copies.
_ARRAYS = ("numbers", "flags", "generation", "errors", "back")
_SINGLE = tuple(each.name for each in fields(ChainState) if each.default is not MISSING)


SLOW_READS: tuple[Quantity, ...] = "voltage", "temperature", "loaded"


class ReadSchedule:
    """Chooses the next read of n joints; times are monotonic seconds."""

    def __init__(self, n: int, settings: ChainSettings) -> None:
        self.settings = settings
        self._asked = np.full(n, -np.inf)  # time of the last request of each position
        self._reread = np.zeros(n, bool)  # joints that are read again before their turn
        self._reread_turn = False  # the last request was not to a suspected joint
        self._probed = -np.inf  # monotonic [s] of the last request to any silent servo
        self._next_slow, self._slow_turn = 0.0, 0
        self._slow_index = dict.fromkeys(SLOW_READS, -1)

    def forget(self, joints: Joints = slice(None)) -> None:
        """Treat these joints (mask, default all) as never read."""
        self._asked[joints] = -np.inf
        self._reread[joints] = False

    @property
    def rereads(self) -> int:
        """Number of joints that are read again before their turn."""
        return self._reread.tolist().count(True)

    def position(self, state: ChainState, now: float) -> tuple[int, float]:
        """Return the joint whose position is read next: the one requested longest ago, silent ones seldom; -1: none.
        Suspected joints come first, but every second request is to another joint, so that all continue to be measured.
        """
        # A loop over numbers: numpy takes three times as long for 18.
        settings, asked, reread = self.settings, self._asked.tolist(), self._reread.tolist()
        dues, silent, missing = [], state.silent.tolist(), state.missing.tolist()
        for j, (angle, stamp) in enumerate(zip(state.angle.tolist(), state.stamp.tolist(), strict=True)):
            if missing[j]:
                due = math.inf
            elif silent[j]:
                # On a bad line reads fail by chance: a servo that has only just stopped answering is asked again soon.
                new, pace = now - stamp < settings.newly_silent, settings.newly_silent_pace
                probe, any_probe = (pace, pace) if new else (settings.silent_probe_interval, settings.silent_probe_pace)
                due = max(asked[j] + probe, self._probed + any_probe)
            elif reread[j]:
                due = asked[j] + settings.reread_interval
            else:  # an unknown pose is always due
                due = -math.inf if math.isnan(angle) else asked[j] + 1.0 / settings.position_rate
            dues.append(due)
        ready = [j for j, due in enumerate(dues) if due <= now]
        if not ready:
            index = dues.index(min(dues))
            return (index, dues[index]) if dues[index] < math.inf else (-1, now + 0.1)  # nothing left to ask
        suspects = [j for j in ready if reread[j] and not silent[j]]
        # Sometimes a silent servo is read first, see silent_probe_pace.
        mute, others = [j for j in ready if silent[j]], [j for j in ready if not (reread[j] or silent[j])]
        chosen = (suspects if self._reread_turn else []) or mute or others or ready
        return min(chosen, key=asked.__getitem__), now  # the one requested longest ago

    def asked(self, index: int, now: float, silent: bool = False) -> None:
        """Register a request of a joint's position."""
        self._reread_turn = not self._reread[index]
        self._asked[index], self._reread[index] = now, False
        if silent:
            self._probed = now

    def ask_soon(self, index: int) -> None:
        """Mark a joint as suspected: it is read again before its turn."""
        self._reread[index] = True

    def probe_soon(self, silent: np.ndarray) -> None:
        """Read silent joints (mask) one after the other, because one of them has answered again."""
        self._asked[silent] = -np.inf

    def slow(self, state: ChainState, now: float) -> tuple[Quantity, int]:
        """Return the next read of SLOW_READS and its joint, -1 if none is due. Every second one is of a joint that does
        not follow, mostly of its load state; the others are of voltage, temperature and load state in turn.
        """
        if now < self._next_slow:
            return "loaded", -1
        suspect = np.flatnonzero(state.lagging & state.known)
        self._next_slow = now + (self.settings.suspect_interval if suspect.size else self.settings.slow_interval)
        self._slow_turn += 1
        turn = self._slow_turn // 2
        if suspect.size and self._slow_turn % 2:
            # Shift by one joint each round, so that the temperature of every joint is read.
            index = suspect[(turn + turn // suspect.size) % suspect.size]
            return "temperature" if turn % 4 == 3 else "loaded", int(index)
        kind: Quantity = "voltage" if self._slow_turn % 2 == 0 else ("temperature", "loaded")[turn % 2]
        return kind, self._next_of(kind, state)

    def _next_of(self, kind: Quantity, state: ChainState) -> int:
        n = len(self._asked)
        for step in range(1, n + 1):
            index = (self._slow_index[kind] + step) % n
            if not (state.missing[index] or state.silent[index]):
                self._slow_index[kind] = index
                return index
        return -1


_CHANCE = 1e-5  # probability that failures in a row are caused by the line
_WITNESSES = 3  # answers of other servos that prove that the line works


class ServoLossDetector:
    """Counts consecutive failures of n joints and compares them with the answers of the other joints in the same time.

    While joint j fails, the other joints show the loss rate of the line: S of their answers arrived, F requests
    were lost, counting only joints that answered at least once. With the loss rate of the line p = (F + 1/2) / (S
    + F + 1), j is silent after k failures in a row where p^k < 1e-5. Joints that never answer in this time are not
    counted: nine servos behind a broken cable do not increase the loss rate. Consecutive failures without an
    answer of another joint in between count as one: while a computer stands still, every request fails.
    """

    def __init__(self, n: int, silent_after: int) -> None:
        self._silent_after = silent_after  # consecutive failures, on a line without losses
        self._failures = np.zeros(n, np.int64)
        self._good, self._lost = np.zeros(n, np.int64), np.zeros(n, np.int64)  # numbers of answers and failures so far
        self._answers = 0  # number of answers of all joints so far
        self._answers_then = np.zeros(n, np.int64)  # `_answers` at the last failure that counted
        self._good_before = np.zeros((n, n), np.int64)  # row j: `_good` when j's failures began
        self._lost_before = np.zeros((n, n), np.int64)

    @property
    def failing(self) -> np.ndarray:
        """Consecutive failures of each joint (n,)."""
        return self._failures

    def forget(self, joints: np.ndarray | None = None) -> None:
        """Reset the failures of these joints (mask, default all)."""
        self._failures[slice(None) if joints is None else joints] = 0

    def note(self, index: int, answered: bool) -> None:
        """Register an exchange with a joint."""
        if answered:
            self._failures[index] = 0
            self._good[index] += 1
            self._answers += 1
            return
        if self._failures[index] == 0:
            self._good_before[index], self._lost_before[index] = self._good, self._lost
        elif self._answers == self._answers_then[index]:
            return
        self._answers_then[index] = self._answers
        self._failures[index] += 1
        self._lost[index] += 1

    def loss(self, index: int) -> float:
        """Loss rate 0..1 of the line while this joint failed, from the others' answers; 1 without answers."""
        good = self._good - self._good_before[index]
        good[index] = 0
        answers = int(good.sum())
        if answers < _WITNESSES:
            return 1.0
        lost = int((self._lost - self._lost_before[index])[good > 0].sum())
        return (lost + 0.5) / (answers + lost + 1.0)

    def is_silent(self, index: int) -> bool:
        """Whether the joint has more consecutive failures than the loss rate of the line explains."""
        failures = int(self._failures[index])
        if failures < self._silent_after:
            return False
        loss = self.loss(index)
        return loss < 1.0 and failures * math.log(loss) < math.log(_CHANCE)


# [s] a joint that was not measured for this time starts from its measured position: its servo may have lost its supply
_AWAY = 0.7
_NEAR = 0.15  # [rad] a loaded joint sags by less than this below its set-point
_STEADY = 0.3  # [rad/s] a joint with a lower measured speed is at rest
_SETTLED_AFTER = 0.15  # [s] after a freeze no joint may move any more
MISSING_TRIES = 3  # unanswered requests in a row after which a servo that is declared missing is not there


class ChainStateMachine:
    """Changes a ChainState of n joints; one thread at a time calls it.

    trusts_targets: each servo holds at its last set-point, because no stop has replaced it.
    """

    def __init__(self, n: int, settings: ChainSettings) -> None:
        self.settings, self.state = settings, ChainState.empty(n)
        self.schedule, self.losses = ReadSchedule(n, settings), ServoLossDetector(n, settings.silent_after)
        self.trusts_targets = True
        self._initialised = np.zeros(n, bool)  # start_angle has been determined since the joint was last lost
        self._next_missing_probe, self._missing_turn = -math.inf, -1
        self._unanswered_probes = np.zeros(n, np.int64)  # consecutive, of a servo that is declared missing

    # Commands --------------------------------------------------------------------------------------------------------

    def open(self, t: float) -> None:
        """Forget every measurement, because the port was opened: the servos may have moved."""
        state = self.state
        state.connected, state.epoch, state.last_received = True, state.epoch + 1, t
        state.opened, state.unanswered = state.opened + 1, 0
        state.angle[:] = state.stamp[:] = np.nan
        state.reports = ()
        state.silent[:] = state.moving[:] = False
        # Servos that must be without torque are read, and switched off if needed; none is switched on.
        state.unconfirmed[:] = not state.torque
        state.torque_on[:] = np.nan
        self._initialised[:], self.trusts_targets = False, True
        self.schedule.forget()
        self.losses.forget()

    def lose(self, error: str) -> None:
        """Note why the port has failed."""
        state = self.state
        state.connected, state.last_port_error = False, error
        state.port_errors += 1

    def set_frozen(self, frozen: bool, t: float) -> None:
        """Freeze the pose, or allow poses again, with commands that had been sent at the time t [s]."""
        state = self.state
        state.epoch += 1
        state.frozen, state.write_time = frozen, t
        if not frozen:
            state.moving[:] = False
            state.angle[:] = np.nan  # no joint moves before every joint has been measured again
        self._initialised[:], self.trusts_targets = False, False

    def set_torque(self, on: bool, t: float) -> None:
        """Switch the torque of all servos, off also of those that are missing: all have to be measured again."""
        state = self.state
        state.torque, state.torque_time = on, t
        state.epoch += 1
        state.unconfirmed[:] = ~state.missing if on else True
        state.torque_left_off[:] = (
            state.torque_left_off & state.missing if on else state.torque_left_off | state.missing
        )
        state.torque_on[:] = state.angle[:] = np.nan
        self._initialised[:], self.trusts_targets = False, True

    def set_missing(self, missing: np.ndarray) -> np.ndarray:
        """Set the joints (n,) bool that are not on the robot; return those (n,) bool that have come back."""
        state = self.state
        back: np.ndarray = state.missing & ~missing
        state.missing[:] = missing
        state.missing_but_answering[~missing] = False
        if not state.torque:
            state.unconfirmed[back] = True  # servos that come back are read, and switched off if needed
        state.angle[back] = np.nan
        state.silent[back | missing] = False
        state.back[back | ~missing] = 0
        self._initialised[back | missing] = False
        self.losses.forget(back)
        self.schedule.forget(back)
        return back

    # Answers ---------------------------------------------------------------------------------------------------------

    def answered(self, joint: int, t: float, *, late: bool = False) -> None:
        """Process a valid answer of a joint that is not missing, complete at the time t [s]."""
        state = self.state
        self.losses.note(joint, True)
        state.reads += 1
        state.late_answers += late
        state.unanswered, state.last_received = 0, t
        if state.silent[joint]:
            self.schedule.probe_soon(state.silent)

    def unanswered(self, joint: int) -> bool:
        """Process a request without an answer; return whether the joint counts as silent from now on."""
        state = self.state
        self.losses.note(joint, False)
        state.unanswered += 1
        if state.silent[joint] or not self.losses.is_silent(joint):
            return False
        state.silent[joint], self._initialised[joint] = True, False
        return True

    def needs_start(self, joint: int, t: float) -> bool:
        """Whether a measurement of the time t [s] has to determine the joint's start_angle."""
        if t - self.state.stamp[joint] > _AWAY:
            self._initialised[joint] = False
        return not self._initialised[joint]

    @staticmethod
    def start_from(angle: float, target: float) -> float:
        """Return start_angle of a loaded joint [rad]: its set-point `target` if near the measured `angle`, else that.

        A loaded leg sags below its set-point; starting from the measured angle would lower the robot at each restart.
        """
        return target if abs(target - angle) < _NEAR else angle

    def measured(self, joint: int, angle: float, t: float, start: float | None = None) -> None:
        """Process a measured angle [rad] of the time t [s]; start [rad]: start_angle, where it is needed."""
        state = self.state
        if start is not None:
            state.start_angle[joint] = start
            state.generation[joint] += 1
            # While a servo's torque is off, its target follows its position, so that it does not jump when torque
            # returns.
            self._initialised[joint] = state.torque_on[joint] != 0.0 or not state.torque
        step = t - state.stamp[joint]
        rate = (angle - state.angle[joint]) / step if 0.0 < step < 1.0 else 0.0
        state.rate[joint] = rate if math.isfinite(rate) else 0.0
        state.angle[joint], state.stamp[joint], state.silent[joint] = angle, t, False
        resting = abs(state.rate[joint]) <= _STEADY or t - state.write_time <= _SETTLED_AFTER
        state.moving[joint] = state.frozen and not resting

    def loaded(self, joint: int, on: bool) -> None:
        """Process whether a servo exerts torque; without torque its joint starts again from the measured position."""
        state = self.state
        state.torque_on[joint] = on
        if state.missing[joint]:
            state.missing_but_answering[joint], state.unconfirmed[joint] = True, on and not state.torque
            self._unanswered_probes[joint] = 0
            return
        if on:
            state.torque_left_off[joint] = False
        if on == state.torque:
            state.unconfirmed[joint] = False
        elif not state.torque:
            state.unconfirmed[joint] = True  # a servo that should be limp has torque: repeat the command
        if not on and state.torque:
            self._initialised[joint] = False

    # Servos that are declared missing --------------------------------------------------------------------------------

    def next_missing(self, t: float) -> int:
        """Return the missing joint that is asked at the time t [s] whether it is connected again; -1: none."""
        if t < self._next_missing_probe or True not in self.state.missing.tolist():
            return -1
        self._next_missing_probe = t + self.settings.missing_probe_interval
        self._missing_turn = next_in_turn(np.flatnonzero(self.state.missing), self._missing_turn)
        return self._missing_turn

    def probed(self, joint: int, answered: bool) -> None:
        """Process whether a missing joint has answered."""
        state = self.state
        self._unanswered_probes[joint] = 0 if answered else self._unanswered_probes[joint] + 1
        if answered:
            state.missing_but_answering[joint] = True
        elif self._unanswered_probes[joint] >= MISSING_TRIES:  # one answer may be lost on the line
            state.missing_but_answering[joint] = False
        state.back[joint] = state.back[joint] + 1 if answered else 0


def next_in_turn(joints: np.ndarray, last: int) -> int:
    """Return the first of some joints (indices, ascending) behind the joint `last`, or the first of all."""
    after = joints[joints > last]
    return int(after[0] if after.size else joints[0])
