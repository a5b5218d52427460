"""Hot servos are named before, of a truth with two heat capacities: winding and case, and readings in whole degrees."""

import math

import numpy as np
import pytest
from support.servo_temperature import ServoTemperature

from hexapod_dynamics.drivers.servos.health import HOT, ServoHeat


def warm(powers, seconds, seed=0):
    """Temperatures (T, n) each second of cases whose windings take powers (n,) [W], and what was said at each."""
    truth = ServoTemperature(len(powers), seed=seed)
    heat, temperatures, said = ServoHeat([f"joint_{k}" for k in range(len(powers))]), [], []
    for second in range(seconds):
        truth.warm(1.0, powers)
        heat.update(float(second), truth.read())
        temperatures.append(truth.case.copy())
        said.append(heat.assess())
    return np.array(temperatures), said, heat


@pytest.mark.parametrize("seed", range(3))
def test_a_servo_that_becomes_hot_is_named_before_and_others_are_not(seed):
    # Ends of 34, 52 and 70 degrees.
    temperatures, said, heat = warm([1.0, 3.0, 5.0], 1800, seed)
    assert temperatures[-1] == pytest.approx([34.0, 52.0, 70.0], abs=1.0)
    hot_at = int(np.argmax(temperatures[:, 2] >= HOT))
    named = [second for second, (level, _) in enumerate(said) if level == "warn"]
    assert named and 60 < hot_at - named[0] < 700
    assert all("joint_2" in text for _, texts in said for text in texts)
    assert "let it rest" in said[-1][1][0]
    assert heat.time_to_hot(0) == heat.time_to_hot(1) == math.inf and heat.time_to_hot(2) == 0.0


def test_the_time_until_it_is_hot_is_about_right():
    temperatures, _, _ = warm([5.0], 1800)
    hot_at = int(np.argmax(temperatures[:, 0] >= HOT))
    _, _, heat = warm([5.0], hot_at - 240)
    assert heat.time_to_hot(0) == pytest.approx(240.0, abs=120.0)


def test_nothing_is_said_of_what_is_not_known_or_after_a_pause():
    heat = ServoHeat(["a", "b"])
    for second in range(190):
        heat.update(float(second), [np.nan, 40.0 + 0.1 * second])
    assert heat.time_to_hot(0) == math.inf and heat.time_to_hot(1) < math.inf
    heat.update(1000.0, [np.nan, 45.0])
    assert heat.assess() == ("ok", [])
