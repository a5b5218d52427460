"""Derivatives of the dynamics against central differences in 50 digits.

The dynamics are evaluated by the traced programs that the compiled kernels are made of, on mpmath's numbers; that these
programs are the dynamics, the comparisons with Pinocchio and with the closed form show.
"""

import mpmath as mp
import numpy as np
import pytest
from support.random_robots import random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel, batch_code, leg_kernels
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.workspace import BASE_ACCELERATION, BODY, GRAVITY, HEAD_ACC, HEAD_FORCE, TWIST
from hexapod_dynamics.robot import Morphology, Robot

STEP = mp.mpf(10) ** -18


def run(trace, lane, shared):
    """Execute a program on one leg's numbers by row and the shared ones by place."""
    values = {}
    for node in trace.program():
        a = [values[argument.index] for argument in node.arguments]
        if node.operation == "constant":
            values[node.index] = mp.mpf(node.value)
        elif node.operation == "read":
            section, row = node.value
            values[node.index] = (lane if section == "lane" else shared)[row]
        elif node.operation in ("sin", "cos"):
            values[node.index] = getattr(mp, node.operation)(a[0])
        elif node.operation == "neg":
            values[node.index] = -a[0]
        else:
            x, y = a
            operations = {"add": x.__add__, "sub": x.__sub__, "mul": x.__mul__, "div": x.__truediv__}
            values[node.index] = operations[node.operation](y)
    for section, row, node in trace.outputs:
        if section == "lane":
            lane[row] = values[node.index]
        else:
            shared[row] = values[node.index] + (shared[row] if section == "sum" else 0)


class Extended:
    """Dynamics of a morphology in extended precision, as functions of lists of mpmath's numbers."""

    def __init__(self, model, morphology):
        self.ws = ws = model._kernels.workspace(morphology)
        self.legs, rows = model.robot.legs, ws.rows
        self.moving = np.flatnonzero(morphology.moving_mask)
        self.driven = morphology.driven_mask
        types = [LegType.of(leg) for leg in self.legs]
        make = {
            "forward": lambda kind: leg_kernels.trace_forward(kind, rows),
            "inverse": lambda kind: leg_kernels.trace_inverse(kind, rows),
            "substitute": lambda kind: leg_kernels.trace_substitute(len(kind.joints), rows),
        }
        made = {(name, kind): function(kind) for name, function in make.items() for kind in set(types)}
        self.programs = [{name: made[name, kind] for name in make} for kind in types]
        self.heads = batch_code.trace_start(False), batch_code.trace_start(True), leg_kernels.trace_solve_head()

    def _begin(self, R, q, nu, row, values):
        """Memory of the legs and what they share, with a state."""
        ws, rows = self.ws, self.ws.rows
        shared = {place: mp.mpf(float(ws.shared[place])) for place in (GRAVITY, *range(BODY, BODY + 10))}
        shared |= {batch_code.ROTATION + 3 * r + c: R[r, c] for r in range(3) for c in range(3)}
        shared |= {TWIST + i: nu[i] for i in range(6)}
        lanes = []
        for block, lane, _, _, _ in ws.legs:
            lanes.append({i: mp.mpf(float(number)) for i, number in enumerate(ws.lanes[block, :, lane])})
        for i, j in enumerate(self.moving):
            leg = next(k for k, entry in enumerate(ws.legs) if entry[2] <= j < entry[2] + entry[3])
            k = int(j - ws.legs[leg, 2])
            lanes[leg][rows.q + k], lanes[leg][rows.rate + k] = q[j], nu[6 + i]
            lanes[leg][row + k] = values[i]
        return lanes, shared

    def _joints(self, lanes, row):
        found = []
        for j in self.moving:
            leg = next(k for k, entry in enumerate(self.ws.legs) if entry[2] <= j < entry[2] + entry[3])
            found.append(lanes[leg][row + int(j - self.ws.legs[leg, 2])])
        return found

    def inverse(self, R, q, nu, nudot):
        lanes, shared = self._begin(R, q, nu, self.ws.rows.qdd, nudot[6:])
        shared |= {BASE_ACCELERATION + i: nudot[i] for i in range(6)}
        run(self.heads[1], {}, shared)
        for programs, lane in zip(self.programs, lanes, strict=True):
            run(programs["inverse"], lane, shared)
        return [shared[HEAD_FORCE + i] for i in range(6)] + self._joints(lanes, self.ws.rows.out)

    def forward(self, R, q, nu, tau):
        motor = [value if self.driven[j] else mp.mpf(0) for value, j in zip(tau, self.moving, strict=True)]
        lanes, shared = self._begin(R, q, nu, self.ws.rows.torque, motor)
        run(self.heads[0], {}, shared)
        for programs, lane in zip(self.programs, lanes, strict=True):
            run(programs["forward"], lane, shared)
        run(self.heads[2], {}, shared)
        for programs, lane in zip(self.programs, lanes, strict=True):
            run(programs["substitute"], lane, shared)
        return [shared[HEAD_ACC + i] for i in range(6)] + self._joints(lanes, self.ws.rows.acc)


def turned(R, axis, angle):
    """R exp([angle e_axis]) by Rodrigues' formula."""
    e = [mp.mpf(i == axis) for i in range(3)]
    skew = mp.matrix([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    return R * (mp.eye(3) + mp.sin(angle) * skew + (1 - mp.cos(angle)) * skew * skew)


def differences(function, R, q, nu, given, moving):
    """Columns of the derivatives by configuration, by nu and by what is given, from central differences."""

    def slope(at):
        there, back = at(STEP), at(-STEP)
        return [float((a - b) / (2 * STEP)) for a, b in zip(there, back, strict=True)]

    def shifted(values, index, by):
        return [value + by if i == index else value for i, value in enumerate(values)]

    conf = [np.zeros(len(nu))] * 3  # translation changes nothing
    conf += [slope(lambda h, k=k: function(turned(R, k, h), q, nu, given)) for k in range(3)]
    conf += [slope(lambda h, j=j: function(R, shifted(q, j, h), nu, given)) for j in moving]
    by_nu = [slope(lambda h, i=i: function(R, q, shifted(nu, i, h), given)) for i in range(len(nu))]
    by_given = [slope(lambda h, i=i: function(R, q, nu, shifted(given, i, h))) for i in range(len(given))]
    return (np.array(part).T for part in (conf, by_nu, by_given))


def assert_close(given, expected, tolerance=1e-7):
    """Largest error against the largest entry."""
    assert given.shape == expected.shape
    assert np.max(np.abs(given - expected), initial=0.0) <= tolerance * np.max(np.abs(expected), initial=1e-300)


@pytest.mark.parametrize("seed", [0, 1, pytest.param(4, marks=pytest.mark.slow)])
def test_derivatives_are_differences_in_extended_precision(seed):
    """The JetHexa, damaged; robots of two families with 4 legs, whole and damaged."""
    rng = np.random.default_rng(seed)
    robot = Robot.jethexa() if seed == 0 else random_robot(rng, seed, 4)
    morphology = Morphology.whole(robot) if seed == 1 else random_damage(rng, robot)
    model, moving = WholeBodyModel(robot), np.flatnonzero(morphology.moving_mask)
    R, q, nu = rotation(rng), rng.normal(size=robot.joint_count), rng.normal(size=6 + len(moving))
    nudot, tau = rng.normal(size=6 + len(moving)), rng.normal(size=len(moving))
    with mp.workdps(50):
        exact, numbers = Extended(model, morphology), lambda array: [mp.mpf(float(value)) for value in array]
        state = mp.matrix(R.tolist()), numbers(q), numbers(nu)
        value = np.array([float(x) for x in exact.inverse(*state, numbers(nudot))])
        assert_close(model.inverse_dynamics(R, q, nu, nudot, morphology), value, 1e-12)
        parts = model.inverse_dynamics_derivatives(R, q, nu, nudot, morphology)
        for ours, slopes in zip(parts, differences(exact.inverse, *state, numbers(nudot), moving), strict=True):
            assert_close(ours, slopes)
        value = np.array([float(x) for x in exact.forward(*state, numbers(tau))])
        assert_close(model.forward_dynamics(R, q, nu, tau, morphology), value, 1e-9)
        parts = model.forward_dynamics_derivatives(R, q, nu, tau, morphology)
        for ours, slopes in zip(parts, differences(exact.forward, *state, numbers(tau), moving), strict=True):
            assert_close(ours, slopes)
