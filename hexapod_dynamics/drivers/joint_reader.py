"""Reads joints over the servo bus and keeps what is known of them: doubts, silence, joints met again."""

import math
import statistics
import threading
import time
from collections import deque

import numpy as np

from hexapod_dynamics.drivers import lx_frames
from hexapod_dynamics.drivers import lx_protocol as lx
from hexapod_dynamics.drivers.chain_state import FAULTS, ChainSettings, ChainState
from hexapod_dynamics.drivers.lx_frames import Command
from hexapod_dynamics.drivers.pose_writer import PoseWriter
from hexapod_dynamics.drivers.read_schedule import SLOW_READS, ReadSchedule
from hexapod_dynamics.drivers.reading_check import ReadingCheck
from hexapod_dynamics.drivers.servo_bus import Fault, ServoBus
from hexapod_dynamics.drivers.servo_map import ServoMap
from hexapod_dynamics.drivers.silence import SilenceJudge

_SUPPLY_READS = 3           # the supply voltage is the median of so many reads
_AWAY = 0.7                 # [s] not measured for so long, a joint is met anew: it may have lost its supply


class JointReader:
    """Used by the bus thread alone; what it finds goes into `state` under `lock`.

    idle: called during a long wait for an answer, True while there is nothing better to do.
    """

    def __init__(self, bus: ServoBus, servo_map: ServoMap, settings: ChainSettings, state: ChainState,
                 lock: threading.Lock, writer: PoseWriter, idle):
        n = len(servo_map)
        self.bus, self.map, self.settings, self.schedule = bus, servo_map, settings, ReadSchedule(n, settings)
        self._state, self._lock, self._writer, self._idle = state, lock, writer, idle
        self._silence = SilenceJudge(n, settings.silent_after)
        self._checks = [ReadingCheck() for _ in range(n)]
        self._greeted = np.zeros(n, bool)           # start_angle has been found since it was last lost
        self._lag_count = np.zeros(n, np.int64)
        self._supply = deque(maxlen=_SUPPLY_READS)
        self._next_suspicion = 0.0

    def forget(self) -> None:
        """Know nothing: the port has been opened anew."""
        self._greeted[:] = False
        for part in (self.schedule, self._silence, *self._checks):
            part.forget()

    def expect(self, gone: np.ndarray, back: np.ndarray) -> None:
        """These joints (masks) have left the robot, those have come back to it."""
        self._greeted[back | gone] = False
        self._silence.forget(back)
        self.schedule.forget(back)

    def meet_again(self) -> None:
        """Find every joint's start_angle anew: torque was switched."""
        self._greeted[:] = False

    def read_position(self, index: int) -> None:
        """Ask one joint where it is."""
        self.schedule.asked(index, time.monotonic())
        sent = self._writer.sent[index]
        target = lx.angle_from_count(sent) if sent >= 0 else math.nan
        for _ in range(3):
            value = self._ask(index, Command.POS_READ)
            if value is None:
                if not self._state.silent[index]:
                    self.schedule.ask_soon(index)
                return
            now = self.bus.reply_time - lx_frames.reply_size(Command.POS_READ) * self.bus.byte_time
            distance = abs(value - target)          # NaN where nothing has been sent
            taken = self._checks[index].take(value, now, target)
            if distance > self.settings.suspicious_lag:
                self._suspect(index)
            if taken:
                break
        else:
            self._count(index, 'implausible')
            return
        angle = self.map.angle(index, value)
        start = None
        if now - self._state.stamp[index] > _AWAY:
            self._greeted[index] = False
        if not self._greeted[index]:
            start = self._find_start(index, angle)
            # A servo that has let go by itself is met anew with each reading, so that its target goes where it hangs
            # and it does not snap back when it holds again.
            self._greeted[index] = self._state.loaded[index] != 0.0 or not self._state.torque
            self._writer.forget(index)
        lagging = self._lags(index, distance > self.settings.lag)
        with self._lock:
            state = self._state
            step = now - state.stamp[index]
            rate = (angle - state.angle[index]) / step if 0.0 < step < 1.0 else 0.0
            state.rate[index] = rate if math.isfinite(rate) else 0.0
            state.angle[index], state.stamp[index], state.silent[index] = angle, now, False
            state.lagging[index] = lagging
            if start is not None:
                state.start_angle[index] = start
                state.generation[index] += 1

    def _lags(self, index: int, away: bool) -> bool:
        """Whether a joint does not follow: it was found away from its target several times in a row.

        Once where many others do not follow either: then it is the supply, and each joint is to be named soon.
        """
        self._lag_count[index] = self._lag_count[index] + 1 + self._checks[index].confirmed if away else 0
        many = np.count_nonzero(self._state.lagging) >= self.settings.lag_many
        lagging = self._lag_count[index] >= (1 if many else self.settings.lag_reads)
        if away and not lagging:
            self.schedule.ask_soon(index)
        return bool(lagging)

    def _find_start(self, index: int, angle: float) -> float:
        """Where the servo's own set-point is: its last target if it holds one close by, else where it stands.

        A loaded leg sags below its set-point; starting from the sagged angle would lower the robot a little each time
        the node is started again.
        """
        if not self._ask_loaded(index):
            return angle
        move = self._ask(index, Command.MOVE_TIME_WAIT_READ)
        if move is not None:
            target = self.map.angle(index, move.angle)
            if abs(target - angle) < 0.15:
                return target
        return angle

    def read_slow(self, now: float) -> None:
        """One read that is not a position, where one is due."""
        kind, index = self.schedule.slow(self._state, now)
        if index < 0:
            return
        if kind == 'loaded':
            self._ask_loaded(index)
            return
        value, state = self._ask(index, SLOW_READS[kind]), self._state
        if value is None:
            return
        with self._lock:
            getattr(state, kind)[index] = value
            if kind == 'voltage':
                self._supply.append(value)
                state.supply = statistics.median(self._supply)

    def _suspect(self, index: int) -> None:
        """Ask whether a servo away from its target still holds, now and then: known sooner than that it lags."""
        now = time.monotonic()
        if self._state.torque and self._state.loaded[index] != 0.0 and now >= self._next_suspicion:
            self._next_suspicion = now + self.settings.suspicion_interval
            self._ask_loaded(index, tries=3)

    def _ask_loaded(self, index: int, tries: int = 1) -> bool | None:
        """Whether a servo holds; one that has let go is to be met again."""
        loaded = None
        while loaded is None and tries > 0:
            loaded, tries = self._ask(index, Command.LOAD_OR_UNLOAD_READ), tries - 1
        if loaded is not None:
            with self._lock:
                self._state.loaded[index] = loaded
            if not loaded and self._state.torque:
                self._greeted[index] = False
        return loaded

    def _ask(self, index: int, command: int):
        servo_id = self.map.ids[index]
        payload = self.bus.exchange(servo_id, command, self._idle)
        if payload is None:
            self._count(index, self.bus.fault.value)
            if self.bus.fault is not Fault.TIMEOUT:         # a damaged answer came quickly: ask again at once
                for check in self._checks:
                    check.warn(time.monotonic())
                payload = self.bus.exchange(servo_id, command, self._idle)
                if payload is None:
                    self._count(index, self.bus.fault.value)
        silent = self._state.silent[index]
        self._silence.note(index, payload is not None, silent)
        if payload is None:
            if not silent and self._silence.is_silent(index):
                self._greeted[index] = False
                self._checks[index].forget()
                with self._lock:
                    self._state.silent[index] = True
            return None
        with self._lock:
            self._state.reads += 1
            self._state.heard = self.bus.reply_time
        return lx.decode(command, payload)

    def _count(self, index: int, fault: str) -> None:
        with self._lock:
            self._state.errors[index, FAULTS.index(fault)] += 1
