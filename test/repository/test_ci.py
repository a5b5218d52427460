"""What .ci/run calls: no test is left out by it."""

import re
from pathlib import Path

from conftest import ALONE, LONG, LONGEST, MARKERS, PACED

ROOT = Path(__file__).parents[2]
SCRIPT = (ROOT / ".ci" / "run").read_text()


def test_the_folders_of_tests_in_real_time_are_all_in_ci():
    folders = re.search(r"^real_time=\(([^)]*)\)", SCRIPT, re.MULTILINE)[1].split()
    real = [name for name, marker in MARKERS.items() if marker in ("ros", "devices")]
    assert real
    for name in (*real, *ALONE, *PACED):
        path = Path("test", name)
        assert (ROOT / path).exists()
        assert any(path.is_relative_to(folder) for folder in folders), name


def test_the_tests_that_take_long_are_there():
    assert [name for name in (*LONG, *LONGEST) if not (ROOT / "test" / name).exists()] == []


def test_the_folders_that_the_computing_step_does_not_look_into_have_no_test_that_only_computes():
    ignored = re.findall(r"--ignore test/(\S+?)[\s)]", SCRIPT)
    assert ignored
    assert {MARKERS[name] for name in ignored} == {"ros"}


def test_every_marker_of_a_default_run_has_its_step():
    parts = re.findall(r"-m '([^']*)'", SCRIPT)
    assert {
        "(pure or long or papers) and not slow",
        "(waiting or paced or alone) and not slow",
    } <= set(parts)
