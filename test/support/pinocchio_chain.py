"""A `Chain` as a Pinocchio model, and random chains to compare the two on."""

import numpy as np
import pinocchio as pin

from hexapod_dynamics.papers.chain.chain import Chain


def pinocchio_model(chain: Chain, base: Chain | None = None) -> pin.Model:
    """Return the pin.Model of a Chain; the frame of a revolute joint is moved onto its axis, as Pinocchio requires.

    base: the first body of this chain carries it freely, by a joint before the others; None: it stands on the ground.
    """
    model, ground = pin.Model(), 0
    if base is not None:
        ground = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
        model.appendBodyToJoint(ground, inertia_of(base, 0), pin.SE3.Identity())
    model.gravity.linear = np.array(chain.gravity)
    joints: list[int] = []
    offsets: list[pin.SE3] = []
    for i, parent in enumerate(chain.parents):
        linear, angular = chain.screws[i, :3], chain.screws[i, 3:]
        if chain.turns[i]:
            joint, offset = pin.JointModelRevoluteUnaligned(np.array(angular)), np.cross(angular, linear)
        else:
            joint, offset = pin.JointModelPrismaticUnaligned(np.array(linear)), np.zeros(3)
        shift = pin.SE3(np.eye(3), offset)
        placement = pin.SE3(chain.placements[i]) * shift
        if parent >= 0:
            placement = offsets[parent].inverse() * placement
        index = model.addJoint(joints[parent] if parent >= 0 else ground, joint, placement, chain.names[i])
        model.appendBodyToJoint(index, inertia_of(chain, i), shift.inverse())
        joints.append(index)
        offsets.append(shift)
    return model


def inertia_of(chain: Chain, i: int) -> pin.Inertia:
    return pin.Inertia(chain.masses[i], np.array(chain.coms[i]), np.array(chain.inertias[i]))


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Return a physically possible inertia (3, 3) about the centre of mass: that of a random cloud of points."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.02, 0.3, 3)
    points -= points.mean(axis=0)
    return sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points) * rng.uniform(0.1, 1)


def random_motion(rng: np.random.Generator) -> np.ndarray:
    """Return a random rigid motion (4, 4)."""
    motion = np.eye(4)
    motion[:3, :3] = pin.exp3(rng.normal(size=3))
    motion[:3, 3] = rng.normal(size=3) * 0.3
    return motion


def random_chain(rng: np.random.Generator, n: int, *, tree: bool = False, prismatic: float = 0.3) -> Chain:
    """Return a chain of n joints with random axes, offsets, inertias, gravity; prismatic: probability of a slider."""
    kinds = [rng.choice(["prismatic", "revolute"], p=[prismatic, 1 - prismatic]) for _ in range(n)]
    screws = np.zeros((n, 6))
    for i, kind in enumerate(kinds):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        if kind == "prismatic":
            screws[i, :3] = axis
        else:
            screws[i, :3], screws[i, 3:] = np.cross(rng.normal(size=3) * 0.2, axis), axis
    parents = [-1]
    for i in range(1, n):
        path = [i - 1]  # depth first: Pinocchio's derivatives want every subtree in one piece
        while path[-1] != -1:
            path.append(parents[path[-1]])
        parents.append(int(rng.choice(path)) if tree else i - 1)
    return Chain(
        tuple(parents),
        np.array([random_motion(rng) for _ in range(n)]),
        screws,
        rng.uniform(0.1, 3, n),
        rng.normal(size=(n, 3)) * 0.2,
        np.array([random_inertia(rng) for _ in range(n)]),
        rng.normal(size=3) * 9.8,
    )


def random_state(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random joint positions, rates and accelerations, each (n,)."""
    return rng.uniform(-2, 2, n), rng.normal(size=n), rng.normal(size=n)


def rnea(chain: Chain, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
    """Return the joint forces (n,) by Pinocchio's recursive Newton-Euler algorithm."""
    model = pinocchio_model(chain)
    return pin.rnea(model, model.createData(), q, qdot, qddot)
