"""A person at the terminal of a real `ros2 launch`, which is a pty: the space bar, the address of the view, Ctrl-C."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
from support.ros_session import LEASE, wait_until

from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

VIEW = find_spec("viser") is not None


class Terminal:
    """A command whose controlling terminal is a pty; its output is read when it is asked for."""

    def __init__(self, *command):
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 50, 200, 0, 0))
        self.slave, self._output = slave, b""
        self.before = termios.tcgetattr(slave)
        os.set_blocking(self._master, False)

        def take():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.popen = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=take
        )

    @property
    def output(self):
        try:
            while more := os.read(self._master, 65536):
                self._output += more
        except BlockingIOError:
            pass
        return self._output.decode(errors="replace")

    def press(self, keys):
        os.write(self._master, keys)

    def settings(self):
        return termios.tcgetattr(self.slave)

    def end(self):
        self.popen.send_signal(signal.SIGINT)
        end = time.monotonic() + 20.0
        while self.popen.poll() is None and time.monotonic() < end:
            self.output  # noqa: B018 - a full pty would hold the launch up
            time.sleep(0.05)
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait(10)

    def close(self):
        self.end()
        os.close(self._master)
        os.close(self.slave)


@pytest.fixture(scope="module")
def terminal(probe):
    """The terminal of a launch; the tests are in the order of what happens in it."""
    words = f"hexapod_dynamics walk.launch.py detect:=off status:=false view:={VIEW} view_port:=0".lower()
    terminal = Terminal("ros2", "launch", *words.split())
    yield terminal
    terminal.close()


def moved(joints, since):
    """Largest range of a true joint angle [rad] since a monotonic time."""
    poses = np.array([message.position for at, message in list(joints) if at >= since])
    return float(np.ptp(poses, axis=0).max()) if len(poses) > 20 else None


def test_the_space_bar_stops_the_robot_and_does_not_end_the_stop(probe, terminal):
    joints, statuses = probe.hear(JointState, "simulator/joint_states", keep=300), probe.statuses
    walks = lambda: (moved(joints, time.monotonic() - 1.0) or 0.0) > 0.2  # noqa: E731
    wait_until(walks, 120, lambda: terminal.output)
    head = terminal.output
    assert "space bar: emergency stop" in head[: head.index("process started")], head
    terminal.press(b"walk\n")  # other keys, and Enter
    time.sleep(1.0)
    assert walks() and "emergency stop" not in statuses("servos").message

    terminal.press(b" ")
    wait_until(lambda: "the pose is frozen" in terminal.output, 20, lambda: terminal.output)
    statuses.says("servos", "emergency stop")
    time.sleep(1.0)  # what was on its way; the body settles
    still = time.monotonic()
    time.sleep(1.0)
    assert moved(joints, still) < 0.02

    terminal.press(b"  \n ")
    still = time.monotonic()
    time.sleep(1.5)
    assert moved(joints, still) < 0.02, "the space bar ends no stop"
    answer = probe.call(SetBool, "emergency_stop", SetBool.Request(data=False), LEASE)
    assert "has ended" in answer.message
    wait_until(walks, 30, "it walks again when a person has said so")


def view_of(launch):
    """Return the process id of the view that a launch has started."""
    for number in Path(f"/proc/{launch.pid}/task").glob("*/children"):
        for child in number.read_text().split():
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if any(word.endswith(b"/view") for word in command):
                return int(child)
    return None


@pytest.mark.skipif(not VIEW, reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')
def test_a_killed_view_comes_back_with_another_token(terminal):
    def addresses(count):
        found = re.findall(r"open (http\S+)", terminal.output)
        return found if len(found) >= count else None

    (first,) = wait_until(lambda: addresses(1), 120, lambda: terminal.output)
    assert urlopen(first, timeout=20).status == 200
    os.kill(view_of(terminal.popen), signal.SIGKILL)
    first, second = wait_until(lambda: addresses(2), 120, lambda: terminal.output)
    assert urlopen(second, timeout=20).status == 200
    token = first.rstrip("/").rpartition("/")[2]
    assert token and token not in second
    with pytest.raises(HTTPError):
        urlopen(second.replace(second.rstrip("/").rpartition("/")[2], token), timeout=20)
    assert terminal.popen.poll() is None


def test_the_end_leaves_the_terminal_as_it_was(terminal):
    assert not terminal.settings()[3] & termios.ICANON
    terminal.end()
    assert terminal.popen.returncode == 0, terminal.output
    assert terminal.settings() == terminal.before
    assert "Traceback" not in terminal.output, terminal.output
