"""A second servo protocol, in memory and with its own pace, under the bus thread and what decides for the robot."""

import ast
import re
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import waiting

import hexapod_dynamics
from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.interface import PROTOCOLS, Fault, Line, PortSettings, ServoInterface, make_servos
from hexapod_dynamics.drivers.servos.supervisor import ServoSupervisor, SupervisorSettings
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_map import ServoMap

wait_until = partial(waiting.wait_until, patience=1)
ROOT = Path(hexapod_dynamics.__file__).parent
DIRECTIONS = (1, -1, 1, -1)
MAP = ServoMap(("a", "b", "c", "d"), (11, 12, 13, 14), DIRECTIONS)
# Who knows the LX protocol besides its own directory: the registration, the simulated LX devices, the LX register tool.
KNOW_LX = {
    "drivers/servos/interface.py",
    "devices/board.py",
    "devices/servos.py",
    "devices/lx_bus.py",
    "tools/servo_tool.py",
}
# Who counts as these servos do: the robot file's counts, and the servos behind the STM32 board.
KNOW_COUNTS = {"robot/servo_map.py", "drivers/board/servos.py"}


class MemoryServos(ServoInterface):
    """Servos that take any angle within 2.5 rad in steps of 1 mrad, each answer after 1 ms; dead: who is mute."""

    reply_timeout, patience, resolution, readable = 0.002, 0.005, 1e-3, (-2.6, 2.6)
    pose_times = 0.0, 1e-4

    def __init__(self, settings, ids):
        self.ids, self.port, self.line, self.counts = tuple(ids), "memory", Line(), self
        self.angle, self.torque, self.dead = np.full(len(self.ids), 0.2), np.ones(len(self.ids), bool), set()
        self.written, self.stops = [], 0
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, settings, ids):
        return cls(settings, ids)

    def open(self):
        self.line.is_open = True

    def close(self):
        self.line.is_open = False

    def quantise(self, angles):
        return np.clip(np.round(angles / self.resolution) * self.resolution, -2.5, 2.5)

    def write_pose(self, angles, durations, chosen):
        with self._lock:
            if not self.line.interrupted:
                self.written.append(list(angles))
                for index, wanted in enumerate(chosen):
                    if wanted and self.torque[index]:
                        self.angle[index] = angles[index]

    def write(self, index, angle, duration):
        self.angle[index] = angle

    def switch_torque(self, indices, on, copies=1):
        if not self.line.interrupted:
            self.torque[list(indices)] = on

    def stop(self, index=None):
        self.stops += 1

    def stop_now(self):
        with self._lock:
            self.line.interrupted = True
            self.stops += 1
        return True

    def resume(self):
        self.line.interrupted = False

    def read(self, index, quantity, idle=None, timeout=None):
        time.sleep(0.001)
        self.line.busy_time += 0.001
        if index in self.dead:
            self.fault = Fault.TIMEOUT
            return None
        self.fault, self.read_time = None, time.monotonic()
        self.answer_time = self.read_time
        values = {"voltage": 11.5, "temperature": 30.0, "loaded": bool(self.torque[index])}
        return values.get(quantity, float(self.angle[index]))


@pytest.fixture
def servos(monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "memory", f"{__name__}:MemoryServos")
    return make_servos(PortSettings("nowhere"), MAP.ids, "memory")


@pytest.fixture
def control(servos):
    chain = ServoChain(servos, MAP, ChainSettings(position_rate=50.0))
    guard = PoseGuard(np.full(4, -1.5), np.full(4, 1.5), 30.0)
    control = ServoSupervisor(chain, guard, SupervisorSettings(np.zeros(4)), lambda text: None)
    chain.start()
    yield control
    chain.stop()


def state_of(control):
    return control.chain.snapshot()


def command(control, pose, until, what):
    def tried():
        control.follow(np.arange(4), np.array(pose), time.monotonic())
        time.sleep(0.015)
        return until()

    wait_until(tried, what=what)


def test_one_registration_makes_a_protocol_known(servos):
    assert isinstance(servos, MemoryServos)
    with pytest.raises(DeviceError, match="known are lx, board, dynamixel, feetech, topics, memory"):
        make_servos(PortSettings("nowhere"), MAP.ids, "unknown")


def test_it_is_read_in_joint_angles_and_moved_to_a_commanded_pose(control, servos):
    wait_until(lambda: state_of(control).settled, what="each joint is read")
    assert state_of(control).angle == pytest.approx([0.2, -0.2, 0.2, -0.2])
    pose = [0.4, 0.1, -0.1, 0.3]
    command(control, pose, lambda: np.allclose(servos.angle * DIRECTIONS, pose, atol=1e-3), "the pose is reached")
    wait_until(lambda: np.allclose(state_of(control).angle, pose, atol=1e-3), what="it is measured")
    wait_until(lambda: state_of(control).supply == 11.5, what="the supply is measured")


def test_a_servo_that_answers_no_more_is_lost_and_found_again(control, servos):
    wait_until(lambda: state_of(control).settled, what="each joint is read")
    servos.dead.add(2)
    wait_until(lambda: state_of(control).silent.tolist() == [False, False, True, False], what="only this one is silent")
    servos.dead.clear()
    wait_until(lambda: state_of(control).known.all(), what="it is read again")


def test_stop_torque_off_and_on_again(control, servos):
    wait_until(lambda: state_of(control).settled, what="each joint is read")
    assert control.emergency_stop(True)[0] and servos.stops
    wait_until(lambda: state_of(control).frozen and not servos.line.interrupted, what="the stop is taken")
    writes = len(servos.written)
    control.follow(np.arange(4), np.zeros(4), time.monotonic())
    time.sleep(0.1)
    assert len(servos.written) == writes
    assert control.emergency_stop(False)[0]
    wait_until(lambda: state_of(control).settled and not state_of(control).frozen, what="it is read again")
    assert not control.disable_torque()
    wait_until(lambda: not servos.torque.any() and not state_of(control).torque, what="torque is off")
    assert control.chain.wait_confirmed(5.0)
    assert not control.stand()
    wait_until(lambda: servos.torque.all() and state_of(control).torque, what="torque is on")
    assert control.chain.wait_confirmed(5.0)
    assert control.resume()[0]
    pose = [0.3, -0.3, 0.3, -0.3]
    command(control, pose, lambda: np.allclose(servos.angle * DIRECTIONS, pose, atol=1e-3), "it follows again")


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_outside_the_protocols_directory_imports_it_or_names_counts():
    """Who needs the protocol itself is named above; counts belong to `robot/`."""
    found = set()
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("drivers/servos/lx/"):
            continue
        text = path.read_text(encoding="utf-8")
        modules = [*imported_modules(path), *re.findall(r'"([\w.]+):\w+"', text)]  # imported when it is chosen
        if any(module.startswith("hexapod_dynamics.drivers.servos.lx") for module in modules):
            found.add(name)
        if "COUNTS_PER_RADIAN" in text:
            assert name in KNOW_LX | KNOW_COUNTS, f"{name} names counts"
    assert found == KNOW_LX
