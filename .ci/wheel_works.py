#!/usr/bin/env python3
"""Whether an installed wheel computes without a compiler: forward dynamics of the JetHexa, whole and without a leg."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np

os.environ["PATH"] = ""  # neither gcc nor cc can be found

import hexapod_dynamics
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

HERE = Path(__file__).resolve().parents[1]


def main():
    """Compute, and say where the package is."""
    place = Path(hexapod_dynamics.__file__).resolve()
    if place.is_relative_to(HERE / "hexapod_dynamics"):
        sys.exit(f"{place} is the checkout, not an installed wheel")
    assert shutil.which("cc") is None
    robot = Robot.jethexa()
    model = WholeBodyModel(robot)
    n = robot.joint_count
    for morphology in (Morphology.whole(robot), Morphology.whole(robot).without("RM")):
        moving = int(morphology.moving_mask.sum())
        nudot = model.forward_dynamics(np.eye(3), np.zeros(n), np.zeros(6 + moving), np.zeros(moving), morphology)
        assert nudot.shape == (6 + moving,) and abs(nudot[2] + robot.gravity) < 0.5 * robot.gravity  # it falls
    print(f"{place.parent}: forward dynamics without a compiler, whole and without RM")


if __name__ == "__main__":
    main()
