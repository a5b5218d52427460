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
from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.servos.interface import BusError, ServoInterface
from hexapod_dynamics.drivers.servos.joint_reader import JointReader
from hexapod_dynamics.drivers.servos.pose_writer import PoseWriter
from hexapod_dynamics.drivers.servos.servo_map import ServoMap
from hexapod_dynamics.drivers.thread_priority import prefer_this_thread

_log = logging.getLogger(__name__)
PRIORITY = 12  # real-time priority of the bus thread, where permitted
_OVERDUE = 0.05  # [s] after the end of its wait at which a bus thread that still waits is woken
_STOP_AGAIN = 0.02  # [s] after which a stop is sent again: on a bad line all copies of the first may be lost


@dataclass
class _Wishes:
    targets: np.ndarray | None = None  # [rad] from the servos' centres
    duration: float = 0.0
    speed: np.ndarray | None = None  # [rad/s]
    epoch: int = -1
    torque: bool | None = None
    frozen: bool = False
    gone: np.ndarray | None = None
    stops_sent: bool = False  # `freeze` has sent the stops itself
    stop: bool = False
    condition: threading.Condition = field(default_factory=threading.Condition)


class ServoChain:
    """All servos of a robot on one bus, served by one thread; servo_map names the joints of `servos.ids`."""

    def __init__(
        self,
        servos: ServoInterface,
        servo_map: ServoMap,
        settings: ChainSettings | None = None,
    ) -> None:
        n = len(servo_map)
        self.servos, self.map, self.settings = servos, servo_map, settings or ChainSettings()
        self._state = ChainState.empty(n)
        self._lock = threading.Lock()  # guards _state
        self._wishes = _Wishes()
        self._writer = PoseWriter(servos, self.settings)
        self._reader = JointReader(servos, servo_map, self.settings, self._state, self._lock, self._writer, self._idle)
        self.priority = ""  # priority of the bus thread that the kernel has permitted
        self._next_reopen = 0.0
        self._torque_asked = 0.0  # monotonic [s] of the last request to switch torque
        self._stop_again = math.inf  # monotonic [s] at which the stops are sent once more
        self._waits_until = math.inf  # monotonic [s] at which the bus thread ends a wait for work
        self._stopped = threading.Event()  # the last requested freeze has been sent
        self._load_since, self._load_before = 0.0, 0.0
        self._thread = threading.Thread(target=self._run, name="servo_bus", daemon=True)

    # What other threads call -----------------------------------------------------------------------------------------

    def restore(self, *, torque: bool, frozen: bool) -> None:
        """Start with torque off or frozen, as requested before a restart of the process; call it before `start`."""
        with self._lock:
            self._state.torque, self._state.frozen = torque, frozen
        self._wishes.frozen = frozen

    def start(self) -> None:
        """Start the bus thread; it opens the port and keeps trying."""
        self._thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """End the bus thread, which closes the port; the servos hold their last targets.

        A thread that has not ended after `timeout` [s] still uses the port: it closes it when it ends.
        """
        with self._wishes.condition:
            self._wishes.stop = True
            self._wishes.condition.notify()
        if self._thread.ident is None:  # never started
            self.servos.release()
            return
        self._thread.join(timeout)
        if self._thread.is_alive():
            _log.error(
                "the servo bus thread has not ended after %.1f s: the port %s stays open", timeout, self.servos.port
            )

    def set_targets(self, angles: np.ndarray, duration: float, epoch: int, speed: np.ndarray | None = None) -> None:
        """Move to joint angles (n,) [rad] in `duration` [s]; replaces a pose that has not been sent yet.

        NaN: the joint gets no new target.

        epoch: `ChainState.epoch` of the state the pose was planned from; a pose planned before the port was opened
        again is dropped, because the servos may have moved. speed (n,) [rad/s]: if the pose is sent late, its duration
        is extended so that no joint exceeds this speed.
        """
        finite = np.where(np.isfinite(angles), angles, np.nan)
        targets = self.servos.quantise(self.map.servo_angles(finite))
        wishes = self._wishes
        with wishes.condition:
            wishes.targets, wishes.duration, wishes.epoch, wishes.speed = targets, duration, epoch, speed
            wishes.condition.notify()

    def freeze(self, timeout: float = 0.02) -> bool:
        """Stop all motion now and send no pose until `unfreeze`; return whether this was sent within `timeout` [s].

        The calling thread sends the stops: another thread would have to wake up first, which takes some
        milliseconds on a busy machine. Queued poses are dropped, and a wait for an answer ends. If the port is
        closed, the bus thread sends the stops as soon as it is open.
        """
        self._stopped.clear()
        with self._wishes.condition:
            self._wishes.frozen, self._wishes.targets = True, None
            sent = self._wishes.stops_sent = self.servos.stop_now()
            self._wishes.condition.notify()
        return sent or self._stopped.wait(timeout)

    def unfreeze(self) -> None:
        """Allow poses again, planned from newly measured positions."""
        with self._wishes.condition:
            self._wishes.frozen, self._wishes.targets = False, None
            self._wishes.condition.notify()

    def wait_confirmed(self, timeout: float) -> bool:
        """Wait until every servo that answers, even if it is declared missing, has confirmed the last torque
        command; return False after `timeout` [s].
        """
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with self._lock:
                state = self._state
                told = state.torque_time >= self._torque_asked
                if told and not (state.unconfirmed & ~state.silent).any():
                    return True
            time.sleep(0.01)
        return False

    def set_torque(self, on: bool) -> None:
        """Switch torque off for all servos, including those declared missing, or on at the present positions for
        the others.

        The request is dropped if the port is lost before it is executed.
        """
        with self._wishes.condition:
            self._torque_asked = time.monotonic()
            self._wishes.torque, self._wishes.targets = on, None
            self._wishes.condition.notify()

    def set_gone(self, gone: np.ndarray) -> None:
        """Set the joints (n,) bool that are not on the robot: they are neither moved nor read."""
        with self._wishes.condition:
            self._wishes.gone = np.array(gone, bool)
            self._wishes.condition.notify()

    def snapshot(self, into: ChainState | None = None) -> ChainState:
        """Return a copy of the state, in `into` if given."""
        self._wake_overdue()
        state = into or ChainState.empty(len(self.map))
        with self._lock:
            state.copy_from(self._state)
        return state

    def _wake_overdue(self) -> None:
        """Wake a bus thread that waits too long: below Python 3.11 a wait ends at a time of the system clock; if
        that clock is set back meanwhile, no servo would be read until the next command.
        """
        if time.monotonic() > self._waits_until + _OVERDUE:
            with self._wishes.condition:
                self._wishes.condition.notify()

    # The bus thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._serve_until_stopped()
        finally:
            self.servos.release()

    def _serve_until_stopped(self) -> None:
        self.priority = prefer_this_thread(PRIORITY)
        while True:
            try:
                if not self.servos.is_open:
                    if not self._reopen():
                        return
                elif not self._serve():
                    return
            except BusError as error:
                self._lost(error)
            except Exception:  # an error must not end the only thread that can stop the robot
                _log.exception("servo bus thread: unexpected error; the port is opened again")
                self.servos.close()
                self._lost(BusError("internal error, see the log"))

    def _lost(self, error: BusError) -> None:
        self._next_reopen = time.monotonic() + self.settings.reopen_interval
        with self._wishes.condition:
            self._wishes.torque = None  # so that it is not executed later, when the cable is connected again
        with self._lock:
            state = self._state
            state.connected, state.last_port_error = False, str(error)
            state.port_errors += 1

    def _reopen(self) -> bool:
        wishes = self._wishes
        with wishes.condition:
            self._waits_until = self._next_reopen
            wishes.condition.wait_for(lambda: wishes.stop, max(0.0, self._next_reopen - time.monotonic()))
            self._waits_until = math.inf
            if wishes.stop:
                return False
        self.servos.open()  # raises BusError, and _run waits and tries again
        self._writer.forget()
        self._reader.forget()
        self._load_since, self._load_before = time.monotonic(), self.servos.busy_time
        with self._lock:
            state = self._state
            state.connected, state.epoch, state.heard = True, state.epoch + 1, time.monotonic()
            state.opened, state.unanswered = state.opened + 1, 0
            state.angle[:] = state.stamp[:] = np.nan
            state.reports = ()
            state.silent[:] = state.moving[:] = False
            # Servos that must be without torque are read, and switched off if needed; opening the port switches no
            # torque on.
            state.unconfirmed[:] = not state.torque
            state.loaded[:] = np.nan
        if wishes.frozen:
            self._send_stops()
        return True

    def _serve(self) -> bool:
        wishes, state = self._wishes, self._state
        now = time.monotonic()
        index, due = self._reader.schedule.position(state, now)
        due = max(due, self._reader.quiet_until)
        with wishes.condition:
            if due > now and not (self._urgent() or wishes.targets is not None or wishes.gone is not None):
                self._waits_until = min(due, now + 0.02) if state.unconfirmed.any() else due
                wishes.condition.wait(self._waits_until - now)
                self._waits_until = math.inf
            stop, torque, gone, wishes.torque, wishes.gone = wishes.stop, wishes.torque, wishes.gone, None, None
            targets, duration, speed, wishes.targets = wishes.targets, wishes.duration, wishes.speed, None
            before, frozen, interrupted = state.frozen, wishes.frozen, self.servos.interrupted
            stops_sent, wishes.stops_sent = wishes.stops_sent, False
            if wishes.epoch != state.epoch:
                targets = None
        if frozen != state.frozen or interrupted:
            self._apply_frozen(frozen, stops_sent)
        if state.frozen and self._stop_again <= time.monotonic():
            self._stop_again = math.inf
            self._send_stops()
        if gone is not None:
            self._apply_gone(gone)
        if torque is not None:
            self._apply_torque(torque)
        if stop:
            return False
        if targets is not None and state.torque and not state.frozen:
            if self._writer.write(targets, duration, state, self._urgent, speed):
                self._reader.trust_targets()
                with self._lock:
                    state.writes += 1
                    state.write_time = self.servos.output_end
        self._measure_load(time.monotonic())
        changed = due > now or gone is not None or torque is not None or frozen != before or interrupted
        self._read(-1 if changed else index)
        state.late_wakes = self.servos.late_wakes
        return True

    def _read(self, index: int) -> None:
        """Read one position (more if several joints are in doubt), and a load state or slow value if one is due.

        index: of the joint whose turn it is; -1: not determined yet.
        """
        state, schedule = self._state, self._reader.schedule
        at_once = self.settings.doubtful_at_once if schedule.in_doubt > 1 else 1
        for _ in range(at_once):
            if index < 0:
                now = time.monotonic()
                index, due = schedule.position(state, now)
                if index < 0 or due > now:
                    break
            if self._held():
                break
            self._reader.read_position(index)
            index = -1
        if self._held():
            return
        if True in state.unconfirmed.tolist():
            self._reader.confirm_torque(time.monotonic())
        if not self._held():
            self._reader.read_slow(time.monotonic())
        if not self._held():
            self._reader.probe_gone(time.monotonic())

    def _held(self) -> bool:
        """Whether reads have to pause now."""
        quiet_until = self._reader.quiet_until
        return self._urgent() or (quiet_until > 0.0 and time.monotonic() < quiet_until)

    def _urgent(self) -> bool:
        """Whether a request is pending that precedes reading and moving."""
        wishes = self._wishes
        return (
            wishes.stop or wishes.torque is not None or wishes.frozen != self._state.frozen or self.servos.interrupted
        )

    def _send_stops(self) -> None:
        self.servos.stop_all()
        with self._lock:
            self._state.write_time = self.servos.output_end

    def _apply_frozen(self, frozen: bool, stops_sent: bool) -> None:
        state = self._state
        self.servos.resume()
        if frozen:
            if not stops_sent:
                self.servos.discard_output()
                self._send_stops()
            self._stop_again = time.monotonic() + _STOP_AGAIN
        self._writer.forget()
        with self._lock:
            state.epoch += 1
            state.frozen = frozen
            state.write_time = self.servos.output_end
            if not frozen:
                state.moving[:] = False
                state.angle[:] = np.nan  # no joint moves before every joint has been measured again
        self._reader.meet_again(trust_targets=False)
        if frozen:
            self._stopped.set()

    def _apply_gone(self, gone: np.ndarray) -> None:
        back = self._state.gone & ~gone
        with self._lock:
            self._state.gone[:] = gone
            self._state.hanging[~gone] = False
            if not self._state.torque:
                self._state.unconfirmed[back] = True  # servos that come back are read, and switched off if needed
            self._state.angle[back] = np.nan
            self._state.silent[back | gone] = False
            self._state.back[back | ~gone] = 0
        self._reader.expect(gone, back)

    def _apply_torque(self, on: bool) -> None:
        # Twice, because writes are not acknowledged; then each servo is read and commanded again until it has obeyed.
        # A servo that is declared missing may still be connected: torque off is sent to it, too.
        addressed = [index for index, gone in enumerate(self._state.gone.tolist()) if not (on and gone)]
        self.servos.switch_torque(addressed, on, copies=2)
        self.servos.drain()
        self._writer.forget()
        self._reader.meet_again()
        with self._lock:
            state = self._state
            state.torque, state.torque_time = on, time.monotonic()
            state.epoch += 1
            state.unconfirmed[:] = ~state.gone if on else True
            state.left_off[:] = state.left_off & state.gone if on else state.left_off | state.gone
            state.loaded[:] = np.nan
            state.angle[:] = np.nan

    def _idle(self) -> bool:
        wishes = self._wishes
        return wishes.targets is None and wishes.gone is None and not self._urgent()

    def _measure_load(self, now: float) -> None:
        """Share of the wire's time in use, over about a second."""
        elapsed = now - self._load_since
        if elapsed < 1.0:
            return
        busy = self.servos.busy_time
        with self._lock:
            self._state.bus_load = (busy - self._load_before) / elapsed
        self._load_since, self._load_before = now, busy
