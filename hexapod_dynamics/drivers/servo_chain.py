"""The bus thread: the one owner of a servo bus that writes whole poses, reads round robin, and heals.

Other threads say what they want (`set_targets`, `set_torque`) and look at a copy of what is known (`snapshot`).
Writes go before reads; of several poses only the latest is sent; a servo whose count has not changed is left alone
(and refreshed now and then, because writes are never acknowledged).
"""

import logging
import threading
import time
from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.drivers import lx_protocol as lx
from hexapod_dynamics.drivers.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.joint_reader import JointReader
from hexapod_dynamics.drivers.pose_writer import PoseWriter
from hexapod_dynamics.drivers.servo_bus import BusError, ServoBus
from hexapod_dynamics.drivers.servo_map import PoseFrames, ServoMap

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
    """All servos of a robot on one bus, served by one thread. frames: another way to write a pose."""

    def __init__(self, bus: ServoBus, servo_map: ServoMap, settings: ChainSettings | None = None,
                 frames: PoseFrames | None = None):
        n = len(servo_map)
        self.bus, self.map, self.settings = bus, servo_map, settings or ChainSettings()
        self._state = ChainState.empty(n)
        self._lock = threading.Lock()               # guards _state
        self._wishes = _Wishes()
        self._writer = PoseWriter(bus, servo_map, self.settings, frames)
        self._reader = JointReader(bus, servo_map, self.settings, self._state, self._lock, self._writer, self._idle)
        self._next_reopen = 0.0
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
        """Let all servos go, or hold them where they are; dropped where the port is lost before it is done."""
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
        with self._wishes.condition:
            self._wishes.torque = None          # who asked is not to be surprised when the cable is put back
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
        self._writer.forget()
        self._reader.forget()
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
        index, due = self._reader.schedule.position(self._state, now)
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
        if counts is not None and self._state.torque and self._writer.write(counts, duration, self._state):
            with self._lock:
                self._state.writes += 1
                self._state.write_time = self.bus.wire_free
        now = time.monotonic()
        self._measure_load(now)
        if index < 0 or self._state.gone[index]:
            return True
        if due <= now:
            self._reader.read_position(index)
        self._reader.read_slow(now)
        return True

    def _apply_gone(self, gone: np.ndarray) -> None:
        back = self._state.gone & ~gone
        with self._lock:
            self._state.gone[:] = gone
            self._state.angle[back] = np.nan
            self._state.silent[back | gone] = False
        self._reader.expect(gone, back)

    def _apply_torque(self, on: bool) -> None:
        # Twice, because a write is never acknowledged and one lost frame would leave one leg limp or stiff.
        frames = b''.join(lx.load_write(i, on) for i, gone in zip(self.map.ids, self._state.gone, strict=True)
                          if not gone)
        self.bus.send(frames + frames)
        self.bus.drain()
        self._writer.forget()
        self._reader.meet_again()
        with self._lock:
            self._state.torque = on
            self._state.loaded[:] = np.nan
            self._state.angle[:] = np.nan

    def _idle(self) -> bool:
        wishes = self._wishes
        return wishes.counts is None and wishes.torque is None and not wishes.stop

    def _measure_load(self, now: float) -> None:
        """Share of the wire's time in use, over about a second."""
        elapsed = now - self._load_since
        if elapsed < 1.0:
            return
        total = self.bus.bytes_sent + self.bus.bytes_received
        with self._lock:
            self._state.bus_load = (total - self._load_bytes) * self.bus.byte_time / elapsed
        self._load_since, self._load_bytes = now, total
