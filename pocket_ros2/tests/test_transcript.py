"""What Humble's rclpy says to several hundred small things, ours says too."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import pocket_environment, real_environment

HERE = Path(__file__).parent
HUMBLE = HERE / "rclpy_transcript_humble.json"


def transcript(python, environment):
    run = subprocess.run(
        [python, "-W", "ignore", HERE / "rclpy_transcript.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_pocket_says_what_humble_says(domain):
    said = transcript(sys.executable, pocket_environment(domain))
    expected = json.loads(HUMBLE.read_text())
    assert len(expected) > 400
    assert said == expected


@pytest.mark.skipif(not os.environ.get("REAL_ROS2_SETUP"), reason="REAL_ROS2_SETUP names no setup file of a real ROS 2")
def test_the_kept_transcript_is_humbles(domain):
    assert transcript("python3", real_environment(domain)) == json.loads(HUMBLE.read_text())
