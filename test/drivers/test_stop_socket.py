"""The local socket for the emergency stop: real sockets, a real directory, the real client. A simulated port is opened
only while it is that of a living simulator of ours. The priority of a driver's thread: the best that is permitted.
"""

import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import support.lx_rig
from support.lx_rig import make_device
from support.programs import run
from support.waiting import request_stop, wait_until

from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.drivers.simulated_port import PortClaim, find_proved_device
from hexapod_dynamics.drivers.stop_request import StopRequest, socket_path
from hexapod_dynamics.drivers.stop_socket import StopSocket
from hexapod_dynamics.drivers.thread_priority import raise_process_priority, raise_thread_priority
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.runtime_directory import VARIABLE


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "r"))
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    return tmp_path / "r"


class Robot:
    """Counts the stops."""

    def __init__(self, namespace="", answer=(True, "the pose is frozen")):
        self.stops, self._answer = 0, answer
        self.socket = StopSocket(namespace, self._stop)

    def _stop(self):
        self.stops += 1
        return self._answer


@pytest.fixture
def robots():
    made = []

    def make(*arguments):
        made.append(Robot(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.socket.close()


@pytest.mark.parametrize("answer", [(True, "the pose is\nfrozen"), (False, "the port is closed")])
def test_a_request_stops_the_robot_and_is_answered(robots, answer):
    robot = robots("", answer)
    assert request_stop("", 5.0) == (answer[0], answer[1].replace("\n", " "))
    assert robot.stops == 1


def test_the_robot_of_the_namespace_is_stopped_and_no_other(robots):
    left, right = robots("left"), robots("right")
    assert request_stop("/right", 5.0)[0]
    assert (left.stops, right.stops) == (0, 1)


def test_without_a_node_the_answer_is_none_at_once(place):
    begin = time.monotonic()
    assert request_stop("", 5.0) is None
    assert time.monotonic() - begin < 1.0


def test_a_directory_in_which_others_may_write_is_not_used(robots, place):
    robot = robots()
    os.chmod(place, 0o777)
    assert request_stop("", 1.0) is None and robot.stops == 0
    second = robots("left")
    assert str(place) in second.socket.fault
    os.chmod(place, 0o700)
    wait_until(lambda: request_stop("left", 1.0) is not None, what="it is tried again")
    assert second.stops == 1


def test_only_this_user_can_reach_the_socket(robots, place):
    robots()
    status = os.stat(socket_path())
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_uid == os.geteuid()
    assert stat.S_IMODE(os.stat(place).st_mode) == 0o700


def test_another_user_in_spite_of_that_is_not_served(robots, place):
    """A process of another user to whom directory and socket were opened."""
    if os.getuid() != 0:
        pytest.skip("only root can start a process of another user")
    robot, path = robots(), socket_path()
    code = (
        "import os, socket, sys\n"
        "os.chdir(sys.argv[1]); os.setuid(65534)\n"
        "caller = socket.socket(socket.AF_UNIX); caller.settimeout(5.0); caller.connect('stop.sock')\n"
        "try:\n"
        "    caller.send(b's'); print(caller.recv(10))\n"
        "except OSError:\n"
        "    print(b'')\n"
    )
    os.chmod(os.path.dirname(path), 0o711)
    os.chmod(path, 0o666)
    words = [sys.executable, "-S", "-c", code, os.path.dirname(path)]
    done = run(*words)
    assert done.stdout == "b''\n" and robot.stops == 0, done


def test_other_words_and_silence_stop_nothing_and_hold_nobody_up(robots):
    robot = robots()
    callers = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    for caller in callers:
        caller.connect(socket_path())
    callers[0].send(b"resume\n")
    callers[1].close()
    assert request_stop("", 5.0)[0] and robot.stops == 1
    for caller in callers:
        caller.close()


def test_a_caller_that_does_not_wait_stops_the_robot_all_the_same(robots):
    robot = robots()
    StopRequest("").close()
    wait_until(lambda: robot.stops == 1, 5.0)


def test_a_stop_that_fails_is_no_answer_and_the_next_one_is_served(robots):
    robot = robots("", None)  # unpacking it raises
    assert request_stop("", 5.0) is None and robot.stops == 1
    robot._answer = True, "the pose is frozen"
    assert request_stop("", 5.0) == robot._answer and robot.stops == 2


def test_the_robot_is_stopped_and_the_fault_is_logged_where_no_thread_can_be_started(robots, monkeypatch, caplog):
    robot = robots()

    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refused)
    assert request_stop("", 5.0) == robot._answer and robot.stops == 1
    robot._answer = None  # unpacking it raises
    assert request_stop("", 5.0) is None and robot.stops == 2
    wait_until(lambda: "a local request for the emergency stop has failed" in caplog.text, 5.0)
    robot._answer = True, "the pose is frozen"
    assert request_stop("", 5.0) == robot._answer and robot.stops == 3


def test_a_full_queue_does_not_keep_the_socket_from_closing(robots):
    robot = robots()
    robot.socket._ending = True
    StopRequest("").close()  # ends its thread: nobody accepts callers from here on
    robot.socket._thread.join(5.0)
    callers = [socket.socket(socket.AF_UNIX) for _ in range(robot.socket.request_queue_size + 1)]
    for caller in callers:
        caller.settimeout(0.1)
        caller.connect(socket_path())
    begin = time.monotonic()
    robot.socket.close()
    assert time.monotonic() - begin < 2.0 and not os.path.exists(socket_path())
    for caller in callers:
        caller.close()


def test_a_socket_that_is_deleted_is_made_again(robots):
    robot = robots()
    os.unlink(socket_path())
    assert request_stop("", 1.0) is None
    wait_until(lambda: request_stop("", 1.0) is not None, what="it is made again")
    assert robot.stops == 1


def test_what_a_killed_node_has_left_is_replaced(robots):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(socket_path())
    assert request_stop("", 1.0) is None
    robot = robots()
    assert request_stop("", 5.0)[0] and robot.stops == 1


def test_a_second_node_does_not_take_the_socket_of_the_first_before_that_has_ended(robots):
    robot, second = robots(), robots()
    assert "another node listens" in second.socket.fault
    assert request_stop("", 5.0)[0] and robot.stops == 1
    robot.socket.close()
    wait_until(lambda: request_stop("", 1.0) is not None, what="the second one listens")
    assert not second.socket.fault and (robot.stops, second.stops) == (1, 1)


def test_a_path_that_is_too_long_is_an_error_with_a_remedy(robots, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / ("d" * 100)))
    assert "HEXAPOD_DYNAMICS_RUNTIME" in robots().socket.fault
    assert request_stop("", 1.0) is None


def test_the_script_stops_the_robot_from_a_terminal_in_which_nothing_was_sourced(robots, place):
    robot = robots()
    script = Path(__file__).resolve().parents[2] / "scripts" / "stop"
    bare = {"PATH": os.environ["PATH"], VARIABLE: str(place), "ROS_DOMAIN_ID": "7", "HOME": str(place.parent)}
    done = run(script, env=bare, cwd="/")
    assert done.returncode == 0 and "frozen" in done.stdout and robot.stops == 1, done
    done = run(script, "--namespace", "nobody", env=bare, cwd="/")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done
    # with ROS 2 installed, or without
    assert "no server for emergency_stop" in done.stderr or "namespace nobody" in done.stderr, done


SIMULATOR = """
import sys, time
from support.lx_rig import make_device
make_device(sys.argv[1]).start()
print("up", flush=True)
time.sleep(60)
"""


@pytest.fixture
def killed(tmp_path):
    """Give the link of a simulator that was killed, and the device it served."""
    link = tmp_path / "bus"
    command = [sys.executable, "-c", SIMULATOR, str(link)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(support.lx_rig.__file__).parents[1])
    assert process.stdout.readline() == b"up\n"
    port = os.readlink(link)
    assert find_proved_device(link) == port
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return link, port


def test_a_killed_simulators_link_is_not_opened_whoever_has_its_terminal_now(killed):
    link, port = killed
    strangers = []  # take terminals until one has the dead simulator's number
    while len(strangers) < 50 and (not strangers or os.ttyname(strangers[-1][1]) != port):
        strangers.append(os.openpty())
    try:
        assert os.ttyname(strangers[-1][1]) == port, "the number was given to a stranger"
        os.set_blocking(strangers[-1][0], False)
        bus = LxServos(PortSettings(str(link), prove=lambda: _proved(link)), ())
        with pytest.raises(BusError, match="left by a simulator that has died"):
            bus.open()
        with pytest.raises(BlockingIOError):
            os.read(strangers[-1][0], 100)
    finally:
        for pair in strangers:
            for descriptor in pair:
                os.close(descriptor)


def _proved(link):
    try:
        return find_proved_device(link)
    except DeviceError as error:
        raise BusError(str(error)) from error


def test_the_next_simulator_takes_a_dead_ones_place(killed):
    link, _port = killed
    rig = make_device(link)
    rig.start()
    assert find_proved_device(link) == os.readlink(link)
    rig.stop()
    assert not list(link.parent.iterdir())


def test_a_second_simulator_of_the_same_robot_is_refused(tmp_path):
    rig, second = make_device(tmp_path / "bus"), make_device(tmp_path / "bus")
    rig.start()
    with pytest.raises(DeviceError, match=f"another simulator .process {os.getpid()}.*ROS_DOMAIN_ID"):
        second.start()
    assert find_proved_device(tmp_path / "bus")
    rig.stop()
    second.stop()


def test_another_launchs_port_and_one_that_points_elsewhere_are_refused(tmp_path):
    link = tmp_path / "bus"
    rig = make_device(link, session="a")
    rig.start()
    assert find_proved_device(link, "a") == find_proved_device(link) == os.readlink(link)
    with pytest.raises(DeviceError, match="another launch"):
        find_proved_device(link, "b")
    link.unlink()
    link.symlink_to("/dev/null")
    with pytest.raises(DeviceError, match="points to /dev/null"):
        find_proved_device(link, "a")
    rig.stop()


def test_a_record_that_others_can_write_to_is_not_believed(tmp_path):
    claim = PortClaim(tmp_path / "bus")
    claim.name("/dev/pts/1")
    (tmp_path / "bus.owner").chmod(0o666)
    with pytest.raises(DeviceError, match="only this user can write to"):
        find_proved_device(tmp_path / "bus")
    claim.release()


def test_an_unplugged_port_is_not_opened_until_it_is_back(tmp_path):
    rig = make_device(tmp_path / "bus")
    rig.start()
    rig.unplug()
    with pytest.raises(DeviceError, match="it is not opened"):
        find_proved_device(tmp_path / "bus")
    rig.plug_in()
    assert find_proved_device(tmp_path / "bus")
    rig.stop()


def in_a_thread(work):
    """Return what work() returns in a thread of its own, whose priority ends with it."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), name="bus")
    thread.start()
    thread.join(10)
    return found[0]


def refuse(*_arguments):
    raise PermissionError(1, "Operation not permitted")


def test_where_it_is_permitted_the_thread_alone_has_a_real_time_priority():
    def work():
        return raise_thread_priority(12), os.sched_getscheduler(0), os.sched_getparam(0).sched_priority

    before = os.sched_getscheduler(0)
    told, policy, priority = in_a_thread(work)
    if told != "SCHED_FIFO 12":
        pytest.skip("this user may not have a real-time priority")
    assert policy == os.SCHED_FIFO | os.SCHED_RESET_ON_FORK and priority == 12
    assert os.sched_getscheduler(0) == before, "the main thread is as it was"


def test_else_it_has_a_nice_value_else_none_and_the_log_has_a_line_at_debug_level_only(monkeypatch, caplog):
    asked = []
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "setpriority", lambda *arguments: asked.append(arguments))
    caplog.set_level(logging.DEBUG)
    assert in_a_thread(lambda: (raise_thread_priority(12), threading.get_native_id()))[0] == "nice -10"
    assert len(asked) == 1 and asked[0][2] == -10 and asked[0][1] != os.getpid()
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    monkeypatch.setattr(os, "setpriority", refuse)
    assert in_a_thread(lambda: raise_thread_priority(12)) == "normal"
    assert {record.levelname for record in caplog.records} == {"DEBUG"} and "thread bus" in caplog.text


@pytest.mark.parametrize(("refused", "told"), [((), "SCHED_FIFO 10"), (("sched_setscheduler",), "nice -10")])
def test_a_thread_that_has_ended_meanwhile_keeps_no_other_one_from_its_priority(monkeypatch, refused, told):
    preferred = []

    def prefer(*arguments):
        thread = arguments[told == "nice -10"]
        if thread == 11:
            raise ProcessLookupError(3, "No such process")
        preferred.append(thread)

    monkeypatch.setattr(os, "listdir", lambda _path: ["11", "12", "13"])
    for name in ("sched_setscheduler", "setpriority"):
        monkeypatch.setattr(os, name, refuse if name in refused else prefer)
    assert raise_process_priority(10) == told
    assert preferred == [12, 13]
