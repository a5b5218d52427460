"""Finds frames in a stream of bytes that may contain other bytes before, between and inside the frames; what a frame
answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

Key = tuple[int, int]  # of an answer: the servo's id and the command, or where answers name none, the size of its data


class Answer(NamedTuple):
    """A frame that may be an answer: its data; when its last byte was received, monotonic [s]; the servo's error byte,
    or the board's for it (0: the servo has replied to the board, else there is no data); `alone`: whether no bytes were
    received behind it.
    """

    key: Key
    data: bytes
    came: float = 0.0
    code: int = 0
    alone: bool = True


class FrameFinder(ABC):
    """A subclass defines what a frame is; where the bytes behind a header are no frame, the search continues `step`
    bytes further, so that a frame behind a false header is found.

    header: the first bytes of each frame. shortest: number of bytes from which the size of a frame follows. damaged:
    number of frames with a wrong checksum. broken: the last of these since `reset`, empty: none. skipped: number of
    bytes that belong to no frame.
    """

    header: bytes
    shortest: int
    step = 1

    def __init__(self) -> None:
        self.damaged = self.skipped = 0
        self.broken = self._echo = b""
        self._held = bytearray()

    @abstractmethod
    def size(self, held: bytearray) -> int:
        """Size of the frame that begins with these bytes; 0 if they are no frame."""

    @abstractmethod
    def is_intact(self, frame: bytes) -> bool:
        """Whether the checksum of a complete frame is right."""

    @property
    def incomplete(self) -> int:
        """Number of bytes of the beginning of a frame that have come."""
        return len(self._held)

    def reset(self, echo: bytes = b"") -> None:
        """Discard the beginning of a frame, after a pause on the line; `echo` is passed over if it comes first."""
        self._skip(len(self._held))
        self.broken, self._echo = b"", echo

    def find(self, chunk: bytes) -> list[tuple[bytes, int]]:
        """Take the next bytes; return the frames that are complete now, each with the number of bytes behind it."""
        held = self._held
        held += chunk
        if self._echo:
            if len(held) < len(self._echo) and self._echo.startswith(held):
                return []
            if held.startswith(self._echo):
                del held[: len(self._echo)]
            self._echo = b""
        found: list[tuple[bytes, int]] = []
        while True:
            begin = held.find(self.header)
            if begin < 0:
                partial = range(min(len(self.header) - 1, len(held)), 0, -1)
                self._skip(len(held) - next((k for k in partial if held.endswith(self.header[:k])), 0))
                return found
            self._skip(begin)
            if len(held) < self.shortest:
                return found
            size = self.size(held)
            if not size:
                self._skip(self.step)
            elif len(held) < size:
                return found
            elif not self.is_intact(frame := bytes(held[:size])):
                self.damaged, self.broken = self.damaged + 1, frame
                self._skip(self.step)
            else:
                found.append((frame, len(held) - size))
                del held[:size]

    def _skip(self, count: int) -> None:
        self.skipped += count
        del self._held[:count]
