"""What .ci/run calls: no test is left out by it, and what fails makes it fail."""

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import ALONE, LONG, LONGEST, MARKERS, PACED
from support import programs

ROOT = Path(__file__).parents[2]
SCRIPT = (ROOT / ".ci" / "run").read_text()
# In place of with_ros2: writes down its words, and fails where they contain $BROKEN, as pytest with a failed test does.
STAND_IN = """#!/usr/bin/env bash
echo "$*" >>calls
[[ -n $BROKEN && "$*" == *"$BROKEN"* ]] || exit 0
if [[ "$*" =~ cache_dir=([^ ]*) ]]; then
    mkdir -p "${BASH_REMATCH[1]}/v/cache"
    echo '{"test/test_one.py::test_that": true}' >"${BASH_REMATCH[1]}/v/cache/lastfailed"
fi
exit 1
"""


def test_the_folders_of_tests_in_real_time_are_all_in_ci():
    folders = re.search(r"^real_time=\(([^)]*)\)", SCRIPT, re.MULTILINE)[1].split()
    real = [name for name, marker in MARKERS.items() if marker in ("ros", "devices")]
    assert real
    for name in (*real, *ALONE, *PACED):
        path = Path("test", name)
        assert (ROOT / path).exists()
        assert any(path.is_relative_to(folder) for folder in folders), name


def test_the_folders_that_the_computing_step_does_not_look_into_have_no_test_that_only_computes():
    ignored = re.findall(r"--ignore test/(\S+?)[\s)]", SCRIPT)
    assert ignored
    assert {MARKERS[name] for name in ignored} == {"ros"}


def test_the_tests_that_take_long_are_there():
    assert [name for name in (*LONG, *LONGEST) if not (ROOT / "test" / name).exists()] == []


@pytest.fixture
def run_ci(tmp_path):
    """Run .ci/run as written where everything that it calls passes at once, but what contains the given words."""
    for name, text in {"with_ros2": STAND_IN, "bin/chromium": "#!/bin/sh\n", "bin/check_urdf": "#!/bin/sh\n"}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy2(ROOT / ".ci" / "run", tmp_path / ".ci")
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}

    def run(broken=""):
        done = programs.run(".ci/run", cwd=tmp_path, env=environment | {"BROKEN": broken})
        return done.returncode, done.stdout, (tmp_path / "calls").read_text()

    return run


@pytest.mark.parametrize("step", ["environment", "types", "documents"])
def test_a_step_that_fails_makes_ci_fail_after_all_others_have_run(run_ci, step):
    code, printed, calls = run_ci({"environment": "true", "types": "mypy", "documents": "sphinx"}[step])
    assert code == 1 and printed.endswith(f"FAILED: {step}\n"), printed
    assert "ros2_tools/tests" in calls and "ruff check ." in calls


def test_a_test_that_fails_beside_others_and_passes_alone_is_named_and_no_failure(run_ci):
    code, printed, calls = run_ci("-n 4 --dist worksteal -c ros2_tools")
    assert code == 0 and "==== the first time: ros2_tools" in printed, printed
    assert calls.splitlines()[-1].startswith("python -m pytest -v --last-failed")


@pytest.mark.parametrize("tests", ["ros2_tools/tests", "python -m pytest"])
def test_a_test_that_fails_alone_too_makes_ci_fail(run_ci, tests):
    code, printed, _ = run_ci(tests)
    assert code == 1 and "FAILED: what failed beside others, alone" in printed, printed
