"""A loop for nodes with a short period: it takes frequent messages itself; the executor only waits, in a second
thread.

An executor of rclpy builds its wait set again for each message and each timer, which takes longer than the
processing of the message. Here the node sleeps until its next tick, takes the messages of its polled
subscriptions, and ticks. Services, parameters and rare topics stay with the executor. A second thread waits in it,
wakes the thread that ticks, and passes on each callback that is due: callbacks and ticks run one at a time, as
with an executor alone, and the request of an emergency stop does not wait for the next tick. Other threads pass
functions to the thread that ticks by `submit`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from hexapod_dynamics.ros import internals
from hexapod_dynamics.ros.cdr import MALFORMED, message_reader
from hexapod_dynamics.ros.malformed import MalformedMessages
from hexapod_dynamics.ros.serving import serving
from rclpy.callback_groups import CallbackGroup

if TYPE_CHECKING:
    from rclpy.executors import Executor
    from rclpy.node import Node
    from rclpy.qos import QoSProfile

T = TypeVar("T")

# Largest number of messages taken from one subscription in a tick, so that a flooded topic does not stop the ticks.
MOST = 64
# Time [s] between two checks whether the node is to end.
LOOK = 0.1
# Share of the phase error that is corrected by one message, see `TickLoop.align`.
ALIGN = 0.1


class _NoExecutor(CallbackGroup):
    """Keeps subscriptions out of every executor's wait set."""

    def can_execute(self, entity: object) -> bool:
        return False

    def beginning_execution(self, entity: object) -> bool:
        return False

    def ending_execution(self, entity: object) -> None:
        pass


class _Polled:
    """A subscription whose messages are taken in the ticks.

    If rclpy has no function for that, an executor stores the newest messages until they are taken.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        callback: Callable[..., object],
        qos: QoSProfile | int,
        group: CallbackGroup,
    ) -> None:
        self._node, self._kind, self._callback, self._read = node, kind, callback, message_reader(kind)
        self._kept = deque(maxlen=MOST)
        self._subscription = node.create_subscription(kind, topic, self._keep, qos, callback_group=group, raw=True)
        self._read_next = internals.message_source(self._subscription)
        if self._read_next is None:
            node.destroy_subscription(self._subscription)
            self._subscription = node.create_subscription(kind, topic, self._keep, qos, raw=True)

    def _keep(self, data: bytes) -> None:
        self._kept.append(data)

    def next_message(self) -> bytes | None:
        """Return the bytes of the next message, None if there is none."""
        if self._read_next is None:
            return self._kept.popleft() if self._kept else None
        taken = self._read_next(self._kind, True)
        return None if taken is None else taken[0]

    def deliver(self, data: bytes) -> None:
        """Call the callback with the message in some bytes; count them as malformed if they are no message."""
        try:
            message = self._read(data)
        except MALFORMED as error:
            MalformedMessages.of(self._node).count(self._subscription, error)
            return
        self._callback(message)

    def destroy(self) -> None:
        """End the subscription."""
        self._node.destroy_subscription(self._subscription)


class TickLoop:
    """Calls `tick` every `period` [s] on the steady clock; a node stores this object as `loop`, and `running.run`
    runs it.

    Missed periods are skipped, as with a timer of rclpy.
    """

    def __init__(self, node: Node, period: float, tick: Callable[[], object] = lambda: None) -> None:
        self._node, self.period, self._tick = node, float(period), tick
        self._group, self._polled, self._at_times = _NoExecutor(), [], []
        self._slow, self._next_slow = [], 0.0  # [monotonic time [s] of the next call, period [s], callback]
        self._due = time.monotonic()
        self._calls, self._waiter, self._calling = deque(), None, threading.Lock()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Let the thread that ticks call function(), before its next tick; from any other thread.

        Return a Future of the result. It is cancelled if the loop ends earlier; an exception ends the node.
        """
        future = Future()
        with self._calling:
            if self._waiter is None:
                future.cancel()
            else:
                self._calls.append((function, future))
                self._waiter.call_soon()
        return future

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[..., object],
        qos: QoSProfile | int,
        needed: Callable[[], bool] | None = None,
        newest: bool = False,
    ) -> tuple[_Polled, bool] | None:
        """Create a subscription; the loop takes its messages before each tick.

        Messages of types in cdr.READERS are read from their bytes: the callback gets the reader, whose members are
        valid until the next message. newest: of several messages since the last tick only the newest is read.
        needed(): while it returns False, there is no subscription, so that the publisher does not have to send.
        Bytes that are no message of the type are ignored and counted (MalformedMessages).
        """
        if needed is not None:
            self._at_times.append([needed, (kind, topic, callback, qos), {"newest": newest}, None])
            return None
        self._polled.append((_Polled(self._node, kind, topic, callback, qos, self._group), newest))
        return self._polled[-1]

    def poller(self, kind: type, topic: str, callback: Callable[..., object]) -> Callable[[], None]:
        """Create a subscription to the newest message and return a function that takes it, if there is one.

        This is for messages that are used less often than they arrive.
        """
        polled = _Polled(self._node, kind, topic, callback, 1, self._group)

        def poll_once() -> None:
            data = polled.next_message()
            if data is not None:
                polled.deliver(data)

        return poll_once

    def unsubscribe(self, polled: tuple[_Polled, bool]) -> None:
        """Destroy a subscription, which `subscribe` has returned."""
        self._polled.remove(polled)
        polled[0].destroy()

    def _attend(self) -> None:
        """Create or destroy the subscriptions that are needed only at times."""
        for each in self._at_times:
            needed, arguments, options, polled = each
            if needed() == (polled is None):
                if polled is None:
                    each[3] = self.subscribe(*arguments, **options)
                else:
                    self.unsubscribe(polled)
                    each[3] = None

    def every(self, period: float, callback: Callable[[], object]) -> None:
        """Call `callback` every `period` [s] in a tick: a replacement of slow timers without an executor."""
        self._slow.append([time.monotonic() + period, period, callback])
        self._next_slow = 0.0

    def set_period(self, period: float) -> None:
        """Change the period [s]; the next tick is one new period after the present one."""
        self._due += period - self.period
        self.period = period

    def align(self, age: float, wanted: float) -> None:
        """Shift the ticks slowly, so that periodic messages are `wanted` [s] old when they are taken; the present
        one is `age` [s] old.
        """
        late = (age - wanted + 0.5 * self.period) % self.period - 0.5 * self.period
        self._due -= ALIGN * late

    def poll(self) -> None:
        """Take the received messages and call the callbacks."""
        if self._at_times:
            self._attend()
        for polled, newest in tuple(self._polled):
            kept = None
            for _ in range(MOST):
                data = polled.next_message()
                if data is None:
                    break
                if newest:
                    kept = data
                else:
                    polled.deliver(data)
            if kept is not None:
                polled.deliver(kept)

    def run(self, executor: Executor, running: Callable[[], bool]) -> None:
        """Tick while running() is true; it is called ten times a second."""
        waiter = self._waiter = serving(executor, self._calls)
        self._due = now = time.monotonic()
        look = now
        try:
            while now < look or running():
                if now >= look:
                    look = now + LOOK
                waiter.serve(self._due)
                now = time.monotonic()
                self._due = max(self._due + self.period, now - self.period)
                self.poll()
                self._tick()
                if now >= self._next_slow:
                    self._call_slow(now)
        finally:
            with self._calling:
                self._waiter = None
            waiter.close()

    def _call_slow(self, now: float) -> None:
        for each in self._slow:
            due, period, callback = each
            if now >= due:
                each[0] = max(due + period, now)
                callback()
        self._next_slow = min((due for due, _, _ in self._slow), default=float("inf"))
