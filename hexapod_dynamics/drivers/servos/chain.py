"""The bus thread: it alone uses the servo bus, writes whole poses, reads round robin and recovers from faults.

Other threads send commands (`set_targets`, `set_torque`) and read a copy of the state (`snapshot`).
Writes precede reads; of several poses only the latest is sent; an unchanged target is sent again only now and
then, because writes are never acknowledged. Torque on or off is read back from each servo and repeated until it is
confirmed. A freeze precedes everything else.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState, ChainStateMachine
from hexapod_dynamics.drivers.servos.interface import BusError, Motions, ServoInterface
from hexapod_dynamics.drivers.servos.reader import JointReader
from hexapod_dynamics.drivers.thread_priority import raise_thread_priority
from hexapod_dynamics.drivers.wake import Worker
from hexapod_dynamics.robot.servo_map import ServoMap

_log = logging.getLogger(__name__)


class PoseWriter:
    """Sends poses; `motions` are the present ones of the servos, angles [rad] from their centres."""

    def __init__(self, servos: ServoInterface, settings: ChainSettings) -> None:
        n = len(servos.ids)
        self._servos, self._refresh = servos, settings.refresh_interval
        self.motions, self._time = Motions(n), [-math.inf] * n  # monotonic [s] of the last command

    def write(
        self,
        targets: np.ndarray,
        duration: float,
        speed: np.ndarray | None,
        state: ChainState,
        cancelled: Callable[[], bool],
    ) -> bool:
        """Send targets (n,) [rad] to be reached in `duration` [s]; return False when nothing had to be sent.

        targets: as `ServoInterface.quantise` gives them; NaN leaves a servo alone. speed (n,) [rad/s]: the duration is
        extended, to at most 0.5 s, if a servo would be faster. cancelled: called after the wait for earlier frames; if
        it returns True (emergency stop, torque off), nothing is sent. An unchanged target is sent only now and then,
        because writes are never acknowledged.
        """
        backlog = self._servos.free_at - time.monotonic()
        if backlog > 0.001:
            time.sleep(backlog)
        if cancelled():
            return False
        now = time.monotonic()
        asked = targets.tolist()
        chosen = self._choose(asked, state, now)
        if not chosen:
            return False
        overhead, each = self._servos.pose_times
        begin = now + overhead + len(chosen) * each  # time at which all frames have been sent
        if speed is not None:
            # A late pose contains the motion of the whole time since the previous pose; executed in one period, the
            # servos would exceed the allowed speed (here 1.1 times of it, so that a delay is caught up). All servos
            # arrive together.
            fastest = speed.tolist()
            for j in chosen:
                way = abs(asked[j] - self.motions.setpoint_at(j, begin, asked[j]))
                duration = max(min(way / (1.1 * fastest[j]), 0.5), duration)
        self._servos.write_pose([(j, asked[j], duration) for j in chosen])
        for j in chosen:
            self.motions.begin(j, asked[j], duration, begin, asked[j])
            self._time[j] = now
        return True

    def _choose(self, asked: list, state: ChainState, now: float) -> list[int]:
        """Return the servos that get a new target, by a loop over numbers: numpy takes three times as long for 18.

        A servo that does not answer gets none: it may have lost its supply and be moved by hand until it is read again.
        """
        away, angles, stamps = (state.missing | state.silent).tolist(), state.angle.tolist(), state.stamp.tolist()
        oldest = 0.0
        for j, angle in enumerate(angles):
            if not (away[j] or math.isnan(angle)):
                oldest = max(oldest, now - stamps[j])
        # When there is too little time for reads, small changes may wait a cycle or two: each takes half of a read.
        small = 0.019 if oldest > 0.4 else 0.006 if oldest > 0.15 else 0.0  # [rad]
        chosen = []
        for j, target in enumerate(asked):
            age = now - self._time[j]
            least = small if age < 0.05 else 0.0
            # A target that is not known to have been sent (NaN) compares as neither less nor equal.
            due = not abs(target - self.motions.target(j)) <= least or age > self._refresh
            if due and not away[j] and target == target:
                chosen.append(j)
        return chosen


@dataclass
class PendingCommands:
    """What other threads have asked for and the bus thread has not executed yet; guarded by `lock`."""

    # Targets [rad] from the servos' centres, duration [s], speeds [rad/s], epoch.
    pose: tuple[np.ndarray, float, np.ndarray | None, int] | None = None
    torque: bool | None = None
    frozen: bool = False
    missing: np.ndarray | None = None
    stops_sent: bool = False  # `freeze` has sent the stops itself
    lock: threading.RLock = field(default_factory=threading.RLock)


class ServoChain(Worker):
    """All servos of a robot on one bus, served by one thread; servo_map names the joints of `servos.ids`.

    The bus thread alone uses its state; others see a copy, which it renews after each change.
    """

    def __init__(self, servos: ServoInterface, servo_map: ServoMap, settings: ChainSettings | None = None) -> None:
        super().__init__("servo_bus")
        self.servos, self.map, self.settings = servos, servo_map, settings or ChainSettings()
        self._state, self._shown = ChainStateMachine(len(servo_map), self.settings), ChainState(len(servo_map))
        self._lock = threading.Lock()  # guards _shown
        self._pending_commands = PendingCommands()
        self._writer = PoseWriter(servos, self.settings)
        self._reader = JointReader(servos, servo_map, self._state, self._writer.motions, self._idle)
        self.priority = ""  # priority of the bus thread that the kernel has permitted
        self._next_reopen = 0.0
        self._torque_asked = 0.0  # monotonic [s] of the last request to switch torque
        self._stop_again = math.inf  # monotonic [s] at which the stops are sent once more
        self._load_since, self._load_before = 0.0, 0.0

    # What other threads call -----------------------------------------------------------------------------------------

    def restore(self, *, torque: bool, frozen: bool) -> None:
        """Start with torque off or frozen, as requested before a restart of the process; call it before `start`."""
        self._state.torque, self._state.frozen = torque, frozen
        self._state.torque_left_off[:] = not torque
        self._pending_commands.frozen = frozen
        self._show()

    def stop(self, timeout: float = 1.0) -> None:
        """End the bus thread, which closes the port; the servos hold their last targets.

        A thread that has not ended after `timeout` [s] still uses the port: it closes it when it ends.
        """
        if not self._end(timeout):
            _log.error(
                "the servo bus thread has not ended after %.1f s: the port %s stays open", timeout, self.servos.port
            )

    def set_targets(self, angles: np.ndarray, duration: float, epoch: int, speed: np.ndarray | None = None) -> None:
        """Move to joint angles (n,) [rad], NaN: no new target, in `duration` [s]; replaces a pose that is not sent yet.

        epoch: `ChainState.epoch` of the state the pose was planned from; a pose planned before the port was opened
        again is dropped, because the servos may have moved. speed (n,) [rad/s]: if the pose is sent late, its duration
        is extended so that no joint exceeds this speed.
        """
        finite = np.where(np.isfinite(angles), angles, np.nan)
        targets = self.servos.quantise(self.map.servo_angles(finite))
        self._set_pending(pose=(targets, duration, speed, epoch))

    def freeze(self) -> bool:
        """Stop all motion now and send no pose until `unfreeze`; return whether this was sent.

        The calling thread sends the stops: another thread would have to wake up first, which takes some
        milliseconds on a busy machine. Queued poses are dropped, and a wait for an answer ends. If the port is
        closed, the bus thread sends the stops as soon as it is open.
        """
        with self._pending_commands.lock:
            self._pending_commands.frozen, self._pending_commands.pose = True, None
            sent = self._pending_commands.stops_sent = self.servos.stop_now()
        self._wake.set()
        return sent

    def unfreeze(self) -> None:
        """Allow poses again, planned from newly measured positions."""
        self._set_pending(frozen=False, pose=None)

    def wait_confirmed(self, timeout: float) -> bool:
        """Wait until all servos that answer, missing ones too, confirm a torque command; False after `timeout` [s]."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            state = self.snapshot()
            if state.torque_time >= self._torque_asked and not (state.unconfirmed & ~state.silent).any():
                return True
            time.sleep(0.01)
        return False

    def set_torque(self, on: bool) -> None:
        """Switch torque off for all servos, also those declared missing, or on for all others, which hold their pose.

        The request is dropped if the port is lost before it is executed.
        """
        self._torque_asked = time.monotonic()
        self._set_pending(torque=on, pose=None)

    def set_missing(self, missing: np.ndarray) -> None:
        """Set the joints (n,) bool that are not on the robot: they are neither moved nor read."""
        self._set_pending(missing=np.array(missing, bool))

    def snapshot(self, into: ChainState | None = None) -> ChainState:
        """Return a copy of the state, in `into` if given."""
        with self._lock:
            return self._shown.copy(into)

    def _show(self) -> None:
        """Let other threads see the present state."""
        with self._lock:
            self._state.copy(self._shown)

    def _set_pending(self, **values: object) -> None:
        """Set these pending commands, and wake the bus thread."""
        with self._pending_commands.lock:
            for name, value in values.items():
                setattr(self._pending_commands, name, value)
        self._wake.set()

    # The bus thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self.priority, goes_on = raise_thread_priority(12), True
        while goes_on:
            try:
                goes_on = self._serve() if self._state.connected else self._reopen()
            except BusError as error:
                self._handle_port_loss(error)
            except Exception:  # an error must not end the only thread that can stop the robot
                _log.exception("servo bus thread: unexpected error; the port is opened again")
                self._handle_port_loss(BusError("internal error, see the log"))

    def _release(self) -> None:
        try:
            self.servos.release()
        finally:
            super()._release()

    def _handle_port_loss(self, error: BusError) -> None:
        self._next_reopen = time.monotonic() + self.settings.reopen_interval
        with self._pending_commands.lock:
            self._pending_commands.torque = None  # so that it is not executed later, when the cable is connected again
        self._state.note_port_failure(str(error))
        self._show()

    def _reopen(self) -> bool:
        while not self._stopping and (left := self._next_reopen - time.monotonic()) > 0.0:
            self._wake.wait(left)
        if self._stopping:
            return False
        self.servos.close()  # after an unexpected error it is open
        self.servos.resume()  # a stop from before is sent again below; a board that is not asked would not answer
        self.servos.open()  # raises BusError, and _run waits and tries again
        self._writer.motions.forget()
        self._reader.forget()
        self._load_since, self._load_before = time.monotonic(), self.servos.busy_time
        self._state.open(time.monotonic())
        if self._pending_commands.frozen:
            self._send_stops()
        self._show()
        return True

    def _serve(self) -> bool:
        pending, state = self._pending_commands, self._state
        now = time.monotonic()
        due = max(state.schedule.position(state, now)[1], self._reader.quiet_until)
        if due > now:
            until = min(due, now + 0.02) if state.unconfirmed.any() else due
            while self._idle() and (left := until - time.monotonic()) > 0.0:
                self._wake.wait(left)
        with pending.lock:
            torque, missing, pose, stops_sent = pending.torque, pending.missing, pending.pose, pending.stops_sent
            pending.torque = pending.missing = pending.pose = None
            stop, frozen, pending.stops_sent = self._stopping, pending.frozen, False
            interrupted = self.servos.interrupted
        if missing is not None:  # before anything that the port may refuse
            self._state.set_missing(missing)
            self._show()
        if frozen != state.frozen or interrupted:
            self._apply_frozen(frozen, stops_sent)
        if state.frozen and self._stop_again <= time.monotonic():
            self._stop_again = math.inf
            self._send_stops()
        if torque is not None:
            self._apply_torque(torque)
        if stop:
            return False
        if pose is not None and pose[-1] == state.epoch and state.torque and not state.frozen:
            if self._writer.write(*pose[:-1], state, self._urgent):
                self._state.trusts_targets = True
                state.writes += 1
                state.write_time = self.servos.free_at
        self._measure_line(time.monotonic())
        self._read()
        self._show()
        return True

    def _read(self) -> None:
        """Read one position (more if several joints are suspected), and a load state or slow value if one is due."""
        state, schedule = self._state, self._state.schedule
        for _ in range(4 if schedule.reread.tolist().count(True) > 1 else 1):
            now = time.monotonic()
            index, due = schedule.position(state, now)
            if index < 0 or due > now or self._is_reading_paused():
                break
            self._reader.read_position(index)
            self._show()
        for read in (self._reader.confirm_torque, self._reader.read_slow, self._reader.probe_missing):
            if self._is_reading_paused():
                return
            read(time.monotonic())

    def _is_reading_paused(self) -> bool:
        """Whether reads have to pause now."""
        return self._urgent() or time.monotonic() < self._reader.quiet_until

    def _urgent(self) -> bool:
        """Whether a request is pending that precedes reading and moving."""
        pending = self._pending_commands
        return (
            self._stopping
            or pending.torque is not None
            or pending.frozen != self._state.frozen
            or self.servos.interrupted
        )

    def _send_stops(self) -> None:
        self.servos.stop()
        self._state.write_time = self.servos.free_at

    def _apply_frozen(self, frozen: bool, stops_sent: bool) -> None:
        self.servos.resume()
        if frozen:
            if not stops_sent:
                self._send_stops()
            self._stop_again = time.monotonic() + 0.02  # on a bad line all copies of the first may be lost
        self._writer.motions.forget()
        self._state.set_frozen(frozen, self.servos.free_at)
        self._show()

    def _apply_torque(self, on: bool) -> None:
        # Twice, because writes are not acknowledged; then each servo is read and commanded again until it has obeyed.
        # A servo that is declared missing may still be connected: torque off is sent to it, too.
        addressed = [index for index, missing in enumerate(self._state.missing.tolist()) if not (on and missing)]
        self.servos.switch_torque(addressed, on, copies=2)
        self.servos.drain()
        self._writer.motions.forget()
        self._state.set_torque(on, time.monotonic())
        self._show()

    def _idle(self) -> bool:
        pending = self._pending_commands
        return pending.pose is None and pending.missing is None and not self._urgent()

    def _measure_line(self, now: float) -> None:
        """Count late wakes, and the share of the wire's time in use over about a second."""
        self._state.late_wakes = self.servos.late_wakes
        if now - self._load_since >= 1.0:
            busy = self.servos.busy_time
            self._state.bus_load = (busy - self._load_before) / (now - self._load_since)
            self._load_since, self._load_before = now, busy
