"""A walk on a loaded computer, process by process: gait, servos, simulated robot and detector stand still at times,
each on its own, for less long than what the detector can see in the stamps of messages.

`Onboard` cannot do this: its parts run one after the other. Here each has its own loop, and messages wait in queues.
"""

from collections import deque

import numpy as np
from support.walks import ROBOT, WHOLE
from vqf import VQF

from hexapod_dynamics.control.joint_trial import JointTrial
from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion
from hexapod_dynamics.simulation import Simulator, Truth

TICK, SETTLED = 0.02, 2.0  # [s] between two commands; after the start
SLOT = 0.01  # [s] in which each process runs once, unless it stands still
LATENCY = 0.02  # [s] from a command to the start of the servos
READS = 1.8  # joints read in a slot: each of 18 joints ten times a second, as launched
COMMAND_TIMEOUT = 0.3
LOSS = 1.0 - (1.0 - 0.005) ** 14  # share of requests without an answer: half a per cent of 14 bytes is lost
# [s] between two questions to any silent servo, to one of them; since its last answer in which it is newly silent, and
# asked so long after any silent one. As the driver's ChainSettings.
PACE, SELDOM, NEWLY, NEW_PACE = 0.15, 0.5, 1.0, 0.07
PROCESSES = ("gait", "servos", "robot", "detector")


class Stalls:
    """Whether a process stands still: for `mean` [s] on average (exponential), at most `most`, and this share of the
    time.
    """

    def __init__(self, random, mean, most, share):
        self._random, self._mean, self._most, self._share = random, mean, most, share
        self._until, self._next = -1.0, random.uniform(0.0, 1.0)

    def runs(self, time):
        """Return True if the process runs at a time [s]."""
        if self._share <= 0.0:
            return True
        while time >= self._next:
            stall = min(self._random.exponential(self._mean), self._most)
            self._until = self._next + stall
            self._next = self._until + self._random.exponential(self._mean * (1.0 / self._share - 1.0))
        return time >= self._until


class LoadedWalk:
    """A walk whose processes stand still at times, until `rest()`; stalls: {process: (mean, most [s], share)}.

    The bus reads joints one after another, loses answers as lost bytes make it, and asks silent servos seldom, as
    drivers/servos does. decisions: Decisions so far.
    """

    def __init__(self, stalls, seed=0, reads=READS, twist=(0.077, 0.0, 0.0)):
        truth = Truth(mass=1.03, stiffness=0.94, friction=0.7, slope=1.0, slope_yaw=60.0, rough=0.003, seed=seed)
        self.physics, self.declared = Simulator(ROBOT, timestep=2e-3, truth=truth), WHOLE
        self.gait, self.trial, self.detector = AdaptiveGait().bind(ROBOT), JointTrial(ROBOT), DamageDetector(ROBOT)
        self.time, self.decisions, n = 0.0, [], ROBOT.joint_count
        self._random, self._attitude = np.random.default_rng(seed), VQF(TICK)
        self._turn, self._failures, self._silent = 0, np.zeros(n, int), np.zeros(n, bool)
        self._asked, self._answered, self._probed = np.full(n, -np.inf), np.zeros(n), 0.0  # times [s]
        self.physics.reset(joints=self.gait.position)
        self._guard, self._met = PoseGuard.of_robot(ROBOT), np.zeros(n, np.int64)
        self._guard.synchronise_setpoint(self._met, self.gait.position.copy(), np.ones(n, bool))
        self._slots, self._reads, self._due_reads = 0, reads, 0.0
        random = np.random.default_rng(seed + 77)
        self._stalls = {name: Stalls(random, *stalls.get(name, (0.0, 0.0, 0.0))) for name in PROCESSES}
        self.loaded = False
        self._gait_ticks = 0
        self._to_servos, self._to_robot, self._to_detector = deque(), deque(), deque()
        self._moved = self._commanded = -np.inf
        self._robot_time, self._seen = 0.0, self.physics.q.copy()
        self._taken = 0.0
        self.gait.command(*twist)

    def damage(self, morphology):
        """Break the physical robot."""
        self.physics.set_morphology(morphology)

    def _declare(self, morphology):
        back = morphology.existing_mask & ~self.declared.existing_mask
        self._silent[back], self._failures[back] = False, 0
        self._met[back] += 1
        self._guard.synchronise_setpoint(self._met, self.physics.q, np.ones(len(back), bool))
        self.declared = morphology
        for each in (self.gait, self.trial, self.detector):
            each.set_morphology(morphology)

    def run(self, seconds, until=None):
        """Walk for so many seconds, or until `until(self)`; return whether it came to that."""
        for _ in range(round(seconds / SLOT)):
            self.slot()
            if until is not None and until(self):
                return True
        return False

    def load(self):
        """Begin the load."""
        self.loaded = True

    def rest(self):
        """End the load."""
        self.loaded = False

    def _runs(self, process):
        return not self.loaded or self._stalls[process].runs(self.time)

    def slot(self):
        """Let each process run once, unless it stands still."""
        self._slots += 1
        self.time = SLOT * self._slots
        if self._runs("robot"):
            self._step_robot()
        if self._runs("gait"):
            self._step_gait()
        if self._runs("servos"):
            self._step_servos()
        if self._runs("detector"):
            self._step_detector()

    def _step_gait(self):
        due = int(np.floor(self.time / TICK + 1e-6)) - self._gait_ticks
        if due <= 0:
            return
        self._gait_ticks += due
        command = self.gait.step(min(due * TICK, 0.25 * self.gait.period))[0].copy()
        command[~self.declared.moving_mask] = np.nan
        tried = self.trial.setpoint(self.time)
        if tried is not None:
            command[self.trial.joint] = tried
        self._to_servos.append((self.time, command))
        self._to_detector.append(("command", self.time, command.copy()))

    def _step_servos(self):
        now = self.time
        newest = None
        while self._to_servos:
            newest = self._to_servos.popleft()
        if now - self._commanded > COMMAND_TIMEOUT and np.isfinite(self._commanded):
            self._guard.pause()
        if newest is not None and (now - newest[0]) <= COMMAND_TIMEOUT:
            self._commanded = now
            interval = TICK if now - self._moved > COMMAND_TIMEOUT else min(now - self._moved, 2.0 * TICK)
            self._moved = now
            sent = self._guard.update(newest[1], np.zeros(len(newest[1])), interval)
            self._to_robot.append((now + LATENCY, sent, max(interval, TICK)))
        self._read()

    def _step_robot(self):
        physics = self.physics
        steps = round((self.time - self._robot_time) / physics.timestep)
        for _ in range(max(steps, 0)):
            at = self._robot_time
            # After a stall the servos have what was sent last.
            while self._to_robot and self._to_robot[0][0] <= max(at, self.time - SLOT) + 1e-9:
                _, sent, period = self._to_robot.popleft()
                sent[~physics.morphology.existing_mask] = np.nan
                physics.command(sent, period)
            physics.step(1)
            self._robot_time += physics.timestep
        self._seen = physics.q.copy()
        self._sample_imu()

    def _sample_imu(self):
        if self.time - self._taken < TICK - 1e-6:
            return
        self._taken = self.time
        random, physics = self._random, self.physics
        gyro = physics.angular_velocity + random.normal(0.0, 7.3e-4, 3)
        force = physics.specific_force + random.normal(0.0, 0.033, 3)
        self._attitude.update(np.ascontiguousarray(gyro), np.ascontiguousarray(force))
        w, x, y, z = self._attitude.getQuat6D()
        rotation = rotation_from_quaternion((x, y, z, w))
        self._to_detector.append(("measure_attitude", self.time, rotation))
        if self.time > SETTLED:
            yaw, pitch, roll = euler_zyx(rotation)
            self.gait.sense(roll, pitch, yaw)

    def _read(self):
        resolution, n, mute = ROBOT.servo.resolution, len(self._seen), ~self.physics.morphology.existing_mask
        self._due_reads = min(self._due_reads + self._reads, 2.0 * self._reads)
        while self._due_reads >= 1.0:
            self._due_reads -= 1.0
            joint = self._next()
            if joint is None:
                break
            self._asked[joint] = self.time
            if mute[joint] or self._random.random() < LOSS:
                self._failures[joint] += 1
                if self._failures[joint] < 3:
                    self._turn -= 1
                else:
                    self._silent[joint] = True
                continue
            self._failures[joint], self._silent[joint], self._answered[joint] = 0, False, self.time
            angles = np.full(n, np.nan)
            angles[joint] = np.floor(self._seen[joint] / resolution + 0.5) * resolution
            self._to_detector.append(("measure_joints", self.time, angles))

    def _step_detector(self):
        detector = self.detector
        while self._to_detector:
            name, *arguments = self._to_detector.popleft()
            getattr(detector, name)(*arguments)
        if self._slots % 30 == 0:
            there = ~self.declared.existing_mask & self.physics.morphology.existing_mask
            detector.bus(self.time, self._silent.copy(), np.zeros(len(self._silent), bool), there)
        if self._slots % 4 and not self.loaded:
            return
        for decision in detector.update(self.time):
            self.decisions.append(decision)
            if decision.action != "suspect":
                self._declare(self.declared.updated(decision.values))
        joint = detector.retest(self.time)
        if joint is not None:
            self.trial.begin(self.time, joint)

    def _next(self):
        exist = self.declared.existing_mask
        if self.time - self._probed >= NEW_PACE:
            for joint in np.flatnonzero(exist & self._silent).tolist():
                new = self.time - self._answered[joint] < NEWLY
                pace, patience = (NEW_PACE, NEW_PACE) if new else (PACE, SELDOM)
                if self.time - self._probed >= pace and self.time - self._asked[joint] >= patience:
                    self._probed = self.time
                    return joint
        for _ in range(len(exist)):
            joint = self._turn % len(exist)
            self._turn += 1
            if exist[joint] and not self._silent[joint]:
                return joint
        return None
