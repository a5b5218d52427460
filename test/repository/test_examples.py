"""Every program in examples/ runs without an error or a warning and prints its result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# identify_from_bag runs in test_identify_tool.py, which reads the bag that it writes.
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "identify_from_bag")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path):
    if path.stem == "learn_to_walk":
        pytest.importorskip("gymnasium")  # of the extra `test`
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )
    assert done.returncode == 0, done.stderr
    complaints = [line for line in done.stderr.splitlines() if "compiling the model for this machine" not in line]
    assert complaints == [] and len(done.stdout.splitlines()) >= 3, done.stderr
