"""The tare of a PayloadEstimator, and its deviations, from cycles of known wrenches."""

import dataclasses
from types import SimpleNamespace

import numpy as np
from support.jethexa import ROBOT

from hexapod_dynamics.estimation.payload import PayloadEstimator
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.robot.parts import JointServo

LAW = JointServo(stiffness=ROBOT.servo.stiffness)
IDENTIFIED = dataclasses.replace(ROBOT, joint_servos=(LAW,) * ROBOT.joint_count)
PERIOD, NOISE = 1.2, 0.4  # [s], [N] scatter of the weight in a cycle
UP = np.array([0.0, 0.0, 1.0])


class Cycles:
    """An estimator whose cycles are given: `walk` lets it carry a mass [kg] for some cycles."""

    def __init__(self, sway: float = 0.0, period: float = PERIOD) -> None:
        self.estimator = PayloadEstimator(IDENTIFIED, command_delay=0.016, tare_first=True)
        self._random, self._sway, self._cycle = np.random.default_rng(7), sway, 0
        self.estimator.windows = SimpleNamespace(
            due=True,
            period=period,
            close=self._close,
            morphology=Morphology.whole(ROBOT),
            setpoints=np.zeros(ROBOT.joint_count),
            clear=lambda: None,
        )
        self._mass = 0.0

    def _close(self):
        self._cycle += 1
        self.estimator.windows.setpoints[:] = self._sway * np.sin(2.0 * self._cycle)
        weight = ROBOT.gravity * self._mass + NOISE * self._random.normal()
        return np.array([0.0, 0.0, weight, 0.0, 0.0, 0.0]), UP

    def walk(self, cycles: int, mass: float = 0.0):
        self._mass = mass
        for _ in range(cycles):
            self.estimator.update()
        return self.estimator.estimate()


def test_the_tare_goes_on_for_a_minute_while_nothing_is_put_on():
    walk = Cycles()
    first = walk.walk(20)
    later = walk.walk(60)
    complete = walk.walk(1).mass_deviation
    assert first.tared and later.mass_deviation < first.mass_deviation
    bias = walk.estimator._bias[2]
    assert abs(bias) < 3.0 * NOISE / np.sqrt(60.0 / PERIOD)
    walk.walk(30)
    assert walk.estimator._bias[2] == bias and complete > 0.0  # it has ended


def test_a_load_that_is_too_light_to_be_noticed_at_once_does_not_become_a_part_of_the_tare():
    alike = Cycles(), Cycles()
    for walk in alike:
        walk.walk(30)
    light, empty = alike[0].walk(50, 0.06), alike[1].walk(50)
    assert alike[0].estimator._bias[2] - alike[1].estimator._bias[2] < 0.1 * 0.06 * ROBOT.gravity
    assert abs(light.mass - empty.mass - 0.06) < 0.01


def test_with_steps_so_short_that_20_seconds_are_more_cycles_than_are_stored_no_load_becomes_a_part_of_the_tare():
    alike = Cycles(period=0.3), Cycles(period=0.3)
    for walk in alike:
        walk.walk(100)
    alike[0].walk(10, 0.06), alike[1].walk(10)
    assert abs(alike[0].estimator._bias[2] - alike[1].estimator._bias[2]) < 1e-9


def test_the_tare_of_a_robot_that_stopped_is_complete():
    walk = Cycles()
    walk.walk(20)
    bias = walk.estimator._bias.copy()
    walk.estimator.restart()
    walk.walk(40)
    assert (walk.estimator._bias == bias).all() and walk.walk(1).tared


def test_the_deviations_are_smaller_while_the_body_sways():
    still, swaying = Cycles().walk(20, 0.0), Cycles(3.0 * ROBOT.servo.resolution).walk(20, 0.0)
    assert 0.0 < swaying.mass_deviation < 0.8 * still.mass_deviation
