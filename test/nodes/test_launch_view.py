"""The browser view of a launch is started again when it ended, with a new token in an address that is printed again."""

import os
import re
import signal
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')

from support.ros_session import Process, wait_until

pytestmark = pytest.mark.waiting


def view_of(launch):
    """Return the process id of the view that a launch has started."""
    for number in Path(f"/proc/{launch.pid}/task").glob("*/children"):
        for child in number.read_text().split():
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if any(word.endswith(b"/view") for word in command):
                return int(child)
    return None


def test_a_killed_view_comes_back_with_another_token(probe):
    words = "hexapod_dynamics walk.launch.py view:=true view_port:=0 velocity:=0.0 status:=false detect:=off"
    launch = Process("ros2", "launch", *words.split())

    def addresses(count):
        found = re.findall(r"open (http\S+)", launch.output)
        return found if len(found) >= count else None

    try:
        (first,) = wait_until(lambda: addresses(1), 120, lambda: launch.output)
        assert urlopen(first, timeout=20).status == 200
        os.kill(view_of(launch), signal.SIGKILL)
        first, second = wait_until(lambda: addresses(2), 120, lambda: launch.output)
        assert urlopen(second, timeout=20).status == 200
        token = first.rstrip("/").rpartition("/")[2]
        assert token and token not in second
        with pytest.raises(HTTPError):
            urlopen(second.replace(second.rstrip("/").rpartition("/")[2], token), timeout=20)
        assert launch.running()
    finally:
        launch.interrupt()
        launch.end()
