"""The programs of the leg kernels: forward dynamics in steps and at once, inverse dynamics, the head's solution.

The arrow-shaped system of a robot (docs/model.md) consists of the legs' blocks and one 6x6 block: each
leg is eliminated separately (L D L^T of its block, Schur complement onto the head), and substituted back from the
body's acceleration.
"""

from __future__ import annotations

from typing import Any

from hexapod_dynamics.dynamics.leg_program import LegProgram, LegType
from hexapod_dynamics.dynamics.rigid_body import spatial_lower
from hexapod_dynamics.dynamics.tracing import Trace
from hexapod_dynamics.dynamics.workspace import COMPOSITE, HEAD, HEAD_ACC, HEAD_FORCE, Rows


def trace_terms(leg_type: LegType, rows: Rows) -> Trace:
    """Arrow, right-hand side and geometry; further terms can be added before the elimination."""
    leg = LegProgram(leg_type, rows)
    composite, arms, block = leg.arrow()
    joint_bias, head_bias = leg.collect_wrenches(leg.link_wrenches(with_accelerations=False))
    screws, ends = leg.geometry()
    mass, h, inertia = composite
    for i, value in enumerate((mass, *h, *inertia)):
        leg.trace.write("sum", COMPOSITE + i, value)
    for i, value in enumerate(head_bias):
        leg.trace.write("sum", HEAD_FORCE + i, -value)
    for k in range(leg.n):
        for i in range(6):
            leg.write("arm", 6 * k + i, arms[k][i])
            leg.write("screw", 6 * k + i, screws[k][i])
        for i in range(3):
            leg.write("point", 3 * k + i, ends[k][i])
        leg.write("force", k, leg.mask[k] * (leg.read("torque", k) - joint_bias[k]))
        for inner in range(k + 1):
            leg.write("block", k * (k + 1) // 2 + inner, block[k, inner])
    return leg.trace


def trace_eliminate(count: int, rows: Rows) -> Trace:
    """Schur complement of a leg's block onto the head, from the memory that `terms` wrote."""
    leg = _Memory(rows)
    arms = [[leg.read("arm", 6 * k + i) for i in range(6)] for k in range(count)]
    block = {(k, i): leg.read("block", k * (k + 1) // 2 + i) for k in range(count) for i in range(k + 1)}
    force = [leg.read("force", k) for k in range(count)]
    head, head_force = eliminate(leg, count, arms, block, force)
    for i, value in enumerate(head):
        leg.trace.write("sum", HEAD + i, -value)
    for i, value in enumerate(head_force):
        leg.trace.write("sum", HEAD_FORCE + i, -value)
    return leg.trace


def trace_forward(leg_type: LegType, rows: Rows) -> Trace:
    """`terms` without geometry and `eliminate` in one."""
    leg = LegProgram(leg_type, rows)
    composite, arms, block = leg.arrow()
    joint_bias, head_bias = leg.collect_wrenches(leg.link_wrenches(with_accelerations=False))
    force = [leg.mask[k] * (leg.read("torque", k) - joint_bias[k]) for k in range(leg.n)]
    head, head_force = eliminate(leg, leg.n, arms, block, force)
    for i, (own, lost) in enumerate(zip(spatial_lower(composite, leg.trace.zero), head, strict=True)):
        leg.trace.write("sum", HEAD + i, own - lost)
    for i, (own, lost) in enumerate(zip(head_bias, head_force, strict=True)):
        leg.trace.write("sum", HEAD_FORCE + i, -(own + lost))
    return leg.trace


def trace_substitute(count: int, rows: Rows) -> Trace:
    """Joint accelerations of a leg from the body's acceleration a: x = L^-T (D^-1 L^-1 force - T a)."""
    leg = _Memory(rows)
    head = [leg.trace.read("shared", HEAD_ACC + i) for i in range(6)]
    acc = [None] * count
    for k in reversed(range(count)):
        value = leg.read("reduced", k)
        for i in range(6):
            value = value - leg.read("scaled", 6 * k + i) * head[i]
        for outer in range(k + 1, count):
            value = value - leg.read("factor", outer * (outer - 1) // 2 + k) * acc[outer]
        acc[k] = value
    for k in range(count):
        leg.write("acc", k, acc[k])
    return leg.trace


def trace_inverse(leg_type: LegType, rows: Rows) -> Trace:
    """Joint torques and the leg's wrench on the body for given accelerations."""
    leg = LegProgram(leg_type, rows)
    joint_forces, wrench = leg.collect_wrenches(leg.link_wrenches(with_accelerations=True))
    for k in range(leg.n):
        leg.write("out", k, joint_forces[k] + leg.rotor[k] * leg.read("qdd", k))
    for i, value in enumerate(wrench):
        leg.trace.write("sum", HEAD_FORCE + i, value)
    return leg.trace


def trace_solve_head() -> Trace:
    """HEAD_ACC = HEAD^-1 HEAD_FORCE by L D L^T of the 6x6 head."""
    trace = Trace()
    head = {(r, c): trace.read("shared", HEAD + r * (r + 1) // 2 + c) for r in range(6) for c in range(r + 1)}
    force = [trace.read("shared", HEAD_FORCE + i) for i in range(6)]
    lower, pivots = ldl(head, 6)
    y = forward_substitute(lower, force)
    x = [None] * 6
    for k in reversed(range(6)):
        value = y[k] * pivots[k]
        for outer in range(k + 1, 6):
            value = value - lower[outer, k] * x[outer]
        x[k] = value
    for i in range(6):
        trace.write("shared", HEAD_ACC + i, x[i])
    return trace


class _Memory:
    """Read and write a block's memory without the leg's formulas."""

    def __init__(self, rows: Rows) -> None:
        self.trace, self.rows = Trace(), rows

    read, write = LegProgram.read, LegProgram.write


def eliminate(leg: Any, count: int, arms: Any, block: Any, force: Any) -> tuple[Any, Any]:
    """A D^-1 A^T (lower triangle, 21) and A D^-1 force (6); writes L, T and the reduced force for `substitute`."""
    lower, pivots = ldl(block, count)
    columns = [forward_substitute(lower, [arms[k][i] for k in range(count)]) for i in range(6)]
    reduced = forward_substitute(lower, force)
    head = [leg.trace.zero] * 21
    head_force = [leg.trace.zero] * 6
    for k in range(count):
        scaled = [columns[i][k] * pivots[k] for i in range(6)]
        for r in range(6):
            leg.write("scaled", 6 * k + r, scaled[r])
            head_force[r] = head_force[r] + scaled[r] * reduced[k]
            for c in range(r + 1):
                head[r * (r + 1) // 2 + c] = head[r * (r + 1) // 2 + c] + scaled[r] * columns[c][k]
        leg.write("reduced", k, reduced[k] * pivots[k])
        for inner in range(k):
            leg.write("factor", k * (k - 1) // 2 + inner, lower[k, inner])
    return head, head_force


def ldl(matrix: dict, count: int) -> tuple[Any, Any]:
    """Unit lower triangle L and inverse pivots of matrix = L D L^T, from its lower triangle."""
    lower: dict[tuple[int, int], Any] = {}
    pivots: list[Any] = []
    for r in range(count):
        scaled: dict[int, Any] = {}
        for c in range(r):
            value = matrix[r, c]
            for k in range(c):
                value = value - scaled[k] * lower[c, k]
            scaled[c] = value  # L_rc D_c
            lower[r, c] = value * pivots[c]
        pivot = matrix[r, r]
        for c in range(r):
            pivot = pivot - scaled[c] * lower[r, c]
        pivots.append(1.0 / pivot)
    return lower, pivots


def forward_substitute(lower: dict, vector: Any) -> Any:
    """L^-1 vector."""
    result: list[Any] = []
    for r, value in enumerate(vector):
        for c in range(r):
            value = value - lower[r, c] * result[c]
        result.append(value)
    return result
