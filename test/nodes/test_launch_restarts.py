"""A real `ros2 launch` in a terminal, which is a pty: the space bar, killed processes that come back, Ctrl-C.

One session serves all tests of this file; they run in the order in which they stand.
"""

import fcntl
import math
import os
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from importlib.util import find_spec
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import psutil
import pytest
from support.launched_robot import Launched
from support.ros_session import LEASE, NEWEST, Process, wait_until

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

NODES = {"imu", "servos", "gait", "dynamics", "companions", "simulator"}  # one process each
COMMANDED = 0.077  # [m/s], the launch file's default
VIEW = find_spec("viser") is not None


class Terminal(Process):
    """A command whose controlling terminal is a pty; a thread reads its output."""

    def start(self):
        self._master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("4H", 50, 200, 0, 0))
        self.before, self._printed = self.settings(), b""

        def take():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        streams = dict.fromkeys(("stdin", "stdout", "stderr"), self.slave)
        self.popen = subprocess.Popen(**self._command, **streams, start_new_session=True, preexec_fn=take)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        """Keep what is printed: a full pty would hold the launch up."""
        while more := os.read(self._master, 65536):
            self._printed += more

    @property
    def output(self):
        return self._printed.decode(errors="replace")

    def press(self, keys):
        os.write(self._master, keys)

    def settings(self):
        return termios.tcgetattr(self.slave)


class Session(Launched):
    """The launched robot and what is heard of it."""

    def __init__(self, probe):
        view = f"view:={VIEW}".lower()
        super().__init__(probe, "get_up:=asked", "detect:=off", "status:=false", view, "view_port:=0", process=Terminal)
        self.joints = probe.hear(JointState, "simulator/joint_states", NEWEST, keep=1000)
        self.predicted = probe.hear(Odometry, "predicted_state", NEWEST, keep=1000)
        self.measured = probe.hear(JointState, "joint_states", NEWEST, keep=1000)
        self.commands = probe.hear(JointState, "joint_commands", NEWEST, keep=1000)

    def process(self, name):
        """The process of a node, found by its place below the launch process."""
        for process in psutil.Process(self.launch.pid).children(recursive=True):
            try:
                words = process.cmdline()
                if f"__node:={name}" in words or any(word.endswith(f"/hexapod_dynamics/{name}") for word in words):
                    return process
            except psutil.NoSuchProcess:
                continue
        return None

    def pids(self):
        """{name: process number of a node, None while it does not run}."""
        processes = {name: self.process(name) for name in NODES}
        return {name: process and process.pid for name, process in processes.items()}

    def bent(self, seconds):
        """Let time pass; return the largest range of a true joint angle [rad] meanwhile."""
        since = time.monotonic()
        time.sleep(seconds)
        poses = np.array([message.position for at, message in list(self.joints) if at >= since])
        assert len(poses) > 20
        return float(np.ptp(poses, axis=0).max())

    def walks(self):
        return self.speed() > 0.05

    def place(self, since=-math.inf):
        """Where the robot was predicted first since a monotonic time, or last without one; (3,) [m]."""
        heard = [message for at, message in list(self.predicted) if at > since]
        point = heard[-1 if math.isinf(since) else 0].pose.pose.position
        return np.array([point.x, point.y, point.z])


@pytest.fixture(scope="module")
def session(probe):
    session = Session(probe)
    try:
        session.wait(lambda: session.predicted and session.walks(), 120, "it walks by itself")
        yield session
    finally:
        session.close()


def test_the_space_bar_stops_the_robot_and_does_not_end_the_stop(session):
    terminal = session.launch
    head = terminal.output
    assert "space bar: emergency stop" in head[: head.index("process started")], head
    terminal.press(b"walk\n")  # other keys, and Enter
    time.sleep(1.0)
    session.wait(session.walks, 10, "it walks on")
    assert "emergency stop" not in session.statuses("servos").message

    terminal.press(b" ")
    wait_until(lambda: "the pose is frozen" in terminal.output, 20, lambda: terminal.output)
    session.statuses.says("servos", "emergency stop")
    time.sleep(1.0)  # what was on its way; the body settles
    assert session.bent(1.0) < 0.02
    terminal.press(b"  \n ")
    assert session.bent(1.5) < 0.02, "the space bar ends no stop"
    answer = session.probe.call(SetBool, "emergency_stop", SetBool.Request(data=False), LEASE)
    assert "has ended" in answer.message
    session.wait(session.walks, 30, "it walks again when a person has said so")


@pytest.mark.skipif(not VIEW, reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')
def test_a_killed_view_comes_back_with_another_token(session):
    def addresses(count):
        found = re.findall(r"open (http\S+)", session.launch.output)
        return found if len(found) >= count else None

    (first,) = session.wait(lambda: addresses(1), 120, "the view prints its address")
    assert urlopen(first, timeout=20).status == 200
    session.process("view").kill()
    first, second = session.wait(lambda: addresses(2), 120, "it prints another")
    assert urlopen(second, timeout=20).status == 200
    token = first.rstrip("/").rpartition("/")[2]
    assert token and token not in second
    with pytest.raises(HTTPError):
        urlopen(second.replace(second.rstrip("/").rpartition("/")[2], token), timeout=20)


@pytest.mark.parametrize(
    "names, stops",
    [
        (("companions", "dynamics", "imu"), False),
        (("gait",), True),
        (("servos",), True),
        (("simulator",), True),
    ],
)
def test_killed_nodes_take_no_other_along_and_rejoin(session, names, stops):
    session.wait(lambda: all(session.pids().values()), 20, "all nodes run")
    before, place, killed = session.pids(), session.place(), time.monotonic()
    for name in names:
        os.kill(before[name], signal.SIGKILL)
    if stops:
        session.wait(lambda: session.speed() < 0.02, 5, f"without {names} it stands")
    session.wait(lambda: all(session.pids()[n] not in (None, before[n]) for n in names), 20, f"{names} run again")
    session.wait(session.walks, 40, f"it walks again after {names} came back")
    session.wait(lambda: session.predicted and time.monotonic() - session.predicted[-1][0] < 0.5, 30, "it is predicted")
    if "dynamics" in names:  # odom goes on where it was, up to a second of walking ago
        assert np.linalg.norm(session.place(killed + 0.5) - place) < 0.25
    after = session.pids()
    assert {n for n in NODES if after[n] != before[n]} == set(names)


def test_a_stopped_robot_stays_stopped_whatever_is_killed(session):
    session.drive(COMMANDED)
    session.wait(session.walks, 40, "it walks")
    session.drive(0.0)
    session.wait(lambda: session.speed() < 0.005, 20, "it is stopped")
    session.drive(None)
    before = session.pids()
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    session.wait(lambda: all(session.pids()[n] not in (None, before[n]) for n in NODES), 60, "all nodes run again")
    session.truth.clear()
    session.wait(lambda: session.truth and session.commands[-1][0] > session.truth[0][0], 120, "the robot is back")
    session.measured.clear()
    session.wait(lambda: session.measured and len(session.measured[-1][1].name) == 18, 60, "the servos are alive")
    since = time.monotonic()
    assert session.moved(2.0) < 0.01
    for heard, least, within in ((session.commands, 10, 1e-6), (session.measured, 10, 0.02)):
        poses = np.array([m.position for at, m in list(heard) if at > since and len(m.name) == 18])
        assert len(poses) >= least
        assert np.ptp(poses, axis=0).max() < within, "no joint is commanded to move, and none moves"


def test_ctrl_c_ends_everything_within_three_seconds_quietly_and_leaves_the_terminal_as_it_was(session):
    terminal = session.launch
    assert not terminal.settings()[3] & termios.ICANON
    children = psutil.Process(terminal.pid).children(recursive=True)
    took, code = terminal.interrupt()
    assert took < 3.0 and code == 0, terminal.output
    gone, alive = psutil.wait_procs(children, timeout=0.5)
    assert not alive
    assert terminal.settings() == terminal.before
    assert "Traceback" not in terminal.output, terminal.output
