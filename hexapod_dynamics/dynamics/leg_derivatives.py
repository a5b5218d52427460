"""A leg's share of the derivatives of inverse dynamics, for traced scalars.

A joint's position and rate affect the torques of its leg and the leg's wrench on the body; so does the body's
twist, and its effect on the wrench is summed over the legs in `shared`. The derivative by accelerations, and so by
the direction of gravity, is the mass matrix. No leg's quantities depend on another leg's: the derivatives have the
arrow shape of M.
"""

from __future__ import annotations

from hexapod_dynamics.dynamics.differentiation import differentiate
from hexapod_dynamics.dynamics.leg_program import LegProgram, LegType
from hexapod_dynamics.dynamics.tracing import Trace
from hexapod_dynamics.dynamics.workspace import TWIST, WRENCH_BY_TWIST, Rows


def trace_derivatives(leg_type: LegType, rows: Rows) -> Trace:
    """Sections torque_by_q, wrench_by_q, torque_by_rate, wrench_by_rate, torque_by_twist; sums WRENCH_BY_TWIST.

    Row k of torque_by_*: derivatives of joint k's torque; row k of wrench_by_*: of the wrench by joint k's variable.
    """
    leg = LegProgram(leg_type, rows)
    torques, wrench = leg.collect_wrenches(leg.link_wrenches(with_accelerations=True))
    outputs = [*torques, *wrench]
    n, count = leg.n, rows.count
    for variable in ("q", "rate"):
        for k in range(n):
            by = differentiate(leg.trace, outputs, leg.read(variable, k))
            for l in range(n):
                leg.write(f"torque_by_{variable}", count * l + k, by[l])
            for i in range(6):
                leg.write(f"wrench_by_{variable}", 6 * k + i, by[n + i])
    for i, variable in enumerate(leg.shared(TWIST, 6)):
        by = differentiate(leg.trace, outputs, variable)
        for l in range(n):
            leg.write("torque_by_twist", 6 * l + i, by[l])
        for r in range(6):
            leg.trace.write("sum", WRENCH_BY_TWIST + 6 * r + i, by[n + r])
    return leg.trace
