"""A leg's share of the Coriolis matrix and its link frames, for traced scalars, in the body frame.

The derivatives are Lemma 3's (Farghdani & Chhabra 2025, (35)-(43)), summed over the links beyond a joint: with the
composite inertia Mc_l of the links from l outward and A_l = Mc_l J^l, the arm's column l,

    d A_l / d q_k = coad(J^k) A_l                                     k <= l
                  = coad(J^k) Mc_k J^l - Mc_k [J^k, J^l]              k > l

where coad(V) F = -ad_V^T F. Existence numbers act through the masses, which are zero for missing links.
"""

from __future__ import annotations

from typing import Any

from hexapod_dynamics.dynamics.leg_program import LegProgram, LegType
from hexapod_dynamics.dynamics.rigid_body import add_inertia, inertia_times, move_inertia
from hexapod_dynamics.dynamics.tracing import Trace, add, cross, dot, matmul, matvec, scale
from hexapod_dynamics.dynamics.workspace import BASE_POSE, COMPOSITE, HEAD, TWIST, Rows

MOMENTUM = HEAD  # these kernels do not use the head, and its place holds P 6, then hdot 3 and Idot 6 of the composite
COMPOSITE_RATE = HEAD + 6


def trace_frames(leg_type: LegType, rows: Rows) -> Trace:
    """Present screws, link ends and link rotations, in the body frame."""
    leg = LegProgram(leg_type, rows)
    screws, ends = leg.geometry()
    rotation = leg.mount_rotation
    for k in range(leg.n):
        rotation = matmul(rotation, leg.rotation[k])
        for i in range(6):
            leg.write("screw", 6 * k + i, screws[k][i])
        for i in range(3):
            leg.write("point", 3 * k + i, ends[k][i])
            for j in range(3):
                leg.write("frame", 9 * k + 3 * i + j, rotation[i][j])
    return leg.trace


def trace_poses(leg_type: LegType, rows: Rows) -> Trace:
    """Rotations of the links' axes and their starts, in the world."""
    leg = LegProgram(leg_type, rows)
    base = leg.shared(BASE_POSE, 12)
    world = base[0:3], base[3:6], base[6:9]
    rotation = matmul(world, leg.mount_rotation)
    origin = add(base[9:12], matvec(world, leg.mount_position))
    for k in range(leg.n):
        origin = add(origin, matvec(rotation, leg.position[k]))
        rotation = matmul(rotation, leg.rotation[k])
        axes = matmul(rotation, tuple(tuple(leg.read("axes", 9 * k + 3 * r + c) for c in range(3)) for r in range(3)))
        for r in range(3):
            for c in range(3):
                leg.write("pose", 12 * k + 3 * r + c, axes[r][c])
            leg.write("pose", 12 * k + 9 + r, origin[r])
    return leg.trace


def trace_center(leg_type: LegType, rows: Rows) -> Trace:
    """Mass and mass times centre of mass of a leg in the body frame, added up over the legs."""
    leg = LegProgram(leg_type, rows)
    mass, moment = leg.trace.zero, (leg.trace.zero,) * 3
    for k in reversed(range(leg.n)):  # links further out, in link k's frame, and link k
        mass, moment = mass + leg.inertia[k][0], add(moment, leg.inertia[k][1])
        moment = add(matvec(leg.rotation[k], moment), scale(mass, leg.position[k]))
    moment = add(matvec(leg.mount_rotation, moment), scale(mass, leg.mount_position))
    for i, value in enumerate((mass, *moment)):
        leg.trace.write("sum", COMPOSITE + i, value)
    return leg.trace


def trace_coriolis(leg_type: LegType, rows: Rows) -> Trace:
    """C_0i, C_i0 and C_ii of proposition 2, (45)-(51); the leg's momentum, and the rate of its composite inertia."""
    leg = LegProgram(leg_type, rows)
    n, zero = leg.n, leg.trace.zero
    V = leg.shared(TWIST, 6)
    rate = [leg.read("rate", k) for k in range(n)]
    J, _ = leg.geometry()
    composite = _composites(leg)
    A = [_times(composite[k], J[k]) for k in range(n)]

    def dA(l: Any, k: int) -> Any:
        if k <= l:
            return _coad(J[k], A[l])
        return _minus(_coad(J[k], _times(composite[k], J[l])), _times(composite[k], _bracket(J[k], J[l])))

    dA_table = [[dA(l, k) for k in range(n)] for l in range(n)]

    def dD(l: Any, m: Any, k: int) -> Any:
        """Derivative of the block's entry J^l . A_m, l <= m."""
        value = dot(J[l], dA_table[m][k])
        return value + dot(_bracket(J[k], J[l]), A[m]) if k < l else value

    dP: list[Any] = [None] * n
    dp = [[zero] * n for _ in range(n)]
    Mdot_arm = [[zero] * 6 for _ in range(n)]
    Mdot_block = [[zero] * n for _ in range(n)]
    momentum = _times(composite[0], V) if n else [zero] * 6
    for l in range(n):
        momentum = add(momentum, scale(rate[l], A[l]))
    h_rate, inertia_rate = (zero,) * 3, (zero,) * 6
    for k in range(n):
        # d M_00 / d q_k V, (35) summed over the links from k outward
        total = _minus(_coad(J[k], _times(composite[k], V)), _times(composite[k], _bracket(J[k], V)))
        for l in range(n):
            total = add(total, scale(rate[l], dA_table[l][k]))
            dp[l][k] = dp[l][k] + dot(dA_table[l][k], V)
            Mdot_arm[l] = add(Mdot_arm[l], scale(rate[k], dA_table[l][k]))
        dP[k] = total
        for l in range(n):
            for m in range(l, n):
                value = dD(l, m, k)
                dp[l][k] = dp[l][k] + value * rate[m]
                Mdot_block[l][m] = Mdot_block[l][m] + value * rate[k]
                if l != m:
                    dp[m][k] = dp[m][k] + value * rate[l]
                    Mdot_block[m][l] = Mdot_block[m][l] + value * rate[k]
        h_k, inertia_k = _inertia_rate(composite[k], J[k])
        h_rate, inertia_rate = add(h_rate, scale(rate[k], h_k)), add(inertia_rate, scale(rate[k], inertia_k))

    for k in range(n):
        for i in range(6):
            leg.write("upper", 6 * k + i, 0.5 * (Mdot_arm[k][i] + dP[k][i]))  # (46)
            leg.write("lower", 6 * k + i, 0.5 * (Mdot_arm[k][i] - dP[k][i]))  # (47)
        for l in range(n):
            value = 0.5 * (Mdot_block[k][l] + dp[k][l] - dp[l][k])  # (48)
            leg.write("square", rows.count * k + l, value)
    for i in range(6):
        leg.trace.write("sum", MOMENTUM + i, momentum[i])
    for i, value in enumerate((*h_rate, *inertia_rate)):
        leg.trace.write("sum", COMPOSITE_RATE + i, value)
    return leg.trace


def _composites(leg: LegProgram) -> list:
    """Inertia of the links from each joint outward, in the body frame."""
    composites: list[Any] = [None] * leg.n
    body: Any = None
    for k in reversed(range(leg.n)):
        body = leg.inertia[k] if body is None else add_inertia(leg.inertia[k], body)
        seen = body
        for inner in reversed(range(k + 1)):
            seen = move_inertia(seen, leg.rotation[inner], leg.position[inner])
            if inner == k:
                body = seen
        composites[k] = move_inertia(seen, leg.mount_rotation, leg.mount_position)
    return composites


def _times(body: Any, twist: Any) -> Any:
    v, w = inertia_times(body, twist[:3], twist[3:])
    return v + w


def _bracket(a: Any, b: Any) -> Any:
    """Lie bracket ad_a b of two twists."""
    return add(cross(a[3:], b[:3]), cross(a[:3], b[3:])) + cross(a[3:], b[3:])


def _coad(twist: Any, wrench: Any) -> Any:
    """-ad_V^T F = (w x f, v x f + w x m)."""
    v, w, force, moment = twist[:3], twist[3:], wrench[:3], wrench[3:]
    return cross(w, force) + add(cross(v, force), cross(w, moment))


def _minus(a: Any, b: Any) -> tuple[Any, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _inertia_rate(body: Any, twist: Any) -> tuple[Any, Any]:
    """Rates of h and I of a body that moves with a twist: h' = w x h + m v, and likewise I'."""
    mass, h, (xx, yy, zz, xy, xz, yz) = body
    v, w = twist[:3], twist[3:]
    matrix = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    # columns of [w] I; its symmetric part twice is [w] I - I [w]
    turned = [cross(w, column) for column in matrix]
    twice = 2.0 * dot(v, h)

    def entry(i: int, j: Any) -> Any:
        value = turned[j][i] + turned[i][j] - v[i] * h[j] - v[j] * h[i]
        return value + twice if i == j else value

    inertia = (entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2))
    return add(cross(w, h), scale(mass, v)), inertia
