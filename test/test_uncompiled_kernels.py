"""A checkout whose kernels are not compiled, or for another Python, says so: the robot would be far too slow."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hexapod_dynamics


@pytest.fixture
def uncompiled(tmp_path):
    """Return a directory with the package's Python files and none of its compiled ones."""
    package = Path(hexapod_dynamics.__file__).parent
    target = tmp_path / "hexapod_dynamics"
    shutil.copytree(package, target, ignore=shutil.ignore_patterns("*.so", "*.c", "__pycache__", "bench", "papers"))
    return tmp_path


def run(directory, *options):
    """Import the kernels' memory in a process of its own; return what it says."""
    command = [sys.executable, *options, "-c", "import hexapod_dynamics.kernel_memory as m; print(m.__file__)"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True, timeout=60)
    assert Path(done.stdout.strip()).parent == directory / "hexapod_dynamics"
    return done.stderr


def test_kernels_that_are_not_compiled_are_reported_with_the_remedy(uncompiled):
    said = run(uncompiled)
    assert said.count("RuntimeWarning") == 1
    assert "the kernels of hexapod_dynamics are not compiled" in said
    assert "colcon build" in said


def test_kernels_that_are_compiled_for_another_python_are_named(uncompiled):
    (uncompiled / "hexapod_dynamics" / "kernel_memory.cpython-39-x86_64-linux-gnu.so").touch()
    said = run(uncompiled)
    assert "compiled for another Python (kernel_memory.cpython-39-x86_64-linux-gnu.so)" in said
    assert f"Python 3.{sys.version_info.minor}" in said


def test_compiled_kernels_say_nothing():
    command = [sys.executable, "-W", "error", "-c", "import hexapod_dynamics.kernel_memory"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
