"""A blind walk on a loaded computer: messages, servos or the detector itself are late by 50 to 400 ms."""

import numpy as np
from support.blind_walk import TICK, BlindWalk

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import Simulator, Truth

ROBOT = Robot.jethexa()
LEAST, MOST = 0.05, 0.4  # [s] of a delay
# What is late: all messages, each with its own stamp; the same in bursts; readings that are stamped when they arrive;
# servos that execute commands late, in bursts; a detector that stands still.
KINDS = ("messages", "bursts", "stamps", "servos", "detector")


class Delays:
    """Delays [s] as a loaded computer has them: a process stands still for a while, then catches up."""

    def __init__(self, random, share=0.5):
        self._random, self._share = random, share
        self._until, self._next = -1.0, 0.0

    def free_at(self, time):
        """Return the time at which a process that is to run at `time` runs."""
        while time >= self._next:
            stall = self._random.uniform(LEAST, MOST)
            self._until = self._next + stall
            self._next += stall / self._share * self._random.uniform(0.6, 1.4)
        return max(time, self._until)


class LateDetector:
    """A detector whose messages wait in queues; it has all else of the detector."""

    def __init__(self, detector, kind, random):
        self._detector, self._kind, self._random = detector, kind, random
        self._delays = {name: Delays(random) for name in ("command", "measure_joints", "measure_attitude", "bus")}
        self._stands, self._queue, self._now, self.late = Delays(random), [], 0.0, True

    def __getattr__(self, name):
        return getattr(self._detector, name)

    def _send(self, name, time, *arguments):
        due = self._now
        if self.late and self._kind == "messages":
            due += LEAST + (MOST - LEAST) * (0.5 + 0.5 * np.sin(self._now / 3.0 + len(name)))
        elif self.late and self._kind == "bursts":
            due = self._delays[name].free_at(self._now)
        elif self.late and self._kind == "stamps" and name == "measure_joints":
            due = self._delays[name].free_at(self._now)
            time += due - self._now
        self._queue.append((due, name, time, *(np.array(one, copy=True) for one in arguments)))

    def command(self, time, positions, torques=None):
        self._send("command", time, positions)

    def measure_joints(self, time, angles):
        self._send("measure_joints", time, angles)

    def measure_attitude(self, time, rotation):
        self._send("measure_attitude", time, rotation)

    def bus(self, time, silent, torque_off, answering):
        self._send("bus", time, silent, torque_off, answering)

    def update(self, time):
        self._now = time
        if self.late and self._kind == "detector" and self._stands.free_at(time) > time:
            return []
        # A topic keeps its order.
        due, waits, blocked = [], [], set()
        for entry in self._queue:
            if entry[0] > time or entry[1] in blocked:
                waits.append(entry)
                blocked.add(entry[1])
            else:
                due.append(entry)
        self._queue = waits
        for _, name, at, *arguments in due:
            getattr(self._detector, name)(at, *arguments)
        return self._detector.update(time)


class LateWalk(BlindWalk):
    """A blind walk whose computer is loaded until `rest()`."""

    def __init__(self, kind, seed=0, gait=None):
        truth = Truth(mass=1.03, stiffness=0.94, friction=0.7, slope=1.0, slope_yaw=60.0, rough=0.003, seed=seed)
        super().__init__(ROBOT, Simulator(ROBOT, timestep=2e-3, truth=truth), gait or AdaptiveGait(), seed=seed)
        self.gait.command(0.077, 0.0, 0.0)
        self.run(5.0)
        self._kind, self._random_delays = kind, np.random.default_rng(seed + 77)
        self.detector = LateDetector(self.detector, kind, self._random_delays)
        if kind == "servos":
            self._delays, self._waiting, self._execute = Delays(self._random_delays), [], self.physics.command
            self.physics.command = self._late_command

    def _late_command(self, sent, period):
        self._waiting.append(np.array(sent, copy=True))
        if not self.detector.late or self._delays.free_at(self.time) <= self.time:
            self._execute(self._waiting[-1], period)
            self._waiting.clear()

    def rest(self):
        """End the load."""
        self.detector.late = False

    def load(self):
        """Begin it again."""
        self.detector.late = True

    @property
    def ticks(self):
        """Ticks of a second."""
        return round(1.0 / TICK)
