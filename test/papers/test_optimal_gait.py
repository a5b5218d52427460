import dataclasses
import time

import numpy as np
import pytest

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.papers.chain.sensitivities import inverse_dynamics, point_sensitivity
from hexapod_dynamics.papers.chain.trajectory_optimisation import NotConvergedError
from hexapod_dynamics.papers.optimal_gait import BackgroundSwingPlanner, OptimalGait, PlannedSwing, plan_all, plan_swing
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Simulator

ROBOT = Robot.jethexa()
STEP = {"step_length": 0.05, "step_height": 0.012, "period": 1.3}
COMMAND_PERIOD, COMMANDS, FIRST = 0.02, 195, 66  # [s], of a walk, and from which on it is measured


def walk(gait):
    """Walk in simulation for 3.9 s and measure after the first 1.3 s.

    Return the peak [N m] and the mean square [N^2 m^2] of the torques of swinging legs, the forward speed [m/s] and the
    largest change of a commanded joint rate from one command to the next [rad/s].
    """
    gait.bind(ROBOT)
    gait.reset(walking=True)
    simulator = Simulator(ROBOT, ground=Ground.viscous())
    simulator.reset(joints=gait.position.copy())
    peak, squares, count, leap, rates = 0.0, 0.0, 0, 0.0, gait.velocity.copy()
    for k in range(COMMANDS):
        phases = (gait.data.state.phase + gait.data.legs["phase"]) % 1.0
        position, velocity = gait.step(COMMAND_PERIOD)
        simulator.command(position.copy(), COMMAND_PERIOD)
        settled = k >= FIRST
        if k == FIRST:
            start = simulator.position[0]
        if settled:
            leap = max(leap, np.abs(velocity - rates).max())
        rates = velocity.copy()
        swinging = np.repeat((phases >= 0.5) & (phases + COMMAND_PERIOD / gait.period < 1.0), 3)
        for _ in range(20):
            simulator.step()
            if settled:
                torques = simulator.joint_torques[swinging]
                peak = max(peak, np.abs(torques).max(initial=0.0))
                squares, count = squares + (torques**2).sum(), count + torques.size
    speed = (simulator.position[0] - start) / ((COMMANDS - FIRST) * COMMAND_PERIOD)
    return peak, squares / count, speed, leap


def swings():
    """Return a gait and the swings of its legs at 0.0769 m/s forward."""
    gait = OptimalGait(**STEP).bind(ROBOT)
    return gait, gait.swings(np.array([0.0769, 0, 0]))


def test_planned_swings_take_less_torque_at_the_same_speed():
    plain, planned = walk(TripodGait(**STEP)), walk(OptimalGait(**STEP))
    assert planned[0] < 0.7 * plain[0]  # peak swing torque; measured 0.216 against 0.362 N m: 40 % less
    assert planned[1] < 0.85 * plain[1]  # its mean square; measured 25 % less
    assert planned[2] > plain[2]  # the plain gait slips at its jerks: 0.075 against 0.068 m/s, and
    assert abs(planned[2] / (2 * 0.05 / 1.3) - 1) < 0.05  # 0.077 commanded
    assert planned[3] < 0.4 * plain[3]  # no leap where plan and plain gait meet


def test_a_plan_keeps_ends_limits_and_corridor():
    _, all_swings = swings()
    assert [swing.leg for swing in all_swings] == list(ROBOT.leg_names)
    swing = all_swings[1]
    plan = plan_swing(ROBOT, Morphology.whole(ROBOT), swing)
    chain, reader = Chain.from_leg(ROBOT, swing.leg), PlannedSwing(plan)
    at = np.array([reader.at(s, swing.duration).copy() for s in np.linspace(0, 1, 101)])
    assert reader.at(0.2, swing.duration) is reader.at(0.7, swing.duration)  # a tick makes no array
    assert np.allclose(at[0], (swing.joints[0], swing.start_rate), atol=1e-6)
    assert np.allclose(at[-1], (swing.joints[-1], swing.end_rate), atol=1e-6)
    assert np.abs(at[:, 1]).max() < 0.8 * ROBOT.servo.speed_limit * 1.001
    qddot = np.gradient(at[:, 1], swing.duration / 100, axis=0)
    torques = inverse_dynamics(chain, at[:, 0], at[:, 1], qddot)
    assert np.abs(torques).max() < 0.8 * ROBOT.servo.torque_limit
    height = point_sensitivity(chain, at[:, 0], 2, (0, 0, -0.0615))[0][:, 2] + 0.12
    assert height.max() > 0.0119 and height.min() > -2e-4
    plain = np.gradient(np.gradient(swing.joints, axis=0), axis=0) * (len(swing.joints) - 1) ** 2 / swing.duration**2
    rates = np.gradient(swing.joints, axis=0) * (len(swing.joints) - 1) / swing.duration
    effort = (inverse_dynamics(chain, swing.joints, rates, plain) ** 2).sum(axis=1)[2:-2].mean() * swing.duration
    assert plan.effort < effort


def test_least_time_is_shorter_and_within_the_limits():
    _, all_swings = swings()
    weak = dataclasses.replace(ROBOT, servo=dataclasses.replace(ROBOT.servo, speed_limit=3.0))
    quick = plan_swing(weak, Morphology.whole(weak), all_swings[0], least="time")
    assert quick.duration < 0.9 * all_swings[0].duration
    reader = PlannedSwing(quick)
    fastest = max(np.abs(reader.at(s, quick.duration)[1]).max() for s in np.linspace(0, 1, 201))
    assert 0.8 * 3.0 * 0.99 < fastest < 0.8 * 3.0 * 1.002  # at the bound, which is what stops it


def test_plans_follow_damage():
    gait, _ = swings()
    gait.reset(walking=True)
    for _ in range(3):
        gait.step(COMMAND_PERIOD)
    assert sorted(gait.plans) == list(range(6)) and gait.refused == []
    hurt = Morphology.whole(ROBOT).without("RM").without("LM.tibia").locked("RF.coxa", 0.1).broken("LF.tibia", 0.9)
    gait.refused = ["RM: out of reach"]
    gait.set_morphology(hurt)
    assert gait.plans == {} and not gait.report()
    for _ in range(3):
        gait.step(COMMAND_PERIOD)
    names = [ROBOT.leg_names[i] for i in gait.plans]
    assert "RM" not in names and "LM" not in names  # gone, or no foot left: nothing to plan
    assert {"LR", "RR", "RF"} <= set(names)
    assert gait.plans[ROBOT.leg_names.index("RF")].joints == 2  # the locked coxa is no variable


def test_a_changing_command_leaves_the_plan_without_a_leap():
    gait, _ = swings()
    gait.reset(walking=True)
    leap, rates = 0.0, gait.velocity.copy()
    for k in range(300):
        if k == 90:
            gait.command(0.02, 0.02, 0.1)
        velocity = gait.step(COMMAND_PERIOD)[1]
        leap, rates = max(leap, np.abs(velocity - rates).max()), velocity.copy()
    assert leap < 0.8  # rad/s in 20 ms; a half-sine swing leaps by 2
    assert gait.plans and not np.allclose(gait._planned_for[:1], 0.0769)


def test_planning_in_the_background_gives_the_same_plans():
    gait, all_swings = swings()
    morphology, background = Morphology.whole(ROBOT), BackgroundSwingPlanner()
    background.ask(ROBOT, morphology, lambda: all_swings[:1])
    assert background.poll() is None
    until = time.monotonic() + 60
    while (done := background.poll()) is None and time.monotonic() < until:
        time.sleep(0.05)
    (plans, refused), failure = done
    here = plan_swing(ROBOT, morphology, all_swings[0])
    assert refused == [] and not failure and np.allclose(plans[0].points, here.points, atol=1e-6)
    background.ask(ROBOT, morphology, lambda: all_swings)
    background.cancel()
    assert background.poll() is None


def test_what_cannot_be_planned_is_said_and_no_plan():
    gait, all_swings = swings()
    weak = dataclasses.replace(ROBOT, servo=dataclasses.replace(ROBOT.servo, torque_limit=0.02))
    with pytest.raises(NotConvergedError, match="not a solution"):
        plan_swing(weak, Morphology.whole(weak), all_swings[0])
    plans, refused = plan_all(weak, Morphology.whole(weak), all_swings[:1])
    assert plans == [] and refused[0].startswith("LF: no optimum")
    with pytest.raises(HexapodError, match="least is"):
        plan_swing(ROBOT, Morphology.whole(ROBOT), all_swings[0], least="noise")
    with pytest.raises(HexapodError, match="step_height"):
        OptimalGait(step_height=-1.0)
