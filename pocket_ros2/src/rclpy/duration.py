"""A span of time in nanoseconds."""

from __future__ import annotations

from typing import Any

from .constants import S_TO_NS


class Duration:
    """A period between two time points, with nanosecond precision."""

    __slots__ = ("_nanoseconds",)

    def __init__(self, *, seconds: float = 0, nanoseconds: int = 0) -> None:
        total = int(seconds * S_TO_NS) + int(nanoseconds)
        if not -(2**63) <= total < 2**63:
            raise OverflowError("Total nanoseconds value is too large to store in C duration.")
        self._nanoseconds = total

    @property
    def nanoseconds(self) -> int:
        """The whole duration in nanoseconds."""
        return self._nanoseconds

    def __repr__(self) -> str:
        return f"Duration(nanoseconds={self.nanoseconds})"

    def __str__(self) -> str:
        if self == Infinite:
            return "Infinite"
        return f"{self.nanoseconds} nanoseconds"

    def __hash__(self) -> int:
        return hash(self._nanoseconds)

    @staticmethod
    def _other(other: Any) -> int:
        if not isinstance(other, Duration):
            raise TypeError("Can't compare duration with object of type: ", type(other))
        return other._nanoseconds

    def __eq__(self, other: Any) -> bool:
        return self._nanoseconds == self._other(other)

    def __lt__(self, other: Any) -> bool:
        return self._nanoseconds < self._other(other)

    def __le__(self, other: Any) -> bool:
        return self._nanoseconds <= self._other(other)

    def __gt__(self, other: Any) -> bool:
        return self._nanoseconds > self._other(other)

    def __ge__(self, other: Any) -> bool:
        return self._nanoseconds >= self._other(other)

    def to_msg(self) -> Any:
        """Return a builtin_interfaces/Duration."""
        from builtin_interfaces.msg import Duration as DurationMsg

        seconds, nanoseconds = divmod(self.nanoseconds, S_TO_NS)
        return DurationMsg(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any) -> Duration:
        """Make one from a builtin_interfaces/Duration."""
        from builtin_interfaces.msg import Duration as DurationMsg

        if not isinstance(msg, DurationMsg):
            raise TypeError("Must pass a builtin_interfaces.msg.Duration object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec)


Infinite = Duration(nanoseconds=2**63 - 1)
