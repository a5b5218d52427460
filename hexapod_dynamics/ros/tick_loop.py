"""A loop for nodes with a short period: it takes frequent messages itself; the executor has a thread of its own.

An executor of rclpy builds its wait set again for each message and each timer, which takes longer than the
processing of the message. Here the node sleeps until its next tick, takes the messages of its polled
subscriptions, and ticks. Services, parameters and rare topics stay with the executor, in a second thread. Callbacks
and ticks run one at a time, as with an executor alone, because each takes the lock of the loop; the request of an
emergency stop does not wait for the next tick. Other threads call functions with that lock by `call`.

Nodes of one process hand their messages over, while nobody outside of the process subscribes to the topic. Through the
middleware a message is written to bytes once, and read from them by each node that polls its topic, which is a sixth of
the processor time of all nodes in one process. While anybody else subscribes, all receive it through the middleware.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from copy import copy
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rclpy.callback_groups import CallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, ShutdownException
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy

if TYPE_CHECKING:
    from hexapod_dynamics.ros.guarded_node import GuardedNode
    from rclpy.context import Context
    from rclpy.executors import Executor
    from rclpy.subscription import Subscription

T = TypeVar("T")
Queues = dict["Subscription", deque[object]]
# {(context, topic, type): what each polled subscription of this process has not taken yet}
_QUEUES: defaultdict[tuple[Context, str, type], Queues] = defaultdict(dict)
_UNCHANGEABLE = frozenset((int, float, bool, str, bytes))  # types of values in messages


class _FairLock:
    """A lock that a thread does not get twice in a row while another one waits for it, as a Lock may give it."""

    def __init__(self) -> None:
        self._queue, self._lock = threading.Lock(), threading.Lock()

    def acquire(self, timeout: float = -1) -> bool:
        """Return whether the lock was acquired within a time [s]; negative: wait for ever."""
        if not self._queue.acquire(timeout=timeout):
            return False
        try:
            return self._lock.acquire(timeout=timeout)
        finally:
            self._queue.release()

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _NoExecutor(CallbackGroup):
    """Keeps subscriptions out of every executor's wait set."""

    def can_execute(self, entity: object) -> bool:
        return False

    def beginning_execution(self, entity: object) -> bool:
        return False

    def ending_execution(self, entity: object) -> None:
        pass


def find_queues(context: Context, topic: str, kind: type) -> Queues:
    """Return the queues of the polled subscriptions of a topic (full name), by subscription."""
    return _QUEUES[context, topic, kind]


class HandingPublisher(Publisher):
    """A publisher that hands a copy of its messages to the `queues` of this process; not for latched topics.

    The QoS of all nodes of this package match, so that each queue belongs to a subscription that is counted.
    """

    queues: Queues

    def publish(self, msg: object) -> None:
        """Publish a message, which the caller may change afterwards."""
        queues = tuple(self.queues.values())
        if queues and self.get_subscription_count() == len(queues):
            handed = copy_message(msg)
            for queue in queues:
                queue.append(handed)
        else:
            super().publish(msg)


def copy_message(value: T) -> T:
    """Return a copy of a message, or of a value in one; numbers of numpy become those of Python, as read from bytes."""
    kind = type(value)
    if kind in _UNCHANGEABLE:
        return value
    if isinstance(value, list | tuple):
        simple = not value or type(value[0]) in _UNCHANGEABLE
        return list(value) if simple else [copy_message(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    if not hasattr(kind, "SLOT_TYPES"):
        return copy(value)  # an array
    message = kind.__new__(kind)
    for name in kind.__slots__:
        setattr(message, name, copy_message(getattr(value, name)))
    return message


class PolledTopic:
    """Takes at most `most` messages at a time from a subscription or from its queue, and calls its callback."""

    def __init__(self, context: Context, subscription: Subscription, depth: int, most: int) -> None:
        self.subscription, self._most = subscription, most
        self._queue: deque[object] = deque(maxlen=depth)
        find_queues(context, subscription.topic_name, subscription.msg_type)[subscription] = self._queue
        self._ways = self._read_sent, self._read_handed_over

    def read(self) -> None:
        """Take the messages; where some came both ways, those of the way on which the last ones came are older."""
        before, other = self._ways
        before()
        if other():
            self._ways = other, before

    def _read_sent(self) -> bool:
        for count in range(self._most):
            taken = self.subscription.handle.take_message(self.subscription.msg_type, True)
            if taken is None:
                return count > 0
            self.subscription.callback(taken[0])
        return True

    def _read_handed_over(self) -> bool:
        count = min(len(self._queue), self._most)
        for _ in range(count):
            self.subscription.callback(self._queue.popleft())
        return count > 0


class TickLoop:
    """Calls `tick` every `period` [s] on the steady clock; a node stores this object as `loop`, and `running`
    runs it.

    Missed periods are skipped, as with a timer of rclpy. poll_period [s]: messages are taken in the first tick after
    this time only, because several at once cost less than each of them after a sleep.
    """

    def __init__(
        self,
        node: GuardedNode,
        period: float,
        tick: Callable[[], object] = lambda: None,
        poll_period: float = 0.0,
    ) -> None:
        self._node, self.period, self._tick, self._poll_period = node, float(period), tick, poll_period
        self._group, self._at_times = _NoExecutor(), []
        self._polled: list[PolledTopic] = []
        self._slow, self._next_slow = [], 0.0  # [monotonic time [s] of the next call, period [s], callback]
        self._due = time.monotonic()
        self._lock, self._running = _FairLock(), False
        self._error: Exception | None = None  # of a callback; raised in the thread that ticks

    def call(self, function: Callable[[], T], patience: float) -> T:
        """Return function(), called between two ticks; from any thread but those of this loop.

        An exception of the function also ends the node. Raises TimeoutError if a tick or a callback lasts longer than
        `patience` [s], CancelledError if the loop does not run.
        """
        if not self._lock.acquire(timeout=patience):
            raise TimeoutError
        try:
            if self._running:
                return function()
        except Exception as error:
            self._error = error
            raise
        finally:
            self._lock.release()
        raise CancelledError

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[..., object],
        qos: QoSProfile | int,
        needed: Callable[[], bool] | None = None,
    ) -> PolledTopic | None:
        """Create a subscription; the loop takes its messages before each tick.

        qos: a QoSProfile, or the depth of a queue without acknowledgements, which cost as much as frequent messages.
        With a depth of 1, only the newest message since the last tick is taken. needed(): while it returns False, there
        is no subscription, so that the publisher does not have to send.
        """
        if needed is not None:
            self._at_times.append([needed, (kind, topic, callback, qos), None])
            return None
        if isinstance(qos, int):
            qos = QoSProfile(depth=qos, reliability=ReliabilityPolicy.BEST_EFFORT)
        subscription = self._node.create_subscription(kind, topic, callback, qos, callback_group=self._group)
        # A limit, so that a flooded topic does not stop the ticks.
        most = 64 if qos.depth > 1 else 1
        self._polled.append(PolledTopic(self._node.context, subscription, qos.depth, most))
        return self._polled[-1]

    def create_poller(self, kind: type, topic: str, callback: Callable[..., object]) -> Callable[[], None]:
        """Create a subscription to the newest message and return a function that takes it, if there is one.

        This is for messages that are used less often than they arrive.
        """
        polled = self.subscribe(kind, topic, callback, 1)
        self._polled.remove(polled)
        return polled.read

    def unsubscribe(self, polled: PolledTopic) -> None:
        """Destroy a subscription, which `subscribe` has returned."""
        self._polled.remove(polled)
        self._node.destroy_subscription(polled.subscription)

    def _attend(self) -> None:
        """Create or destroy the subscriptions that are needed only at times."""
        for each in self._at_times:
            needed, arguments, polled = each
            if needed() == (polled is None):
                if polled is None:
                    each[2] = self.subscribe(*arguments)
                else:
                    self.unsubscribe(polled)
                    each[2] = None

    def call_every(self, period: float, callback: Callable[[], object]) -> None:
        """Call `callback` every `period` [s] in a tick: a replacement of slow timers without an executor."""
        self._slow.append([time.monotonic() + period, period, callback])
        self._next_slow = 0.0

    def set_period(self, period: float) -> None:
        """Change the period [s]; the next tick is one new period after the present one."""
        self._due += period - self.period
        self.period = period

    def align(self, age: float, wanted: float, gain: float = 0.1) -> None:
        """Shift the ticks slowly, so that periodic messages are `wanted` [s] old when they are taken; the present
        one is `age` [s] old. gain: the share of the phase error that each message corrects.
        """
        period = max(self.period, self._poll_period)
        late = (age - wanted + 0.5 * period) % period - 0.5 * period
        self._due -= gain * late

    def poll(self) -> None:
        """Take the received messages and call the callbacks."""
        if self._at_times:
            self._attend()
        for polled in tuple(self._polled):
            polled.read()

    def run(self, executor: Executor, running: Callable[[], bool]) -> None:
        """Tick while running() is true; it is called ten times a second."""
        self._running, self._error = True, None
        thread = threading.Thread(target=self._serve, args=(executor,), name="executor", daemon=True)
        thread.start()
        self._due = now = time.monotonic()
        look = next_poll = now
        try:
            while now < look or running():
                if now >= look:
                    look = now + 0.1
                time.sleep(max(self._due - time.monotonic(), 0.0))
                with self._lock:
                    if self._error is not None:
                        raise self._error
                    now = time.monotonic()
                    self._due = max(self._due + self.period, now - self.period)
                    if now >= next_poll:
                        next_poll = now + self._poll_period - 0.5 * self.period
                        self.poll()
                    self._tick()
                    if now >= self._next_slow:
                        self._call_slow(now)
        finally:
            self._running = False
            executor.create_task(lambda: None)  # ends the wait
            thread.join(1.0)

    def _serve(self, executor: Executor) -> None:
        """Run the callbacks of an executor until the loop ends or one of them raises, which ends the loop."""
        while self._running and self._error is None:
            try:
                handler, _, _ = executor.wait_for_ready_callbacks()
                with self._lock:
                    handler()
                if handler.done() and handler.exception() is not None:
                    self._error = handler.exception()
            except (ShutdownException, ExternalShutdownException):
                return
            except InvalidHandle:  # an entity was destroyed while it was collected
                continue
            except Exception as error:
                self._error = error

    def _call_slow(self, now: float) -> None:
        for each in self._slow:
            due, period, callback = each
            if now >= due:
                each[0] = max(due + period, now)
                callback()
        self._next_slow = min((due for due, _, _ in self._slow), default=float("inf"))
