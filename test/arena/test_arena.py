"""The arena's page: its example is a method that runs; what a method does is scored as it is."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("mujoco")
pytest.importorskip("vqf")


@pytest.fixture
def arena(monkeypatch):
    """The arena's modules, as its command imports them."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmark" / "arena"))
    yield
    for name in ("recovery", "episode", "methods", "searching", "run"):
        sys.modules.pop(name, None)


def test_the_example_of_the_page_walks_and_stops_when_a_servo_falls_silent(arena):
    from episode import run

    from hexapod_dynamics.robot import Morphology, Robot

    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "learning.md").read_text(), re.S)[-1]
    assert len(code.strip().splitlines()) <= 25
    space: dict = {}
    exec(code, space)
    robot = Robot.jethexa()
    score = run(space["Hop"](), robot, Morphology.whole(robot).without("RM"), 1, told=False, seconds=5.2, before=5.2)
    assert 0.04 < score.before < 0.1
    assert not score.fell and score.walks_after is None and score.trials == 0
    assert score.share < 0.2


@pytest.mark.parametrize("row, remedy", [("ite", "--archive"), ("nobody.py:Hop", "FILE.py:CLASS")])
def test_a_method_that_lacks_what_is_made_beforehand_is_refused_before_any_walk(
    arena, tmp_path, monkeypatch, row, remedy
):
    import run
    import searching

    monkeypatch.setattr(searching, "ARCHIVE", tmp_path / "none.npz")
    with pytest.raises(SystemExit, match=f"{row} cannot begin.*{remedy}"):
        run.refuse_unready(["tripod", row])
    run.refuse_unready(["tripod", "told"])


def test_the_score_of_a_walk_is_that_of_its_places(arena):
    from episode import LAST, TICK, _scored

    def places(speed_after, pause):
        steps = np.concatenate([np.full(500, 0.08), np.full(round(pause / TICK), 0.0), np.full(600, speed_after)])
        return np.stack([np.cumsum(steps) * TICK, np.zeros(len(steps))], axis=1)

    way = places(0.076, 3.0)
    score = _scored(way, np.full(len(way), TICK * 2.0), 500, fell=False, trials=4)
    assert score.before == pytest.approx(0.08, rel=0.01)
    assert score.walks_after == pytest.approx(3.0, abs=0.25)
    assert score.share == pytest.approx(0.95, rel=0.01)
    assert score.energy == pytest.approx(2.0 / 0.076, rel=0.01)
    # Fast windows before it slows down again are no recovery.
    steps = np.concatenate([np.full(650, 0.08), np.full(150, 0.0), np.full(600, 0.076)])
    again = np.stack([np.cumsum(steps) * TICK, np.zeros(len(steps))], axis=1)
    assert _scored(again, np.ones(len(again)), 500, fell=False, trials=0).walks_after == pytest.approx(6.0, abs=0.5)
    assert _scored(places(0.05, 3.0), np.zeros(len(way)), 500, fell=False, trials=0).walks_after is None
    assert _scored(way, np.zeros(len(way)), 500, fell=True, trials=0).share == 0.0
    assert LAST > 0.0
