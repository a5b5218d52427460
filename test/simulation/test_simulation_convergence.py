"""The simulation converges, at first order, to an independent solution of the same equations at tight tolerance."""

import numpy as np
import pytest
from support.jethexa import ROBOT, STAND, WHOLE
from support.reference_simulation import ReferenceSimulation

from hexapod_dynamics.simulation import Ground, Simulator

REST, TUMBLES = np.zeros(24), np.random.default_rng(2).normal(size=24) * ([0.3] * 3 + [1.0] * 3 + [2.0] * 18)
RATES = np.random.default_rng(5).uniform(-1.0, 1.0, 18)
HURT = WHOLE.without("LM.femur").locked("RF.tibia", STAND[17]).broken("LF.tibia", 0.9).limp("RR.femur")


def simulate(morphology, height, seconds, timestep, rates=RATES, nu=REST):
    sim = Simulator(ROBOT, morphology, timestep=timestep, ground=Ground.viscous())
    sim.reset(position=[0.0, 0.0, height], joints=STAND)
    sim.nu[:] = nu
    sim.command(STAND + rates * seconds, seconds)
    sim.step(round(seconds / timestep))
    return sim


def distance(sim, reference, places):
    position, rotation, q, nu = reference
    moving = np.concatenate([np.arange(6), 6 + places])
    turned = np.linalg.norm(rotation.T @ sim.rotation - np.eye(3))
    return np.array(
        [
            np.linalg.norm(sim.position - position),
            turned,
            np.linalg.norm(sim.q[places] - q),
            np.linalg.norm(sim.nu[moving] - nu),
        ]
    )


@pytest.mark.parametrize(
    "morphology, height, rates, nu, spread, most",
    [
        (WHOLE, 0.119, 0.05 * RATES, REST, 0.05, 1e-4),  # feet stay in the ground: nothing begins or ends
        # Each foot touches down at some time within a step, so errors scatter.
        (WHOLE, 0.125, RATES, REST, 0.35, 1e-4),
        (HURT, 0.119, RATES, REST, 0.5, 1e-4),  # feet lift off
        (WHOLE, 1.0, RATES, TUMBLES, 0.05, 5e-4),  # gravity alone makes g h t / 2 of it
    ],
    ids=["standing", "falling", "damaged", "flying"],
)
def test_the_error_shrinks_with_the_step_at_first_order(morphology, height, rates, nu, spread, most):
    seconds, steps = 0.08, np.array([1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5])
    reference = ReferenceSimulation(morphology, STAND, rates)
    exact = reference.run(np.array([0.0, 0.0, height]), np.eye(3), nu, seconds)
    errors = np.array(
        [distance(simulate(morphology, height, seconds, h, rates, nu), exact, reference.places) for h in steps]
    )
    assert errors[0, 0] < most and errors[0, 1] < 1e-3 and errors[0, 2] < 2e-3  # m, rad, rad after 80 ms at 1 ms
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slopes == pytest.approx(np.ones(4), abs=spread)


def test_long_steps_are_stable_and_near():
    short = simulate(WHOLE, 0.125, 0.3, 1e-4)
    for timestep in (1e-3, 2e-3, 5e-3, 10e-3):
        long = simulate(WHOLE, 0.125, 0.3, timestep)
        assert np.linalg.norm(long.position - short.position) < 1.0 * timestep  # metres a second of step
        assert np.abs(long.nu).max() < 10.0
