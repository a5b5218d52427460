import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.pinocchio_chain import random_chain

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.arms import closed_form, tip_load, two_link_arm
from hexapod_dynamics.papers.chain.sensitivities import ExternalLoad, point_sensitivity
from hexapod_dynamics.papers.chain.trajectory_optimisation import (
    MotionProblem,
    NotConvergedError,
    PathConstraint,
    _Grid,
    predict_motion,
    straight_start,
)


def example_1():
    return MotionProblem(two_link_arm(), [0, -2], [1, -1], torque_bound=10)


def example_2():
    return MotionProblem(
        two_link_arm(9.8062), [1.32, -2.37], [2.8, -2.37], torque_bound=10, effort=0.01, loads=(tip_load(10),)
    )


EXAMPLES = [(example_1, 0.3934, 0.0, 0.0), (example_2, 0.520, 9.8062, 10.0)]


@functools.cache
def predicted(example):
    """The motion of an example, from the usual start."""
    return predict_motion(example())


@pytest.mark.parametrize("example, printed, gravity, force", EXAMPLES)
def test_the_printed_time_comes_out_of_different_starts(example, printed, gravity, force):
    motions = [predicted(example), predict_motion(example(), straight_start(example(), 0.5, wobble=0.3, seed=1))]
    for motion in motions:
        assert abs(motion.duration / printed - 1) < 0.005
        assert abs(motion.cost / motions[0].cost - 1) < 1e-6  # one optimum, to the solver's tolerance
        assert motion.crossing <= 1e-4  # of 10 N m, anywhere between the knots
    t = np.linspace(0, motions[0].duration, 20001)
    assert np.abs(motions[0].torques(t)).max() < 10 * (1 + 1.1e-4)
    for at, q in ((0, motions[0].problem.start), (motions[0].duration, motions[0].problem.end)):
        state = motions[0].state(at)
        assert np.allclose(state[0], q, atol=1e-12) and np.allclose(state[1], 0, atol=1e-10)


@pytest.mark.parametrize("example, printed, gravity, force", EXAMPLES)
def test_integrating_the_torques_forward_gives_the_motion_back(example, printed, gravity, force):
    motion = predicted(example)

    def field(t, state):
        still = closed_form(state[:2], state[2:], np.zeros(2), gravity, force)  # the appendix, not the recursion
        return np.concatenate((state[2:], np.linalg.solve(still.by_qddot, motion.torques(t) - still.torques)))

    state, error = np.concatenate((motion.problem.start, np.zeros(2))), 0.0
    breaks = np.linspace(0, motion.duration, 20)  # qddot has corners at the knots: one run from knot to knot
    for t0, t1 in zip(breaks, breaks[1:], strict=False):
        run = solve_ivp(field, (t0, t1), state, method="DOP853", rtol=1e-11, atol=1e-12)
        state = run.y[:, -1]
        error = max(error, np.abs(state[:2] - motion.state(t1)[0]).max())
    assert error < 1e-8  # rad; the integrator's tolerance times the arm's instability


def loaded_problem(free_time):
    rng = np.random.default_rng(1)
    chain = random_chain(rng, 3)

    def value(s, q):
        return point_sensitivity(chain, q, 2, (0.1, 0, 0))[0][:, 2:] + 5

    def by_q(s, q):
        return point_sensitivity(chain, q, 2, (0.1, 0, 0))[1][:, 2:, :]

    return MotionProblem(
        chain,
        rng.normal(size=3),
        rng.normal(size=3),
        torque_bound=[50, 60, 70],
        speed_bound=9,
        position_bounds=(-5, 5),
        effort=0.3,
        duration=None if free_time else 0.8,
        start_rate=rng.normal(size=3),
        end_rate=rng.normal(size=3),
        control_points=9,
        loads=(ExternalLoad(1, force=(1, 2, 3)),),
        paths=(PathConstraint(value, by_q),),
    )


@pytest.mark.parametrize("free_time", [True, False])
def test_gradients_equal_differences(free_time):
    grid = _Grid(loaded_problem(free_time))
    x = grid.pack(*straight_start(grid.problem, 0.9, wobble=0.3))
    h = 1e-6
    for function in (grid.cost, grid.constraints):
        gradient = function(x)[1].copy()
        for k in range(len(x)):
            e = h * np.eye(len(x))[k]
            numeric = (np.asarray(function(x + e)[0]) - np.asarray(function(x - e)[0])) / (2 * h)
            assert np.allclose(gradient[..., k], numeric, rtol=1e-6, atol=1e-6 * max(1, np.abs(gradient).max()))


def test_least_effort_in_a_given_time_keeps_every_kind_of_bound():
    problem = loaded_problem(False)
    motion = predict_motion(MotionProblem(**{**vars(problem), "torque_bound": None}), tolerance=1e-3)
    t = np.linspace(0, motion.duration, 4001)
    q, qdot, _ = motion.state(t)
    assert np.abs(qdot).max() < 9 * 1.002 and motion.duration == 0.8
    assert problem.paths[0].value(t, q).min() > -2e-3
    assert np.allclose(motion.state(0)[1], problem.start_rate) and np.allclose(motion.state(0.8)[1], problem.end_rate)


def test_infinite_bounds_are_none():
    bounds = {"position_bounds": (-np.inf, np.inf), "torque_bound": [10.0, np.inf]}
    free, wide = (MotionProblem(**{**vars(example_1()), "control_points": 8, **given}) for given in ({}, bounds))
    assert predict_motion(wide).duration <= predict_motion(free).duration


def test_what_does_not_converge_says_so_and_is_no_solution():
    with pytest.raises(NotConvergedError, match="not a solution") as caught:
        predict_motion(example_2(), iterations=3)
    assert caught.value.best.iterations == 3 and caught.value.best.duration > 0


@pytest.mark.parametrize(
    "change, needle",
    [
        ({"torque_bound": -1}, "torque_bound"),
        ({"start": [0, np.nan]}, "start: .* not finite"),
        ({"end": [0]}, "end: shape"),
        ({"effort": 2}, "effort is 2"),
        ({"effort": 1}, "no best time"),
        ({"duration": -1}, "duration is -1"),
        ({"control_points": 5}, "5 control points"),
        ({"torque_bound": None, "effort": 0.0}, "nothing bounds the time"),
        ({"torque_bound": np.inf, "effort": 0.0}, "nothing bounds the time"),
        ({"end": [1.32, -2.37]}, "same posture"),
        ({"duration": 0.1, "speed_bound": 2.0}, "no motion keeps it"),
        ({"speed_bound": 1.0, "start_rate": [2, 0]}, "its bound is 1"),
        ({"position_bounds": ([-1, -1], [3, 3])}, "allowed: -1 to 3"),
    ],
)
def test_wrong_input_is_refused_by_name(change, needle):
    with pytest.raises(DynamicsError, match=needle):
        MotionProblem(**{**vars(example_2()), **change})


def test_wrong_options_are_refused_by_name():
    with pytest.raises(DynamicsError, match="start's points"):
        predict_motion(example_1(), start=(np.zeros((3, 2)), 1.0))
