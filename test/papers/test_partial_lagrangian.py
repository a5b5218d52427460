from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.pinocchio_chain import random_chain, rnea

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.chain.sensitivities import inverse_dynamics
from hexapod_dynamics.papers.partial_lagrangian import (
    Link,
    PartialLagrangian,
    Place,
    revolute_link,
    sliding_link,
    usual_lagrangian_forces,
)
from hexapod_dynamics.papers.partial_lagrangian_examples import (
    LINKS,
    controlled_pendulum,
    free_pendulum,
    pendulum,
    simulate,
    slider,
)

TOLERANCE = 1e-6  # on the joint variables [rad, m]


class PointMasses:
    """The same planar chains by Newton's law and Jacobians in numpy: M = sum m J'J, no Lagrangian, no AD."""

    def __init__(self, n, slides=()):
        self.length, self.mass, self.friction = np.array([LINKS[min(i, 2)] for i in range(n)]).T
        self.turns = np.array([i not in slides for i in range(n)])

    def terms(self, q, qdot):
        n = len(q)
        angle, rate = np.cumsum(q * self.turns), np.cumsum(qdot * self.turns)
        along = np.stack((np.cos(angle), np.sin(angle)), axis=1)
        across = np.stack((-along[:, 1], along[:, 0]), axis=1)
        length = np.where(self.turns, self.length, q)
        stretch = np.where(self.turns, 0, qdot)
        J, drift = np.zeros((n, 2, n)), np.zeros((n, 2))
        for i in range(n):
            for j in range(i + 1):
                J[i, :, : j + 1] += np.outer(length[j] * across[j], self.turns[: j + 1])
                if not self.turns[j]:
                    J[i, :, j] += along[j]
                drift[i] += -length[j] * rate[j] ** 2 * along[j] + 2 * stretch[j] * rate[j] * across[j]
        M = np.einsum("i,iak,ial->kl", self.mass, J, J)
        velocity = J @ qdot
        push = self.mass[:, None] * (drift + [0, 9.8]) + self.friction[:, None] * velocity
        return M, np.einsum("iak,ia->k", J, push)

    def simulate(self, example, times):
        n, c = len(example.start), example.control

        def field(_, state):
            q, qdot, error = state[:n], state[n : 2 * n], c.target - state[:n]
            M, bias = self.terms(q, qdot)
            force = c.proportional * error + c.integral * state[2 * n :] - c.derivative * qdot
            return np.concatenate((qdot, np.linalg.solve(M, force - bias), error))

        start = np.concatenate((example.start, np.zeros(2 * n)))
        return solve_ivp(field, (0, times[-1]), start, method="LSODA", t_eval=times, rtol=1e-11, atol=1e-12).y[:n].T


EXAMPLES = {f"{n} free": free_pendulum(n, 5) for n in (1, 3)} | {"10 free": free_pendulum(10, 2)}
EXAMPLES |= {f"{n} controlled": controlled_pendulum(n, 2) for n in (1, 3)} | {"slider": slider(5)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_papers_pendulums_equal_an_independent_integration(name):
    example = EXAMPLES[name]
    times = np.linspace(0, example.duration, 51)
    ours, _ = simulate(example.chain.dynamics(), example, times)
    theirs = PointMasses(len(example.start), (1,) if name == "slider" else ()).simulate(example, times)
    assert np.abs(ours - theirs).max() < TOLERANCE
    assert np.abs(ours[-1] - ours[0]).max() > 0.05  # something moved


def spatial_links(chain):
    """A Chain of point masses as links in three dimensions."""

    def link(i):
        B, X = chain.placements[i], chain.hats()[i]

        def place(q, before):
            moved = ca.sin(q) * ca.DM(X) + (1 - ca.cos(q)) * ca.DM(X @ X) if chain.turns[i] else q * ca.DM(X)
            pose = before.direction @ ca.DM(B) @ (ca.DM.eye(4) + moved)
            mass = (pose @ ca.DM([*chain.coms[i], 1]))[:3]
            return Place(tuple(ca.vertsplit(mass)), None, pose)

        return Link(chain.masses[i], place)

    return [link(i) for i in range(len(chain))]


def test_links_in_three_dimensions_equal_pinocchio():
    rng = np.random.default_rng(0)
    chain = replace(random_chain(rng, 4), inertias=np.zeros((4, 3, 3)))
    ours = PartialLagrangian(
        spatial_links(chain), gravity=chain.gravity, base=Place((0, 0, 0), (0, 0, 0), ca.SX.eye(4))
    ).dynamics()
    for _ in range(5):
        state = rng.normal(size=(3, 4))
        theirs = rnea(chain, *state)
        assert np.allclose(ours.torques(*state), theirs, rtol=1e-10, atol=1e-10)
        assert np.allclose(inverse_dynamics(chain, *state), theirs, rtol=1e-10, atol=1e-10)


def test_the_table_is_a_triangle_whose_rows_sum_to_the_usual_lagrangian():
    chain = PartialLagrangian([revolute_link(1, 2, damping=0.3, stiffness=4), sliding_link(1), revolute_link(0.5, 1)])
    state = np.random.default_rng(1).normal(size=(3, 3))
    columns = [np.asarray(chain.column_function(i)(*(row[: i + 1] for row in state))).ravel() for i in range(3)]
    table = np.zeros((3, 3))
    for i, column in enumerate(columns):
        assert column.shape == (i + 1,)
        table[: i + 1, i] = column
    assert np.allclose(table.sum(axis=1), chain.dynamics().torques(*state), rtol=1e-13)
    assert chain.entry(2, 1).is_zero() and not chain.entry(1, 2).is_zero()
    whole = usual_lagrangian_forces(chain)
    values = {
        f"{name}_{i}": value for name, row in zip(("q", "qd", "qdd"), state, strict=True) for i, value in enumerate(row)
    }
    symbols = ca.symvar(whole)
    usual = ca.Function("usual", symbols, [whole])(*(values[symbol.name()] for symbol in symbols))
    assert np.allclose(np.asarray(usual).ravel(), table.sum(axis=1), rtol=1e-12)


def test_extending_and_replacing_differentiate_only_what_changes():
    chain = pendulum(5)
    assert chain.computed == 5
    longer = chain.extend(revolute_link(1, 1, damping=1))
    assert longer.computed == 1 and len(longer) == 6
    changed = chain.replace(3, sliding_link(2))
    assert changed.computed == 2 and len(changed) == 5
    state = np.random.default_rng(2).normal(size=(3, 6))
    fresh = pendulum(6)
    assert np.allclose(longer.dynamics().torques(*state), fresh.dynamics().torques(*state), rtol=1e-13)
    links = [revolute_link(*LINKS[min(i, 2)][:2], damping=1.0) for i in range(5)]
    links[3] = sliding_link(2)
    ours, theirs = (one.dynamics().torques(*state[:, :5]) for one in (changed, PartialLagrangian(links)))
    assert np.allclose(ours, theirs, rtol=1e-13)
    assert len(chain) == 5 and chain.computed == 5  # the old chain is as it was


def test_wrong_input_is_refused_by_name():
    with pytest.raises(DynamicsError, match="mass of a link is -1"):
        revolute_link(1, -1)
    with pytest.raises(DynamicsError, match="at least one link"):
        PartialLagrangian().dynamics()
    with pytest.raises(DynamicsError, match="no link 2"):
        pendulum(2).replace(2, sliding_link(1))
    with pytest.raises(DynamicsError, match="gravity is"):
        PartialLagrangian(gravity=(0, np.nan))
    with pytest.raises(DynamicsError, match="3 coordinates"):
        PartialLagrangian([Link(1, lambda q, before: Place((q, q, q)))])
    with pytest.raises(DynamicsError, match="qdot: .* not finite"):
        pendulum(2).dynamics().torques([0, 0], [0, np.nan], [0, 0])
    with pytest.raises(DynamicsError, match="forces: shape"):
        pendulum(2).dynamics().accelerations([0, 0], [0, 0], 1.0)
    with pytest.raises(DynamicsError, match="1, 2 or 3 links"):
        controlled_pendulum(4)
