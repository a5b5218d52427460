"""servo_tool on simulated servos: it lists, reads, centres, and writes to flash only when told so."""

import math
import subprocess
import sys

import numpy as np
import pytest
from support import programs
from support.lx_rig import MAP
from support.waiting import wait_until

from hexapod_dynamics.drivers.servos.interface import Fault, PortSettings
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.tools.servo_tool import ServoTool

pytest_plugins = ["support.lx_fixtures"]
ROBOT = Robot.jethexa()


class Session:
    """A tool on the rig's bus, its answers, and what it said and asked."""

    def __init__(self, rig, answers=(), ids=range(25)):
        self.bus = LxServos(PortSettings(str(rig.link), reply_timeout=0.06), ())
        self.bus.open()
        self.said, self.asked, self.answers = [], [], list(answers)
        self.tool = ServoTool(self.bus, ROBOT, self._ask, self.said.append, ids)

    def _ask(self, question):
        self.asked.append(question)
        return self.answers.pop(0)


@pytest.fixture
def session(rig):
    sessions = []

    def make(*answers, **options):
        sessions.append(Session(rig, answers, **options))
        return sessions[-1]

    yield make
    for one in sessions:
        one.bus.release()


def alone(rig, index):
    """Leave one servo on the bus."""
    rig.servos.present[:] = False
    rig.servos.present[index] = True


def test_scan_lists_the_robot_and_warns_of_a_supply_limit_below_a_full_pack(rig, session):
    rig.servos.vin_limits[3, 1] = 12000
    one = session()
    assert one.tool.scan()
    text = "\n".join(one.said)
    assert all(name in text for name in ROBOT.joint_names) and text.count("torque off above 12.0 V") == 1
    assert len(one.said) == 18


def test_scan_names_the_missing_the_doubled_and_the_stranger(rig, session):
    rig.servos.present[0] = False  # coxa_joint_LF, id 5
    rig.servos.ids[3] = 19  # coxa_joint_LM calls itself 19
    rig.servos.ids[6] = MAP.ids[7]  # coxa_joint_LR and femur_joint_LR
    rig.servos.set_angles(np.linspace(-0.5, 0.5, 18))
    one = session()
    assert not one.tool.scan()
    text = "\n".join(one.said)
    assert "coxa_joint_LF (id 5)" in text and " 19  not one of this robot" in text
    assert any("femur_joint_LR" in line and "two servos" in line for line in one.said)


@pytest.mark.parametrize("after", [Fault.TIMEOUT, Fault.GARBAGE])
def test_an_id_that_gives_corrupted_answers_and_then_none_is_not_an_unused_one(after):
    """Two servos with one id: set-id, which needs a servo alone, must not write to both."""
    answers = {5: [Fault.CHECKSUM, after, after], 7: [None]}

    class Bus:
        fault = None

        def exchange(self, servo_id, command):
            self.fault = (answers.get(servo_id) or [Fault.TIMEOUT]).pop(0)
            return b"" if self.fault is None else None

    tool = ServoTool(Bus(), ROBOT, lambda question: True, ids=range(4, 9))
    assert tool.find() == ([7], [5])
    answers |= {5: [Fault.CHECKSUM, after, after], 7: [None]}
    with pytest.raises(DeviceError, match="connect only servo 7"):
        tool.set_id(7, 21)


def test_read_shows_every_register_by_joint_or_id(rig, session):
    one = session()
    assert one.tool.read("femur_joint_LM") and one.tool.read("9")
    assert one.said[: len(one.said) // 2] == one.said[len(one.said) // 2 :]
    text = "\n".join(one.said)
    for piece in ("servo 9: femur_joint_LM", "-5.8", "11.80", "9.0 .. 12.6", "-120 .. 120", "servo"):
        assert piece in text
    with pytest.raises(DeviceError, match="neither a servo id"):
        one.tool.read("femur")


def test_center_asks_and_moves_slowly(rig, session):
    one = session(False, True, True)
    assert not one.tool.center(["coxa_joint_LF"]) and rig.servos.motion(0)[1][0] == pytest.approx(0.1, abs=0.01)
    assert not one.tool.center(["coxa_joint_LF"]) and "deg off: blocked?" in one.said[-1]
    rig.servos.set_angles(np.zeros(18))
    assert one.tool.center(["coxa_joint_LF"])
    assert "in the air" in one.asked[0]
    assert rig.servos.motion(0)[1][0] == 0.0 and rig.servos.motion(0)[1][1] == pytest.approx(0.1, abs=0.01)


def test_calibrate_saves_only_after_yes(rig, session):
    one = session(False, True, True)
    assert not one.tool.calibrate("coxa_joint_LF", 2.4)
    wait_until(lambda: rig.servos.offset[0] == 0)  # went back
    assert rig.servos.flash_writes[0] == 0
    assert one.tool.calibrate("coxa_joint_LF", -2.4)
    wait_until(lambda: rig.servos.flash_writes.any())
    assert rig.servos.saved_offset[0] == -10 and rig.servos.flash_writes.tolist() == [1] + [0] * 17
    for degrees in (40.0, math.nan):
        with pytest.raises(DeviceError, match="30 deg"):
            one.tool.calibrate("coxa_joint_LF", degrees)


def test_set_id_needs_the_servo_alone_and_a_yes(rig, session):
    one = session(False, True, ids=range(4, 9))
    with pytest.raises(DeviceError, match="connect only servo"):
        one.tool.set_id(5, 21)
    alone(rig, 0)
    assert not one.tool.set_id(5, 21) and rig.servos.ids[0] == 5
    with pytest.raises(DeviceError, match="outside 0..253"):
        one.tool.set_id(5, 254)
    with pytest.raises(DeviceError, match="connect only servo 7"):
        one.tool.set_id(7, 21)
    assert one.tool.set_id(5, 21) and rig.servos.ids[0] == 21
    assert rig.servos.flash_writes.tolist() == [1] + [0] * 17


def run(rig, *arguments):
    options = ("--port", str(rig.link), "--reply-timeout", "0.06")
    command = (sys.executable, "-m", "hexapod_dynamics.tools.servo_tool", *options, *arguments)
    return programs.run(*command, stdin=subprocess.DEVNULL)


def test_the_program_tells_by_its_exit_code(rig, tmp_path):
    done = run(rig, "scan", "--last", "18")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 18, done.stderr
    alone(rig, 0)
    done = run(rig, "calibrate", "5", "2.4")
    assert done.returncode == 1 and "no terminal" in done.stdout and rig.servos.flash_writes.sum() == 0
    done = run(rig, "--yes", "calibrate", "5", "2.4")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: rig.servos.saved_offset[0] == 10)
    for last in ("-1", "254"):
        done = run(rig, "scan", "--last", last)
        assert done.returncode == 2 and "whole numbers from 0 to 253" in done.stderr, done.stderr
    rig.unplug()
    done = run(rig, "scan")
    assert done.returncode == 1 and "does not exist" in done.stderr and "Traceback" not in done.stderr


def test_while_a_node_has_the_port_the_tool_says_so(rig, session):
    session()
    done = run(rig, "scan")
    assert done.returncode == 1 and "in use by another process" in done.stderr
