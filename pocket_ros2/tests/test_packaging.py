"""The project as pip and as Python see it: it never goes beside a real ROS 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pocket_ros2.beside import real_ros2

PROJECT = Path(__file__).parents[1]
BARE = {
    name: value for name, value in os.environ.items() if name not in ("AMENT_PREFIX_PATH", "ROS_DISTRO", "PYTHONPATH")
}


@pytest.fixture
def real_prefix(tmp_path):
    """Lay out what tells a ROS 2 from the prefix of an ordinary package."""
    index = tmp_path / "opt" / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "rclpy").touch()
    return tmp_path / "opt"


def test_real_ros2_is_told_by_prefix_distro_and_import_path(real_prefix, tmp_path):
    assert real_ros2({}, [str(PROJECT / "src")]) is None
    assert real_ros2({"AMENT_PREFIX_PATH": str(tmp_path)}, []) is None
    assert str(real_prefix) in real_ros2({"AMENT_PREFIX_PATH": f"{tmp_path}:{real_prefix}"}, [])
    assert "'humble'" in real_ros2({"ROS_DISTRO": "humble"}, [])
    (tmp_path / "rclpy").mkdir()
    (tmp_path / "rclpy" / "__init__.py").touch()
    assert "another rclpy" in real_ros2({}, [str(PROJECT / "src"), str(tmp_path)])


@pytest.mark.parametrize("module", ["rclpy", "launch", "launch_ros", "ament_index_python", "tf2_ros", "std_msgs.msg"])
def test_import_beside_a_real_ros2_is_refused(module, real_prefix):
    result = subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**BARE, "PYTHONPATH": str(PROJECT / "src"), "AMENT_PREFIX_PATH": str(real_prefix)},
    )
    assert result.returncode == 1
    assert "does not go together with a real ROS 2" in result.stderr
    assert str(real_prefix) in result.stderr


def test_build_beside_a_real_ros2_is_refused(real_prefix):
    for variables in ({"ROS_DISTRO": "humble"}, {"AMENT_PREFIX_PATH": str(real_prefix)}):
        result = subprocess.run(
            [sys.executable, "setup.py", "--name"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**BARE, **variables},
        )
        assert result.returncode == 1
        assert "does not go together with a real ROS 2" in result.stderr


def test_wheel_holds_all_packages_and_the_command(tmp_path):
    zipfile = pytest.importorskip("zipfile")
    project = tmp_path / "project"
    project.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md"):
        (project / name).write_bytes((PROJECT / name).read_bytes())
    (project / "src").symlink_to(PROJECT / "src")
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--wheel-dir",
            str(tmp_path),
            str(project),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=BARE,
    )
    assert result.returncode == 0, result.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for module in (path for path in (PROJECT / "src").rglob("*.py") if "__pycache__" not in path.parts):
        assert str(module.relative_to(PROJECT / "src")) in names
    (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
    assert "ros2 = pocket_ros2.cli:main" in zipfile.ZipFile(wheel).read(entry_points).decode()
