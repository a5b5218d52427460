"""Settings of all tests: hypothesis without deadlines, and one marker for each test, by the folder it lies in."""

import contextlib
import os
import tempfile
import threading
from pathlib import Path

# Before numpy is imported: the threads of its matrix library poll for work, and simulated walks cost twice as much.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from support.optional_libraries import explain_import_failure
from support.turns import LOCKS, Turn, beside_others, leave_the_processors, turn_of

# The time of an example depends on the machine, and on kernels that the first example compiles.
settings.register_profile("any machine", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# A user's own network is not that of the tests: one interface that is not there, or the loopback interface beside
# ROS_LOCALHOST_ONLY, would fail each test that has a node. ros_session.separate sets what the tests need.
os.environ.pop("CYCLONEDDS_URI", None)

TESTS = Path(__file__).parent
# The marker of a folder or file holds for what is in it; other tests are `pure`, or `long`.
# setup.cfg explains the markers.
MARKERS = {
    "nodes": "ros",
    "ros": "ros",
    "drivers": "devices",
    "tools/commissioning": "devices",
    "devices": "devices",
    "tools/test_servo_tool.py": "devices",
    "tools/test_check_robot.py": "devices",
    "papers/figures": "papers",
}
# Tests that compute for seconds: simulated walks, planning, compilers, processes. A
# developer's own loop is `pytest -m pure`.
LONG = (
    "tools/get_up_search",
    "learning",
    "detector_training",
    "view/test_other_robots.py",
    "view/test_record.py",
    *(f"detection/test_{name}.py" for name in ("bus_evidence", "damage_detector", "loaded_computer")),
    "dynamics/test_c_export.py",
    "estimation/test_odometry.py",
    "estimation/test_observer.py",
    "estimation/test_payload.py",
    "estimation/test_pose_uncertainty.py",
    *(f"gait/test_{name}.py" for name in ("changing_plans", "plan_worker", "planning")),
    "identification",
    "papers/chain/test_trajectory_optimisation.py",
    "papers/test_optimal_gait.py",
    "papers/test_partial_lagrangian.py",
    "repository/test_dependencies.py",
    "repository/test_page_commands.py",
    "repository/test_pages.py",
    "simulation/test_batch.py",
)
MARKERS |= dict.fromkeys(LONG, "long")
# What measures the pace of a whole robot wants both cores for itself, and a browser that renders in software takes
# them; what measures the pace of a node or a bus bears one more such test beside it, but nothing that computes. The
# other nodes and devices mostly wait, whatever runs beside them.
ALONE = ("nodes/test_launch_walk.py", "nodes/test_view.py")
PACED = (
    "nodes/test_foreign_imu.py",
    "nodes/test_launch_restarts.py",
    "nodes/test_nodes_stop.py",
    "nodes/test_nodes_stop_state.py",
    "nodes/test_nodes_dynamics.py",
    "nodes/test_nodes_gait.py",
    "nodes/test_onboard_agrees.py",
    "drivers/servos/lx/test_servo_bus.py",
    "drivers/servos/test_servo_supervisor.py",
    "tools/test_servo_tool.py",
)
# Begin before the others of their turn, so that at its end no process waits for a file of a minute that has just begun.
LONGEST = (
    "nodes/test_launch_stop_state.py",
    "nodes/test_launch_restarts.py",
    "nodes/test_nodes_damage_detector.py",
    "tools/test_check_robot.py",
    "drivers/servos/lx/test_servo_bus.py",
    "identification/test_hidden_robot.py",
    "dynamics/test_c_export.py",
    "estimation/test_pose_uncertainty.py",
)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Where several processes run tests, wait for the turn of a file before its first one."""
    several = hasattr(item.config, "workerinput")
    if several:
        leave_the_processors(item)
    if several and Turn.held is None:
        Turn.held = Turn(turn_of(item))
    with beside_others(item) if several else contextlib.nullcontext():
        yield
    if several and (nextitem is None or nextitem.fspath != item.fspath):
        Turn.held.end()
        Turn.held = None


@pytest.fixture(scope="module")
def domain():
    """A ROS domain of the module's own."""
    # Here, because this file is read for `pytest -m pure` too, on machines that have no ROS 2.
    from support.ros_session import separate

    separate()


@pytest.fixture(scope="module")
def probe(domain):
    """A Probe, which the tests of a module share, in its domain."""
    from support.ros_session import Probe

    probe = Probe()
    yield probe
    probe.close()


@pytest.fixture(scope="module")
def robot(probe):
    """The simulated devices of a robot without dynamics, in the domain of the module."""
    from support.driver_session import Robots

    robot = Robots()
    yield robot
    robot.close()


@pytest.fixture(scope="module")
def commands(probe):
    """Somebody who commands the joints of this robot."""
    from support.driver_session import Commands

    commands = Commands(probe)
    yield commands
    commands.close()


@pytest.fixture
def set_back(monkeypatch):
    """Set the system clock back: with Python 3.10, that of ROS 2 Humble, waits then last until they are notified."""
    wait = threading.Condition.wait
    monkeypatch.setattr(threading.Condition, "wait", lambda self, timeout=None: wait(self))


def pytest_configure(config):
    """Make the folder of the locks, which the processes of pytest-xdist inherit."""
    if not hasattr(config, "workerinput"):
        locks = tempfile.TemporaryDirectory()
        os.environ[LOCKS] = locks.name
        config.add_cleanup(locks.cleanup)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """`pytest -m pure` and a default run of all tests use all cores where pytest-xdist is installed."""
    if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", 0) is not None:
        return
    if config.option.usepdb or getattr(config.option, "lf", False):
        return
    if config.option.markexpr == "pure":
        config.option.numprocesses = os.cpu_count()
    elif not config.option.markexpr and [Path(each).resolve() for each in config.args] == [TESTS]:
        # Files in the order of their turns; half of the tests in real time mostly wait.
        config.option.numprocesses, config.option.dist = 2 * os.cpu_count(), "loadfile"
        config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Tests come in the order of their turns, those of the longest files first."""
    items.sort(key=lambda item: (turn_of(item), file_of(item) not in LONGEST))


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    """Skip a test module by name if a library that it imports is missing or does not work on this machine."""
    outcome = yield
    report = outcome.get_result()
    error = report.call.excinfo.value if report.failed and report.call.excinfo else None
    reason = explain_import_failure(error if isinstance(error, ImportError) else getattr(error, "__cause__", None))
    if reason:
        report.outcome = "skipped"
        report.longrepr = (str(collector.fspath), 0, f"Skipped: {reason}")


def pytest_itemcollected(item):
    """Mark a test by its folder."""
    file = file_of(item)
    names = [file, *map(str, Path(file).parents)]
    marker = next((MARKERS[name] for name in names if name in MARKERS), "pure")
    item.add_marker(marker)
    if marker in ("ros", "devices"):
        item.add_marker("alone" if file in ALONE else "paced" if file in PACED else "waiting")


def file_of(item):
    """Return the file of a test below test/."""
    return str(Path(str(item.fspath)).relative_to(TESTS))  # pytest 6 has no item.path
