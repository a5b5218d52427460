"""Compiled code on disk: shared by processes that start at once, renewed when damaged, done without when unwritable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hexapod_dynamics
from hexapod_dynamics import code_cache

# The model of a robot that the package was not built for (JetHexa's comes with it).
OTHER_ROBOT = Path(__file__).parent / "robots" / "octopod.yaml"
SCRIPT = f"""
import numpy as np
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.kernels import forward
robot = Robot.load({str(OTHER_ROBOT)!r})
n = robot.joint_count
q, nu, out = np.full(n, 0.3), np.zeros(6 + n), np.zeros(6 + n)
forward(RobotKernels(robot).workspace(), np.eye(3), q, nu, np.zeros(n), out)
print(repr(float(out.sum())))
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
    assert len(written) >= 2
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


def test_a_library_is_opened_as_it_was_written_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "entry"
    code_cache.write_library(path, b"code")
    assert path.read_bytes()[:4] == b"code"
    assert code_cache.library_to_open(path)
    path.write_bytes(path.read_bytes()[:-1])
    assert not code_cache.library_to_open(path)
    assert not code_cache.library_to_open(tmp_path / "none")


def test_the_directory_is_the_users_choice(monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", "/chosen")
    assert code_cache.cache_directory() == Path("/chosen")
    monkeypatch.delenv("HEXAPOD_DYNAMICS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert code_cache.cache_directory() == Path("/xdg/hexapod_dynamics")


@pytest.mark.parametrize("planted", ["writable file", "link", "writable directory", "writable cache", "another user's"])
def test_what_another_user_could_have_put_there_is_not_read(tmp_path, monkeypatch, capsys, planted):
    code_cache.warn_unusable.cache_clear()
    entry = tmp_path / "cache" / "kernels-key" / "entry"
    code_cache.write_library(entry, b"code")
    if planted == "link":
        entry.rename(tmp_path / "elsewhere")
        entry.symlink_to(tmp_path / "elsewhere")
    elif planted == "another user's":
        somebody_else = os.geteuid() + 1
        if os.geteuid() == 0:  # root is trusted by everybody
            for path in (entry, entry.parent, entry.parents[1]):
                os.chown(path, somebody_else, -1)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: somebody_else)
    else:
        path = {"file": entry, "directory": entry.parent, "cache": entry.parents[1]}[planted.split()[1]]
        path.chmod(path.stat().st_mode | 0o022)
    assert not code_cache.library_to_open(entry)
    if planted != "link":
        assert "HEXAPOD_DYNAMICS_CACHE" in capsys.readouterr().err


def test_the_cache_is_made_for_its_user_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        code_cache.write_library(tmp_path / "cache" / "kernels-key" / "entry", b"code")
    finally:
        os.umask(before)
    made = [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]
    assert len(made) == 3
    assert not any(path.stat().st_mode & 0o077 for path in made)


def test_what_nobody_used_for_a_month_goes(tmp_path):
    old, fresh, other = (tmp_path / name for name in ("kernels-aaa", "kernels-bbb", "contact-ccc"))
    for directory in (old, fresh, other):
        directory.mkdir()
    for directory in (old, other):
        os.utime(directory, (0, 0))
    code_cache.write_library(tmp_path / "kernels-new" / "entry", b"code")
    assert not old.exists()
    assert fresh.exists()
    assert other.exists()


def test_a_named_pipe_in_the_cache_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "entry")
    assert not code_cache.library_to_open(tmp_path / "entry")
    assert "it is no file" in capsys.readouterr().err
