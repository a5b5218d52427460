"""A new kind of damage is one class and its registration: parameter, validation, model, URDF, gait, texts, detector."""

import dataclasses
import pickle
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from support.bent_joint import BENT

from hexapod_dynamics.damage import KINDS, LIMP, Registry, list_losses
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.gait.legs import prepare_legs
from hexapod_dynamics.learning.environments import RandomDamage
from hexapod_dynamics.parameters.damage_manager import list_parameters
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.mjcf import to_mjcf
from hexapod_dynamics.robot.urdf import to_urdf

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)


@pytest.fixture(autouse=True)
def registered():
    with KINDS.include(BENT):
        yield


@pytest.fixture
def bent():
    return WHOLE.updated({"bent.RF.tibia": 0.35})


def test_each_link_has_its_parameter(bent):
    found = {parameter.name: parameter for parameter in list_parameters(bent)}["bent.RF.tibia"]
    assert (found.default, found.low, found.high) == (0.35, -2.0 * np.pi, 2.0 * np.pi)
    assert "bent joint of link RF.tibia" in found.description
    assert WHOLE.parameters()["bent.RF.tibia"] == 0.0
    assert Morphology.from_parameters(ROBOT, bent.parameters()) == bent != WHOLE
    assert bent.updated({"bent.RF.tibia": 0.0}) == WHOLE == bent.updated(WHOLE.parameters())
    assert bent.restored("RF.tibia") == WHOLE
    assert bent.without("RF.tibia") == WHOLE.without("RF.tibia")


@pytest.mark.parametrize(
    "values, reason",
    [
        ({"bent.RF.tibia": 20.0}, "did you mean 0.349"),
        ({"bent.RF.tibia": True}, "a finite number needed"),
        ({"bent.RF": 0.3}, "such a name looks like bent."),
        ({"bent.RF.tibia": 0.3, "limp.RF.tibia": True}, "a joint is one or the other"),
        ({"bent.LR.femur": 0.3}, "the joint is limp, so it moves; set limp.LR.femur to false first"),
        ({"limp.RM.coxa": True}, "the joint is bent, so it does not move; set bent.RM.coxa to 0.0 first"),
        ({"bent.LM.tibia": 0.3}, "restore LM.tibia first"),
        ({"warped.RF.tibia": 0.3}, "remaining. or bent."),
    ],
)
def test_impossible_values_are_refused(values, reason):
    hurt = WHOLE.limp("LR.femur").without("LM.tibia").updated({"bent.RM.coxa": -0.2})
    with pytest.raises(MorphologyError, match=reason):
        hurt.updated(values)


def test_the_model_moves_as_with_the_joint_held_there(bent):
    """The same state and torques accelerate the robot as with the joint locked at this angle."""
    locked = WHOLE.locked("RF.tibia", 0.35)
    np.testing.assert_array_equal(bent.table, locked.table)
    random, model = np.random.default_rng(3), WholeBodyModel(ROBOT)
    q, nu, tau = random.uniform(-0.5, 0.5, 18), random.uniform(-1.0, 1.0, 23), random.uniform(-1.0, 1.0, 17)
    there, same, elsewhere = (
        np.array(model.forward_dynamics(np.eye(3), q, nu, tau, morphology))
        for morphology in (bent, locked, WHOLE.updated({"bent.RF.tibia": -0.35}))
    )
    np.testing.assert_array_equal(there, same)
    assert np.abs(there - elsewhere).max() > 0.1


def test_urdf_and_mjcf_have_the_joint_fixed_in_its_colour(bent):
    root = ET.fromstring(to_urdf(ROBOT, bent))
    assert root.find("joint[@name='tibia_joint_RF']").get("type") == "fixed"
    assert root.find("material[@name='bent']/color").get("rgba") == BENT.colour
    assert {each.get("name") for each in root.iterfind("link[@name='tibia_link_RF']/visual/material")} == {"bent"}
    mjcf = ET.fromstring(to_mjcf(ROBOT, bent))
    assert mjcf.find(".//joint[@name='tibia_joint_RF']") is None
    assert mjcf.find(".//joint[@name='tibia_joint_RM']") is not None


def test_the_gait_holds_the_leg_up_unless_the_kind_says_that_it_walks(bent):
    assert prepare_legs(ROBOT, bent)[1] == ["RF"]
    walking = WHOLE.with_damage(ROBOT.leg_names.index("RF"), 2, dataclasses.replace(BENT, leg_walks=True), 0.35)
    assert prepare_legs(ROBOT, walking)[1] == []


def test_texts_name_it(bent):
    assert bent.limp("LR.femur").describe() == "LR.femur limp, RF.tibia bent by 0.350"
    assert list_losses(bent.parameters()) == ["RF.tibia bent by 0.35"]
    assert not bent.is_intact


def test_random_damage_draws_it():
    drawn = [RandomDamage().add_injury(np.random.default_rng(seed), WHOLE, np.zeros(18)) for seed in range(60)]
    assert any("bent by 0.300" in morphology.describe() for morphology in drawn)


def test_it_survives_pickling_as_the_one_instance(bent):
    again = pickle.loads(pickle.dumps(bent))
    assert again == bent and again.joint_damage("RF", "tibia").kind is BENT


def test_two_kinds_of_one_name_are_refused():
    with pytest.raises(ValueError, match="name limp given twice"):
        Registry((*KINDS, LIMP))
    with pytest.raises(ValueError, match="name bent given twice"), KINDS.include(BENT):
        pass
    assert [kind.name for kind in KINDS] == ["missing", "locked", "limp", "short", "bent"]
