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
from dataclasses import dataclass
from functools import partial
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
    from rclpy.node import Node
    from rclpy.subscription import Subscription

T = TypeVar("T")
Queues = dict["Subscription", deque[object]]
# {(context, topic, type): what each polled subscription of this process has not taken yet}
_QUEUES: defaultdict[tuple[Context, str, object], Queues] = defaultdict(dict)
_UNCHANGEABLE = frozenset((int, float, bool, str, bytes))  # types of values in messages


class _FairLock:
    """A lock that a thread does not get twice in a row while another one waits for it, as a Lock may give it."""

    def __init__(self) -> None:
        self._queue, self._lock = threading.Lock(), threading.Lock()

    def acquire(self, timeout: float = -1) -> bool:
        """Return whether the lock was acquired within a time [s]; negative: wait for ever."""
        until = time.monotonic() + timeout
        if not self._queue.acquire(timeout=timeout):
            return False
        try:
            return self._lock.acquire(timeout=timeout if timeout < 0.0 else max(until - time.monotonic(), 0.0))
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


def find_queues(context: Context, end: Publisher | Subscription) -> Queues:
    """Return the queues of the polled subscriptions of the topic of a publisher or subscription, by subscription."""
    return _QUEUES[context, end.topic_name, end.msg_type]


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


def copy_message(value: object) -> object:
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
    for name in getattr(kind, "__slots__", ()):
        setattr(message, name, copy_message(getattr(value, name)))
    return message


class PolledTopic:
    """A subscription to a topic that exists while needed(): so long the publisher has to send.

    At most `most` messages at a time are taken from it, or from its queue of `depth`.
    """

    def __init__(self, node: Node, create: Callable[[], Subscription], depth: int, needed: Callable[[], bool]) -> None:
        self._node, self._create, self._needed = node, create, needed
        # A limit, so that a flooded topic does not stop the ticks.
        self._most = 64 if depth > 1 else 1
        self._queue: deque[object] = deque(maxlen=depth)
        self._subscription: Subscription | None = None
        self._ways = self._read_sent, self._read_handed_over

    def attend(self) -> None:
        """Create the subscription once it is needed, and destroy it when it is not needed any more."""
        needed, old = self._needed(), self._subscription
        if needed and old is None:
            self._subscription = made = self._create()
            find_queues(self._node.context, made)[made] = self._queue
        elif old is not None and not needed:
            self._node.destroy_subscription(old)
            self._subscription = None
            self._queue.clear()

    def read(self) -> None:
        """Take the messages; where some came both ways, those of the way on which the last ones came are older."""
        if self._subscription is None:
            return
        before, other = self._ways
        before(self._subscription)
        if other(self._subscription):
            self._ways = other, before

    def _read_sent(self, subscription: Subscription) -> bool:
        for count in range(self._most):
            taken = subscription.handle.take_message(subscription.msg_type, True)
            if taken is None:
                return count > 0
            subscription.callback(taken[0])
        return True

    def _read_handed_over(self, subscription: Subscription) -> bool:
        count = min(len(self._queue), self._most)
        for _ in range(count):
            subscription.callback(self._queue.popleft())
        return count > 0


@dataclass
class _Repeated:
    """A callback that is called every `period` [s]; due: monotonic time [s] of the next call."""

    due: float
    period: float
    callback: Callable[[], object]


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
        self._group = _NoExecutor()
        self._polled: list[PolledTopic] = []
        self._slow: list[_Repeated] = []
        self._due = time.monotonic()
        self._lock, self._running, self._begun = _FairLock(), False, threading.Event()
        self._error: Exception | None = None  # of a callback; raised in the thread that ticks

    def call(self, function: Callable[[], T], patience: float) -> T:
        """Return function(), called between two ticks; from any thread but those of this loop.

        It waits for the start of the loop. An exception of the function also ends the node. Raises TimeoutError if a
        tick or a callback lasts longer than `patience` [s], CancelledError if the loop has ended.
        """
        self._begun.wait()  # of several nodes in a process, none runs before all are made
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

    def cancel(self) -> None:
        """Let `call` wait no longer for a start that will not come."""
        self._begun.set()

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[..., object],
        qos: QoSProfile | int,
        needed: Callable[[], bool] = lambda: True,
        *,
        in_ticks: bool = True,
    ) -> PolledTopic:
        """Create a subscription; the loop takes its messages before each tick, unless in_ticks is false: then whoever
        calls `read` of what is returned, for messages that are used less often than they arrive.

        qos: a QoSProfile, or the depth of a queue without acknowledgements, which cost as much as frequent messages.
        With a depth of 1, only the newest message since the last tick is taken. needed(): while it returns False, there
        is no subscription, so that the publisher does not have to send.
        """
        given = qos if isinstance(qos, QoSProfile) else QoSProfile(depth=qos, reliability=ReliabilityPolicy.BEST_EFFORT)
        create = partial(self._node.create_subscription, kind, topic, callback, given, callback_group=self._group)
        polled = PolledTopic(self._node, create, given.depth, needed)
        polled.attend()
        if in_ticks:
            self._polled.append(polled)
        return polled

    def call_every(self, period: float, callback: Callable[[], object]) -> None:
        """Call `callback` every `period` [s] in a tick: a replacement of slow timers without an executor."""
        self._slow.append(_Repeated(time.monotonic() + period, period, callback))

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
        for polled in tuple(self._polled):
            polled.attend()
            polled.read()

    def run(self, executor: Executor, running: Callable[[], bool]) -> None:
        """Tick while running() is true; it is called ten times a second."""
        self._running, self._error = True, None
        self._begun.set()
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
            if now >= each.due:
                each.due = max(each.due + each.period, now)
                each.callback()
