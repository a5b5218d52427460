"""The simulation converges, at first order, to an independent solution of the same equations at tight tolerance."""

import numpy as np
import pytest
from support.jethexa import ROBOT, STAND, WHOLE
from support.reference_simulation import ReferenceSimulation

from hexapod_dynamics.simulation import Ground, Simulator

RATES = np.random.default_rng(5).uniform(-1.0, 1.0, 18)
HURT = WHOLE.without("LM.femur").locked("RF.tibia", STAND[17]).broken("LF.tibia", 0.9).limp("RR.femur")


def simulate(morphology, height, seconds, timestep, rates=RATES):
    sim = Simulator(ROBOT, morphology, timestep=timestep, ground=Ground.viscous())
    sim.reset(position=[0.0, 0.0, height], joints=STAND)
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
    "morphology, height, rates, order, spread",
    [
        (WHOLE, 0.119, 0.05 * RATES, 1.0, 0.05),  # feet stay in the ground: nothing begins or ends
        (WHOLE, 0.119, RATES, 1.0, 0.35),  # feet lift off: each at some time within a step, so errors scatter
        (WHOLE, 0.125, RATES, 1.0, 0.35),  # falls 5 mm and touches down
        (HURT, 0.119, RATES, 1.0, 0.5),
    ],
    ids=["standing", "stepping", "falling", "damaged"],
)
def test_the_error_shrinks_with_the_step_at_first_order(morphology, height, rates, order, spread):
    seconds, steps = 0.08, np.array([1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5])
    reference = ReferenceSimulation(morphology, STAND, rates)
    exact = reference.run(np.array([0.0, 0.0, height]), np.eye(3), np.zeros(24), seconds)
    errors = np.array(
        [distance(simulate(morphology, height, seconds, h, rates), exact, reference.places) for h in steps]
    )
    assert errors[0, 0] < 1e-4 and errors[0, 1] < 1e-3 and errors[0, 2] < 2e-3  # m, rad, rad after 80 ms at 1 ms
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slopes == pytest.approx(np.full(4, order), abs=spread)


def test_long_steps_are_stable_and_near():
    short = simulate(WHOLE, 0.125, 0.3, 1e-4)
    for timestep in (1e-3, 2e-3, 5e-3, 10e-3):
        long = simulate(WHOLE, 0.125, 0.3, timestep)
        assert np.linalg.norm(long.position - short.position) < 1.0 * timestep  # metres a second of step
        assert np.abs(long.nu).max() < 10.0
