"""Libraries of C code: their names, where they are looked for, and what is said without a compiler."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.imported_modules import imported_modules

from hexapod_dynamics import code_cache
from hexapod_dynamics.dynamics import build_libraries
from hexapod_dynamics.dynamics.workspace import Rows
from hexapod_dynamics.errors import CompilerError
from hexapod_dynamics.native import LibrarySource, processor
from hexapod_dynamics.native import library as open_library
from hexapod_dynamics.native.library import FLAGS, INCLUDE, SOURCES, compiler
from hexapod_dynamics.robot import Robot

SOURCE = "double answer(void) { return 42.0; }\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def opened(source=SOURCE):
    return open_library(LibrarySource("test", source, lambda: source))


def test_a_library_is_compiled_once_and_kept(cache):
    first = opened()
    assert first.path.is_relative_to(cache)
    before = first.path.stat().st_mtime_ns
    assert open_library(LibrarySource("test", SOURCE, lambda: pytest.fail("printed again"))).path == first.path
    assert first.path.stat().st_mtime_ns == before
    assert opened(SOURCE + "\n").path != first.path


def test_a_damaged_library_is_compiled_again(cache):
    path = opened().path
    copy = path.read_bytes()
    path.unlink()  # it is open in this process
    path.write_bytes(copy[: len(copy) // 2])
    assert opened().path.read_bytes() == copy


def test_another_compiler_makes_another_library(cache, monkeypatch, tmp_path):
    first = opened().path
    other = tmp_path / "other-gcc"
    shutil.copy(shutil.which("true"), other)
    other.write_text(f'#!/bin/sh\nexec {shutil.which("gcc")} "$@"\n')
    monkeypatch.setenv("CC", str(other))
    assert opened().path != first


def test_without_a_compiler_what_was_compiled_before_is_used_and_the_rest_refused_in_one_line(cache, monkeypatch):
    first = opened().path
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(cache))
    assert compiler() is None
    assert opened().path == first
    with pytest.raises(CompilerError, match="sudo apt install gcc") as refusal:
        opened("double other(void) { return 1.0; }\n")
    assert "\n" not in str(refusal.value)


def test_what_the_compiler_refuses_is_told_in_one_line(cache):
    with pytest.raises(CompilerError, match="error") as refusal:
        opened("double answer(void) { return unknown; }\n")
    assert "\n" not in str(refusal.value)


def test_a_library_of_a_cache_that_others_may_write_to_is_not_opened(cache, capfd):
    code_cache.warn_unusable.cache_clear()
    path = opened().path
    path.parent.chmod(0o777)
    assert opened().path != path  # compiled for this process alone
    assert "HEXAPOD_DYNAMICS_CACHE" in capfd.readouterr().err


WITHOUT_COMPILER = """
import os, sys
from pathlib import Path
import numpy as np
from hexapod_dynamics.native import processor
processor.BUILT = Path(sys.argv[1])
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot
robot = Robot.jethexa()
model = WholeBodyModel(robot)
model.prepare()
hurt = Morphology.whole(robot).without("RM")
state = np.eye(3), np.zeros(18), np.zeros(21)
acceleration = model.forward_dynamics(*state, np.zeros(15), hurt)
batch = model.forward_dynamics_batch(*(np.repeat(x[None], 3, 0) for x in (*state, np.zeros(15))), hurt)
assert np.allclose(batch, acceleration), batch
opened = {line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith(".so")}
print(sorted(Path(path).name.partition("-")[0] for path in opened if path.startswith(sys.argv[1])))
print(os.listdir(os.environ["HEXAPOD_DYNAMICS_CACHE"]))
"""


def test_jethexas_libraries_are_built_with_the_package_and_need_no_compiler(tmp_path, monkeypatch):
    """With an empty cache and no compiler; only the extension, which setuptools builds, is put there first."""
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(code_cache.PACKAGE.parent))
    load = "from hexapod_dynamics.native import extension; extension.model()"
    subprocess.run([sys.executable, "-c", load], check=True)
    before = sorted(path.name for path in (tmp_path / "cache").iterdir())
    target = processor.native()
    assert build_libraries.build(Robot.jethexa(), target, tmp_path / "built" / target.name) == 5
    assert build_libraries.build(Robot.jethexa(), target, tmp_path / "built" / target.name) == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    command = [sys.executable, "-c", WITHOUT_COMPILER, str(tmp_path / "built")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    kinds = ["batch", "coriolis", "derivatives", "legs", "model"]
    assert done.stdout.splitlines() == [f"{kinds}", f"{before}"], done.stderr


def test_setup_py_builds_nothing_when_it_is_read():
    script = """
import sys, setuptools, subprocess
from distutils.core import run_setup
subprocess.run = subprocess.Popen = lambda *a, **k: sys.exit("a process was started")
package = run_setup("setup.py", stop_after="init")
print([each.name for each in package.ext_modules], package.cmdclass["build_ext"].__name__)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].startswith("['hexapod_dynamics.native._model'"), done.stderr


def test_flags_do_not_change_the_arithmetic_of_the_process():
    assert "-ffast-math" not in FLAGS
    assert "-fno-math-errno" in FLAGS


def test_every_source_that_decides_what_is_printed_is_in_the_name():
    """Modules that the printed text comes from; whoever only finds or keeps libraries, and the robot, do not count."""
    apart = ("robot", "code_cache", "compile_notice", "errors", "runtime_directory", "native", "native.processor")
    found, pending = set(), ["dynamics.leg_code", "dynamics.batch_code", "native.c_printer"]
    while pending:
        name = pending.pop()
        file = Path("hexapod_dynamics", *name.split("."))
        if name in found or name in apart:
            continue
        found.add(name)
        source = code_cache.PACKAGE.parent / file.with_suffix(".py")
        imported = imported_modules(source.read_text())
        pending += [module.removeprefix("hexapod_dynamics.") for module in imported]
    assert {f"{name.replace('.', '/')}.py" for name in found} == set(SOURCES)


def test_rows_of_the_header_are_those_of_python():
    header = (INCLUDE / "hd_model.h").read_text()
    body = re.search(r"struct hd_rows \{(.*?)\n\};", header, re.DOTALL)[1]
    assert tuple(re.findall(r"int64_t (\w+);", body)) == Rows._fields


@pytest.mark.parametrize("header", sorted(path.name for path in INCLUDE.glob("*.h")))
def test_headers_are_c99_without_warnings(tmp_path, header):
    source = tmp_path / "source.c"
    source.write_text(f'#define HD_LANES 1\n#include "{header}"\nint unit;\n')
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsyntax-only"]
    done = subprocess.run([*command, f"-I{INCLUDE}", str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_family_is_taken_only_where_the_processor_has_its_features(tmp_path, monkeypatch):
    family = processor.FAMILIES["x86-64-v3" if "sse2" in processor.features() else "cortex-a57"]
    monkeypatch.setattr(processor, "built_targets", lambda: [family])
    monkeypatch.setattr(processor, "BUILT", tmp_path)
    for features, expected in ((family.needs, family), ((), processor.native())):
        monkeypatch.setattr(processor, "features", lambda features=features: frozenset(features))
        assert processor.target.__wrapped__() == expected
