"""Compiled code on disk: shared by processes that start at once, renewed when damaged, done without when unwritable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hexapod_dynamics
from hexapod_dynamics import code_cache, compiled

# The smallest use that goes through both kinds of compiled code: one numba function, and leg kernels of a robot that the
# package was not built for (JetHexa's come with it).
OTHER_ROBOT = Path(__file__).parent / "robots" / "octopod.yaml"
SCRIPT = f"""
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.dynamics.kernels import RobotKernels, run_kernels
from hexapod_dynamics.dynamics.workspace import FORWARD
robot = Robot.load({str(OTHER_ROBOT)!r})
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
    code_cache.write_entry(path, b"code")
    assert code_cache.read_entry(path) == b"code"
    path.write_bytes(path.read_bytes()[:-1])
    assert code_cache.read_entry(path) is None
    assert code_cache.read_entry(tmp_path / "none") is None


def test_the_directory_is_the_users_choice(monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", "/chosen")
    assert code_cache.cache_directory() == Path("/chosen")
    monkeypatch.delenv("HEXAPOD_DYNAMICS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert code_cache.cache_directory() == Path("/xdg/hexapod_dynamics")


def test_a_change_in_an_imported_module_changes_the_key(tmp_path, monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path))
    names = ("kernels", "leg_program", "leg_kernels", "tracing")
    assert {f"dynamics/{name}.py" for name in names} <= set(code_cache._sources("hexapod_dynamics.dynamics.kernels"))
    before = code_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.kernels")
    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: original(path) + b"#" * (path.name == "tracing.py"))
    assert code_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.kernels") != before


@pytest.mark.parametrize(
    "statement",
    [
        "import hexapod_dynamics.se3 as s",
        "import numpy, hexapod_dynamics.se3",
        "if True: import hexapod_dynamics.se3 as s",
        "def later():\n    from hexapod_dynamics.se3 import (\n        hat as h,  # (\n        vee,\n    )",
        "from hexapod_dynamics import \\\n    se3 as s",
        "from hexapod_dynamics.se3 import *",
        "x = 1; from hexapod_dynamics import se3",
        "from .. import se3",
        "from ..se3 import hat",
    ],
)
def test_every_form_of_import_is_seen(statement):
    assert "hexapod_dynamics.se3" in code_cache.imported_modules(statement, "hexapod_dynamics.dynamics")


def test_no_module_is_parsed_again_that_has_not_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path))
    first = code_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.kernels")
    monkeypatch.setattr(code_cache, "imported_modules", lambda *_: pytest.fail("parsed again"))
    assert code_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.kernels") == first


@pytest.mark.parametrize("planted", ["writable file", "link", "writable directory", "writable cache", "another user's"])
def test_what_another_user_could_have_put_there_is_not_read(tmp_path, monkeypatch, capsys, planted):
    code_cache.warn_unusable.cache_clear()
    entry = tmp_path / "cache" / "kernels-key" / "entry"
    code_cache.write_entry(entry, b"code")
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
    assert code_cache.read_entry(entry) is None
    if planted != "link":
        assert "HEXAPOD_DYNAMICS_CACHE" in capsys.readouterr().err


def test_the_cache_is_made_for_its_user_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        code_cache.write_entry(tmp_path / "cache" / "kernels-key" / "entry", b"code")
    finally:
        os.umask(before)
    made = [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]
    assert len(made) == 3
    assert not any(path.stat().st_mode & 0o077 for path in made)


def test_another_toolchain_has_another_key(monkeypatch):
    before = code_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.kernels")
    monkeypatch.setattr(code_cache, "toolchain", lambda: "numba-99")
    assert code_cache.source_digest.__wrapped__("hexapod_dynamics.dynamics.kernels") != before


def test_what_nobody_used_for_a_month_goes(tmp_path):
    old, fresh, other = (tmp_path / name for name in ("kernels-aaa", "kernels-bbb", "contact-ccc"))
    for directory in (old, fresh, other):
        directory.mkdir()
    for directory in (old, other):
        os.utime(directory, (0, 0))
    code_cache.write_entry(tmp_path / "kernels-new" / "entry", b"code")
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
        assert compiled.cached_object("hexapod_dynamics.dynamics.kernels", key, make) == key.encode()
    assert made == [key]
