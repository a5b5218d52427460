"""A Jetson Nano has no clock battery, and its clock is set while nodes run: what they do in time goes on."""

import re
from pathlib import Path

import hexapod_dynamics


def test_every_timer_of_a_node_runs_on_the_steady_clock():
    package = Path(hexapod_dynamics.__file__).parent
    wrong = [
        f"{path.name}: {line.strip()}"
        for path in [*package.glob("nodes/*.py"), *package.glob("ros/*.py")]
        for line in path.read_text().splitlines()
        if re.search(r"\.create_timer\(", line) and "clock=STEADY" not in line
    ]
    assert not wrong
