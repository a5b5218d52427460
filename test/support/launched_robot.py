"""A launched robot: its processes, where it truly is, what is declared of it."""

import time
from functools import partial

import numpy as np
import psutil
from support.ros_session import NEWEST, Process, wait_until

from geometry_msgs.msg import Twist
from hexapod_dynamics.ros.node_functions import stamp_seconds
from nav_msgs.msg import Odometry


def runs(process):
    """Whether a process has not ended; one that waits for its new parent to ask for its exit code has."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Launched:
    """walk.launch.py with some arguments, and what a probe hears of it.

    process: the Process that runs it; environment: of Process.
    """

    def __init__(self, probe, *arguments, namespace="", process=Process, **environment):
        self.probe, self._process = probe, process
        self.truth = self.probe.hear(Odometry, f"{namespace}simulator/odom", NEWEST, keep=6000)
        self.morphology = self.probe.morphology(f"{namespace}morphology")  # {name: value} that is declared, or None
        self.statuses = self.probe.statuses
        self._velocity, self._stick = probe.node.create_publisher(Twist, f"{namespace}cmd_vel", 10), None
        self.begin(*arguments, **environment)

    def begin(self, *arguments, **environment):
        """Launch; again after the end of the launch before."""
        self.launch = self._process("ros2", "launch", "hexapod_dynamics", "walk.launch.py", *arguments, **environment)

    def wait(self, condition, timeout, what):
        """Wait until condition() holds; else what the launch has printed is told."""
        return wait_until(condition, timeout, lambda: f"{what}\n{self.launch.output[-4000:]}")

    def drive(self, forward):
        """Command a forward speed [m/s] ten times a second from now on; None: nothing."""
        if self._stick is not None:
            self.probe.node.destroy_timer(self._stick)
        twist = Twist()
        twist.linear.x = forward or 0.0
        publish = partial(self._velocity.publish, twist)
        self._stick = None if forward is None else self.probe.node.create_timer(0.1, publish)

    def places(self, since):
        """Stamps (T,) [s] and places (T, 2) [m] of the body that were heard since a monotonic time."""
        heard = [m for at, m in list(self.truth) if at > since]
        points = [m.pose.pose.position for m in heard]
        return np.array([stamp_seconds(m.header.stamp) for m in heard]), np.array([[p.x, p.y] for p in points])

    def speed(self, seconds=1.0):
        """Mean speed [m/s] over the last seconds, 0 before there are as many."""
        stamps, places = self.places(time.monotonic() - seconds)
        if len(stamps) < 10 * seconds or np.ptp(stamps) < 0.8 * seconds:
            return 0.0
        return float(np.linalg.norm(places[-1] - places[0]) / np.ptp(stamps))

    def moved(self, seconds):
        """Let time pass; return how far [m] the body moves meanwhile."""
        begin = time.monotonic()
        time.sleep(seconds)
        places = self.places(begin)[1]
        return float(np.linalg.norm(places[-1] - places[0]))

    @property
    def height(self):
        """Height [m] of the body."""
        return self.truth[-1][1].pose.pose.position.z

    def lost(self):
        """Legs that are declared missing."""
        return {name[5:] for name, value in (self.morphology() or {}).items() if name.startswith("legs.") and not value}

    def close(self):
        """End the launch."""
        self.drive(None)
        self.launch.end()
