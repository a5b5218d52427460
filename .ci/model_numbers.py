"""Numbers of the model for random states and damage: `model_numbers.py FILE` writes them, `--compare A B` compares two.

The main run compares the model with Pinocchio; what another Python with other versions computes must agree with it.
"""

import sys

import numpy as np

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, TripodGait

TOLERANCE = 1e-10  # relative to the largest entry: rounding differs between compilers


def rotation(chance):
    """A random rotation (3, 3)."""
    q, _ = np.linalg.qr(chance.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def numbers():
    """Arrays by name."""
    robot, chance, found = Robot.jethexa(), np.random.default_rng(7), {}
    model, whole = WholeBodyModel(robot), Morphology.whole(robot)
    hurt = whole.without("RM").without("LM.femur").locked("RF.tibia", angle=0.4).broken("LF.tibia", remaining=0.5)
    for name, morphology in (("whole", whole), ("hurt", hurt), ("limp", whole.limp("LR.femur"))):
        size = 6 + len(model.joint_names(morphology))
        q, nu, tau = chance.uniform(-1.0, 1.0, 18), chance.normal(size=size), chance.normal(size=size - 6)
        r, nudot = rotation(chance), chance.normal(size=size)
        found[f"{name} M"] = model.mass_matrix(q, morphology)
        found[f"{name} C"] = model.coriolis_matrix(q, nu, morphology)
        found[f"{name} g"] = model.gravity_force(r, q, morphology)
        found[f"{name} J"] = model.tip_jacobian("LF", q, morphology)
        found[f"{name} a"] = model.forward_dynamics(r, q, nu, tau, morphology)
        found[f"{name} t"] = model.inverse_dynamics(r, q, nu, nudot, morphology)
        for k, part in enumerate(model.forward_dynamics_derivatives(r, q, nu, tau, morphology)):
            found[f"{name} derivative {k}"] = part
    gait = TripodGait(step_length=0.05, step_height=0.012, period=1.3)
    found["walk"] = Simulator(robot, gait=gait, timestep=1e-3).run(0.2).position
    return found


def compare(first, second):
    """Raise SystemExit with the names of what differs."""
    a, b = np.load(first), np.load(second)
    assert set(a.files) == set(b.files) and len(a.files) == 28, "not the same quantities"
    error = {name: np.abs(a[name] - b[name]).max() / np.abs(b[name]).max() for name in a.files}
    worst = max(error, key=error.get)
    print(f"{len(error)} quantities of the model differ by {error[worst]:.1e} of the largest entry at most ({worst})")
    wrong = [f"{name} by {value:.1e}" for name, value in error.items() if not value < TOLERANCE]
    if wrong:
        sys.exit(f"differ: {', '.join(wrong)}")


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        compare(*sys.argv[2:])
    else:
        np.savez(sys.argv[1], **numbers())
