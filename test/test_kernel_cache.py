"""Compiled code on disk: shared by processes that start at once, renewed when damaged, done without when unwritable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hexapod_dynamics
from hexapod_dynamics.dynamics import kernel_cache

# The smallest use that goes through both kinds of compiled code: leg kernels and one numba function.
SCRIPT = """
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.dynamics.kernels import RobotKernels, run_kernels
from hexapod_dynamics.dynamics.memory import FORWARD
robot = Robot.jethexa()
ws = RobotKernels(robot).workspace()
ws.lanes[:, ws.rows.q : ws.rows.q + 3, :] = 0.3
run_kernels(ws, FORWARD)
print(repr(float(ws.shared[22])))
"""
SAID = "compiling the model"


def start(directory):
    package = str(Path(hexapod_dynamics.__file__).parents[1])
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"HEXAPOD_DYNAMICS_CACHE": str(directory), "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return float(out), err


def entries(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


def test_two_processes_may_start_at_once_and_a_damaged_cache_is_made_again(tmp_path):
    both = [finish(process) for process in [start(tmp_path), start(tmp_path)]]
    assert both[0][0] == both[1][0]
    assert all(SAID in err for _, err in both)
    assert both[0][1].count("\n") == 1  # it says so once

    result, err = finish(start(tmp_path))
    assert result == both[0][0]
    assert err == ""

    written = entries(tmp_path)
    assert len(written) >= 3
    for number, path in enumerate(written):  # cut short, a bit turned, emptied
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes([data[: len(data) // 2], data, b""][number % 3])
    result, err = finish(start(tmp_path))
    assert result == both[0][0]
    assert SAID in err

    result, err = finish(start(tmp_path))
    assert (result, err) == (both[0][0], "")
    assert sorted(entries(tmp_path)) == sorted(written)  # no temporary file is left behind


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_text("not a directory")
    _, err = finish(start(blocked / "cache"))
    assert "cannot be kept" in err
    assert "HEXAPOD_DYNAMICS_CACHE" in err


def test_an_entry_is_read_as_it_was_written_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "entry"
    kernel_cache.write_entry(path, b"code")
    assert kernel_cache.read_entry(path) == b"code"
    path.write_bytes(path.read_bytes()[:-1])
    assert kernel_cache.read_entry(path) is None
    assert kernel_cache.read_entry(tmp_path / "none") is None


def test_the_directory_is_the_users_choice(monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", "/chosen")
    assert kernel_cache.cache_directory() == Path("/chosen")
    monkeypatch.delenv("HEXAPOD_DYNAMICS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert kernel_cache.cache_directory() == Path("/xdg/hexapod_dynamics")


def test_a_change_in_an_imported_module_changes_the_key(tmp_path, monkeypatch):
    files = kernel_cache._imported_files("hexapod_dynamics.dynamics.calls")
    names = {path.name for path in files}
    assert {"calls.py", "kernels.py", "leg_program.py", "leg_kernels.py", "tracing.py", "vector_code.py"} <= names
    before = kernel_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.calls")
    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: original(path) + b"#" * (path.name == "tracing.py"))
    assert kernel_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.calls") != before


def test_another_toolchain_has_another_key(monkeypatch):
    before = kernel_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.calls")
    monkeypatch.setattr(kernel_cache, "toolchain", lambda: "numba-99")
    assert kernel_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.calls") != before


def test_what_nobody_used_for_a_month_goes(tmp_path):
    old, fresh, other = (tmp_path / name for name in ("kernels-aaa", "kernels-bbb", "contact-ccc"))
    for directory in (old, fresh, other):
        directory.mkdir()
    for directory in (old, other):
        os.utime(directory, (0, 0))
    kernel_cache.write_entry(tmp_path / "kernels-new" / "entry", b"code")
    assert not old.exists()
    assert fresh.exists()
    assert other.exists()


@pytest.mark.parametrize("key", ["a", "b"])
def test_an_object_is_made_once_for_a_key(tmp_path, monkeypatch, key):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path))
    made = []

    def make():
        made.append(key)
        return key.encode()

    for _ in range(2):
        assert kernel_cache.cached_object("hexapod_dynamics.dynamics.kernels", key, make) == key.encode()
    assert made == [key]
