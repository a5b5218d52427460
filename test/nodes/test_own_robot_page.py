"""docs/your_robot.md, followed literally: a URDF that others wrote, its file, its plans, the launch, five legs."""

import re
import shlex
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from support.foreign_urdf import foreign_phantomx
from support.ros_session import LATCHED, NEWEST, Probe, Process, separate, wait_until

from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent

PAGE = Path(__file__).parents[2] / "docs" / "your_robot.md"
SPEED, SECONDS = 0.077, 6.0  # [m/s], the launch's default; [s] over which the robot's speed is taken


def command_with(words):
    """The page's first command that has these words."""
    commands = re.findall(r"^    (ros2 .*)$", PAGE.read_text(encoding="utf-8"), re.M)
    return next(shlex.split(command) for command in commands if words in command)


@pytest.mark.soak
def test_a_foreign_phantomx_walks_on_five_legs_by_following_the_page(tmp_path, monkeypatch):
    begin = time.monotonic()
    separate()
    monkeypatch.chdir(tmp_path)
    Path("phantomx.urdf").write_text(foreign_phantomx())
    done = subprocess.run(
        command_with("new_robot my_phantomx.yaml --urdf"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout, f"the file and the plans: {time.monotonic() - begin:.0f} s", sep="")
    probe = Probe()
    truth = probe.hear(Odometry, "simulator/odom", NEWEST, keep=1000)
    morphologies = probe.hear(ParameterEvent, "morphology", LATCHED, keep=20)
    launch = Process(
        *command_with("launch hexapod_dynamics walk.launch.py robot:=my_phantomx.yaml view"), "view_port:=0"
    )

    def speed():
        track = [m for at, m in list(truth) if at > time.monotonic() - SECONDS]
        if len(track) < 20 * SECONDS:
            return 0.0
        ends = [np.array([m.pose.pose.position.x, m.pose.pose.position.y]) for m in (track[0], track[-1])]
        return float(np.linalg.norm(ends[1] - ends[0])) / SECONDS

    def lost():
        values = morphologies[-1][1].new_parameters if morphologies else []
        return [p.name for p in values if p.name.startswith("legs.") and not p.value.bool_value]

    try:
        wait_until(lambda: speed() > 0.9 * SPEED, 120, lambda: launch.output[-3000:])
        assert lost() == []
        print(f"it walks: {time.monotonic() - begin:.0f} s")
        assert subprocess.run(command_with("set_morphology"), timeout=60, check=False).returncode == 0
        wait_until(lambda: lost() == ["legs.rm"], 20, lambda: launch.output[-3000:])
        truth.clear()
        wait_until(lambda: speed() > 0.9 * SPEED, 60, lambda: launch.output[-3000:])
        print(f"it walks on five legs: {time.monotonic() - begin:.0f} s")
        assert time.monotonic() - begin < 15 * 60
    finally:
        launch.end()
        probe.close()
