"""A ParameterSpec refuses what its own parameter would refuse, and says what is allowed."""

import dataclasses

import pytest

from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.parameters import commands, damage_manager
from hexapod_dynamics.parameters.spec import ParameterSpec
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()


@pytest.mark.parametrize(
    "values, words",
    [
        ({"default": 2.0, "low": 0.0, "high": 1.0}, "2.0: allowed is a number from 0.0 to 1.0"),
        ({"default": 0.5, "low": 0.0}, "low 0.0, high None; give both or none"),
        ({"default": "c", "choices": ("a", "b")}, "'c': allowed is a or b"),
        ({"default": 1, "in_file": True, "file_value": 3}, "file_reason"),
        (
            {"default": 1, "low": 0, "high": 2, "in_file": True, "file_value": 3, "file_reason": "because"},
            "3: allowed is a whole number from 0 to 2",
        ),
    ],
)
def test_an_impossible_entry_of_the_list_is_refused(values, words):
    with pytest.raises(ParameterError, match="parameter speed") as error:
        ParameterSpec("speed", description="[m/s]", **values)
    assert words in str(error.value)


def test_a_derived_default_is_that_of_its_source():
    (speed_limit,) = (each for each in commands.GUARD if each.name == "speed_limit")
    robot = dataclasses.replace(ROBOT, servo=dataclasses.replace(ROBOT.servo, speed_limit=4.5))
    assert speed_limit.compute_default(robot) == 4.5
    assert commands.RATE.compute_default(0.0125) == 80.0
    assert commands.COMMAND_PERIOD.compute_default() == 0.02


def test_damage_manager_has_a_parameter_for_each_part_of_the_robot():
    morphology = Morphology.whole(ROBOT).without("RM")
    parameters = damage_manager.list_parameters(morphology)
    assert {parameter.name: parameter.default for parameter in parameters} == morphology.parameters()
    described = {parameter.name: parameter.description for parameter in parameters}
    assert described["links.LM.femur"].startswith("link LM.femur exists")
    assert described["legs.RM"].startswith("leg RM exists")
    assert not any("<" in text for pair in described.items() for text in pair)
