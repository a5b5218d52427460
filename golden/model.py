"""Values of the whole-body model: 44 random morphologies of the packaged robots and of random families of legs."""

import numpy as np
from support.random_robots import FAMILIES, random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

TOLERANCE = 1e-12
CONFIG = ("jethexa", "phantomx", "octopod", "quadruped", "hexapod_sts3215")
MORPHOLOGIES = 4  # of each robot


def record():
    """Matrices, forces, accelerations and derivatives by robot, morphology and quantity."""
    robots = {name: Robot.load(f"config/{name}.yaml") for name in CONFIG}
    robots |= {
        f"family {k}": random_robot(np.random.default_rng([5, k]), k, 4 if k >= 4 else 6) for k in range(len(FAMILIES))
    }
    found = {}
    for number, (name, robot) in enumerate(robots.items()):
        model = WholeBodyModel(robot)
        for index in range(MORPHOLOGIES):
            rng = np.random.default_rng([6, number, index])
            morphology = random_damage(rng, robot) if index else Morphology.whole(robot)
            found |= {
                f"{name} {index} {key}": value for key, value in quantities(model, robot, morphology, rng).items()
            }
    return found


def quantities(model, robot, morphology, rng):
    """What WholeBodyModel computes at one random state."""
    n = 6 + len(model.joint_names(morphology))
    q, nu, tau, nudot = (
        rng.uniform(-1, 1, robot.joint_count),
        rng.normal(size=n),
        rng.normal(size=n - 6),
        rng.normal(size=n),
    )
    r, p = rotation(rng), rng.normal(size=3)
    legs = [leg.name for leg in robot.legs if morphology.remaining(leg.name, leg.links[-1].name) == 1.0]
    tips = {name: rng.normal(size=3) for name in legs[:2]}
    found = {
        "M": model.mass_matrix(q, morphology),
        "C": model.coriolis_matrix(q, nu, morphology),
        "g": model.gravity_force(r, q, morphology),
        "a": model.forward_dynamics(r, q, nu, tau, morphology),
        "a of forces": model.forward_dynamics(r, q, nu, tau, morphology, tip_forces=tips),
        "t": model.inverse_dynamics(r, q, nu, nudot, morphology, tip_forces=tips),
        "batch": model.forward_dynamics_batch(
            np.array([r, r]), np.array([q, q]), np.array([nu, -nu]), np.array([tau, tau]), morphology
        ),
        "centre of mass": model.center_of_mass(r, p, q, morphology),
        "momentum": model.centroidal_momentum(r, q, nu, morphology),
        "energies": np.array([model.kinetic_energy(q, nu, morphology), model.potential_energy(r, p, q, morphology)]),
        "mass": np.array(model.total_mass(morphology)),
        "regressor": model.inverse_dynamics_regressor(r, q, nu, nudot, morphology),
    }
    for k, part in enumerate(model.inverse_dynamics_derivatives(r, q, nu, nudot, morphology)):
        found[f"inverse derivative {k}"] = part
    for k, part in enumerate(model.forward_dynamics_derivatives(r, q, nu, tau, morphology)):
        found[f"forward derivative {k}"] = part
    if legs:
        found["J"] = model.tip_jacobian(legs[0], q, morphology)
        acceleration, forces = model.constrained_forward_dynamics(r, q, nu, tau, legs[:3], morphology)
        found["a held"] = acceleration
        found |= {f"force {leg}": force for leg, force in forces.items()}
    for name, (turn, place) in model.link_poses(r, p, q, morphology).items():
        found[f"pose {name}"] = np.column_stack([turn, place])
    return found
