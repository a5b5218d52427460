"""The frames of a whole pose."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_dynamics.drivers.servos.lx import frames as lx_frames
from hexapod_dynamics.drivers.servos.lx import protocol as lx


class PoseFrames:
    """Builds one latched move per chosen servo and the common start."""

    def __init__(self, ids: Sequence[int]) -> None:
        # A first move of each servo as `protocol` writes it: header, id, length and command stay, the rest changes.
        moves = [lx.move_time_wait(servo_id, 0.0, 0.0) for servo_id in ids]
        self._header, self._begins = lx_frames.HEADER, [move[2:5] for move in moves]
        self._start = lx.move_start()

    def build(self, counts: Sequence[int], durations: Sequence[float], chosen: Sequence[bool]) -> bytes:
        """Frames for counts (n,) in 0..1000 over `durations` (n,) [s] for the servos that are `chosen` (n,)."""
        frames: list[bytes] = []
        for begin, count, duration, wanted in zip(self._begins, counts, durations, chosen, strict=True):
            if wanted:
                milliseconds = int(min(duration * 1000.0 + 0.5, 30000.0))
                body = begin + bytes((count & 0xFF, count >> 8, milliseconds & 0xFF, milliseconds >> 8))
                frames += (self._header, body, bytes((lx_frames.checksum(body),)))
        frames.append(self._start)
        return b"".join(frames)
