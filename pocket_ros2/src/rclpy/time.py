"""A point in time on one of the clocks."""

from __future__ import annotations

from typing import Any

from .clock_type import ClockType
from .constants import S_TO_NS
from .duration import Duration

CONVERSION_CONSTANT = S_TO_NS


class Time:
    """A point in time, nanoseconds since the clock's epoch."""

    __slots__ = ("_nanoseconds", "_clock_type")

    def __init__(
        self, *, seconds: float = 0, nanoseconds: int = 0, clock_type: ClockType = ClockType.SYSTEM_TIME
    ) -> None:
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        if seconds < 0:
            raise ValueError("Seconds value must not be negative")
        if nanoseconds < 0:
            raise ValueError("Nanoseconds value must not be negative")
        total = int(seconds * S_TO_NS) + int(nanoseconds)
        if total >= 2**63:
            raise OverflowError("Total nanoseconds value is too large to store in C time point.")
        self._nanoseconds, self._clock_type = total, clock_type

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since the epoch."""
        return self._nanoseconds

    @property
    def clock_type(self) -> ClockType:
        """The clock this time was read from."""
        return self._clock_type

    def seconds_nanoseconds(self) -> tuple[int, int]:
        """Return whole seconds and the nanoseconds that remain."""
        return divmod(self._nanoseconds, S_TO_NS)

    def __repr__(self) -> str:
        return f"Time(nanoseconds={self.nanoseconds}, clock_type={self.clock_type.name})"

    def __add__(self, other: Any) -> Time:
        if not isinstance(other, Duration):
            return NotImplemented
        total = self.nanoseconds + other.nanoseconds
        if not 0 <= total < 2**63:
            raise (OverflowError if total > 0 else ValueError)("Addition leads to a time that cannot be stored")
        return Time(nanoseconds=total, clock_type=self.clock_type)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Time | Duration:
        if isinstance(other, Time):
            if self.clock_type != other.clock_type:
                raise TypeError("Can't subtract times with different clock types")
            return Duration(nanoseconds=self.nanoseconds - other.nanoseconds)
        if isinstance(other, Duration):
            total = self.nanoseconds - other.nanoseconds
            if total < 0:
                raise ValueError("Subtraction leads to negative time.")
            return Time(nanoseconds=total, clock_type=self.clock_type)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as in Humble

    def __eq__(self, other: Any) -> bool:
        # As in Humble, NotImplemented is not returned: `Time(nanoseconds=5) == 5` would be False, a bug hard to find.
        value = self._other(other)
        if value is None:
            raise TypeError("Can't compare time with object of type: ", type(other))
        return self._nanoseconds == value

    def _other(self, other: Any) -> int | None:
        if not isinstance(other, Time):
            return None
        if self.clock_type != other.clock_type:
            raise TypeError("Can't compare times with different clock types")
        return other._nanoseconds

    def __lt__(self, other: Any) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds < value

    def __le__(self, other: Any) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds <= value

    def __gt__(self, other: Any) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds > value

    def __ge__(self, other: Any) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds >= value

    def to_msg(self) -> Any:
        """Return a builtin_interfaces/Time."""
        from builtin_interfaces.msg import Time as TimeMsg

        seconds, nanoseconds = divmod(self._nanoseconds, S_TO_NS)
        return TimeMsg(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any, clock_type: ClockType = ClockType.ROS_TIME) -> Time:
        """Make one from a builtin_interfaces/Time."""
        from builtin_interfaces.msg import Time as TimeMsg

        if not isinstance(msg, TimeMsg):
            raise TypeError("Must pass a builtin_interfaces.msg.Time object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec, clock_type=clock_type)
