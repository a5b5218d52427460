"""State machine of a servo chain: what is known of each joint, by readings, missing answers and commands.

It does no input or output: the driver (`chain.ServoChain`) applies it to a bus, `onboard` to readings that the caller
brings. Times are seconds on one clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.drivers.servos.interface import FAULTS, Quantity

Joints = int | slice | np.ndarray  # an index, all, or a mask
SILENT_PROBE = 0.5  # [s] between two requests to a servo that does not answer, or that is declared missing
MISSING_TRIES = 3  # unanswered requests in a row after which a servo that is declared missing is not there


@dataclass
class ChainSettings:
    """How the bus thread shares the bus among reads and writes; times in seconds, rates in 1/s."""

    position_rate: float = 20.0  # of each joint, at most
    slow_interval: float = 0.2  # between two reads of voltage, temperature or load state
    refresh_interval: float = 0.5  # an unchanged target is sent again after this
    reopen_interval: float = 0.5  # between two attempts to open the port


class ChainState:
    """State of the bus thread; arrays are (n,) in joint order, times are monotonic seconds, NaN = never measured."""

    def __init__(self, n: int) -> None:
        # The arrays below are rows of these three, which `copy` copies.
        self._values, self._flags = np.full((7, n), np.nan), np.zeros((7, n), bool)
        self._counts = np.zeros((2 + len(FAULTS), n), np.int64)
        self.angle, self.stamp, self.voltage, self.temperature = self._values[:4]
        self.torque_on = self._values[4]  # 1: torque on, 0: torque off, NaN: not read
        # [rad] the servo's own set-point when its joint is measured for the first time, or again after a loss
        self.start_angle = self._values[5]
        self.rate = self._values[6]  # [rad/s]
        self.rate[:] = 0.0
        self.silent, self.missing = self._flags[:2]  # does not answer; not on the robot, not read
        self.lagging = self._flags[2]  # joint does not reach its target: no torque, blocked or overloaded
        self.unconfirmed = self._flags[3]  # has not confirmed the last torque command
        self.moving = self._flags[4]  # found to move although the pose is frozen
        self.missing_but_answering = self._flags[5]  # declared missing, but its servo answers
        # torque was switched off, and not on again, because the joint was declared missing then
        self.torque_left_off = self._flags[6]
        self.generation = self._counts[0]  # incremented each time start_angle is determined: then start from it
        self.back = self._counts[1]  # consecutive answers of a servo that is declared missing
        self.errors = self._counts[2:].T  # (n, kinds of FAULTS)
        self.connected = False
        self.epoch = 0  # increases with every opening of the port, torque command and freeze: older plans are invalid
        self.opened = 0  # how often the port was opened
        self.torque = True
        self.torque_time = 0.0  # monotonic [s] of the last switch
        self.frozen = False  # emergency stop: nothing is moved
        self.unanswered = 0  # requests to any servo since the last valid answer
        self.port_errors = 0
        self.last_port_error = ""
        self.reports: tuple[str, ...] = ()  # what each servo reports about itself, in words; empty: nothing
        self.supply = math.nan  # [V] median of the last voltages of any servo
        self.bus_load = 0.0  # 0..1, share of the wire's time in use (1 s average)
        self.last_received = 0.0  # monotonic [s] time of the last good answer of any servo
        self.writes = self.reads = 0
        self.late_answers = 0  # number of `reads` that were answered later than the bus's `reply_timeout`
        self.late_wakes = 0  # waits of the bus thread that ended late: the machine is too slow or too busy
        self.write_time = 0.0  # monotonic [s] at which the start of the last pose had been sent

    @property
    def known(self) -> np.ndarray:
        """Joints that are measured and present (n,) bool."""
        return ~(np.isnan(self.angle) | self.silent | self.missing)

    @property
    def limp(self) -> np.ndarray:
        """Joints (n,) bool whose servos have switched off the torque that they were given."""
        return self.known & (self.torque_on == 0.0) & self.torque & ~self.torque_left_off & ~self.unconfirmed

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
        copy = into or ChainState(len(self.angle))
        for name, value in vars(copy).items():
            if not isinstance(value, np.ndarray):
                setattr(copy, name, getattr(self, name))
            elif value.base is None:
                value[...] = getattr(self, name)
        return copy


def choose_next(joints: np.ndarray, last: int) -> int:
    """Return the first of some joints (indices, ascending) behind the joint `last`, or the first of all."""
    after = joints[joints > last]
    return int(after[0] if after.size else joints[0])


class ReadSchedule:
    """Chooses the next read of n joints; times are monotonic seconds."""

    def __init__(self, n: int, settings: ChainSettings) -> None:
        self.settings = settings
        self._asked = np.full(n, -np.inf)  # time of the last request of each position
        self.reread = np.zeros(n, bool)  # joints that are read again before their turn
        self._reread_turn = False  # the last request was not to a suspected joint
        self._probed = -np.inf  # monotonic [s] of the last request to any silent servo
        self.next_slow, self._slow_turn = 0.0, 0  # monotonic [s]
        self._slow_index: dict[Quantity, int] = {}  # the joint of the last read of each quantity
        self._next_confirmation, self._confirmation_turn = np.full(n, -np.inf), 0
        # requests without an answer, since a torque command, to a servo that is declared missing
        self._missing_tries = np.zeros(n, np.int64)

    def forget(self, joints: Joints = slice(None)) -> None:
        """Treat these joints (mask, default all) as never read."""
        self._asked[joints] = -np.inf
        self.reread[joints] = False

    def confirm_again(self, joints: Joints = slice(None)) -> None:
        """Ask these joints (mask, default all) for their torque, if it is not confirmed, as if not asked before."""
        self._next_confirmation[joints] = -np.inf
        self._missing_tries[joints] = 0

    def choose_confirmation(self, state: ChainState, now: float) -> int:
        """Return a joint that has not confirmed a torque command and is asked now, -1: none; missing ones come last."""
        if True not in state.unconfirmed.tolist():
            return -1
        due = state.unconfirmed & (self._next_confirmation <= now)
        there = due & ~state.missing
        joints = np.flatnonzero(there if there.any() else due)
        if not joints.size:
            return -1
        self._confirmation_turn = choose_next(joints, self._confirmation_turn)
        return self._confirmation_turn

    def note_torque_request(self, index: int, now: float, *, silent: bool) -> None:
        """Register that a joint has been asked for its torque."""
        self._next_confirmation[index] = now + (SILENT_PROBE if silent else 0.02)

    def note_unanswered(self, index: int) -> bool:
        """Register that a missing servo has not answered; return whether it will not be asked for its torque again."""
        self._missing_tries[index] += 1
        return bool(self._missing_tries[index] >= MISSING_TRIES)

    def position(self, state: ChainState, now: float) -> tuple[int, float]:
        """Return the joint whose position is read next: the one requested longest ago, silent ones seldom; -1: none.
        Suspected joints come first, but every second request is to another joint, so that all continue to be measured.
        """
        # A loop over numbers: numpy takes three times as long for 18.
        asked, reread = self._asked.tolist(), self.reread.tolist()
        dues, silent, missing = [], state.silent.tolist(), state.missing.tolist()
        for j, (angle, stamp) in enumerate(zip(state.angle.tolist(), state.stamp.tolist(), strict=True)):
            if missing[j]:
                due = math.inf
            elif silent[j]:
                # On a bad line reads fail by chance: in the first second a servo is asked again soon. The requests to
                # all silent servos together are bounded, too, so that many of them leave the wire to the others.
                probe, any_probe = (0.07, 0.07) if now - stamp < 1.0 else (SILENT_PROBE, 0.15)
                due = max(asked[j] + probe, self._probed + any_probe)
            elif reread[j]:
                due = asked[j] + 0.02
            else:  # an unknown pose is always due
                due = -math.inf if math.isnan(angle) else asked[j] + 1.0 / self.settings.position_rate
            dues.append(due)
        ready = [j for j, due in enumerate(dues) if due <= now]
        if not ready:
            index = dues.index(min(dues))
            return (index, dues[index]) if dues[index] < math.inf else (-1, now + 0.1)  # nothing left to ask
        suspects = [j for j in ready if reread[j] and not silent[j]]
        # A silent servo that is due is read first: that is seldom.
        mute, others = [j for j in ready if silent[j]], [j for j in ready if not (reread[j] or silent[j])]
        chosen = (suspects if self._reread_turn else []) or mute or others or ready
        return min(chosen, key=asked.__getitem__), now  # the one requested longest ago

    def note_request(self, index: int, now: float, silent: bool = False) -> None:
        """Register a request of a joint's position."""
        self._reread_turn = not self.reread[index]
        self._asked[index], self.reread[index] = now, False
        if silent:
            self._probed = now

    def ask_soon(self, index: int) -> None:
        """Mark a joint as suspected: it is read again before its turn."""
        self.reread[index] = True

    def slow(self, state: ChainState, now: float) -> tuple[Quantity, int]:
        """Return the next slow read and its joint, -1 if none is due. Every second one is of a joint that does not
        follow, or whose load state is not known, mostly of this; the others are of voltage, temperature and load state
        in turn.
        """
        if now < self.next_slow:
            return "loaded", -1
        suspect = np.flatnonzero((state.lagging | np.isnan(state.torque_on)) & state.known)
        self.next_slow = now + (0.05 if suspect.size else self.settings.slow_interval)
        self._slow_turn += 1
        turn = self._slow_turn // 2
        if suspect.size and self._slow_turn % 2:
            # Shift by one joint each round, so that the temperature of every joint is read.
            index = suspect[(turn + turn // suspect.size) % suspect.size]
            return "temperature" if turn % 4 == 3 else "loaded", int(index)
        kind: Quantity = "voltage" if self._slow_turn % 2 == 0 else ("temperature", "loaded")[turn % 2]
        there = np.flatnonzero(~(state.missing | state.silent))
        if not there.size:
            return kind, -1
        self._slow_index[kind] = choose_next(there, self._slow_index.get(kind, -1))
        return kind, self._slow_index[kind]


class ServoLossDetector:
    """Counts consecutive failures of n joints and compares them with the answers of the other joints in the same time.

    While joint j fails, the other joints show the loss rate of the line: S of their answers arrived, F requests
    were lost, counting only joints that answered at least once. With the loss rate of the line p = (F + 1/2) / (S
    + F + 1), j is silent after k failures in a row where p^k < 1e-5. Joints that never answer in this time are not
    counted: nine servos behind a broken cable do not increase the loss rate. Consecutive failures without an
    answer of another joint in between count as one: while a computer stands still, every request fails.
    """

    def __init__(self, n: int) -> None:
        self.failing = np.zeros(n, np.int64)  # consecutive failures of each joint
        self._good, self._lost = np.zeros(n, np.int64), np.zeros(n, np.int64)  # numbers of answers and failures so far
        self._answers_then = np.zeros(n, np.int64)  # number of all answers so far at the last failure that counted
        self._good_before = np.zeros((n, n), np.int64)  # row j: `_good` when j's failures began
        self._lost_before = np.zeros((n, n), np.int64)

    def forget(self, joints: Joints = slice(None)) -> None:
        """Reset the failures of these joints (mask, default all)."""
        self.failing[joints] = 0

    def note_exchange(self, index: int, answered: bool) -> None:
        """Register an exchange with a joint."""
        if answered:
            self.failing[index] = 0
            self._good[index] += 1
            return
        answers = self._good.sum()
        if self.failing[index] == 0:
            self._good_before[index], self._lost_before[index] = self._good, self._lost
        elif answers == self._answers_then[index]:
            return
        self._answers_then[index] = answers
        self.failing[index] += 1
        self._lost[index] += 1

    def loss_rate(self, index: int) -> float:
        """Loss rate 0..1 of the line while this joint failed, from the others' answers; 1 without answers."""
        good = self._good - self._good_before[index]
        good[index] = 0
        answers = int(good.sum())
        if answers < 3:  # too few witnesses that the line works
            return 1.0
        lost = int((self._lost - self._lost_before[index])[good > 0].sum())
        return (lost + 0.5) / (answers + lost + 1.0)

    def is_silent(self, index: int) -> bool:
        """Whether the joint has more consecutive failures than the loss rate of the line explains."""
        failures = int(self.failing[index])
        if failures < 3:  # even on a line without losses
            return False
        loss = self.loss_rate(index)
        return loss < 1.0 and failures * math.log(loss) < math.log(1e-5)


class ChainStateMachine(ChainState):
    """The state of n joints with its transitions. Not thread-safe: one thread uses it, others get a `copy`.

    trusts_targets: whether each servo is assumed to hold its last set-point; False after a stop.
    """

    def __init__(self, n: int, settings: ChainSettings) -> None:
        super().__init__(n)
        self.schedule, self.losses = ReadSchedule(n, settings), ServoLossDetector(n)
        self.trusts_targets = True
        self._initialised = np.zeros(n, bool)  # start_angle has been determined since the joint was last lost
        self._next_missing_probe, self._missing_turn = -math.inf, -1
        self._unanswered_probes = np.zeros(n, np.int64)  # consecutive, of a servo that is declared missing

    # Commands --------------------------------------------------------------------------------------------------------

    def open(self, t: float) -> None:
        """Forget every measurement, because the port was opened: the servos may have moved."""
        self.connected, self.epoch, self.last_received = True, self.epoch + 1, t
        self.opened, self.unanswered = self.opened + 1, 0
        self.angle[:] = self.stamp[:] = np.nan
        self.reports = ()
        self.silent[:] = self.moving[:] = False
        # Servos that must be without torque are read, and switched off if needed; none is switched on.
        self.unconfirmed[:] = not self.torque
        self.torque_on[:] = np.nan
        self._initialised[:], self.trusts_targets = False, True
        self.schedule.forget()
        self.schedule.confirm_again()
        self.losses.forget()

    def note_port_failure(self, error: str) -> None:
        """Note why the port has failed."""
        self.connected, self.last_port_error = False, error
        self.port_errors += 1

    def set_frozen(self, frozen: bool, t: float) -> None:
        """Freeze the pose, or allow poses again, with commands that had been sent at the time t [s]."""
        self.epoch, self.frozen, self.write_time = self.epoch + 1, frozen, t
        if not frozen:
            self.moving[:] = False
            self.angle[:] = np.nan  # no joint moves before every joint has been measured again
        self._initialised[:], self.trusts_targets = False, False
        self.schedule.confirm_again()

    def set_torque(self, on: bool, t: float) -> None:
        """Switch the torque of all servos, off also of those that are missing: all have to be measured again."""
        self.torque, self.torque_time = on, t
        self.epoch += 1
        self.unconfirmed[:] = ~self.missing if on else True
        self.torque_left_off[:] = not on or self.torque_left_off & self.missing
        self.torque_on[:] = self.angle[:] = np.nan
        self._initialised[:], self.trusts_targets = False, True
        self.schedule.confirm_again()

    def set_missing(self, missing: np.ndarray) -> None:
        """Set the joints (n,) bool that are not on the robot."""
        back = self.missing & ~missing
        self.missing[:] = missing
        self.missing_but_answering[~missing] = False
        if not self.torque:
            self.unconfirmed[back] = True  # servos that come back are read, and switched off if needed
        self.angle[back] = np.nan
        self.silent[back | missing] = False
        self.back[back | ~missing] = 0
        self._initialised[back | missing] = False
        self.losses.forget(back)
        self.schedule.forget(back)
        self.schedule.confirm_again(back)

    # Answers ---------------------------------------------------------------------------------------------------------

    def note_answer(self, joint: int, t: float, *, late: bool = False) -> None:
        """Process a valid answer of a joint that is not missing, complete at the time t [s]."""
        self.losses.note_exchange(joint, True)
        self.reads += 1
        self.late_answers += late
        self.unanswered, self.last_received = 0, t
        if self.silent[joint]:  # read all silent joints one after the other
            self.schedule.forget(self.silent)

    def note_no_answer(self, joint: int) -> bool:
        """Process a request without an answer; return whether the joint counts as silent from now on."""
        self.losses.note_exchange(joint, False)
        self.unanswered += 1
        lost = not self.silent[joint] and self.losses.is_silent(joint)
        if lost:
            self.silent[joint], self._initialised[joint] = True, False
        return lost

    def needs_start(self, joint: int, t: float) -> bool:
        """Whether a measurement of the time t [s] has to determine the joint's start_angle."""
        if t - self.stamp[joint] > 0.7:  # its servo may have lost its supply meanwhile
            self._initialised[joint] = False
        return not self._initialised[joint]

    @staticmethod
    def start_from(angle: float, target: float) -> float:
        """Return start_angle of a loaded joint [rad]: its set-point `target` if near the measured `angle`, else that.

        A loaded leg sags below its set-point, by less than 0.15 rad; starting from the measured angle would lower the
        robot at each restart.
        """
        return target if abs(target - angle) < 0.15 else angle

    def process_reading(self, joint: int, angle: float, t: float, start: float | None = None) -> None:
        """Process a measured angle [rad] of the time t [s]; start [rad]: start_angle, where it is needed."""
        if start is not None:
            self.start_angle[joint] = start
            self.generation[joint] += 1
            # While a servo's torque is off, its target follows its position, so that it does not jump when torque
            # returns.
            self._initialised[joint] = self.torque_on[joint] != 0.0 or not self.torque
        step = t - self.stamp[joint]
        rate = (angle - self.angle[joint]) / step if 0.0 < step < 1.0 else 0.0
        self.rate[joint] = rate if math.isfinite(rate) else 0.0
        self.angle[joint], self.stamp[joint], self.silent[joint] = angle, t, False
        # A joint at rest is measured with up to 0.3 rad/s; 0.15 s after a freeze no joint may move any more.
        self.moving[joint] = self.frozen and abs(self.rate[joint]) > 0.3 and t - self.write_time > 0.15

    def process_torque(self, joint: int, on: bool) -> None:
        """Process whether a servo exerts torque; without torque its joint starts again from the measured position."""
        before, self.torque_on[joint] = self.torque_on[joint], on
        if self.missing[joint]:
            self.missing_but_answering[joint], self.unconfirmed[joint] = True, on and not self.torque
            self._unanswered_probes[joint] = 0
            return
        self.torque_left_off[joint] &= not (on and self.torque)
        if on or not self.torque:  # a servo that should be limp has torque: the command is repeated
            self.unconfirmed[joint] = on != self.torque
        if not on and self.torque:
            self._initialised[joint] = False
            if before != 0.0:  # the supply, which all share, may be the cause: the others are asked soon
                self.torque_on[self.torque_on == 1.0] = np.nan
                self.schedule.next_slow = 0.0

    # Servos that are declared missing --------------------------------------------------------------------------------

    def next_missing(self, t: float) -> int:
        """Return the missing joint that is asked at the time t [s] whether it is connected again; -1: none."""
        if t < self._next_missing_probe or True not in self.missing.tolist():
            return -1
        self._next_missing_probe = t + SILENT_PROBE
        self._missing_turn = choose_next(np.flatnonzero(self.missing), self._missing_turn)
        return self._missing_turn

    def process_probe(self, joint: int, answered: bool) -> None:
        """Process whether a missing joint has answered."""
        self._unanswered_probes[joint] = 0 if answered else self._unanswered_probes[joint] + 1
        if answered or self._unanswered_probes[joint] >= MISSING_TRIES:  # one answer may be lost on the line
            self.missing_but_answering[joint] = answered
        self.back[joint] = self.back[joint] + 1 if answered else 0
