"""The pure modules know no ROS, and imports point downward only."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import hexapod_dynamics

ROOT = Path(hexapod_dynamics.__file__).parent
# From the ground up; a package may import from itself and from those before it.
LAYERS = (
    "errors",
    "runtime_directory",
    "compile_notice",
    "se3",
    "kernel_layout",
    "kernel_memory",
    "code_cache",
    "native",
    "damage",
    "robot",
    "kinematics",
    "dynamics",
    "gait",
    "simulation",
    "control",
    "drivers",
    "detection",
    "estimation",
    "identification",
    "bench",
    "learning",
    "view",
    "parameters",
    "ros",
    "nodes",
    "tools",
    "papers",
)
# What the robot's own processes never load: simulated devices, browser view, learning, plots, commissioning, papers.
BENCH = {"bench", "learning", "view", "papers"}
# They need it, and do not run in the control of a robot.
BENCH_USERS = {
    "nodes/simulator.py",
    "nodes/view.py",
    "parameters/simulator.py",
    "parameters/catalogue.py",
    "tools/check_robot.py",
    "tools/identify.py",
    "tools/parameter_files.py",
    "tools/plan.py",
}
ROS = {
    "rclpy",
    "launch",
    "launch_ros",
    "ros2cli",
    "tf2_ros",
    "builtin_interfaces",
    "rcl_interfaces",
    "std_msgs",
    "std_srvs",
    "geometry_msgs",
    "sensor_msgs",
    "nav_msgs",
    "diagnostic_msgs",
    "trajectory_msgs",
    "visualization_msgs",
    "rosgraph_msgs",
    "tf2_msgs",
}
MODULES = sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)
PURE = [path for path in MODULES if path.relative_to(ROOT).parts[0] not in ("nodes", "ros", "tools")]


def imports(path):
    """Give the full names of all modules a file imports, wherever in it, but for those of annotations alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    left_out = {id(node) for each in typing for child in each.body for node in ast.walk(child)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def label(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PURE, ids=label)
def test_a_pure_module_imports_no_ros(path):
    assert not ROS & {name.partition(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_imports_point_downward(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    below = () if own == "__init__" else LAYERS[: LAYERS.index(own) + 1]
    for name in imports(path):
        assert not name.startswith("."), f"relative import {name}: name the package"
        parts = name.split(".")
        if parts[0] == "hexapod_dynamics" and len(parts) > 1:
            assert parts[1] in below, f"{name} is not below {own}"


def loaded_by(path):
    """Yield the files of this package that a file imports, wherever in it; a package stands for its __init__."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    for name in names:
        parts = name.split(".")
        for end in range(2, len(parts) + 1) if parts[0] == "hexapod_dynamics" else ():
            place = ROOT.joinpath(*parts[1:end])
            yield from (each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file())


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.relative_to(ROOT).parts[0] not in BENCH], ids=lambda path: label(path)
)
def test_the_robots_modules_load_nothing_of_the_bench_or_the_papers(path):
    """Neither directly nor through others; who needs it is named above."""
    if label(path) in BENCH_USERS:
        return
    known, left = {path}, [path]
    while left:
        found = set(loaded_by(left.pop())) - known
        known |= found
        left += found
    assert len(known) > 1 or not list(loaded_by(path))
    assert {label(each) for each in known if each.relative_to(ROOT).parts[0] in BENCH} == set()


def test_each_exception_for_the_bench_is_one():
    for name in BENCH_USERS:
        loads = {label(each).partition("/")[0] for each in loaded_by(ROOT / name)}
        through = {label(each) for each in loaded_by(ROOT / name)} & BENCH_USERS
        assert loads & BENCH or through, f"{name} needs no exception any more"


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_only_the_package_ros_imports_what_rclpy_hides(path):
    hidden = {name for name in imports(path) if name.startswith(("rclpy._", "rclpy.impl"))}
    assert not hidden or path.relative_to(ROOT).parts[0] == "ros"


# Public functions of Python with an underscore, and internals of other libraries.
UNDERSCORED = {"_fields", "_replace", "_asdict", "_exit"}
LIBRARIES = {
    # The one module that knows viser's internals; it refuses versions that it does not know.
    ("bench/view/web_page.py", "_websock_server"),
    ("bench/view/web_page.py", "_live_connections"),
    ("bench/view/web_page.py", "_gui_input_handle_from_uuid"),
    ("bench/view/web_page.py", "_command_handle_from_uuid"),
    ("bench/view/web_page.py", "_handle_from_node_name"),
    ("bench/view/web_page.py", "_impl"),
}


def owned(tree):
    """Yield (names that a class defines or sets, nodes of its body), and (nothing, nodes outside of classes)."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    inside = {id(node) for each in classes for node in ast.walk(each)}
    for each in classes:
        nodes = list(ast.walk(each))
        names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
        names |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        names |= {
            node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        yield names, nodes
    yield set(), [node for node in ast.walk(tree) if id(node) not in inside]


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_no_private_member_of_another_class_is_used(path):
    for names, nodes in owned(ast.parse(path.read_text(encoding="utf-8"))):
        for node in nodes:
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
                continue
            if node.attr in UNDERSCORED or (label(path), node.attr) in LIBRARIES or node.attr in names:
                continue
            assert isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"), ast.unparse(node)


def test_only_tests_marked_ros_or_soak_import_ros():
    """`pytest -m pure` runs on a machine without ROS."""
    tests = Path(__file__).parent
    names = {path: {name.partition(".")[0] for name in imports(path)} for path in tests.rglob("test_*.py")}
    session = {path for path in names if "support.ros_session" in imports(path)}
    wrong = [path for path, found in names.items() if found & ROS or path in session]
    assert session
    assert {path.relative_to(tests).parts[0] for path in wrong} <= {"nodes", "ros", "soak"}, wrong
    assert wrong


def test_the_pure_packages_load_without_ros():
    """A process in which ROS cannot be imported loads every pure module."""
    names = ["hexapod_dynamics." + ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in PURE]
    names = [name.removesuffix(".__init__") for name in names]
    if find_spec("gymnasium") is None:  # an extra of setup.py
        learning = "hexapod_dynamics.bench.learning", "hexapod_dynamics.learning"
        names = [name for name in names if not name.startswith(learning)]
    code = (
        f"import sys, importlib\nblocked = {sorted(ROS)!r}\n"
        "sys.modules.update(dict.fromkeys(blocked))\n"  # None in sys.modules: importing it raises ImportError
        f"for name in {names!r}: importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
