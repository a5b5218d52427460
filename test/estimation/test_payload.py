"""What the body carries, of a robot that walks in MuJoCo, whose servos are not the model's springs; the tare and its
deviations, from cycles of known wrenches.
"""

import copy
import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.jethexa import ROBOT
from support.walks import payload_walk

from hexapod_dynamics.estimation.foot_loads import BodyStatics, turn_upright
from hexapod_dynamics.estimation.payload import PayloadEstimator
from hexapod_dynamics.estimation.payload_windows import WrenchWindows
from hexapod_dynamics.estimation.surroundings import CarriedLoad
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.terrain import MOST, SPEED, LoadShift
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.robot.parts import JointServo
from hexapod_dynamics.simulation import Predictor, Truth


def test_a_load_put_on_and_a_leg_declared_lost():
    walk = payload_walk(Truth.parse("servos=half,seed=3,payload=0"))

    def carried(seconds, until=None):
        walk.run(seconds, until)
        return walk.payload

    empty = carried(13.0)
    assert empty.tared and abs(empty.mass) < 2.0 * empty.mass_deviation
    walk.load = (0.4, 0.04, 0.0)
    loaded = carried(14.0)
    assert loaded.reason == ""
    assert abs(loaded.mass - 0.4) < 2.0 * loaded.mass_deviation
    assert abs(loaded.x - 0.04) < 2.0 * loaded.x_deviation and abs(loaded.y) < 2.0 * loaded.y_deviation
    assert walk.gait.terrain.load.shift.real < -1e-3  # the body moves backward under a load in front
    assert loaded.expected[0] > 0.2
    # Another robot weighs anew: what it carried is taken for still carried.
    estimator = copy.deepcopy(walk.onboard.parts.prediction.payload.estimator)
    estimator.set_morphology(Morphology.whole(ROBOT).without("RM"))
    waiting = estimator.estimate()
    assert "needed" in waiting.reason and waiting.expected == loaded.expected
    # A robot that is not commanded any more does not walk: nothing is weighed.
    control, step = walk.onboard.parts.gait, walk.onboard.parts.gait.step
    control.step = lambda t: None
    weighed = [carried(seconds) for seconds in (1.0, 4.0)]
    assert weighed[0] is weighed[1]
    control.step = step
    # Taken off: at first it is held, then nothing is reckoned with.
    walk.load = (0.0, 0.0, 0.0)
    assert carried(20.0, lambda walk: walk.payload.expected[0] == 0.0).expected == (0.0, 0.0, 0.0)


def test_a_robot_that_nobody_tared_says_how_little_it_knows():
    walk = payload_walk(Truth(payload=0.4, payload_x=0.04))
    estimator = PayloadEstimator(ROBOT, command_delay=0.016)
    walk.onboard.parts.prediction.payload.estimator = estimator
    assert "needed" in walk.payload.reason and not estimator.tare()
    walk.run(13.0)
    payload = estimator.estimate()
    assert not payload.tared and payload.mass_deviation > 0.3
    assert abs(payload.mass - 0.4) < 0.2 and abs(payload.x - 0.04) < 2.0 * payload.x_deviation
    assert estimator.tare()
    assert abs(estimator.estimate().mass) < 1e-9 and estimator.estimate().tared
    estimator.set_morphology(Morphology.whole(ROBOT).limp("LF.femur"))
    assert "femur_joint_LF" in estimator.estimate().reason


def test_the_weight_of_a_load_acts_on_the_model():
    model = Predictor(ROBOT)
    stand = AdaptiveGait().bind(ROBOT).position.copy()
    model.set_state(np.zeros(3), np.eye(3), stand, np.zeros(24))
    model.position[2] = model.resting_height()
    load, forces = CarriedLoad(model, ROBOT.gravity), []
    for mass in (0.0, 0.5, 0.0):
        load.set(mass, (0.04 * mass, 0.0, 0.05 * mass))
        for _ in range(600):
            load.apply()
            model.advance(2e-3, stand, 2e-3)
        forces.append((model.foot_forces[:, 2].sum(), model.rotation[2, 0]))
    weights, noses = zip(*forces, strict=True)
    assert weights[1] - weights[0] == pytest.approx(0.5 * ROBOT.gravity, rel=0.02)
    assert weights[2] == pytest.approx(weights[0], rel=0.01)
    assert noses[1] < noses[0] - 1e-4  # its nose is lower


def test_the_body_moves_away_from_the_load_slowly_and_within_reach():
    shift = LoadShift(2.0)
    shift.set_payload(0.5, 0.5 * 0.06, 0.0)
    shift.advance(0.02, 0.03)
    assert shift.shift == pytest.approx(-0.02 * SPEED)
    for _ in range(500):
        shift.advance(0.02, 0.03)
    assert shift.shift == pytest.approx(-0.012)  # 0.5 * 60 / 2.5 mm
    for _ in range(500):
        shift.advance(0.02, 0.004)
    assert abs(shift.shift) == pytest.approx(0.004)
    shift.set_payload(0.1, 10.0, 0.0)
    assert abs(shift.wanted) == pytest.approx(MOST)


@pytest.mark.parametrize("up", [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.6, 0.0, 0.8), (-0.3, 0.4, -math.sqrt(0.75))])
def test_the_attitude_of_an_upward_direction_is_a_rotation_on_nose_and_tail_too(up):
    turn = turn_upright(np.array(up))
    assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-12) and np.linalg.det(turn) == pytest.approx(1.0)
    assert turn[2] == pytest.approx(up)


def test_a_straight_leg_has_no_statics():
    straight = np.tile([0.0, 0.0, -0.5 * math.pi], len(ROBOT.legs))[None]
    statics = BodyStatics(ROBOT).compute(straight, np.array([[0.0, 0.0, 1.0]]))
    assert np.isnan(statics.A).all() and statics.A.shape == (1, 6, ROBOT.joint_count)


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


def test_a_robot_whose_load_cannot_be_known_is_not_tared():
    walk = Cycles()
    walk.estimator.windows.morphology = Morphology.whole(ROBOT).limp("RF.femur")
    assert "gives no torque" in walk.walk(20).reason and not walk.estimator.tared and not walk.estimator.tare()


def test_set_points_of_a_cycle_that_was_not_completed_do_not_count_in_the_next():
    windows, t = WrenchWindows(ROBOT, command_delay=0.0, command_period=0.02), 0.0
    stance, found = AdaptiveGait().bind(ROBOT).position, None
    for k in range(200):
        t = 0.02 * k
        windows.command(t, stance + (0.2 if k < 30 else 0.0))
        for joint in range(18):
            if k not in range(14, 30):
                windows.measure_joint(t + 0.01, joint, stance[joint])
        if windows.due and found is None:
            found = windows.close()
    assert found is not None and np.abs(windows.setpoints - stance).max() < 1e-9


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
