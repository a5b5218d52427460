"""When the robot may walk: with its default speed only until the first command, after a fall only with a new command.

A state machine without a clock of its own; all times are seconds on the caller's monotonic clock.
"""

import math


class WalkPermit:
    """Decides whether the robot may walk, and whether with its default speed.

    by_itself: nobody has commanded the robot yet, so its default speed holds. fallen: the robot has not been seen
    upright since a fall. waiting: the robot has fallen and nobody has told it to walk since it was put upright.

    A command tells a robot that waits to walk only if it is a new one: a speed after a zero command, or after `pause`
    seconds without commands. A joystick that is still pushed when the robot is turned over does not start it.

    `state` and the argument of the same name carry the permit over a restart of its owner. A robot that waited then
    counts as fallen until it is seen upright.
    """

    def __init__(self, state=None, *, pause=1.0):
        state = state or {}
        self.by_itself = state.get("by_itself", True) is True
        self.waiting = state.get("waiting", False) is not False
        self.fallen = self.waiting
        self._pause = pause
        self._last, self._released = -math.inf, False

    @property
    def state(self):
        """What must outlive a restart: {name: bool}."""
        return {"by_itself": self.by_itself, "waiting": self.waiting}

    @property
    def may_walk(self):
        """Whether commands reach the legs."""
        return not self.waiting

    def see(self, fallen, upright):
        """Take over what the fall detector sees: whether the robot has fallen, whether it is upright."""
        if fallen:
            self.fallen = self.waiting = True
            self.by_itself = self._released = False
        elif upright:
            self.fallen = False

    def command(self, time, twist):
        """Take a command's arrival over: twist (vx, vy, wz), any units; returns whether it may be executed."""
        self.by_itself = False
        if self.waiting and not self.fallen:
            stop = not any(twist)
            if not stop and (self._released or time - self._last > self._pause):
                self.waiting = False
            self._released = stop
        self._last = time
        return self.may_walk
