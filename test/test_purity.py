"""Tests of what computes run without ROS. Which package may import which is in .importlinter."""

import ast
import subprocess
import sys
from pathlib import Path

from support.ros_names import ROS


def imports(path):
    """Return the full names of all modules that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


def test_only_tests_marked_ros_import_ros():
    """`pytest -m pure` runs on a machine without ROS."""
    tests = Path(__file__).parent
    names = {path: imports(path) for path in tests.rglob("test_*.py")}
    session = {path for path in names if "support.ros_session" in names[path]}
    users = [path for path, found in names.items() if ROS & {name.partition(".")[0] for name in found}]
    assert session and users
    assert {path.relative_to(tests).parts[0] for path in {*users, *session}} <= {"nodes", "ros"}


def test_what_users_import_first_is_loaded_on_its_first_use():
    code = (
        "import sys, hexapod_dynamics as package\n"
        "loaded = [name for name in sys.modules if name.startswith('hexapod_dynamics.')]\n"
        "print(loaded, *(getattr(package, name).__name__ for name in package.__all__))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["[]", "Morphology", "Onboard", "Robot", "WholeBodyModel"]
