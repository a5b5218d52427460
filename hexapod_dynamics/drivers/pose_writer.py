"""Puts poses on the servo bus: a latched move for every servo whose target has changed, then one start for all."""

import time

import numpy as np

from hexapod_dynamics.drivers.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.servo_bus import ServoBus
from hexapod_dynamics.drivers.servo_map import PoseFrames, ServoMap


class PoseWriter:
    """Remembers what each servo was told last. sent: (n,) counts, -1 where that is not known."""

    def __init__(self, bus: ServoBus, servo_map: ServoMap, settings: ChainSettings, frames: PoseFrames | None = None):
        n = len(servo_map)
        self.sent = np.full(n, -1, np.int64)
        self._bus, self._settings = bus, settings
        self._frames = frames or PoseFrames(servo_map)
        self._time = np.full(n, -np.inf)

    def forget(self, joints=slice(None)) -> None:
        """Send these joints' next target (index or mask, default all) whatever it is."""
        self.sent[joints] = -1

    def write(self, counts: np.ndarray, duration: float, state: ChainState) -> bool:
        """Send counts (n,), -1 = leave alone, to be reached in `duration` [s]; False when nothing had to be sent.

        A servo whose count has not changed is left alone, and refreshed now and then, because writes are never
        acknowledged. Waits first until what was sent before is out.
        """
        backlog = self._bus.wire_free - time.monotonic()
        if backlog > 0.001:
            time.sleep(backlog)
        now, settings = time.monotonic(), self._settings
        age, changes = now - self._time, np.abs(counts - self.sent)
        # When reads starve, small changes may wait a cycle or two: each one's 0.9 ms of wire buys half a read.
        oldest = now - np.min(state.stamp, initial=now, where=state.known)
        small = next((change for limit, change in settings.starving if oldest > limit), 0)
        least = np.where(age < settings.defer_interval, small, 0)
        chosen = ((changes > least) | (age > settings.refresh_interval)) & ~state.gone & (counts >= 0)
        if not chosen.any():
            return False
        self._bus.send(self._frames.build(counts, duration, chosen))
        self.sent[chosen] = counts[chosen]
        self._time[chosen] = now
        return True
