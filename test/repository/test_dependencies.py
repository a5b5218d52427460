"""Every import is declared: to pip in setup.py, to rosdep in package.xml. Commands that pip puts into everybody's bin
directory have a prefix; those of colcon are named as for `ros2 run`. Tests of what computes run without ROS.
"""

import ast
import functools
import importlib
import importlib.metadata
import re
import runpy
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import setuptools
from packaging.requirements import Requirement
from support import programs
from support.programs import python

ROS = {
    "ament_index_python", "builtin_interfaces", "diagnostic_msgs", "geometry_msgs", "launch", "launch_ros", "nav_msgs",
    "rcl_interfaces", "rclpy", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs", "tf2_msgs", "tf2_ros",
    "trajectory_msgs", "visualization_msgs",
}  # fmt: skip


ROOT = Path(__file__).parents[2]
# Import names that differ from the name pip or rosdep knows.
PIP = {
    "serial": "pyserial",
    "yaml": "pyyaml",
    "Jetson": "Jetson.GPIO",
    "pinocchio": "pin",
    "mpl_toolkits": "matplotlib",
}
NAMES = set((Path(__file__).parent / "rosdep_names.txt").read_text().splitlines()[1:])
ROSDEP = {"pinocchio": "pinocchio", "tf2_ros": "tf2_ros_py", "mpl_toolkits": "python3-matplotlib"}
# Without a rosdep key, or only with one of pip's, of which bloom makes a Debian package that does not exist: named in a
# comment of package.xml.
PYPI_ONLY = {"casadi", "mujoco", "gymnasium", "vqf", "viser", "rosbags", "trimesh", "playwright"}


PYPI_ONLY |= {"websockets", "msgspec", "rich", "zstandard"}  # which viser brings; rosdep's websockets is older


OPTIONAL = {"mujoco", "gymnasium", "casadi"}  # for use
JETSON = {"Jetson"}  # the boards' own: PCs are not asked for it
UBUNTU_22_04 = {
    "setuptools": "59.6.0",
    "numpy": "1.21.5",
    "scipy": "1.8.0",
    "pyserial": "3.5",
    "smbus2": "0.4.1",
    "pyyaml": "5.4.1",
    "matplotlib": "3.5.1",
    "pytest": "6.2.5",
    "hypothesis": "6.36.0",
    "psutil": "5.9.0",
}
TESTING = "test/support"  # needs the extra `test`


@functools.cache
def imports_of(path):
    """Return the top names of what a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def imported(*folders):
    """Return the top names of all imports in these folders that are neither Python's nor this package's."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    if TESTING not in folders:
        paths = [path for path in paths if not path.is_relative_to(ROOT / TESTING)]
    assert paths
    names = set().union(*map(imports_of, paths))
    own = [*paths, *(ROOT / "benchmark").rglob("*.py")]
    ours = {"hexapod_dynamics", *(path.stem for path in own), *(path.parent.name for path in own)}
    typing = {"typing_extensions"}  # under TYPE_CHECKING only; mypy brings it
    return names - set(sys.stdlib_module_names) - ours - typing


@pytest.fixture
def setup(monkeypatch):
    """Return what setup.py gives to setuptools."""
    given = {}
    monkeypatch.setattr(setuptools, "setup", given.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    return given


def names_of(requirements):
    return {re.match(r"[\w.-]+", each).group() for each in requirements}


def test_setup_py_declares_every_import(setup):
    needed = {PIP.get(name, name) for name in imported("hexapod_dynamics", "launch") - ROS}
    for_tests = {PIP.get(name, name) for name in imported("test", TESTING) - ROS - {"packaging"}}
    extras = {extra: names_of(each) for extra, each in setup["extras_require"].items()}
    declared = names_of(setup["install_requires"]) | extras["jetson"] | extras["view"]
    declared |= extras["sim"] | extras["learning"] | extras["attitude"] | extras["casadi"]
    assert needed - declared == set()
    assert for_tests - declared - extras["test"] == set()
    every_extra = set().union(*extras.values())
    assert names_of(setup["install_requires"]) - {"setuptools"} <= needed  # nothing is asked for that nobody uses
    not_imported = {"dynamixel-sdk", "ftservo-python-sdk", "pytest-xdist"}  # or by importorskip
    assert every_extra - not_imported <= needed | for_tests


def test_every_requirement_has_bounds_that_admit_ubuntu_22_04_and_what_is_installed(setup):
    given = [*setup["install_requires"], *(each for extra in setup["extras_require"].values() for each in extra)]
    for requirement in map(Requirement, given):
        operators = {each.operator for each in requirement.specifier}
        assert operators == {">=", "<"}, requirement
        for version in (UBUNTU_22_04.get(requirement.name), installed(requirement.name)):
            assert version is None or requirement.specifier.contains(version, prereleases=True), (requirement, version)


def installed(name):
    """Version of a distribution, None where it is not here: what is optional, and the system's own."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def test_rosdep_knows_every_key():
    """Only the names are copied, so a rule that changes is not seen here: rosdep itself has to be tried, too."""
    package = ElementTree.fromstring((ROOT / "package.xml").read_text())
    keys = {each.text for each in package if each.tag.endswith("depend")}
    assert keys
    assert keys - NAMES == set()
    assert not [key for key in keys if key.endswith("-pip")]  # no Debian package may need one


def test_package_xml_declares_every_import():
    text = (ROOT / "package.xml").read_text()
    package = ElementTree.fromstring(text)
    declared = {each.text for each in package if each.tag.endswith("depend")}
    for_use = {each.text for each in package if each.tag in ("exec_depend", "depend")}

    def missing(names, known):
        return {
            name for name in names - PYPI_ONLY if name not in known and ROSDEP.get(name, f"python3-{name}") not in known
        }

    assert missing(imported("hexapod_dynamics", "launch") - OPTIONAL - JETSON, for_use) == set()
    assert (
        missing(imported("test", TESTING) - {"setuptools", "packaging"}, declared) == set()
    )  # pytest brings packaging
    assert {name for name in imported("hexapod_dynamics", "launch") & PYPI_ONLY if name not in text} == set()


def test_every_program_exists(setup):
    for entry in setup["entry_points"]["console_scripts"]:
        module, function = entry.split(" = ")[1].split(":")
        assert callable(getattr(importlib.import_module(module), function))


PRINT_COMMANDS = """
import sys
import setuptools
from distutils.core import run_setup

package = run_setup("setup.py", script_args=sys.argv[1:], stop_after="commandline")
print(*(line.partition(" =")[0] for line in package.entry_points["console_scripts"]))
"""


def commands(*arguments):
    """Names of the commands that setup.py installs when it is called with these arguments."""
    call = [sys.executable, "-c", PRINT_COMMANDS, *arguments]
    return programs.run(*call, cwd=ROOT, check=True).stdout.split()


def test_a_wheel_has_no_command_without_the_prefix():
    assert all(name.startswith("hexapod-") for name in commands("bdist_wheel"))


@pytest.mark.parametrize("arguments", [("install", "--prefix", "/nowhere"), ("develop",), ("build",)])
def test_colcon_installs_the_names_of_ros2_run(arguments):
    assert {"servos", "gait", "view", "plan", "set_morphology"} <= set(commands(*arguments))


def test_a_command_that_needs_ros_2_says_so_in_one_line_where_there_is_none():
    code = """
import importlib.util
import sys

find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "rclpy" else find(name, *rest)
sys.modules["rclpy"] = None
sys.argv = ["hexapod-view"]
from hexapod_dynamics.ros import start

start.view()
"""
    run = python("-c", code)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1, run.stderr
    assert run.stderr.startswith("hexapod-view: needs ROS 2")


def test_only_tests_marked_ros_import_ros():
    """`pytest -m pure` runs on a machine without ROS."""
    tests = Path(__file__).parents[1]
    users = [path for path in tests.rglob("test_*.py") if ROS & imports_of(path)]
    users += [path for path in tests.rglob("test_*.py") if "\nfrom support.ros_session import" in path.read_text()]
    assert {path.relative_to(tests).parts[0] for path in users} == {"nodes", "ros"}


def test_what_users_import_first_is_loaded_on_its_first_use():
    code = (
        "import sys, hexapod_dynamics as package\n"
        "loaded = [name for name in sys.modules if name.startswith('hexapod_dynamics.')]\n"
        "print(loaded, *(getattr(package, name).__name__ for name in package.__all__))\n"
    )
    done = python("-c", code, check=True)
    assert done.stdout.split() == ["[]", "Morphology", "Onboard", "Robot", "WholeBodyModel"]
