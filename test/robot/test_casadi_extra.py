"""Without CasADi, an extra, what needs it is refused in one line that says what to install; nothing else misses it."""

import sys
from pathlib import Path

import numpy as np
import pytest

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import HexapodError, RobotError
from hexapod_dynamics.robot import Leg, Robot
from hexapod_dynamics.robot.geometry import LinkGeometry

BY_POSITIONS = Path(__file__).parents[2] / "config" / "jethexa_by_positions.py"
REMEDY = "python3 -m pip install 'casadi>=3.6,<4'"


@pytest.fixture
def without_casadi(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)  # importing it raises ModuleNotFoundError


def leg_from_positions():
    link = LinkGeometry("a", lambda q, point: point, mass=0.1, length=0.1, inertia=1e-4 * np.eye(3))
    return Leg.from_geometry("A", [link], mount_rotation=np.eye(3), mount_position=np.zeros(3))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: WholeBodyModel(Robot.jethexa()).casadi_function("tip_positions"), HexapodError),
        (lambda: Robot.load(BY_POSITIONS), RobotError),
        (leg_from_positions, HexapodError),
    ],
    ids=["function", "robot file", "leg"],
)
def test_what_needs_it_says_what_to_install(without_casadi, call, error):
    with pytest.raises(error, match="CasADi") as refusal:
        call()
    assert REMEDY in str(refusal.value) and "\n" not in str(refusal.value)
