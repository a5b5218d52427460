"""What is stored of a stopped robot: deleted, of another shape, and on the disk before a request is answered."""

import os
import shutil
import signal
import sys
import time
import uuid

import pytest
from support.driver_session import Servos, waving
from support.ros_session import Process, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.ros.start import LAUNCH_VARIABLE
from hexapod_dynamics.ros.state_file import make_memory
from hexapod_dynamics.runtime_directory import private_directory
from std_srvs.srv import SetBool


@pytest.fixture(scope="module", autouse=True)
def runtime(tmp_path_factory):
    """A runtime directory of the module's own: its files are deleted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(tmp_path_factory.mktemp("runtime") / "run"))
        yield


@pytest.fixture
def begin(probe, robot, commands):
    """A function that starts the node as a launch does, for the first time; it then follows commands."""
    started = []

    def start(*arguments, session=True, wait=True, **environment):
        commands.pose = None
        of_launch = {LAUNCH_VARIABLE: str(os.getpid()), **make_memory()} if session else {}
        servos = Servos(probe, uuid.uuid4().hex if session else "", of_launch | environment, *arguments)
        started.append(servos)
        if wait:
            commands.pose = waving
            wait_until(lambda: robot.fastest(time.monotonic() - 0.3) > 0.3, 20, lambda: servos.process.output)
        return servos

    yield start
    commands.pose = None
    for servos in started:
        servos.process.end()
        assert "Traceback" not in servos.process.output, servos.process.output
    shutil.rmtree(private_directory("sessions"))


def lose(servos, what):
    """Delete what the node has stored at the moment at which it crashes: it cannot write it again."""
    servos.process.popen.send_signal(signal.SIGSTOP)
    sessions = private_directory("sessions")
    if what == "everything":
        shutil.rmtree(sessions)
    else:
        for file in sessions.iterdir():
            file.unlink()
    servos.kill()
    servos.start()


def test_a_robot_that_followed_holds_after_its_file_was_deleted_before_a_crash(begin, robot):
    servos = begin()
    lose(servos, "the files")
    assert robot.stays() and robot.servos.are_holding().all()
    servos.says(DiagnosticStatus.WARN, "was deleted")
    servos.kill()
    servos.start()  # it has stored that it holds
    assert robot.stays()
    assert servos.ask("servos/follow").success
    since = time.monotonic()
    wait_until(lambda: robot.fastest(since) > 0.3, 10, "a person has said so")


def test_a_robot_that_was_let_go_stays_so_after_its_file_was_deleted_before_a_crash(begin, robot):
    servos = begin()
    assert servos.ask("servos/release").success
    wait_until(lambda: not robot.servos.are_holding().any(), 10, "all let go")
    lose(servos, "everything")
    time.sleep(1.0)
    assert not robot.servos.are_holding().any()
    servos.says(DiagnosticStatus.WARN, "torque is off")
    assert servos.ask("servos/torque", True).success
    wait_until(lambda: robot.servos.are_holding().all(), 10, "all hold")


@pytest.mark.parametrize("number", ["9999", "0"], ids=["no file", "another file"])
def test_a_launch_whose_memory_cannot_be_read_holds(begin, robot, commands, number):
    servos = begin(wait=False, HEXAPOD_LAUNCH_MEMORY=number)
    commands.pose = waving
    servos.says(DiagnosticStatus.WARN, "holding where it stands")
    assert robot.stays()


def test_a_lost_file_is_reported_within_a_second_and_written_again(begin, robot):
    servos = begin()
    assert servos.ask("emergency_stop", True).success
    (file,) = private_directory("sessions").glob("*servos.json")
    shutil.rmtree(file.parent)
    lost = time.monotonic()
    servos.says(DiagnosticStatus.ERROR, "was deleted or changed by another program")
    print(f"reported after {time.monotonic() - lost:.2f} s")
    assert time.monotonic() - lost < 3.0  # 1 s, and the arrival of the message on a busy computer
    assert file.exists() and servos.value("losses of the stored state") == "1"
    servos.kill()
    servos.start()
    assert robot.stays()
    servos.says(DiagnosticStatus.ERROR, "emergency stop")


@pytest.mark.parametrize("content", ['{"mode": []}', "directory"])  # others: test/ros/test_crash_recovery.py
def test_whatever_is_in_the_file_the_node_starts_in_emergency_stop(begin, robot, commands, content):
    servos = begin()
    servos.process.popen.send_signal(signal.SIGSTOP)
    (file,) = private_directory("sessions").glob("*servos.json")
    file.unlink()
    if content == "directory":
        file.mkdir()
    else:
        file.write_text(content)
    servos.kill()
    servos.start()
    assert robot.stays() and robot.servos.are_holding().all()
    servos.says(DiagnosticStatus.ERROR, "emergency stop")
    assert "cannot be read" in servos.process.output
    assert not servos.ask("servos/follow").success, "the stop may have been on: it is"
    if content == "directory":
        servos.says(DiagnosticStatus.ERROR, "a restart of this node would lose this state")
        file.rmdir()
        wait_until(file.exists, 5, "it is written as soon as it can be")
    assert servos.ask("emergency_stop", False).success
    assert robot.stays()
    servos.says(DiagnosticStatus.WARN, "holding where it stands")
    since = time.monotonic()
    assert servos.ask("servos/follow").success
    wait_until(lambda: robot.fastest(since) > 0.3, 10, "a person has said so")


def test_in_a_state_directory_the_stop_lasts_over_sessions_and_clean_ends(begin, robot, commands, tmp_path):
    place = tmp_path / "own"
    servos = begin("-p", f"state_directory:={place}")
    assert servos.ask("emergency_stop", True).success
    servos.process.interrupt()
    assert robot.servos.are_holding().all()
    servos = begin("-p", f"state_directory:={place}", "-p", "on_shutdown:=release", session=False, wait=False)
    commands.pose = waving
    assert robot.stays()
    servos.says(DiagnosticStatus.ERROR, "emergency stop")
    servos.process.interrupt()
    assert not robot.servos.are_holding().any()
    assert [file.name for file in place.iterdir()] == ["servos.json"]


# The disk ------------------------------------------------------------------------------------------------------------

SLOW_DISK = """
import os, sys, time
gate, record, real = *sys.argv[1:3], os.fsync
def fsync(fd):
    path = os.readlink(f"/proc/self/fd/{fd}")
    while os.path.exists(gate):
        time.sleep(0.005)
    real(fd)
    with open(record, "a") as file:
        file.write(f"{path}\\n")
os.fsync = fsync
sys.argv[1:] = sys.argv[3:]
from hexapod_dynamics.ros import start
start.servos()
"""


class SlowDisk(Servos):
    """The node on a disk on which nothing arrives while the file `gate` exists; `record` has what has arrived."""

    def __init__(self, probe, place):
        self.gate, self.record = place / "gate", place / "record"
        super().__init__(probe, uuid.uuid4().hex)

    def _begin(self):
        arguments = ("--ros-args", "-p", f"session:={self._session}")
        return Process(sys.executable, "-c", SLOW_DISK, self.gate, self.record, *arguments)


@pytest.fixture
def slow(probe, robot, commands, tmp_path):
    commands.pose = None
    servos = SlowDisk(probe, tmp_path)
    yield servos
    assert "Traceback" not in servos.process.output, servos.process.output
    servos.process.end()


def test_file_and_directory_are_on_the_disk_before_a_request_is_answered(slow):
    for name, on in (
        ("emergency_stop", True),
        ("emergency_stop", False),
        ("servos/release", None),
        ("servos/torque", True),
        ("servos/follow", None),
        ("servos/torque", False),
    ):
        before = len(slow.record.read_text().splitlines())
        answer = wait_until(lambda name=name, on=on: (a := slow.ask(name, on)).success and a, 10, name)
        arrived = slow.record.read_text().splitlines()[before:]
        sessions = str(private_directory("sessions"))
        assert any(path.startswith(f"{sessions}/") for path in arrived), (name, answer, arrived)
        assert arrived[-1] == sessions, (name, arrived)


def test_while_the_disk_is_slow_the_stop_is_at_once_and_nothing_else_waits(probe, slow, robot, commands):
    commands.pose = waving
    wait_until(lambda: robot.fastest(time.monotonic() - 0.3) > 0.3, 10, "it moves")
    slow.gate.touch()
    first = probe.begin_call(SetBool, "emergency_stop", SetBool.Request(data=True))
    # On a slow computer the node has given up waiting, and says so.
    unanswered = lambda: not first.done() or "would lose this state" in first.result().message  # noqa: E731
    assert robot.stays(), "frozen, whatever the disk does"
    assert unanswered(), "not on the disk: not answered"
    robot.stops.clear()
    slow.joints.clear()
    off = probe.begin_call(SetBool, "emergency_stop", SetBool.Request(data=False))
    wait_until(lambda: robot.fastest(time.monotonic() - 0.3) > 0.3, 10, "a request does not wait for the one before")
    again = probe.begin_call(SetBool, "emergency_stop", SetBool.Request(data=True))
    wait_until(lambda: robot.stops, 10, "nor does the next stop")
    wait_until(lambda: len(slow.joints) > 10, 1.0, "the servos are read and published")
    assert unanswered(), "and the disk still hangs"
    wait_until(lambda: first.done(), 10, "on a disk that hangs it is answered at last")
    assert first.result().success and "would lose this state" in first.result().message
    slow.gate.unlink()
    wait_until(lambda: off.done() and again.done(), 10, "all are answered")
    assert again.result().success
    assert slow.ask("servos/release").success
