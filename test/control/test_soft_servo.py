import numpy as np
import pytest
from support.servo_tracking import PERIOD, ROBOT, leg_error, motor_motion, servo_move, tracking_error

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.papers.nth_order import FloatingBase, recursive
from hexapod_dynamics.se3 import exp


def chain_of_all_legs():
    """All legs on the body as their common base."""
    legs = [Chain.from_leg(ROBOT, name) for name in ROBOT.leg_names]
    fields = ("placements", "screws", "masses", "coms", "inertias")
    joined = {field: np.concatenate([getattr(leg, field) for leg in legs]) for field in fields}
    parents = tuple(-1 if k % 3 == 0 else k - 1 for k in range(18))
    return Chain(parents, kinds=("revolute",) * 18, gravity=legs[0].gravity, **joined)


def test_rates_equal_the_analytic_first_derivative_of_the_whole_robot():
    rng = np.random.default_rng(0)
    chain = chain_of_all_legs()
    body = np.zeros((6, 6))
    body[:3, :3], body[3:, 3:] = ROBOT.body.mass * np.eye(3), ROBOT.body.inertia
    for _ in range(5):
        rotation, twist = exp(np.r_[0, 0, 0, rng.normal(size=3)])[:3, :3], rng.normal(size=6)
        q, qdot, qddot = rng.uniform(-0.5, 0.5, 18), rng.normal(size=18), rng.normal(size=18)
        motion = np.array([q, qdot, qddot, np.zeros(18)])
        base = FloatingBase(body, rotation, np.array([twist, np.zeros(6), np.zeros(6)]))
        analytic = recursive(chain, motion, 1, base).forces
        feedforward = Feedforward(ROBOT)
        torques = feedforward.solve(rotation, 5.0, twist, q, qdot, qddot, q)  # high up: no foot carries
        assert np.allclose(torques, analytic[0], rtol=1e-9, atol=1e-9)
        rates = feedforward.solve_rates(rotation, twist, q, qdot, qddot)
        assert np.allclose(rates, analytic[1], rtol=1e-6, atol=1e-6)  # h^2 of the central difference


def test_rates_equal_differences_while_feet_carry():
    gait = TripodGait(swing="minimum_jerk").bind(ROBOT)
    gait.reset(walking=True, phase=0.13)
    feedforward = Feedforward(ROBOT)
    q, qdot = (array.copy() for array in gait.step(PERIOD))
    still, twist = np.zeros(18), np.array([0.077, 0, 0, 0, 0, 0])
    feedforward.solve(np.eye(3), 0.12, twist, q, qdot, still, q)
    ours = feedforward.solve_rates(np.eye(3), twist, q, qdot, still)
    h = 1e-3
    there, here = (feedforward.solve(np.eye(3), 0.12, twist, q + s * qdot, qdot, still, q).copy() for s in (h, -h))
    assert np.allclose(ours, (there - here) / (2 * h), atol=0.02 * np.abs(ours).max())
    assert feedforward.load.sum() > 2.9 and np.abs(ours).max() > 0.05


@pytest.mark.parametrize("stiffness", [30.0, 8.0])
def test_feed_forward_more_than_halves_the_tracking_error_of_soft_servos(stiffness):
    plain, rates = (tracking_error(stiffness, mode) for mode in ("plain", "rates"))
    assert rates < 0.4 * plain  # measured: 67 % less at 30 N m/rad, 72 % at 15, 78 % at 8


def test_the_first_derivative_halves_once_more_what_fast_motion_leaves():
    plain, torques, rates = (leg_error(mode) for mode in ("plain", "torques", "rates"))
    assert torques < plain and rates < 0.5 * plain and rates < 0.6 * torques, (plain, torques, rates)


def test_a_motor_that_turns_as_told_gives_the_torque_that_is_needed():
    k, d, torque, torque_rate, q, qdot = 8.0, 0.3, 0.7, 2.0, 0.4, 1.5
    angle, rate = motor_motion(q, qdot, torque, torque_rate, k, d)
    assert np.isclose(k * (angle - q) + d * (rate - qdot), torque)
    assert np.isclose(servo_move(angle, rate, 0.02), angle + 0.02 * rate)
