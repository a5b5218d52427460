"""Settings of all tests: hypothesis without deadlines, and one marker for each test, by the folder it lies in."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# The time of an example depends on the machine, and on kernels that the first example compiles.
settings.register_profile("any machine", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# A user's own network is not that of the tests: one interface that is not there, or the loopback interface beside
# ROS_LOCALHOST_ONLY, would fail each test that has a node. ros_session.separate sets what the tests need.
os.environ.pop("CYCLONEDDS_URI", None)

TESTS = Path(__file__).parent
# The marker of a folder holds for the folders in it; tests in other folders are `pure`. setup.cfg explains the markers.
FOLDERS = {"nodes": "ros", "tools/figures": "papers", "soak": "soak"}
# What talks to nodes or to simulated devices at their own pace: such tests want the machine for themselves.
REAL_TIME = ("nodes", "drivers", "simulated_devices", "tools/test_servo_tool.py", "tools/test_check_robot.py")


def pytest_itemcollected(item):
    """Mark a test by its folder; a test that is marked `soak` by hand is nothing else."""
    if item.get_closest_marker("soak"):
        return
    file = Path(str(item.fspath)).relative_to(TESTS)  # pytest 6 has no item.path
    names = [str(each) for each in file.parents]
    if any(str(each) in REAL_TIME for each in (file, *file.parents)):
        item.add_marker("realtime")
    item.add_marker(next((FOLDERS[name] for name in names if name in FOLDERS), "pure"))
