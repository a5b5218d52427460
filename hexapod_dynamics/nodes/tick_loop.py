"""A loop for nodes with a fast period: it takes the frequent messages itself, and the executor does the rest beside it.

An executor of rclpy builds its wait set anew for each message and each timer, which costs more than what a node does
with a message. Here the node sleeps until its next tick, takes what has come on its polled subscriptions, and ticks.
Services, parameters, rare topics and slow timers stay with the executor, which is asked some times a second.
"""

import time

from hexapod_dynamics.nodes import start
from rclpy.callback_groups import CallbackGroup

# The executor is asked so often [s], and then for so many callbacks at the most.
ASKED_EVERY, AT_ONCE = 0.05, 4
# Messages taken from one subscription in a tick, at the most: who floods a topic does not stop the tick.
MOST = 64


class _Polled(CallbackGroup):
    """Keeps subscriptions out of every executor's wait set."""

    def can_execute(self, entity):
        return False

    def beginning_execution(self, entity):
        return False

    def ending_execution(self, entity):
        pass


class TickLoop:
    """Calls `tick` every `period` [s] on the steady clock; a node keeps it as `loop`, and `common.run` runs it.

    Periods that were missed are left out, as by a timer of rclpy.
    """

    def __init__(self, node, period, tick=lambda: None):
        self._node, self.period, self._tick = node, float(period), tick
        self._group, self._polled = _Polled(), []

    def subscribe(self, kind, topic, callback, qos):
        """Create a subscription that the loop takes messages from before each tick."""
        self._polled.append(self._node.create_subscription(kind, topic, callback, qos, callback_group=self._group))

    def unsubscribe(self):
        """Destroy the subscriptions."""
        for subscription in self._polled:
            self._node.destroy_subscription(subscription)
        self._polled.clear()

    def poll(self):
        """Take what has come and call the callbacks."""
        for subscription in self._polled:
            with subscription.handle:
                for _ in range(MOST):
                    taken = subscription.handle.take_message(subscription.msg_type, False)
                    if taken is None:
                        break
                    subscription.callback(taken[0])

    def run(self, executor, running):
        """Tick while running() is true."""
        due = time.monotonic()
        asked = due
        while running():
            now = time.monotonic()
            if now < due:
                time.sleep(due - now)
                now = time.monotonic()
            due = max(due + self.period, now - self.period)
            self.poll()
            self._tick()
            if now - asked >= ASKED_EVERY:
                asked = now
                for _ in range(AT_ONCE):
                    executor.spin_once(timeout_sec=0.0)
                    if start.stopping():
                        break
