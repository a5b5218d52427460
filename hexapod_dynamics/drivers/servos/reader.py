"""Reads the joints over the servo bus; finds implausible readings, silent servos and servos that answer again."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.drivers.servos.chain_state import ChainStateMachine
from hexapod_dynamics.drivers.servos.interface import FAULTS, Fault, Motions, Quantity, ServoInterface
from hexapod_dynamics.robot.servo_map import ServoMap


class PositionGate:
    """Decides for each reading [rad] of one servo whether to accept it, to read again, or to drop it.

    A reading within MARGIN of the extrapolated position or of the target is accepted at once, unless a corrupted answer
    arrived in the last second. Otherwise, two readings in a row that agree within AGREEMENT are accepted. lowest,
    highest [rad]: range of the angles that a working servo reports. confirmed: the last accepted reading agreed with
    the one before it.
    """

    MARGIN, AGREEMENT = 0.2, 0.03  # [rad]

    def __init__(self, lowest: float = -math.pi, highest: float = math.pi) -> None:
        self._lowest, self._highest = lowest, highest
        self._wary_until = -math.inf
        self.confirmed = False
        self.forget()

    def warn(self, t: float) -> None:
        """Report a corrupted answer at time t [s]: the line is noisy."""
        self._wary_until = t + 1.0

    def forget(self) -> None:
        """Discard all state, after the servo did not answer."""
        self._last = self._stamp = self._unconfirmed = math.nan
        self._rate = 0.0

    def accept(self, angle: float, t: float, target: float = math.nan) -> bool:
        """Return True to accept `angle`, read at time t; False to read again: a second one that agrees is accepted."""
        if not self._lowest <= angle <= self._highest:
            return False
        margin = self.MARGIN if t >= self._wary_until else -1.0
        interval = t - self._stamp
        expected = self._last + self._rate * interval if interval < 0.5 else math.nan
        # Comparisons with NaN (no earlier reading) are false.
        self.confirmed = abs(angle - self._unconfirmed) <= self.AGREEMENT
        if not (self.confirmed or abs(angle - expected) <= margin or abs(angle - target) <= margin):
            self._unconfirmed = angle
            return False
        rate = (angle - self._last) / interval if 0.0 < interval < 0.5 else 0.0
        self._rate = max(-8.0, min(8.0, rate))  # [rad/s] more than any servo reaches
        self._last, self._stamp, self._unconfirmed = angle, t, math.nan
        return True


class JointReader:
    """Reads joints in the bus thread and passes the results to `state`.

    idle(): called during a long wait for an answer; it returns False to end the wait, when a command is pending.
    """

    def __init__(
        self,
        servos: ServoInterface,
        servo_map: ServoMap,
        state: ChainStateMachine,
        motions: Motions,
        idle: Callable[[], bool],
    ) -> None:
        n = len(servo_map)
        self.servos, self.map = servos, servo_map
        self._state, self._schedule = state, state.schedule
        self._motions, self._idle = motions, idle
        self._checks = [PositionGate(*servos.readable) for _ in range(n)]
        self._lag_count = np.zeros(n, np.int64)
        self._delay = 0.5 * servos.reply_timeout  # [s] longest recent delay of the answers
        self.quiet_until = 0.0  # monotonic [s] before which no servo is asked
        self._supply: deque[float] = deque(maxlen=3)  # whose median it is
        self._next_load_check = 0.0

    def forget(self) -> None:
        """Discard all state, because the port was opened again."""
        for check in self._checks:
            check.forget()

    def confirm_torque(self, now: float) -> None:
        """Read the load state of one servo that has not confirmed a torque command; repeat the command if it failed.

        Servos that are declared missing and do not answer are given up after a few requests.
        """
        state, index = self._state, self._schedule.choose_confirmation(self._state, now)
        if index < 0:
            return
        wanted, loaded = state.torque, self._ask_loaded(index)
        self._schedule.note_torque_request(index, time.monotonic(), silent=bool(state.silent[index]))
        if loaded is None and state.missing[index] and not self.servos.interrupted:
            if self._schedule.note_unanswered(index) and not state.missing_but_answering[index]:
                # the servo is really missing; `probe_missing` finds it if it is connected again
                state.unconfirmed[index] = False
                return
        if (loaded is None or bool(loaded) != wanted) and not (wanted and state.missing[index]):
            # The command is also repeated without an answer: the request may have been lost like the command.
            self.servos.switch_torque((index,), wanted, copies=2)

    def probe_missing(self, now: float) -> None:
        """Read one of the servos that are declared missing, to find out whether it is connected again."""
        index = self._state.next_missing(now)
        if index < 0:
            return
        if self._state.torque:
            answered = self.servos.read(index, "position") is not None
        else:  # a servo that is declared missing must have no torque
            answered = self._ask_loaded(index) is not None
            if not answered:  # the servo may receive although its answers are lost
                self.servos.switch_torque((index,), False, copies=2)
        self._state.process_probe(index, answered)

    def read_position(self, index: int) -> None:
        """Read the position of one joint."""
        self._schedule.note_request(index, time.monotonic(), bool(self._state.silent[index]))
        target = self._motions.target(index)
        for _ in range(3):
            value = self._ask(index, "position")
            if value is None:
                if not self._state.silent[index]:
                    self._schedule.ask_soon(index)
                return
            self._state.reports = tuple(self.servos.reports)
            now = self.servos.read_time
            distance = abs(value - target)  # NaN where nothing has been sent
            accepted = self._checks[index].accept(value, now, target)
            if distance > 0.15:
                self._check_load(index)
            if accepted:
                break
        else:
            if not (self.servos.reports and self.servos.reports[index]):  # else the servo itself is the cause
                self._state.errors[index, FAULTS.index("implausible")] += 1
            return
        angle = self.map.joint_angle(index, value)
        start = None
        if self._state.needs_start(index, now):
            start = self._find_start(index, angle)
            self._motions.forget(index)
        lagging = self._is_lagging(index, distance > 0.25)
        self._state.process_reading(index, angle, now, start)
        self._state.lagging[index] = lagging

    def _is_lagging(self, index: int, away: bool) -> bool:
        """Whether a joint does not follow: three consecutive readings are away from its target, or two that agree. One
        is enough if three others do not follow either: the cause is then the supply.
        """
        if not away:
            self._lag_count[index] = 0
            return False
        self._lag_count[index] += 1 + self._checks[index].confirmed
        lagging = self._lag_count[index] >= 3 or np.count_nonzero(self._state.lagging) >= 3
        if not lagging:
            self._schedule.ask_soon(index)
        return bool(lagging)

    def _find_start(self, index: int, angle: float) -> float:
        """Return start_angle of a joint measured at `angle` [rad]; see `ChainStateMachine.start_from`."""
        loaded = self._ask_loaded(index) or not self.servos.can_read(index, "loaded")
        if not loaded or not self._state.trusts_targets or not self.servos.can_read(index, "target"):
            return angle
        held = self._ask(index, "target")
        return angle if held is None else self._state.start_from(angle, self.map.joint_angle(index, held))

    def read_slow(self, now: float) -> None:
        """Read one slow value, if one is due."""
        kind, index = self._schedule.slow(self._state, now)
        if index < 0:
            return
        if kind == "loaded":
            self._ask_loaded(index)
            return
        if not self.servos.can_read(index, kind):
            return
        value, state = self._ask(index, kind), self._state
        if value is None:
            return
        getattr(state, kind)[index] = value
        if kind == "voltage":
            self._supply.append(value)
            state.supply = statistics.median(self._supply)

    def _check_load(self, index: int) -> None:
        """Read the load state of a servo away from its target, sooner than it counts as lagging; ten times a second."""
        now = time.monotonic()
        if self._state.torque and self._state.torque_on[index] != 0.0 and now >= self._next_load_check:
            self._next_load_check = now + 0.1
            self._ask_loaded(index, tries=3)

    def _ask_loaded(self, index: int, tries: int = 1) -> bool | None:
        """Process whether a servo exerts torque, None without an answer; without it, its joint starts where it is."""
        # Servos that are declared missing do not count in the statistics of the line.
        ask: Callable[[int, Quantity], float | None] = self.servos.read if self._state.missing[index] else self._ask
        answer = None
        if not self.servos.can_read(index, "loaded"):
            return None
        while answer is None and tries > 0 and not self.servos.interrupted:
            answer, tries = ask(index, "loaded"), tries - 1
        if answer is None:
            return None
        on = answer != 0.0
        self._state.process_torque(index, on)
        return on

    def _ask(self, index: int, quantity: Quantity) -> float | None:
        servos = self.servos
        was_silent = bool(self._state.silent[index])
        # The long timeout is for single late answers. For a servo that failed while others answered, the timeout is the
        # present answer time: nine silent servos would otherwise block the bus.
        losses = self._state.losses
        failing = was_silent or losses.failing[index] > 0
        suspected = failing or self._state.unanswered > 1
        timeout = max(servos.reply_timeout, min(0.002 + 1.5 * self._delay, servos.patience))
        # While the line loses answers of all servos, or the computer is late, all servos get the same timeout, so that
        # the test for silent servos is fair.
        if failing and self._state.unanswered < len(self.map) and losses.loss_rate(index) < 0.1:
            timeout = min(timeout, max(0.003, 0.002 + 3.0 * self._delay))
        for idle in (None if suspected else self._idle, None):
            value = servos.read(index, quantity, idle, timeout)
            if value is not None:
                break
            self._state.errors[index, FAULTS.index((servos.fault or Fault.TIMEOUT).name.lower())] += 1
            if servos.fault is Fault.TIMEOUT:
                break
            for check in self._checks:  # a corrupted answer came quickly: read again at once
                check.warn(time.monotonic())
        self._delay, servos.lateness = max(self._delay, servos.lateness), 0.0
        if servos.interrupted:
            return value
        if value is None:
            if self._state.note_no_answer(index):
                self._checks[index].forget()
            self._back_off(self._state.unanswered)
            return None
        self.quiet_until = 0.0
        self._delay = max(0.97 * self._delay, min(servos.delay, 0.05))  # the longest delay is forgotten slowly
        self._state.note_answer(index, servos.read_time, late=servos.delay > servos.reply_timeout)
        return value

    def _back_off(self, unanswered: int) -> None:
        """Pause before the next request if late answers collide with requests on the line, or if no servo answers.

        Requests at the pace of the timeouts would collide with late answers, and accumulate before a blocked line. The
        pauses, of 2 to 16 ms, let the line become quiet.
        """
        if unanswered > 1 and (self.servos.strays or unanswered > len(self.map)):
            self.quiet_until = time.monotonic() + 0.002 * 2.0 ** min(unanswered - 2, 3)
