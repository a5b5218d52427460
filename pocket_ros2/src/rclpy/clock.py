"""Clocks: system, steady, and ROS time, which `/clock` can override."""

from __future__ import annotations

import threading
import time as _time
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from .clock_type import ClockType as ClockType
from .duration import Duration
from .exceptions import NotInitializedException
from .time import Time

_LOOK = 0.2  # s between looks at the context while sleeping


class ClockChange(IntEnum):
    """How a clock's source changed in a jump."""

    ROS_TIME_NO_CHANGE = 1
    ROS_TIME_ACTIVATED = 2
    ROS_TIME_DEACTIVATED = 3
    SYSTEM_TIME_NO_CHANGE = 4


class JumpThreshold:
    """When a jump callback is called: for jumps this far forward (> 0), backward (< 0), or any change of source."""

    def __init__(
        self, *, min_forward: Duration | None, min_backward: Duration | None, on_clock_change: bool = True
    ) -> None:
        if min_forward is not None and min_forward.nanoseconds <= 0:
            raise ValueError("min_forward must be a positive non-zero duration")
        if min_backward is not None and min_backward.nanoseconds >= 0:
            raise ValueError("min_backward must be a negative non-zero duration")
        if min_forward is None and min_backward is None and not on_clock_change:
            raise ValueError("At least one jump threshold must be given")
        self.min_forward, self.min_backward, self.on_clock_change = min_forward, min_backward, on_clock_change


class TimeJump:
    """A jump of a clock."""

    def __init__(self, clock_change: ClockChange, delta: Duration) -> None:
        if not isinstance(clock_change, ClockChange):
            raise TypeError("clock_change must be an instance of rclpy.clock.ClockChange")
        self._clock_change, self._delta = clock_change, delta

    @property
    def clock_change(self) -> ClockChange:
        """How the source changed."""
        return self._clock_change

    @property
    def delta(self) -> Duration:
        """How far time jumped."""
        return self._delta


class JumpHandle:
    """Holds a jump callback until `unregister()`."""

    def __init__(
        self,
        *,
        clock: Clock,
        threshold: JumpThreshold,
        pre_callback: Callable[[], Any] | None,
        post_callback: Callable[[TimeJump], Any] | None,
    ) -> None:
        if pre_callback is None and post_callback is None:
            raise ValueError("One of pre_callback or post_callback must be callable")
        for name, callback in (("pre_callback", pre_callback), ("post_callback", post_callback)):
            if callback is not None and not callable(callback):
                raise ValueError(f"{name} must be callable if given")
        self._clock, self._threshold = clock, threshold
        self._pre_callback, self._post_callback = pre_callback, post_callback
        clock._jump_handles.append(self)

    def _wants(self, jump: TimeJump) -> bool:
        threshold = self._threshold
        if jump.clock_change in (ClockChange.ROS_TIME_ACTIVATED, ClockChange.ROS_TIME_DEACTIVATED):
            return threshold.on_clock_change
        delta = jump.delta.nanoseconds
        forward, backward = threshold.min_forward, threshold.min_backward
        return (forward is not None and delta >= forward.nanoseconds) or (
            backward is not None and delta <= backward.nanoseconds
        )

    def unregister(self) -> None:
        """Take the callback off the clock."""
        if self._clock is not None:
            self._clock._jump_handles.remove(self)
            self._clock = None

    def __enter__(self) -> JumpHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.unregister()


class Clock:
    """A clock of a given type; ROS_TIME makes a ROSClock."""

    def __new__(cls, *, clock_type: ClockType = ClockType.SYSTEM_TIME) -> Clock:  # noqa: D102
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        made = object.__new__(ROSClock if clock_type is ClockType.ROS_TIME else cls)
        made._clock_type = clock_type
        made._override, made._override_ns = False, 0
        made._jump_handles = []
        made._read = _time.monotonic_ns if clock_type is ClockType.STEADY_TIME else _time.time_ns
        return made

    @property
    def clock_type(self) -> ClockType:
        """The type of this clock."""
        return self._clock_type

    def __repr__(self) -> str:
        return f"Clock(clock_type={self.clock_type.name})"

    def now(self) -> Time:
        """Return the time on this clock."""
        return Time(nanoseconds=self._read(), clock_type=self._clock_type)

    def create_jump_callback(
        self,
        threshold: JumpThreshold,
        *,
        pre_callback: Callable[[], Any] | None = None,
        post_callback: Callable[[TimeJump], Any] | None = None,
    ) -> JumpHandle:
        """Have callbacks called before and after jumps of this clock."""
        return JumpHandle(clock=self, threshold=threshold, pre_callback=pre_callback, post_callback=post_callback)

    def sleep_until(self, until: Time, context: Any = None) -> bool:
        """Sleep until a time on this clock; False when shut down, or when ROS time was switched on or off meanwhile."""
        from .utilities import get_default_context

        context = get_default_context() if context is None else context
        if not context.ok():
            raise NotInitializedException()
        if until.clock_type != self._clock_type:
            raise ValueError("until's clock type does not match this clock's type")
        event = threading.Event()
        changed = []

        def jumped(jump: TimeJump) -> None:
            if jump.clock_change in (ClockChange.ROS_TIME_ACTIVATED, ClockChange.ROS_TIME_DEACTIVATED):
                changed.append(True)
            event.set()

        threshold = JumpThreshold(
            min_forward=Duration(nanoseconds=1), min_backward=Duration(nanoseconds=-1), on_clock_change=True
        )
        context.on_shutdown(event.set)
        with self.create_jump_callback(threshold, post_callback=jumped):
            while context.ok() and not changed:
                remaining = until.nanoseconds - self._read()
                if remaining <= 0:
                    return True
                event.clear()
                if context.ok():
                    # A signal ends the context without calling back, so look now and then.
                    event.wait(_LOOK if self._jumps_only() else min(_LOOK, remaining / 1e9))
        return False

    def _jumps_only(self) -> bool:
        return False

    def sleep_for(self, rel_time: Duration, context: Any = None) -> bool:
        """Sleep for a duration on this clock; see `sleep_until`."""
        return self.sleep_until(self.now() + rel_time, context)


class ROSClock(Clock):
    """The system's time, or what `/clock` says while use_sim_time is true."""

    def __new__(cls, *, clock_type: ClockType = ClockType.ROS_TIME) -> ROSClock:  # noqa: D102
        return super().__new__(cls, clock_type=ClockType.ROS_TIME)

    def _jumps_only(self) -> bool:
        return self._override

    @property
    def ros_time_is_active(self) -> bool:
        """Whether `/clock` overrides the system's time."""
        return self._override

    def _simulated(self) -> int:
        return self._override_ns

    def _jump(self, change: ClockChange, apply: Callable[[], None], delta: int) -> None:
        jump = TimeJump(change, Duration(nanoseconds=delta))
        handles = [handle for handle in tuple(self._jump_handles) if handle._wants(jump)]
        for handle in handles:
            if handle._pre_callback is not None:
                handle._pre_callback()
        apply()
        for handle in handles:
            if handle._post_callback is not None:
                handle._post_callback(jump)

    def _set_ros_time_is_active(self, enabled: bool) -> None:
        if enabled == self.ros_time_is_active:
            return
        delta = (self._override_ns - _time.time_ns()) * (1 if enabled else -1)

        def apply() -> None:
            self._override = enabled
            self._read = self._simulated if enabled else _time.time_ns

        self._jump(ClockChange.ROS_TIME_ACTIVATED if enabled else ClockChange.ROS_TIME_DEACTIVATED, apply, delta)

    def set_ros_time_override(self, time: Time) -> None:
        """Set the time that this clock shows while ROS time is active."""
        if not isinstance(time, Time):
            raise TypeError(f"Time must be specified as rclpy.time.Time. Received type: {type(time)}")

        def apply() -> None:
            self._override_ns = time.nanoseconds

        if self.ros_time_is_active:
            self._jump(ClockChange.ROS_TIME_NO_CHANGE, apply, time.nanoseconds - self._override_ns)
        else:
            apply()
