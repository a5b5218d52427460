"""check_robot rehearsed on the simulated robot: all is well, each fault is found and named, nothing is left moving."""

import io
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import yaml
from support import programs
from support.waiting import wait_until

from hexapod_dynamics.devices.suspended_robot import SuspendedRobot
from hexapod_dynamics.drivers.imu.mpu6050 import Mpu6050Settings
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings, make_servos
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import rotation_rpy
from hexapod_dynamics.tools import check_robot
from hexapod_dynamics.tools.check_robot import CHECKS, run_checks
from hexapod_dynamics.tools.commissioning.bench import Answer, Attitude, Bench, Operator, SimulatedOperator
from hexapod_dynamics.tools.commissioning.findings import all_passed

ROBOT = Robot.jethexa()
LEFT_FRONT = ("coxa_joint_LF", "femur_joint_LF", "tibia_joint_LF")


class Rehearsal:
    """A suspended robot and the checks on it."""

    def __init__(self, directory, **mounted):
        self.robot = SuspendedRobot(ROBOT, directory, **mounted)
        self.robot.start()
        self.said = []
        self.operator = SimulatedOperator(self.robot, self.said.append)
        self.fastest, self._watching = 0.0, True
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        """Largest speed of any set-point over 0.1 s [rad/s]."""
        path = []
        while self._watching:
            path.append((time.monotonic(), self.robot.angles))
            past = [each for each in path if each[0] < path[-1][0] - 0.1]
            if past:
                t, angles = past[-1]
                self.fastest = max(self.fastest, np.abs(path[-1][1] - angles).max() / (path[-1][0] - t))
                path = path[len(past) - 1 :]
            time.sleep(0.01)

    def bench(self, joints=LEFT_FRONT, speed=1.0, operator=None):
        servos = self.robot.parameters["servos"]
        port = PortSettings(servos["port"], servos["baudrate"], reply_timeout=check_robot.SIMULATED_TIMEOUT)
        bus = make_servos(port, ServoMap.from_robot(ROBOT).ids, servos["protocol"])
        i2c = self.robot.parameters["imu"].get("bus", "")
        return Bench(ROBOT, bus, i2c, Mpu6050Settings(), operator or self.operator, joints, speed)

    def run(self, *checks, **options):
        bench = self.bench(**options)
        try:
            return list(run_checks(checks or tuple(CHECKS), bench))
        finally:
            bench.bus.release()

    def close(self):
        self._watching = False
        self._thread.join()
        self.robot.stop()


@pytest.fixture
def rehearse(tmp_path):
    made = []

    def make(**mounted):
        made.append(Rehearsal(tmp_path / str(len(made)), **mounted))
        return made[-1]

    yield make
    for each in made:
        each.close()


def wrong(findings):
    return {(each.check, each.what): each for each in findings if not each.passed}


@pytest.mark.parametrize("loaded, checks", [(False, tuple(CHECKS)), (True, ("directions", "trim", "stop"))])
def test_a_good_robot_passes_all_and_is_left_as_it_was(rehearse, loaded, checks):
    one = rehearse(loaded=loaded)
    before = one.robot.angles
    findings = one.run(*checks)
    assert all_passed(findings), "\n".join(each.lines for each in findings)
    assert {each.check for each in findings} == set(checks)
    assert (one.robot.servos.loaded == loaded).all() and one.robot.servos.flash_writes.sum() == 0
    assert np.abs(one.robot.angles - before).max() < 0.04
    assert 0.1 < one.fastest < 1.5


def test_every_joint_is_moved_and_alone(rehearse):
    findings = rehearse().run("directions", joints=())
    assert [each.what for each in findings] == list(ROBOT.joint_names) and all_passed(findings)


def test_without_another_wish_a_joint_moves_slowly(rehearse):
    one = rehearse()
    assert all_passed(one.run("directions", joints=LEFT_FRONT[:1], speed=Bench.speed))
    assert 0.2 < one.fastest < 0.45  # 0.3 rad/s, over 0.1 s of a machine that is not alone


def test_a_silent_servo_is_named(rehearse):
    one = rehearse()
    one.robot.faults.set({"servo.silent": "femur_joint_LF"})
    bad = wrong(one.run("servos", "supply", "directions"))
    assert set(bad) == {(check, "femur_joint_LF") for check in ("servos", "supply", "directions")}
    assert "servo 3 does not answer" in bad["servos", "femur_joint_LF"].seen


def test_two_servos_with_one_id_are_named(rehearse):
    one = rehearse()
    with one.robot.servos.lock:
        one.robot.servos.ids[0] = one.robot.servos.ids[1]
        one.robot.servos.set_angles(np.linspace(-0.5, 0.5, 18))
    bad = wrong(one.run("servos"))
    assert "does not answer" in bad["servos", "coxa_joint_LF"].seen
    assert "corrupted answers" in bad["servos", "femur_joint_LF"].seen


@pytest.mark.parametrize("joint", ["femur_joint_LF", "coxa_joint_LF"])
def test_a_servo_that_is_mounted_the_other_way_round_is_named_with_the_change(rehearse, joint):
    bad = wrong(rehearse(turned_round=[joint]).run("directions"))
    assert list(bad) == [("directions", joint)]
    assert "from -1 to 1 in the robot file" in bad["directions", joint].remedy


def test_exchanged_ids_are_seen_by_the_owner(rehearse):
    one = rehearse()
    with one.robot.servos.lock:
        one.robot.servos.ids[[0, 1]] = one.robot.servos.ids[[1, 0]]
    bad = wrong(one.run("directions"))
    assert set(bad) == {("directions", "coxa_joint_LF"), ("directions", "femur_joint_LF")}
    assert "exchanged ids" in bad["directions", "coxa_joint_LF"].remedy


def test_a_low_battery_and_a_supply_limit_are_told(rehearse):
    one = rehearse()
    one.robot.faults.set({"battery.voltage": 9.9})
    bad = wrong(one.run("supply"))
    assert list(bad) == [("supply", "voltage")] and "charge" in bad["supply", "voltage"].remedy
    one.robot.faults.set({"battery.voltage": 11.8})
    one.robot.servos.vin_limits[3, 1] = 12000
    assert "coxa_joint_LM" in wrong(one.run("supply"))["supply", "limits of the servos"].seen


def test_an_absent_imu_is_told_and_does_not_keep_the_servos_from_being_checked(rehearse):
    one = rehearse()
    one.robot.faults.set({"imu.absent": True})
    findings = one.run("imu", "axes", "servos")
    assert set(wrong(findings)) == {("imu", "MPU6050"), ("axes", "MPU6050")}
    assert "i2cdetect" in wrong(findings)["imu", "MPU6050"].remedy


@pytest.mark.parametrize("rpy_deg", [(0, 0, -90), (90, 0, 0)])
def test_an_imu_that_is_mounted_in_another_way_gives_the_line_for_the_robot_file(rehearse, rpy_deg):
    bad = wrong(rehearse(imu_rotation=rotation_rpy(*np.radians(rpy_deg))).run("imu", "axes"))
    text = bad["axes", "mounting"].remedy
    assert len(bad) == 1
    angles = [float(part) for part in text.partition("[")[2].partition("]")[0].split(",")]
    np.testing.assert_allclose(rotation_rpy(*np.radians(angles)), rotation_rpy(*np.radians(rpy_deg)), atol=1e-12)


@pytest.mark.parametrize("bus, tool", [("lx", "`servo_tool calibrate"), ("board", "off: the maker's program sets")])
def test_a_horn_that_is_off_is_seen_in_the_reference_pose(rehearse, bus, tool):
    one = rehearse(bus=bus)
    one.robot.servos.trim[2] = 25.0  # counts, 6 degrees
    bad = wrong(one.run("trim"))
    assert list(bad) == [("trim", "leg LF")] and tool in bad["trim", "leg LF"].remedy


def test_a_blocked_joint_is_told_and_not_pushed_hard(rehearse):
    one = rehearse(loaded=True)
    one.robot.blocked.add("femur_joint_LF")
    bad = wrong(one.run("directions", joints=("femur_joint_LF",)))
    assert "stays at" in bad["directions", "femur_joint_LF"].seen
    index = ROBOT.joint_names.index("femur_joint_LF")
    assert abs(one.robot.angles[index] - 0.1) < 0.055  # the target is never further ahead


def test_a_stop_that_does_not_stop_is_told(rehearse, monkeypatch):
    one = rehearse()
    monkeypatch.setattr(one.robot.servos, "_stop", lambda *_: None)  # servos that do not obey MOVE_STOP
    assert "moved on" in wrong(one.run("stop"))["stop", "coxa_joint_LF"].remedy


def test_what_the_owner_does_not_permit_is_not_moved_and_not_passed(rehearse):
    one = rehearse()
    one.operator = SimulatedOperator(one.robot, refuses=("move",))
    bad = wrong(one.run("directions", "trim", "stop"))
    assert len(bad) == 5 and {each.outcome for each in bad.values()} == {"not run"}
    assert one.fastest == 0.0 and not one.robot.servos.loaded.any()


class Interrupting(SimulatedOperator):
    """Does something while a joint is out of its place, when it is asked what it sees."""

    def __init__(self, robot, act):
        super().__init__(robot, lambda _: None)
        self._act = act

    def ask_seen(self, question, expected, *, absolute=False):
        self._act()
        return super().ask_seen(question, expected, absolute=absolute)


@pytest.mark.parametrize("loaded", [False, True])
def test_ctrl_c_stops_the_joint_and_leaves_its_torque_as_it_was(rehearse, loaded):
    one = rehearse(loaded=loaded)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.run("directions", operator=Interrupting(one.robot, interrupt))
    time.sleep(0.2)
    here = one.robot.angles
    assert (one.robot.servos.loaded == loaded).all()
    time.sleep(0.3)
    np.testing.assert_array_equal(one.robot.angles, here)


def test_a_lost_cable_is_told_once_and_the_rest_is_not_run(rehearse):
    one = rehearse()
    findings = one.run("directions", "trim", "imu", operator=Interrupting(one.robot, one.robot.servo_bus.unplug))
    bad = wrong(findings)
    assert {each.check for each in bad.values()} == {"directions", "trim"}
    assert [each.outcome for each in bad.values()] == ["FAILED", "not run"]
    assert "cable" in next(iter(bad.values())).remedy
    here = one.robot.angles
    time.sleep(0.3)
    np.testing.assert_array_equal(one.robot.angles, here)


def test_a_port_that_another_process_has_is_refused_with_that_process(rehearse):
    one = rehearse()
    code = (
        "from hexapod_dynamics.drivers.servos.interface import PortSettings\n"
        "from hexapod_dynamics.drivers.servos.lx.servos import LxServos\n"
        f"bus = LxServos(PortSettings({str(one.robot.servo_bus.link)!r}), ())\n"
        "bus.open(); print(flush=True); input()  # node servos"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        findings = one.run("port", "servos", "directions")
        other.communicate(b"\n")
    assert {each.outcome for each in findings[1:]} == {"FAILED", "not run"}
    assert f"process {other.pid} (" in findings[1].seen and "Ctrl-C in the terminal of the launch" in findings[1].remedy
    assert one.fastest == 0.0


# The program ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def devices(rehearse, tmp_path):
    """A rehearsal whose device files are in a parameter file, as those of a real robot are."""
    one = rehearse(loaded=True)
    servos = {"port": str(one.robot.servo_bus.link), "direction": "adapter", "reply_timeout": 0.1}
    imu = {"bus": str(one.robot.i2c.path)}
    file = tmp_path / "hardware.yaml"
    file.write_text(yaml.safe_dump({f"/**/{n}": {"ros__parameters": v} for n, v in (("servos", servos), ("imu", imu))}))
    return one, ("--hardware", str(file))


def run(*arguments, answers=""):
    command = [sys.executable, "-m", "hexapod_dynamics.tools.check_robot", *arguments]
    return programs.run(*command, input=answers, timeout=120)


def test_the_program_rehearses_writes_a_report_and_tells_by_its_exit_code(tmp_path):
    report = tmp_path / "report.md"
    done = run("--simulated", "--only", "port,servos,supply,stop", "--report", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Your hand is at the battery switch" in done.stdout and "FAILED" not in done.stdout
    assert "| stop | coxa_joint_LF | passed |" in report.read_text() and "jethexa (simulated)" in report.read_text()
    done = run("--simulated", "--only", "servos", "--faults", "servo.silent=femur_joint_RM")
    assert done.returncode == 1 and "femur_joint_RM: servo 10 does not answer" in done.stdout


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--only", "ports"], "the checks are port, servos"),
        (["--simulated", "--joints", "femur"], "is no joint"),
        (["--simulated", "--faults", "imu.gone=1"], "the faults are"),
        (["--simulated", "--speed", "3"], "numbers from 0.05 to 1"),
        (["--hardware", "/nowhere.yaml"], "--hardware /nowhere.yaml: cannot be read"),
        (["--hardware", "feetech", "--only", "port"], "add --robot with the file of yours"),
    ],
)
def test_wrong_arguments_are_named(capsys, arguments, words):
    with pytest.raises(SystemExit) as left:
        check_robot.main(arguments)
    assert left.value.code == 2 and words in capsys.readouterr().err


def test_an_interruption_before_the_first_check_is_reported_too(monkeypatch, tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(check_robot, "load_robot", interrupt)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as left:
        check_robot.main(["--simulated", "--report", str(tmp_path / "r.md")])
    assert left.value.code == 130 and "interrupted" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize(
    "nodes, words",
    [
        ({"servos": {"direction": "adapter"}, "imu": {"bus": "1"}}, "gives no port to servos"),
        ({"servos": {"port": "/dev/null"}, "imu": {"address": 104}}, "gives no bus to imu"),
        ({"servos": {"port": "/dev/null"}}, "has no parameters of imu"),
        ({"servos": {"reply_timeout": "fast"}, "imu": {"bus": "1"}}, "servos.reply_timeout is 'fast': allowed is"),
        ({"servos": {"prot": "/dev/null"}, "imu": {"bus": "1"}}, "did you mean 'port'"),
    ],
)
def test_what_a_parameter_file_leaves_out_is_named(capsys, tmp_path, nodes, words):
    file = tmp_path / "hardware.yaml"
    for space in ("/**/", ""):
        file.write_text(yaml.safe_dump({space + name: {"ros__parameters": row} for name, row in nodes.items()}))
        with pytest.raises(SystemExit) as left:
            check_robot.main(["--hardware", str(file)])
        assert left.value.code == 2 and words in capsys.readouterr().err


def test_on_a_robot_without_answers_nothing_moves(devices, tmp_path):
    """The program as on a real robot: device files from a file, questions on the terminal, whose end is a no."""
    one, options = devices
    done = run(*options, "--report", str(tmp_path / "r.md"))
    assert done.returncode == 1 and one.fastest == 0.0, done.stderr
    assert "Move it? [y/N]" in done.stdout and "look at: axes, directions, trim, stop" in done.stdout
    one_joint = (*options, "--only", "directions", "--joints", "femur_joint_LF", "--speed", "1")
    done = run(*one_joint, answers="y\nr\ny\n")
    assert done.returncode == 0 and one.fastest > 0.1, done.stdout + done.stderr
    done = run(*one_joint, "--yes", answers="n\n")
    assert done.returncode == 1 and "change its servo direction" in done.stdout


def test_without_a_board_port_and_imu_are_named_and_the_ports_of_this_computer():
    done = run("--hardware", "jethexa_orin", "--port", "/dev/none", answers="")
    assert done.returncode == 1, done.stderr
    assert "look at: port, servos, supply, imu, axes, directions, trim, stop" in done.stdout
    assert "/dev/ttyACM*" in done.stdout


def test_without_the_pins_each_check_runs_or_says_why_not(rehearse):
    """The JetHexa's file on a computer without Jetson.GPIO: first without its port, then with one."""
    checks = ("--only", "port,servos,supply,directions")
    done = run("--port", "/dev/none", *checks)
    assert done.returncode == 1 and "FAILED  /dev/none: does not exist" in done.stdout, done.stderr
    assert done.stdout.count("needs the servo port") == 3 and "Jetson.GPIO" not in done.stdout
    done = run("--port", str(rehearse().robot.servo_bus.link), *checks)
    assert done.returncode == 1 and 'direction of the line: direction "gpio" needs the package' in done.stdout
    assert done.stdout.count("needs the servo port") == 3 and "1 of 5 passed" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_in_the_middle_of_a_motion_ends_it(devices, tmp_path, number):
    """Also where a script has started the program in its background, with SIGINT ignored."""
    one, options = devices
    report = tmp_path / "r.md"
    arguments = ("--only", "trim", "--joints", "femur_joint_LF", "--yes", "--report", str(report), "--speed", "0.05")
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [*ignoring, sys.executable, "-m", "hexapod_dynamics.tools.check_robot", *options, *arguments]
    start = one.robot.angles
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        wait_until(lambda: np.abs(one.robot.angles - start).max() > 0.01, 60.0)
        os.kill(process.pid, number)
        _, said = process.communicate(timeout=20)
    time.sleep(0.1)
    here = one.robot.angles
    time.sleep(0.3)
    np.testing.assert_array_equal(one.robot.angles, here)
    assert np.abs(here).max() > 0.01 and one.robot.servos.loaded.all(), "stopped on its way, torque as before"
    if number != signal.SIGKILL:
        assert process.returncode == 130 and b"interrupted" in said and "interrupted" in report.read_text(), said


def test_the_owner_at_the_terminal_says_no_by_everything_but_a_yes():
    said = []
    operator = Operator(answers=io.StringIO("y\nYES\nr\n\nmaybe\n"), say=said.append)
    seen = {"coxa_joint_LF": 0.2}
    assert operator.ask_permission("a motion") and operator.ask_seen("so?", seen) is Answer.YES
    assert operator.ask_seen("so?", seen) is Answer.AGAIN and operator.ask_seen("so?", seen) is Answer.NO
    assert not operator.ask_to_hold(Attitude.LEVEL) and not operator.ask_permission("more")  # the end of the answers
    assert "Move it?" in said[0]
    with pytest.raises(BusError):
        make_servos(PortSettings("nowhere"), (), "lx").open()
