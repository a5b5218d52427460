"""Compiled entry points for derivatives of inverse and forward dynamics; see entry_points.py and leg_derivatives.py.

The tangent of the configuration is that of nu: body translation and rotation in base_link axes (g exp([V]) on the
right), then the joints that move. Translation changes nothing; rotation turns gravity: u = R^T (0, 0, g) changes by
u x phi, and what an acceleration of the body does is the mass matrix, so that column k is M[:, :3] (u x e_k).
"""

from __future__ import annotations

from hexapod_dynamics.compiled import entry, inline_kernel, inlined
from hexapod_dynamics.dynamics.arrow import factor_legs, invert_head, solve_arrow_matrix, write_inverse
from hexapod_dynamics.dynamics.entry_points import (
    get_solution,
    open_call,
    set_acceleration,
    set_motion,
    set_torque,
)
from hexapod_dynamics.dynamics.kernels import leg_terms, run_kernels, solve_arrow
from hexapod_dynamics.dynamics.matrix_entry_points import add_skew, clear, write_mass
from hexapod_dynamics.dynamics.native import answer, integers, matrix, new_matrix, new_tuple, peek, put, vector
from hexapod_dynamics.dynamics.selection import scratch_of
from hexapod_dynamics.dynamics.workspace import (
    BODY,
    DERIVATIVES,
    GRAVITY,
    HEAD,
    HEAD_FORCE,
    TWIST,
    WRENCH_BY_TWIST,
)


@inline_kernel
def _write_derivatives(ws, free, rotation, by_conf, by_nu, mass):
    """Write the derivatives (6 + n, 6 + n) of inverse dynamics at the motion in `ws`; mass: the mass matrix.

    The columns of `by_conf` for rotations need only the mass matrix's first three columns.
    """
    s, lanes, rows = ws.shared, ws.lanes, ws.rows
    for i in range(36):
        s[WRENCH_BY_TWIST + i] = 0.0
    for i in range(6):
        s[HEAD_FORCE + i] = 0.0
    run_kernels(ws, DERIVATIVES)
    clear(by_conf)
    clear(by_nu)
    for r in range(6):
        for c in range(6):
            by_nu[r, c] = s[WRENCH_BY_TWIST + 6 * r + c]
    _add_body(ws, by_nu)
    n = free.shape[0]
    for i in range(n):
        j = free[i, 0]
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        for r in range(6):
            by_conf[r, 6 + i] = peek(lanes, block, rows.wrench_by_q + 6 * k + r, lane)
            by_nu[r, 6 + i] = peek(lanes, block, rows.wrench_by_rate + 6 * k + r, lane)
            by_nu[6 + i, r] = peek(lanes, block, rows.torque_by_twist + 6 * k + r, lane)
        for back in range(i + 1):  # joints of a leg follow each other
            other = i - back
            o = free[other, 0]
            if j - o > k:
                break
            l = ws.joints[o, 2]
            by_conf[6 + i, 6 + other] = peek(lanes, block, rows.torque_by_q + rows.count * k + l, lane)
            by_conf[6 + other, 6 + i] = peek(lanes, block, rows.torque_by_q + rows.count * l + k, lane)
            by_nu[6 + i, 6 + other] = peek(lanes, block, rows.torque_by_rate + rows.count * k + l, lane)
            by_nu[6 + other, 6 + i] = peek(lanes, block, rows.torque_by_rate + rows.count * l + k, lane)
    x, y, z = rotation[2, 0] * s[GRAVITY], rotation[2, 1] * s[GRAVITY], rotation[2, 2] * s[GRAVITY]
    for r in range(6 + n):  # u x e_k for k = 0, 1, 2
        a, b, c = mass[r, 0], mass[r, 1], mass[r, 2]
        by_conf[r, 3] = b * z - c * y
        by_conf[r, 4] = c * x - a * z
        by_conf[r, 5] = a * y - b * x


@inline_kernel
def _add_body(ws, by_nu):
    """Add the derivatives of the main body's bias: f = w x (m v + w x h), m = h x (w x v) + w x I w."""
    s = ws.shared
    mass, xx, yy, zz = s[BODY], s[BODY + 4], s[BODY + 5], s[BODY + 6]
    xy, xz, yz = s[BODY + 7], s[BODY + 8], s[BODY + 9]
    vx, vy, vz, wx, wy, wz = s[TWIST], s[TWIST + 1], s[TWIST + 2], s[TWIST + 3], s[TWIST + 4], s[TWIST + 5]
    add_skew(by_nu, 0, 0, mass * wx, mass * wy, mass * wz)
    add_skew(by_nu, 0, 3, -mass * vx, -mass * vy, -mass * vz)
    lx, ly, lz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
    add_skew(by_nu, 3, 3, -lx, -ly, -lz)
    for c in range(3):  # columns of [w] I
        ix = xx if c == 0 else (xy if c == 1 else xz)
        iy = xy if c == 0 else (yy if c == 1 else yz)
        iz = xz if c == 0 else (yz if c == 1 else zz)
        by_nu[3, 3 + c] += wy * iz - wz * iy
        by_nu[4, 3 + c] += wz * ix - wx * iz
        by_nu[5, 3 + c] += wx * iy - wy * ix
    h, v, w = (s[BODY + 1], s[BODY + 2], s[BODY + 3]), (vx, vy, vz), (wx, wy, wz)
    if h[0] == 0.0 and h[1] == 0.0 and h[2] == 0.0:
        return
    hw, hv = wx * h[0] + wy * h[1] + wz * h[2], vx * h[0] + vy * h[1] + vz * h[2]
    add_skew(by_nu, 0, 3, -(wy * h[2] - wz * h[1]), -(wz * h[0] - wx * h[2]), -(wx * h[1] - wy * h[0]))
    for r in range(3):  # [a][b] = b a^T - (a.b) 1
        for c in range(3):
            diagonal = 1.0 if r == c else 0.0
            by_nu[r, 3 + c] -= h[r] * w[c] - hw * diagonal  # -[w][h]
            by_nu[3 + r, c] += w[r] * h[c] - hw * diagonal  # [h][w]
            by_nu[3 + r, 3 + c] -= v[r] * h[c] - hv * diagonal  # -[h][v]


@inlined
def _three(words, size, columns):
    """A tuple of three new matrices (size, size), (size, size), (size, columns); 0 without memory."""
    result = new_tuple(words, 3)  # before anything is computed: a collection of garbage may call the model
    first, a = new_matrix(words, size, size)
    second, b = new_matrix(words, size, size)
    third, c = new_matrix(words, size, columns)
    if result != 0:
        put(words, result, 0, first)
        put(words, result, 1, second)
        put(words, result, 2, third)
        if first == 0 or second == 0 or third == 0:
            answer(words, result, False)
            result = 0
    return result, a, b, c


@entry
def inverse_derivatives(runtime, arguments, count):
    """(memory, R, q, nu, nudot): derivatives of inverse dynamics by configuration, by nu, and the mass matrix."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    nudot, size = vector(words, objects[4]), 6 + free.shape[0]
    result, by_conf, by_nu, mass = _three(words, size, size)
    good = result != 0 and set_motion(ws, flat, free, rotation, q, nu) and nudot.shape[0] == size
    if good:
        leg_terms(ws)
        write_mass(ws, free, mass)
        set_acceleration(ws, flat, free, nudot)
        _write_derivatives(ws, free, rotation, by_conf, by_nu, mass)
        good = _are_finite(by_conf, by_nu)
    return answer(words, result, good)


@inline_kernel
def _are_finite(a, b):
    total = 0.0
    for r in range(a.shape[0]):
        for c in range(a.shape[1]):
            # nan for what is not finite. Not zero times it: the LLVM of numba 0.55 drops both products of such a sum.
            total += (a[r, c] - a[r, c]) + (b[r, c] - b[r, c])
    return total == 0.0


@entry
def forward_derivatives(runtime, arguments, count):
    """(memory, R, q, nu, tau): derivatives of forward dynamics by configuration and nu, and by torques (6 + n, n).

    With D the derivatives of inverse dynamics at these accelerations: -M^-1 D; and M^-1 by the torques.
    """
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    tau, n = vector(words, objects[4]), free.shape[0]
    size = 6 + n
    result, by_conf, by_nu, by_tau = _three(words, size, n)
    memory, place = integers(objects[0]), n * (6 + ws.rows.count)
    legs, inverse = scratch_of(memory, 0, n, 6 + ws.rows.count), scratch_of(memory, place, 6, 6)
    accelerations = scratch_of(memory, place + 36, 1, size)[0]
    first = scratch_of(memory, place + 36 + size, size, 3)  # columns of the mass matrix; then head
    head, of_joints = scratch_of(memory, place + 36 + size, 6, size), scratch_of(memory, place + 36 + size, 6, n)
    good = result != 0 and set_motion(ws, flat, free, rotation, q, nu) and tau.shape[0] == n
    if not good:
        return answer(words, result, False)
    set_torque(ws, flat, free, tau)
    leg_terms(ws)
    _write_first_columns(ws, free, first)
    factor_legs(ws, free, legs)
    solve_arrow(ws)
    invert_head(ws, inverse)
    good = get_solution(ws, flat, free, accelerations)
    set_acceleration(ws, flat, free, accelerations)
    _write_derivatives(ws, free, rotation, by_conf, by_nu, first)
    solve_arrow_matrix(ws, free, legs, inverse, by_conf, head)
    solve_arrow_matrix(ws, free, legs, inverse, by_nu, head)
    write_inverse(ws, free, legs, inverse, by_tau, of_joints)
    return answer(words, result, good and _are_finite(by_conf, by_nu))


@inline_kernel
def _write_first_columns(ws, free, mass):
    for r in range(6):
        for c in range(3):
            mass[r, c] = ws.shared[HEAD + max(r, c) * (max(r, c) + 1) // 2 + min(r, c)]
    for i in range(free.shape[0]):
        j = free[i, 0]
        for c in range(3):
            mass[6 + i, c] = peek(ws.lanes, ws.joints[j, 0], ws.rows.arm + 6 * ws.joints[j, 2] + c, ws.joints[j, 1])
