"""Refuse to be built where a ROS 2 is sourced; everything else is in pyproject.toml."""

import runpy
from pathlib import Path

from setuptools import setup

beside = runpy.run_path(str(Path(__file__).parent / "src" / "pocket_ros2" / "beside.py"))
reason = beside["real_ros2"]()
if reason:
    raise SystemExit(beside["refusal"](reason))

setup()
