"""Timers and rates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .callback_groups import CallbackGroup
from .clock import Clock, JumpThreshold, TimeJump
from .duration import Duration
from .exceptions import InvalidHandle, RCLError, ROSInterruptException

_ANY_JUMP = JumpThreshold(min_forward=Duration(nanoseconds=1), min_backward=Duration(nanoseconds=-1))


class Timer:
    """Calls back once a period, at start + n * period: a late call does not delay those after it.

    Where `/clock` does not override it, the machine's steady clock is used, so that setting the system's clock
    neither stops a timer nor makes it race.
    """

    def __init__(
        self,
        callback: Callable[[], Any] | None,
        callback_group: CallbackGroup | None,
        timer_period_ns: int,
        clock: Clock,
        *,
        context: Any = None,
    ) -> None:
        if timer_period_ns < 0:
            raise RCLError(f"failed to create timer: timer period must be non-negative, got {timer_period_ns} ns")
        self._context, self._clock = context, clock
        self.callback, self.callback_group = callback, callback_group
        self._period = int(timer_period_ns)
        self._canceled = self._destroyed = False
        self._wake: Callable[[], None] = lambda: None
        self._simulated = self._is_simulated()
        self._last = self._now()
        self._next = self._last + self._period
        self._jump = clock.create_jump_callback(_ANY_JUMP, post_callback=self._jumped)

    def _is_simulated(self) -> bool:
        return getattr(self._clock, "ros_time_is_active", False)

    def _now(self) -> int:
        return self._clock._read() if self._simulated else time.monotonic_ns()

    def _jumped(self, jump: TimeJump) -> None:
        """Go on where we were when time comes from another source; start a new period when it went back."""
        if self._simulated != self._is_simulated():
            left = min(max(0, self._next - self._now()), self._period)
            self._simulated = not self._simulated
            self._last = self._now()
            self._next = self._last + left
        elif jump.delta.nanoseconds < 0 and self._simulated:
            self._last = self._now()
            self._next = self._last + self._period
        self._wake()

    def _nanoseconds_left(self) -> int | None:
        """Return the time until the call is due (None: never by itself, steps of `/clock` bring it)."""
        if self._canceled:
            return None
        left = self._next - self._now()
        return None if self._simulated and left > 0 else left

    def _take_job(self) -> tuple[Callable[..., Any], tuple] | None:
        now = self._now()
        if self._canceled or now < self._next or self.callback is None:
            return None
        self._called(now)
        return self.callback, ()

    def _called(self, now: int) -> None:
        self._last = now
        self._next += self._period
        if self._next < now:
            behind = now - self._next
            self._next = now if self._period == 0 else self._next + -(-behind // self._period) * self._period

    def _check(self) -> None:
        if self._destroyed:
            raise InvalidHandle("cannot use Destroyable because destruction was requested")

    @property
    def clock(self) -> Clock:
        """The timer's clock."""
        return self._clock

    @property
    def timer_period_ns(self) -> int:
        """The period in nanoseconds."""
        self._check()
        return self._period

    @timer_period_ns.setter
    def timer_period_ns(self, value: int) -> None:
        # As in rcl, the call that is due next stays where it is.
        self._check()
        self._period = int(value)
        self._wake()

    def is_ready(self) -> bool:
        """Return whether the call is due."""
        self._check()
        return not self._canceled and self._now() >= self._next

    def is_canceled(self) -> bool:
        """Return whether the timer is canceled."""
        self._check()
        return self._canceled

    def cancel(self) -> None:
        """Call no more until `reset()`."""
        self._check()
        self._canceled = True
        self._wake()

    def reset(self) -> None:
        """Start a new period now; the last call stays the last, as in rcl."""
        self._check()
        self._next = self._now() + self._period
        self._canceled = False
        self._wake()

    def time_since_last_call(self) -> int:
        """Return the nanoseconds since the last call."""
        self._check()
        return self._now() - self._last

    def time_until_next_call(self) -> int | None:
        """Return the nanoseconds until the call is due, negative if it is late; None of a timer that is canceled."""
        self._check()
        return None if self._canceled else self._next - self._now()

    def destroy(self) -> None:
        """Call no more."""
        if not self._destroyed:
            self._destroyed = self._canceled = True
            self._jump.unregister()


class Rate:
    """Sleeps until the next multiple of a period; a thread other than the sleeping one has to spin."""

    def __init__(self, timer: Timer, *, context: Any) -> None:
        self._timer, self._context = timer, context
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._is_shutdown = self._is_destroyed = False
        timer.callback = self._event.set
        context.on_shutdown(self._on_shutdown)

    def _on_shutdown(self) -> None:
        self._is_shutdown = True
        self.destroy()

    def destroy(self) -> None:
        """Wake sleepers; the rate is of no use afterwards."""
        self._is_destroyed = True
        self._event.set()

    def sleep(self) -> None:
        """Sleep until the period is over; ROSInterruptException at shutdown."""
        if self._is_shutdown or not self._context.ok():
            raise ROSInterruptException()
        if self._is_destroyed:
            raise RuntimeError("Rate cannot sleep because it has been destroyed")
        if not self._timer.is_canceled():
            self._event.clear()
        while not self._event.wait(0.2):
            if not self._context.ok():
                raise ROSInterruptException()
        if self._is_shutdown:
            raise ROSInterruptException()
        if self._is_destroyed:
            raise RuntimeError("Rate has been destroyed")
