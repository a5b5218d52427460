"""The gait of another checkout, as benchmark/ground.py compares it, is that checkout's gait."""

import sys
from pathlib import Path

import numpy as np
import pytest
from support.gait_of_checkout import GaitOfCheckout

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot

ROOT = Path(__file__).parents[2]


def test_it_walks_as_the_gait_itself_does():
    robot = Robot.jethexa()
    gaits = AdaptiveGait(step_height=0.03).bind(robot), GaitOfCheckout(ROOT, [sys.executable], step_height=0.03)
    gaits[1].bind(robot)
    for gait in gaits:
        gait.set_morphology(Morphology.whole(robot).without("LM").locked("RF.coxa", 0.1))
        gait.command(0.05, 0.0, 0.1)
        for _ in range(100):
            gait.sense(0.01, -0.02, 0.1)
            gait.step(0.02)
    here, there = gaits
    assert np.array_equal(here.position, there.position) and np.array_equal(here.velocity, there.velocity)
    assert (here.walking, here.doing) == (there.walking, there.doing) and here.doing != "standing"
    assert there.report().get("why") == here.report().get("why")
    there.close()


def test_a_process_that_ends_is_named(tmp_path):
    gait = GaitOfCheckout(tmp_path, ["/bin/false"])
    with pytest.raises((RuntimeError, BrokenPipeError), match="has ended|Broken"):
        gait.bind(Robot.jethexa())
