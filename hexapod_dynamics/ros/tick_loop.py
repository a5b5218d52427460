"""A loop for nodes with a fast period: it takes the frequent messages itself; the executor only waits, beside it.

An executor of rclpy builds its wait set anew for each message and each timer, which costs more than what a node does
with a message. Here the node sleeps until its next tick, takes what has come on its polled subscriptions, and ticks.
Services, parameters and rare topics stay with the executor. A second thread waits in it, and hands each callback that
is due to the thread that ticks, which it wakes: callbacks and ticks run one at a time, as with one executor alone, and
the request of an emergency stop does not wait for the next tick. Other threads hand functions
to the thread that ticks by `submit`.
"""

import os
import select
import threading
import time
from collections import deque
from concurrent.futures import Future

from hexapod_dynamics.ros.cdr import MALFORMED, message_reader
from hexapod_dynamics.ros.malformed import MalformedMessages
from rclpy.callback_groups import CallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, ShutdownException

# Messages taken from one subscription in a tick, at the most: who floods a topic does not stop the tick.
MOST = 64
# Time [s] between two looks whether the node is to end.
LOOK = 0.1
# Share of a phase error that one message corrects, see `TickLoop.align`.
ALIGN = 0.1


# Words in the pipe that wakes the thread that ticks.
CALLBACK, CALL = b"1", b"2"


class _Polled(CallbackGroup):
    """Keeps subscriptions out of every executor's wait set."""

    def can_execute(self, entity):
        return False

    def beginning_execution(self, entity):
        return False

    def ending_execution(self, entity):
        pass


class _Waiter:
    """A thread that waits for callbacks of an executor; `serve` runs them in the thread that calls it.

    calls: (function, Future) of `TickLoop.submit`; `serve` runs these, too.
    """

    def __init__(self, executor, calls):
        self._executor, self._calls = executor, calls
        self._handler, self._error, self._ending = None, None, False
        self._wake, self._woken = os.pipe()
        self._served = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="executor", daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ending:
            try:
                self._handler, _, _ = self._executor.wait_for_ready_callbacks()
            except (ShutdownException, ExternalShutdownException):
                return
            except InvalidHandle:  # an entity was destroyed while it was collected
                continue
            except Exception as error:  # raised again where the node runs
                self._error = error
            os.write(self._woken, CALLBACK)
            self._served.acquire()

    def call_soon(self):
        """Wake the thread that serves: `calls` has one more; from any thread."""
        os.write(self._woken, CALL)

    def _call(self):
        function, future = self._calls.popleft()
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function())
            except Exception as error:  # raised again where the node runs, and where the result is awaited
                future.set_exception(error)
                raise

    def serve(self, until):
        """Run the callbacks that are due until the monotonic time `until` [s]; at least one if it is over already."""
        while True:
            left = max(until - time.monotonic(), 0.0)
            if not select.select([self._wake], [], [], left)[0]:
                return
            if os.read(self._wake, 1) == CALL:
                self._call()
            else:
                self._callback()
            if not left:
                return

    def _callback(self):
        if self._error is not None:
            raise self._error
        self._handler()
        failed = self._handler.exception() if self._handler.done() else None
        self._served.release()
        if failed is not None:
            raise failed

    def close(self):
        """End the thread; functions that wait are cancelled."""
        self._ending = True
        while self._calls:
            self._calls.popleft()[1].cancel()
        self._executor.create_task(lambda: None)  # ends the wait; the thread hands nothing on any more
        self._served.release()
        self._thread.join(1.0)
        if not self._thread.is_alive():
            if CALLBACK in self._left():
                self._handler()  # the one that was handed over last; rclpy complains of a callback that is not run
            os.close(self._wake)
            os.close(self._woken)

    def _left(self):
        """What nobody has read from the pipe."""
        left = b""
        while select.select([self._wake], [], [], 0.0)[0]:
            left += os.read(self._wake, 64)
        return left


class TickLoop:
    """Calls `tick` every `period` [s] on the steady clock; a node keeps it as `loop`, and `running.run` runs it.

    Periods that were missed are left out, as by a timer of rclpy.
    """

    def __init__(self, node, period, tick=lambda: None):
        self._node, self.period, self._tick = node, float(period), tick
        self._group, self._polled, self._at_times = _Polled(), [], []
        self._slow, self._next_slow = [], 0.0  # [monotonic time [s] of the next call, period [s], callback]
        self._due = time.monotonic()
        self._calls, self._waiter, self._calling = deque(), None, threading.Lock()

    def submit(self, function):
        """Let the thread that ticks call function(), before its next tick; from any other thread.

        Return a Future of the result. It is cancelled when the loop ends before; an exception ends the node.
        """
        future = Future()
        with self._calling:
            if self._waiter is None:
                future.cancel()
            else:
                self._calls.append((function, future))
                self._waiter.call_soon()
        return future

    def subscribe(self, kind, topic, callback, qos, needed=None, newest=False):
        """Create a subscription that the loop takes messages from before each tick.

        Types that cdr.READERS has are read from their bytes: the callback gets the reader, whose members last until the
        next message. newest: of several messages that have come since the last tick only the newest is read. needed():
        while it is False, there is no subscription, so that the publisher has nobody to send to. Bytes that are no
        message of the type are ignored and counted (MalformedMessages).
        """
        if needed is not None:
            self._at_times.append([needed, (kind, topic, callback, qos), {"newest": newest}, None])
            return None
        subscription = self._node.create_subscription(kind, topic, callback, qos, callback_group=self._group, raw=True)
        self._polled.append((subscription, subscription.handle.take_message, message_reader(kind), newest))
        return self._polled[-1]

    def taker(self, kind, topic, callback):
        """Create a subscription to the newest message and return a function that takes it, if one has come.

        For messages that are used more seldom than they come.
        """
        subscription = self._node.create_subscription(kind, topic, callback, 1, callback_group=self._group, raw=True)
        take_message, read = subscription.handle.take_message, message_reader(kind)

        def take():
            taken = take_message(kind, True)
            if taken is not None:
                self._deliver(subscription, read, taken[0])

        return take

    def _deliver(self, subscription, read, data):
        """Call the callback with the message of some bytes; count them if they are none."""
        try:
            message = read(data)
        except MALFORMED as error:
            MalformedMessages.of(self._node).count(subscription, error)
            return
        subscription.callback(message)

    def unsubscribe(self):
        """Destroy the subscriptions."""
        self._at_times.clear()
        for polled in list(self._polled):
            self._end(polled)

    def _end(self, polled):
        self._polled.remove(polled)
        self._node.destroy_subscription(polled[0])

    def _attend(self):
        """Make or destroy the subscriptions that are needed at times."""
        for each in self._at_times:
            needed, arguments, options, polled = each
            if needed() == (polled is None):
                if polled is None:
                    each[3] = self.subscribe(*arguments, **options)
                else:
                    self._end(polled)
                    each[3] = None

    def every(self, period, callback):
        """Call `callback` every `period` [s] with a tick: what a slow timer does, without an executor."""
        self._slow.append([time.monotonic() + period, period, callback])
        self._next_slow = 0.0

    def set_period(self, period):
        """Change the period [s]; the next tick comes so much after the present one."""
        self._due += period - self.period
        self.period = period

    def align(self, age, wanted):
        """Shift the ticks slowly, so that periodic messages are `wanted` [s] old when they are taken; this one is
        `age` [s] old.
        """
        late = (age - wanted + 0.5 * self.period) % self.period - 0.5 * self.period
        self._due -= ALIGN * late

    def poll(self):
        """Take what has come and call the callbacks."""
        if self._at_times:
            self._attend()
        for subscription, take, read, newest in self._polled:
            kept = None
            for _ in range(MOST):
                taken = take(subscription.msg_type, True)
                if taken is None:
                    break
                if newest:
                    kept = taken
                else:
                    self._deliver(subscription, read, taken[0])
            if kept is not None:
                self._deliver(subscription, read, kept[0])

    def run(self, executor, running):
        """Tick while running() is true, which is asked ten times a second."""
        waiter = self._waiter = _Waiter(executor, self._calls)
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

    def _call_slow(self, now):
        for each in self._slow:
            due, period, callback = each
            if now >= due:
                each[0] = max(due + period, now)
                callback()
        self._next_slow = min((due for due, _, _ in self._slow), default=float("inf"))
