"""The bus thread: the one owner of a servo bus that writes whole poses, reads round robin, and heals.

Other threads say what they want (`set_targets`, `set_torque`) and look at a copy of what is known (`snapshot`).
Writes go before reads; of several poses only the latest is sent; a servo whose count has not changed is left alone
(and refreshed now and then, because writes are never acknowledged).
"""

import logging
import math
import statistics
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.drivers import lx_frames
from hexapod_dynamics.drivers import lx_protocol as lx
from hexapod_dynamics.drivers.chain_state import FAULTS, ChainSettings, ChainState
from hexapod_dynamics.drivers.lx_frames import Command
from hexapod_dynamics.drivers.reading_check import ReadingCheck
from hexapod_dynamics.drivers.servo_bus import BusError, Fault, ServoBus
from hexapod_dynamics.drivers.servo_map import PoseFrames, ServoMap

_SUPPLY_READS = 3          # the supply voltage is the median of so many reads
_SLOW_READS = {'voltage': Command.VIN_READ, 'temperature': Command.TEMP_READ,
               'loaded': Command.LOAD_OR_UNLOAD_READ}
_LOSS_MEMORY = 0.03         # weight of the newest exchange
_AWAY = 0.7                 # [s] not measured for so long, a joint is met anew: it may have lost its supply
_log = logging.getLogger(__name__)


@dataclass
class _Wishes:
    counts: np.ndarray | None = None
    duration: float = 0.0
    epoch: int = -1
    torque: bool | None = None
    gone: np.ndarray | None = None
    stop: bool = False
    condition: threading.Condition = field(default_factory=threading.Condition)


class ServoChain:
    """All servos of a robot on one bus, served by one thread."""

    def __init__(self, bus: ServoBus, servo_map: ServoMap, settings: ChainSettings | None = None):
        n = len(servo_map)
        self.bus, self.map, self.settings = bus, servo_map, settings or ChainSettings()
        self._state = ChainState.empty(n)
        self._lock = threading.Lock()               # guards _state
        self._wishes = _Wishes()
        self._frames = PoseFrames(servo_map)
        self._sent_counts = np.full(n, -1, np.int64)
        self._sent_time = np.full(n, -np.inf)
        self._failures = np.zeros(n, np.int64)
        self._attempt = np.full(n, -np.inf)         # monotonic [s] of the last position request
        self._greeted = np.zeros(n, bool)           # start_angle has been found since it was last lost
        self._checks = [ReadingCheck() for _ in range(n)]
        self._next_slow, self._slow_turn, self._next_reopen = 0.0, 0, 0.0
        self._slow_index = dict.fromkeys(_SLOW_READS, -1)
        self._supply = deque(maxlen=_SUPPLY_READS)
        self._lag_count = np.zeros(n, np.int64)
        self._loss = 0.0                            # recent share of exchanges that failed, silent servos left out
        self._load_since, self._load_bytes = 0.0, 0
        self._thread = threading.Thread(target=self._run, name='servo_bus', daemon=True)

    # What other threads call -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the bus thread; it opens the port and keeps trying."""
        self._thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """End the bus thread and close the port; the servos hold what they were told last."""
        with self._wishes.condition:
            self._wishes.stop = True
            self._wishes.condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self.bus.release()

    def set_targets(self, angles: np.ndarray, duration: float, epoch: int) -> None:
        """Move to joint angles (n,) [rad] in `duration` [s]; replaces a pose that has not been sent yet.

        NaN leaves a joint alone.

        epoch: `ChainState.epoch` of the state the pose was planned from; a pose planned before the port was opened
        again is dropped, because the servos may stand elsewhere by now.
        """
        asked = np.isfinite(angles)
        counts = np.where(asked, self.map.counts(np.where(asked, angles, 0.0)), -1)
        wishes = self._wishes
        with wishes.condition:
            wishes.counts, wishes.duration, wishes.epoch = counts, duration, epoch
            wishes.condition.notify()

    def set_torque(self, on: bool) -> None:
        """Let all servos go, or hold them where they are."""
        with self._wishes.condition:
            self._wishes.torque, self._wishes.counts = on, None
            self._wishes.condition.notify()

    def set_gone(self, gone: np.ndarray) -> None:
        """Name the joints (n,) bool that are known to be off the robot: they are neither moved nor asked."""
        with self._wishes.condition:
            self._wishes.gone = np.array(gone, bool)
            self._wishes.condition.notify()

    def snapshot(self, into: ChainState | None = None) -> ChainState:
        """Copy what is known, into `into` where given."""
        state = into or ChainState.empty(len(self.map))
        with self._lock:
            state.copy_from(self._state)
        return state

    # The bus thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                if not self.bus.is_open:
                    if not self._reopen():
                        return
                elif not self._serve():
                    return
            except BusError as error:
                self._lost(error)
            except Exception:               # one bug must not end the only thread that can stop the robot
                _log.exception('servo bus thread: unexpected error; the port is opened again')
                self.bus.close()
                self._lost(BusError('internal error, see the log'))

    def _lost(self, error: BusError) -> None:
        self._next_reopen = time.monotonic() + self.settings.reopen_interval
        with self._lock:
            state = self._state
            state.connected, state.last_port_error = False, str(error)
            state.port_errors += 1

    def _reopen(self) -> bool:
        wishes = self._wishes
        with wishes.condition:
            wishes.condition.wait_for(lambda: wishes.stop, max(0.0, self._next_reopen - time.monotonic()))
            if wishes.stop:
                return False
        self.bus.open()                     # raises BusError, and _run waits and tries again
        self._sent_counts[:] = -1
        self._greeted[:] = False
        for check in self._checks:
            check.forget()
        self._failures[:] = 0
        self._loss = 0.0
        self._attempt[:] = -np.inf
        self._load_since, self._load_bytes = time.monotonic(), self.bus.bytes_sent + self.bus.bytes_received
        with self._lock:
            state = self._state
            state.connected, state.epoch, state.heard = True, state.epoch + 1, time.monotonic()
            state.angle[:] = state.stamp[:] = np.nan
            state.silent[:] = False
        return True

    def _serve(self) -> bool:
        wishes = self._wishes
        now = time.monotonic()
        index, due = self._next_read(now)
        with wishes.condition:
            if due > now and not (wishes.stop or any(
                    wish is not None for wish in (wishes.counts, wishes.torque, wishes.gone))):
                wishes.condition.wait(due - now)
            stop, torque, gone, wishes.torque, wishes.gone = wishes.stop, wishes.torque, wishes.gone, None, None
            counts, duration, wishes.counts = wishes.counts, wishes.duration, None
            if wishes.epoch != self._state.epoch:
                counts = None
        if gone is not None:
            self._apply_gone(gone)
        if torque is not None:
            self._apply_torque(torque)
        if stop:
            return False
        if counts is not None and self._state.torque:
            self._write_pose(counts, duration)
        now = time.monotonic()
        self._measure_load(now)
        if index < 0 or self._state.gone[index]:
            return True
        if due <= now:
            self._read_position(index)
        if now >= self._next_slow:
            self._next_slow = now + self.settings.slow_interval
            self._read_slow()
        return True

    def _apply_gone(self, gone: np.ndarray) -> None:
        back = self._state.gone & ~gone
        with self._lock:
            self._state.gone[:] = gone
            self._state.angle[back] = np.nan
            self._state.silent[back | gone] = False
        self._failures[back] = 0
        self._greeted[back | gone] = False
        self._attempt[back] = -np.inf

    def _apply_torque(self, on: bool) -> None:
        # Twice, because a write is never acknowledged and one lost frame would leave one leg limp or stiff.
        frames = b''.join(lx.load_write(i, on) for i, gone in zip(self.map.ids, self._state.gone, strict=True)
                          if not gone)
        self.bus.send(frames + frames)
        self.bus.drain()
        self._sent_counts[:] = -1
        self._greeted[:] = False
        with self._lock:
            self._state.torque = on
            self._state.loaded[:] = np.nan
            self._state.angle[:] = np.nan

    def _write_pose(self, counts: np.ndarray, duration: float) -> None:
        backlog = self.bus.wire_free - time.monotonic()
        if backlog > 0.001:
            time.sleep(backlog)
        now = time.monotonic()
        settings, age = self.settings, now - self._sent_time
        change = np.abs(counts - self._sent_counts)
        # When reads starve, a change of a single count may wait a cycle or two: its 0.9 ms of wire buys half a read.
        starving = np.nanmin(self._state.stamp, initial=now) < now - settings.starving_age
        least = np.where(starving & (age < settings.defer_interval), 1, 0)
        chosen = ((change > least) | (age > settings.refresh_interval)) & ~self._state.gone & (counts >= 0)
        if not chosen.any():
            return
        self.bus.send(self._frames.build(counts, duration, chosen))
        self._sent_counts[chosen] = counts[chosen]
        self._sent_time[chosen] = now
        with self._lock:
            self._state.writes += 1
            self._state.write_time = self.bus.wire_free

    def _next_read(self, now: float) -> tuple[int, float]:
        """The joint whose position is read next and when: the one asked longest ago, silent ones seldom."""
        state, settings = self._state, self.settings
        due = self._attempt + np.where(state.silent, settings.silent_probe_interval, 1.0 / settings.position_rate)
        due[np.isnan(state.angle) & ~state.silent] = -np.inf        # an unknown pose comes first
        due[state.gone] = np.inf
        ready = due <= now
        if ready.any():
            # The longest unasked of those that are due: a fair round robin.
            return int(np.argmin(np.where(ready, self._attempt, np.inf))), now
        index = int(np.argmin(due))
        if np.isposinf(due[index]):
            return -1, now + 0.1            # nothing left to ask
        return index, float(due[index])

    def _read_position(self, index: int) -> None:
        self._attempt[index] = time.monotonic()
        sent = self._sent_counts[index]
        target = lx.angle_from_count(sent) if sent >= 0 else math.nan
        for _ in range(3):
            value = self._ask(index, Command.POS_READ)
            if value is None:
                if not self._state.silent[index]:
                    self._ask_soon(index)
                return
            now = self.bus.reply_time - lx_frames.reply_size(Command.POS_READ) * self.bus.byte_time
            if self._checks[index].take(value, now, target):
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
            self._sent_counts[index] = -1
        away = sent >= 0 and abs(value - target) > self.settings.lag
        self._lag_count[index] = self._lag_count[index] + 1 if away else 0
        if 0 < self._lag_count[index] < self.settings.lag_reads:
            self._ask_soon(index)
        with self._lock:
            state = self._state
            step = now - state.stamp[index]
            rate = (angle - state.angle[index]) / step if 0.0 < step < 1.0 else 0.0
            state.rate[index] = rate if math.isfinite(rate) else 0.0
            state.angle[index], state.stamp[index], state.silent[index] = angle, now, False
            state.lagging[index] = self._lag_count[index] >= self.settings.lag_reads
            if start is not None:
                state.start_angle[index] = start
                state.generation[index] += 1

    def _ask_soon(self, index: int) -> None:
        """Ask a joint in doubt again before its turn."""
        others = self._attempt[np.isfinite(self._attempt)]
        self._attempt[index] = others.min() + self.settings.doubt_interval

    def _find_start(self, index: int, angle: float) -> float:
        """Where the servo's own set-point is: its last target if it holds one close by, else where it stands.

        A loaded leg sags below its set-point; starting from the sagged angle would lower the robot a little each time
        the node is started again.
        """
        loaded = self._ask(index, Command.LOAD_OR_UNLOAD_READ)
        if loaded is not None:
            with self._lock:
                self._state.loaded[index] = loaded
        if not loaded:
            return angle
        move = self._ask(index, Command.MOVE_TIME_WAIT_READ)
        if move is not None:
            target = self.map.angle(index, move.angle)
            if abs(target - angle) < 0.15:
                return target
        return angle

    def _read_slow(self) -> None:
        """One read that is not a position: of a joint that does not follow, else supply and the others by turns."""
        state = self._state
        suspect = np.flatnonzero(state.lagging & state.known)
        self._slow_turn += 1
        if suspect.size and self._slow_turn % 2:
            index = int(suspect[self._slow_turn // 2 % suspect.size])
            kind = ('temperature', 'loaded')[self._slow_turn // 2 // suspect.size % 2]
        else:
            kind = 'voltage' if self._slow_turn % 2 == 0 else ('temperature', 'loaded')[self._slow_turn // 2 % 2]
            index = self._next_of(kind)
        if index < 0:
            return
        value = self._ask(index, _SLOW_READS[kind])
        if value is None:
            return
        with self._lock:
            getattr(state, kind)[index] = value
            if kind == 'voltage':
                self._supply.append(value)
                state.supply = statistics.median(self._supply)
        if kind == 'loaded' and not value and state.torque:
            self._greeted[index] = False

    def _next_of(self, kind: str) -> int:
        """The next joint for a slow read, round robin, -1 where there is none to ask."""
        n = len(self.map)
        for step in range(1, n + 1):
            index = (self._slow_index[kind] + step) % n
            if not (self._state.gone[index] or self._state.silent[index]):
                self._slow_index[kind] = index
                return index
        return -1

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
        if not self._state.silent[index]:
            self._loss += _LOSS_MEMORY * ((payload is None) - self._loss)
        if payload is None:
            self._failures[index] += 1
            if not self._state.silent[index] and self._failures[index] >= self._silence():
                self._greeted[index] = False
                self._checks[index].forget()
                with self._lock:
                    self._state.silent[index] = True
            return None
        self._failures[index] = 0
        with self._lock:
            self._state.reads += 1
            self._state.heard = self.bus.reply_time
        return lx.decode(command, payload)

    def _idle(self) -> bool:
        wishes = self._wishes
        return wishes.counts is None and wishes.torque is None and not wishes.stop

    def _silence(self) -> float:
        """How many failures in a row are more than the line's present loss explains (once in a thousand)."""
        if self._loss >= 0.9:
            return math.inf             # nobody answers: that is not this servo's fault
        return max(self.settings.silent_after, math.ceil(math.log(1e-3) / math.log(max(self._loss, 1e-3))))

    def _count(self, index: int, fault: str) -> None:
        with self._lock:
            self._state.errors[index, FAULTS.index(fault)] += 1

    def _measure_load(self, now: float) -> None:
        """Share of the wire's time in use, over about a second."""
        elapsed = now - self._load_since
        if elapsed < 1.0:
            return
        total = self.bus.bytes_sent + self.bus.bytes_received
        with self._lock:
            self._state.bus_load = (total - self._load_bytes) * self.bus.byte_time / elapsed
        self._load_since, self._load_bytes = now, total
