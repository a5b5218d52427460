"""No healthy joint is declared because processes of a loaded computer stand still for a moment; locked ones are.

`Onboard` cannot do this: its parts run one after the other. In a LoadedWalk gait, servos, simulated robot and detector
stand still each on its own, for less long than what the detector can see in the stamps of messages, which wait in
queues.
"""

from collections import deque

import numpy as np
import pytest
from support.copies import on_a_copy
from support.walks import ROBOT, WHOLE

from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT
from hexapod_dynamics.drivers.servos.health import RECONNECTED
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.onboard.damage_detection import DamageDetection
from hexapod_dynamics.onboard.gait_control import GaitControl, GaitControlSettings
from hexapod_dynamics.onboard.onboard import Imu
from hexapod_dynamics.onboard.servos import Servos
from hexapod_dynamics.onboard.simulation import REST_TIME, TICK, UNANSWERED_SHARE
from hexapod_dynamics.simulation import Simulator, Truth
from hexapod_dynamics.simulation.readings import ACCELEROMETER, GYROSCOPE

SLOT = 0.01  # [s] in which each process runs once, unless it stands still
LATENCY = 0.02  # [s] from a command to the start of the servos
READS = 1.8  # joints read in a slot: each of 18 joints ten times a second, as launched
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

    The processes are the parts of Onboard. decisions: Decisions so far.
    """

    def __init__(self, stalls, seed=0, reads=READS, twist=(0.077, 0.0, 0.0)):
        truth = Truth(mass=1.03, stiffness=0.94, friction=0.7, slope=1.0, slope_yaw=60.0, rough=0.003, seed=seed)
        self.physics, self.declared = Simulator(ROBOT, timestep=2e-3, truth=truth), WHOLE
        settings = GaitControlSettings(brace=False)
        self.gait, self.imu = GaitControl(ROBOT, settings, gait=AdaptiveGait()), Imu(ROBOT, 1.0 / TICK)
        self.servos, self.detection = Servos(ROBOT, reads_a_second=reads / SLOT), DamageDetection(ROBOT)
        self.detector = self.detection.detector
        self.physics.reset(joints=self.gait.gait.position)
        self.time, self.decisions, self.loaded, self._slots = 0.0, [], False, 0
        self._random, random = np.random.default_rng(seed), np.random.default_rng(seed + 77)
        self._stalls = {name: Stalls(random, *stalls.get(name, (0.0, 0.0, 0.0))) for name in PROCESSES}
        self._to_gait, self._to_servos, self._to_robot, self._to_detector = (deque() for _ in PROCESSES)
        self._sent, self._seen = np.full(ROBOT.joint_count, np.nan), self.physics.q.copy()
        self._robot_time = self._sampled = 0.0
        self._following = False
        self._twist = 0.0, 0.0, 0.0
        self.run(REST_TIME)
        self._twist = twist

    def break_parts(self, morphology):
        """Break the physical robot."""
        self.physics.set_morphology(morphology)

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

    def slot(self):
        """Let each process run once, unless it stands still."""
        self._slots += 1
        self.time = SLOT * self._slots
        for name in ("robot", "gait", "servos", "detector"):
            if not self.loaded or self._stalls[name].runs(self.time):
                getattr(self, f"_step_{name}")(self.time)

    def _step_robot(self, now):
        physics = self.physics
        while self._robot_time < now - 1e-9:
            # After a stall the servos have what was sent last.
            while self._to_robot and self._to_robot[0][0] <= max(self._robot_time, now - SLOT) + 1e-9:
                sent = self._to_robot.popleft()[1]
                physics.command(np.where(physics.morphology.existing_mask, sent, np.nan), TICK)
            physics.step(1)
            self._robot_time += physics.timestep
        self._seen = physics.q.copy()
        if now - self._sampled > TICK - 1e-6:
            self._sampled, noise, chip = now, self._random.normal(size=6), ROBOT.imu.rotation.T
            force = physics.specific_force + ACCELEROMETER * noise[:3]
            reading = self.imu.sample(now, chip @ force, chip @ (physics.nu[3:6] + GYROSCOPE * noise[3:]))
            self._to_gait.append((now, reading))
            self._to_detector.append(("imu", now, reading))

    def _step_gait(self, now):
        while self._to_gait:
            self.gait.imu(*self._to_gait.popleft())
        self.gait.command(now, self._twist)
        command = self.gait.step(now)
        if command is not None:
            positions = np.full(ROBOT.joint_count, np.nan)
            positions[command.joints] = command.positions
            self._to_servos.append((now, positions))
            self._to_detector.append(("command", now, positions))

    def _step_servos(self, now):
        bus, state = self.servos.bus, self.servos.bus.state
        while self._to_servos:
            at, positions = self._to_servos.popleft()
            if not self._to_servos and now - at <= COMMAND_TIMEOUT:
                self.servos.command(now, positions)
        sent = self.servos.step(now)
        if not np.array_equal(sent, self._sent, equal_nan=True):
            self._sent = sent
            self._to_robot.append((now + LATENCY, sent))
        if self.servos.supervisor.is_executing != self._following:
            self._following = self.servos.supervisor.is_executing
            self.gait.set_following(self._following)
            self.detection.set_following(self._following)
        resolution, there = ROBOT.servo.resolution, self.physics.morphology.existing_mask
        for joint in bus.reads(now):
            if not there[joint] or self._random.random() < UNANSWERED_SHARE:
                bus.process_silence(now, joint)
                continue
            angle = float(np.floor(self._seen[joint] / resolution + 0.5) * resolution)
            if bus.process_answer(now, joint, angle):
                self._to_detector.append(("joint", now, joint, angle))
        if self._slots % 10 == 0:
            off = state.known & (not state.torque)
            self._to_detector.append(("bus", now, state.silent & ~state.missing, off, state.back >= RECONNECTED))

    def _step_detector(self, now):
        while self._to_detector:
            name, *arguments = self._to_detector.popleft()
            getattr(self.detection, name)(*arguments)
        if self._slots % 4 and not self.loaded:
            return
        outcome = self.detection.update(now)
        self.decisions += [*outcome.report, *outcome.declare]
        for decision in outcome.declare:
            self.declared = self.declared.updated(decision.values)
            self.gait.set_morphology(now, self.declared)
            self.servos.bus.set_missing(~self.declared.existing_mask)
            self.detection.set_morphology(self.declared)
        if outcome.trial is not None:
            self.gait.try_joint(now, outcome.trial)


# What stands still, for how long (mean, most) [s], and for which share of the time.
LOADS = {
    "servos": {"servos": (0.04, 0.14, 0.4)},
    "all": dict.fromkeys(PROCESSES, (0.015, 0.08, 0.5)),
    "all, too long": dict.fromkeys(PROCESSES, (0.1, 0.35, 0.4)),
}
SLOW = (0.04, 0.0, 0.0)  # twist: its femurs stand still for 0.8 s in each stance


def loaded_walk(load, seed=1, **arguments):
    walk = LoadedWalk(LOADS[load], seed, twist=SLOW, **arguments)
    walk.run(6.0)
    walk.load()
    return walk


@pytest.mark.parametrize("load, seconds", [("servos", 10.0), ("all", 20.0)])
def test_no_healthy_joint_is_declared_while_processes_stand_still_for_moments(load, seconds):
    """RR.femur and LF.femur were declared: ten readings a second fit nine of them into a stance phase, and in the last
    one the femur had not been lifted yet, because the robot stood still.
    """
    walk = loaded_walk(load)
    walk.run(seconds)
    assert walk.decisions == []
    walk.rest()
    walk.run(6.0)
    assert walk.decisions == [] and walk.detector.missing_inputs(walk.time) == []
    walk.break_parts(WHOLE.broken("RM.tibia", 0.05))
    walk.run(6.0, until=lambda walk: walk.decisions)
    assert [decision.text.partition(" ")[0] for decision in walk.decisions] == ["RM.tibia"]


def test_the_reason_for_which_nothing_is_judged_is_named():
    walk, reasons = loaded_walk("all, too long"), set()
    for _ in range(120):
        walk.run(0.1)
        reasons |= {text for text in walk.detector.missing_inputs(walk.time) if walk.detector.disturbed}
    assert walk.decisions == [] and reasons
    assert all(one.startswith(("readings come late: not judged (", "commands or readings arrive")) for one in reasons)
    assert any("readings come late: not judged (" in one for one in reasons)


@pytest.fixture(scope="module")
def walk():
    return loaded_walk("all", 2)


@pytest.mark.parametrize("joint", ["RR.femur", "RM.coxa"])
@on_a_copy
def test_a_joint_that_is_locked_on_a_loaded_computer_is_found(walk, joint):
    index = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links].index(joint)
    walk.break_parts(WHOLE.locked(joint, float(walk.physics.q[index])))
    assert walk.run(8.0, until=lambda walk: walk.decisions)
    assert [decision.text.partition(" locked")[0] for decision in walk.decisions] == [joint]


@pytest.mark.parametrize("joint, reads", [("LM.femur", 1.0), ("LR.tibia", 2.5)])
def test_a_locked_joint_is_found_within_two_cycles_at_each_pace_of_the_bus(joint, reads):
    walk = LoadedWalk({}, 3, reads=reads)
    walk.run(6.0)
    index = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links].index(joint)
    walk.break_parts(WHOLE.locked(joint, float(walk.physics.q[index])))
    assert walk.run(2.4, until=lambda walk: walk.decisions)
    assert [decision.text.partition(" locked")[0] for decision in walk.decisions] == [joint]
