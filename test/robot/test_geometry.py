import dataclasses
import runpy
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.pinocchio_robot import PinocchioRobot

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Leg, Morphology, Robot
from hexapod_dynamics.robot.geometry import LinkGeometry

FILE = Path(__file__).parents[2] / "config" / "jethexa_by_positions.py"
POSITIONS = runpy.run_path(str(FILE))
coxa, femur, tibia = (POSITIONS[name] for name in ("coxa", "femur", "tibia"))
COXA, FEMUR = POSITIONS["COXA"], POSITIONS["FEMUR"]
TOLERANCE = 1e-9  # the issue's


def shin(q, point):
    """A prismatic shin, drawn out of the tibia by q[3]."""
    x, y, z = point
    return tibia(q, (0.1 + x + q[3], y, z))


def test_the_jethexa_by_positions_equals_the_jethexa_by_screws():
    robot, ours = Robot.jethexa(), Robot.load(FILE)
    assert ours.joint_names == robot.joint_names
    rng = np.random.default_rng(0)
    models = [
        (WholeBodyModel(each), Morphology.whole(each).without("RM").without("LM.femur")) for each in (robot, ours)
    ]
    q, nu, nudot = rng.uniform(-1, 1, 18), rng.normal(size=6 + 13), rng.normal(size=6 + 13)
    rotation = pin.exp3(rng.normal(size=3))
    results = [
        (
            model.coriolis_matrix(q, nu, hurt),
            model.tip_jacobian("LF", q, hurt),
            model.inverse_dynamics(rotation, q, nu, nudot, hurt),
        )
        for model, hurt in models
    ]
    for theirs, mine in zip(*results, strict=True):
        assert np.allclose(mine, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def sliding_leg(name="A", **mount):
    inertia = np.diag([1e-5, 1e-4, 1e-4])
    links = [
        LinkGeometry("coxa", coxa, 0.02, COXA, inertia),
        LinkGeometry("femur", femur, 0.07, FEMUR, inertia),
        LinkGeometry("tibia", tibia, 0.06, 0.1, inertia),
        LinkGeometry("shin", shin, 0.05, 0.06, inertia, lower=0.0, upper=0.05),
    ]
    return Leg.from_geometry(
        name, links, mount_rotation=mount.get("rotation", np.eye(3)), mount_position=mount.get("position", np.zeros(3))
    )


def test_a_leg_with_a_prismatic_shin_goes_into_the_whole_body_model():
    turns = [pin.exp3(np.array([0, 0, angle])) for angle in (0.5, 2.0, 4.0, 5.5)]
    legs = tuple(sliding_leg(f"L{i}", rotation=turn, position=turn @ [0.1, 0, 0]) for i, turn in enumerate(turns))
    robot = dataclasses.replace(Robot.jethexa(), legs=legs)
    assert [joint.kind for joint in legs[0].joints] == ["revolute"] * 3 + ["prismatic"]
    whole, rng = Morphology.whole(robot), np.random.default_rng(1)
    q, nu, nudot = rng.uniform(0, 0.05, 16), rng.normal(size=22), rng.normal(size=22)
    rotation = pin.exp3(rng.normal(size=3))
    theirs = PinocchioRobot(whole)
    reference = pin.rnea(theirs.model, theirs.data, theirs.configuration(rotation, q), nu, nudot)
    ours = WholeBodyModel(robot).inverse_dynamics(rotation, q, nu, nudot, whole)
    assert np.allclose(ours, reference, rtol=TOLERANCE, atol=TOLERANCE)


def geometry(place, **change):
    return LinkGeometry(
        **{"name": "odd", "place": place, "mass": 0.1, "length": 0.1, "inertia": np.diag([1e-5, 1e-4, 1e-4]), **change}
    )


@pytest.mark.parametrize(
    "places, needle",
    [
        ([], "no links"),
        ([lambda q, p: (p[0] + 2 * q[0], p[1], p[2])], "moves it by 2 m"),
        ([lambda q, p: coxa([2 * q[0]], p)], "turns it by 2 rad"),
        ([lambda q, p: (2 * p[0], p[1], p[2])], "rigid body"),
        ([lambda q, p: (p[0] + q[0], p[1])], "2 coordinates"),
        ([lambda q, p: (p[0] + q[1], p[1], p[2])], "fails"),
        ([lambda q, p: coxa(q, (p[0] + 0.1, p[1], p[2]))], "off its joint"),
        ([lambda q, p: (p[0] + q[0] ** 2 + q[0], p[1], p[2])], "one fixed screw motion"),
        ([coxa, lambda q, p: (p[0], p[1] + q[1], p[2])], "one fixed screw motion"),
        ([lambda q, p: (p[0], p[1], p[2])], "moves it by 0 m"),
    ],
)
def test_positions_that_make_no_leg_are_refused_by_name(places, needle):
    with pytest.raises(RobotError, match=needle):
        Leg.from_geometry(
            "A", [geometry(place) for place in places], mount_rotation=np.eye(3), mount_position=np.zeros(3)
        )


@pytest.mark.parametrize("mount", [{"rotation": "upright"}, {"position": [1.0, None, "x"]}])
def test_a_mount_that_is_not_made_of_numbers_is_refused_by_name(mount):
    """It was a ValueError of numpy, which named neither the leg nor the field."""
    with pytest.raises(RobotError, match=f"leg L.mount_{next(iter(mount))}: .* given, an array of shape"):
        sliding_leg("L", **mount)


@pytest.mark.parametrize(
    "text, needle",
    [
        (None, "no such file"),
        ("def spider(): pass", r"robot\.py: defines no function robot\(\)"),
        ("def robot():\n    return 3", "returns int"),
    ],
)
def test_a_program_that_makes_no_robot_is_refused(tmp_path, text, needle):
    path = tmp_path / "robot.py"
    if text:
        path.write_text(text)
    with pytest.raises(RobotError, match=needle):
        Robot.load(path)
