"""Compiled entry points for derivatives of inverse and forward dynamics; see entry_points.py and leg_derivatives.py.

The tangent of the configuration is that of nu: body translation and rotation in base_link axes (g exp([V]) on the
right), then the joints that move. Translation changes nothing; rotation turns gravity: u = R^T (0, 0, g) changes by
u x phi, and what an acceleration of the body does is the mass matrix, so that column k is M[:, :3] (u x e_k).
"""

from __future__ import annotations

from hexapod_dynamics.compiled import entry, kernel
from hexapod_dynamics.dynamics.entry_points import (
    BAD_INPUT,
    BAD_OUTPUT,
    NOT_FINITE,
    OK,
    get_solution,
    is_finite,
    open_call,
    set_acceleration,
    set_motion,
    set_torque,
)
from hexapod_dynamics.dynamics.kernels import leg_terms, run_kernels, solve_forward
from hexapod_dynamics.dynamics.matrix_entry_points import clear, write_mass
from hexapod_dynamics.dynamics.native import answer, integers, matrix, vector
from hexapod_dynamics.dynamics.selection import scratch_of
from hexapod_dynamics.dynamics.workspace import (
    BODY,
    DERIVATIVES,
    ELIMINATE,
    GRAVITY,
    HEAD,
    HEAD_FORCE,
    TWIST,
    WRENCH_BY_TWIST,
)


@kernel
def _write_derivatives(ws, free, rotation, by_conf, by_nu, mass):
    """Derivatives (6 + n, 6 + n) of inverse dynamics at the motion set; mass: where the mass matrix is.

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
            by_conf[r, 6 + i] = lanes[block, rows.wrench_by_q + 6 * k + r, lane]
            by_nu[r, 6 + i] = lanes[block, rows.wrench_by_rate + 6 * k + r, lane]
            by_nu[6 + i, r] = lanes[block, rows.torque_by_twist + 6 * k + r, lane]
        for back in range(i + 1):  # joints of a leg follow each other
            other = i - back
            o = free[other, 0]
            if j - o > k:
                break
            l = ws.joints[o, 2]
            by_conf[6 + i, 6 + other] = lanes[block, rows.torque_by_q + rows.count * k + l, lane]
            by_conf[6 + other, 6 + i] = lanes[block, rows.torque_by_q + rows.count * l + k, lane]
            by_nu[6 + i, 6 + other] = lanes[block, rows.torque_by_rate + rows.count * k + l, lane]
            by_nu[6 + other, 6 + i] = lanes[block, rows.torque_by_rate + rows.count * l + k, lane]
    x, y, z = rotation[2, 0] * s[GRAVITY], rotation[2, 1] * s[GRAVITY], rotation[2, 2] * s[GRAVITY]
    for r in range(6 + n):  # u x e_k for k = 0, 1, 2
        a, b, c = mass[r, 0], mass[r, 1], mass[r, 2]
        by_conf[r, 3] = b * z - c * y
        by_conf[r, 4] = c * x - a * z
        by_conf[r, 5] = a * y - b * x


@kernel
def _add_body(ws, by_nu):
    """Add the main body's m w x v and w x I w."""
    s = ws.shared
    mass, xx, yy, zz = s[BODY], s[BODY + 4], s[BODY + 5], s[BODY + 6]
    xy, xz, yz = s[BODY + 7], s[BODY + 8], s[BODY + 9]
    vx, vy, vz, wx, wy, wz = s[TWIST], s[TWIST + 1], s[TWIST + 2], s[TWIST + 3], s[TWIST + 4], s[TWIST + 5]
    _add_skew(by_nu, 0, 0, mass * wx, mass * wy, mass * wz)
    _add_skew(by_nu, 0, 3, -mass * vx, -mass * vy, -mass * vz)
    lx, ly, lz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
    _add_skew(by_nu, 3, 3, -lx, -ly, -lz)
    for c in range(3):  # columns of [w] I
        ix = xx if c == 0 else (xy if c == 1 else xz)
        iy = xy if c == 0 else (yy if c == 1 else yz)
        iz = xz if c == 0 else (yz if c == 1 else zz)
        by_nu[3, 3 + c] += wy * iz - wz * iy
        by_nu[4, 3 + c] += wz * ix - wx * iz
        by_nu[5, 3 + c] += wx * iy - wy * ix


@kernel
def _add_skew(matrix, row, column, x, y, z):
    matrix[row, column + 1] -= z
    matrix[row, column + 2] += y
    matrix[row + 1, column] += z
    matrix[row + 1, column + 2] -= x
    matrix[row + 2, column] -= y
    matrix[row + 2, column + 1] += x


@entry
def inverse_derivatives(runtime, arguments, count):
    """(memory, R, q, nu, nudot, by_conf, by_nu, mass): derivatives, mass matrix, each (6 + n, 6 + n); a status."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    nudot, by_conf, by_nu = vector(words, objects[4]), matrix(words, objects[5]), matrix(words, objects[6])
    return answer(
        words, _inverse_derivatives(ws, flat, free, rotation, q, nu, nudot, by_conf, by_nu, matrix(words, objects[7]))
    )


@kernel
def _inverse_derivatives(ws, flat, free, rotation, q, nu, nudot, by_conf, by_nu, mass):
    status = set_motion(ws, flat, free, rotation, q, nu)
    if status != OK:
        return status
    n = free.shape[0]
    if nudot.shape[0] != 6 + n:
        return BAD_INPUT
    if not (_is_square(by_conf, n) and _is_square(by_nu, n) and _is_square(mass, n)):
        return BAD_OUTPUT
    leg_terms(ws)
    write_mass(ws, free, mass)
    set_acceleration(ws, flat, free, nudot)
    _write_derivatives(ws, free, rotation, by_conf, by_nu, mass)
    return _finite(by_conf, by_nu)


@kernel
def _is_square(out, n):
    return out.shape[0] == 6 + n and out.shape[1] == 6 + n


@kernel
def _finite(a, b):
    for r in range(a.shape[0]):
        if not (is_finite(a[r]) and is_finite(b[r])):
            return NOT_FINITE
    return OK


@entry
def forward_derivatives(runtime, arguments, count):
    """(memory, R, q, nu, tau, by_conf, by_nu, by_tau, mass, accelerations): derivatives of forward dynamics; a status.

    By configuration and by nu (6 + n, 6 + n) and by torques (6 + n, n). mass (6 + n, 6 + n) is room for intermediate
    results; accelerations (6 + n,) are written. With D the derivatives of inverse dynamics at these accelerations:
    -M^-1 D; and M^-1 by the torques.
    """
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    tau, by_conf, by_nu = vector(words, objects[4]), matrix(words, objects[5]), matrix(words, objects[6])
    by_tau, mass, accelerations = matrix(words, objects[7]), matrix(words, objects[8]), vector(words, objects[9])
    legs = scratch_of(integers(objects[0]))
    status = _forward_derivatives(
        ws, flat, free, rotation, q, nu, tau, by_conf, by_nu, by_tau, mass, accelerations, legs
    )
    return answer(words, status)


@kernel
def _forward_derivatives(ws, flat, free, rotation, q, nu, tau, by_conf, by_nu, by_tau, mass, accelerations, legs):
    status = set_motion(ws, flat, free, rotation, q, nu)
    if status != OK:
        return status
    n = free.shape[0]
    if tau.shape[0] != n:
        return BAD_INPUT
    if not (_is_square(by_conf, n) and _is_square(by_nu, n) and _is_square(mass, n)) or by_tau.shape[1] != n:
        return BAD_OUTPUT
    set_torque(ws, flat, free, tau)
    solve_forward(ws)
    status = get_solution(ws, flat, free, accelerations)
    if status != OK:
        return status
    leg_terms(ws)
    _write_first_columns(ws, free, mass)
    set_acceleration(ws, flat, free, accelerations)
    _write_derivatives(ws, free, rotation, by_conf, by_nu, mass)
    _factor_legs(ws, free, legs)
    run_kernels(ws, ELIMINATE)
    _invert_head(ws, mass)
    _solve(ws, free, legs, mass, by_conf, -1.0)
    _solve(ws, free, legs, mass, by_nu, -1.0)
    clear(by_tau)
    for i in range(n):
        by_tau[6 + i, i] = 1.0 if free[i, 2] == 1 else 0.0
    _solve(ws, free, legs, mass, by_tau, 1.0)
    return _finite(by_conf, by_nu)


@kernel
def _write_first_columns(ws, free, mass):
    for r in range(6):
        for c in range(3):
            mass[r, c] = ws.shared[HEAD + max(r, c) * (max(r, c) + 1) // 2 + min(r, c)]
    for i in range(free.shape[0]):
        j = free[i, 0]
        for c in range(3):
            mass[6 + i, c] = ws.lanes[ws.joints[j, 0], ws.rows.arm + 6 * ws.joints[j, 2] + c, ws.joints[j, 1]]


@kernel
def _leg_size(ws, free, start):
    """How many moving joints the leg has whose first one is `start` among the moving joints."""
    j, count = free[start, 0], 1
    while start + count < free.shape[0]:
        o = free[start + count, 0]
        if ws.joints[o, 0] != ws.joints[j, 0] or ws.joints[o, 1] != ws.joints[j, 1]:
            break
        count += 1
    return count


@kernel
def _factor_legs(ws, free, legs):
    """Write, for each moving joint, its row of B^-1 A^T (6) and of L D L^T = B: L, and 1 / D on the diagonal."""
    n, lanes, rows = free.shape[0], ws.lanes, ws.rows
    start = 0
    while start < n:
        count = _leg_size(ws, free, start)
        block, lane = ws.joints[free[start, 0], 0], ws.joints[free[start, 0], 1]
        for a in range(count):
            ka = ws.joints[free[start + a, 0], 2]
            for r in range(6):
                legs[start + a, r] = lanes[block, rows.arm + 6 * ka + r, lane]
            for b in range(a + 1):
                kb = ws.joints[free[start + b, 0], 2]
                legs[start + a, 6 + b] = lanes[block, rows.block + ka * (ka + 1) // 2 + kb, lane]
            for b in range(a):  # row a of L D, then of L
                for c in range(b):
                    legs[start + a, 6 + b] -= legs[start + a, 6 + c] * legs[start + b, 6 + c]
            pivot = legs[start + a, 6 + a]
            for b in range(a):
                factor = legs[start + a, 6 + b] * legs[start + b, 6 + b]
                pivot -= legs[start + a, 6 + b] * factor
                legs[start + a, 6 + b] = factor
            legs[start + a, 6 + a] = 1.0 / pivot
        _substitute(legs, start, count, legs, start, 6)
        start += count


@kernel
def _substitute(legs, start, count, x, row, columns):
    """Replace `count` rows of x from `row` on by B^-1 times them, for the leg whose factors begin at `start`."""
    for a in range(count):
        for b in range(a):
            factor = legs[start + a, 6 + b]
            for c in range(columns):
                x[row + a, c] -= factor * x[row + b, c]
    for back in range(count):
        a = count - 1 - back
        pivot = legs[start + a, 6 + a]
        for c in range(columns):
            x[row + a, c] *= pivot
        for b in range(a + 1, count):
            factor = legs[start + b, 6 + a]
            for c in range(columns):
                x[row + a, c] -= factor * x[row + b, c]


@kernel
def _invert_head(ws, out):
    """Write the inverse of the head's Schur complement, which `eliminate` left, to out[:6, :6]."""
    for r in range(6):
        for c in range(r + 1):
            out[r, c] = out[c, r] = ws.shared[HEAD + r * (r + 1) // 2 + c]
    for p in range(6):
        pivot = 1.0 / out[p, p]
        out[p, p] = 1.0
        for c in range(6):
            out[p, c] *= pivot
        for r in range(6):
            if r != p:
                factor = out[r, p]
                out[r, p] = 0.0
                for c in range(6):
                    out[r, c] -= factor * out[p, c]


@kernel
def _solve(ws, free, legs, head, x, sign):
    """Replace the right-hand sides x (6 + n, m) by sign M^-1 x: x0 = S^-1 (h - A B^-1 t) and B^-1 (t - A^T x0)."""
    n, m = free.shape[0], x.shape[1]
    for i in range(n):  # h - sum over the legs of (B^-1 A^T)^T t
        for r in range(6):
            factor = legs[i, r]
            for c in range(m):
                x[r, c] -= factor * x[6 + i, c]
    for c in range(m):
        h0, h1, h2, h3, h4, h5 = x[0, c], x[1, c], x[2, c], x[3, c], x[4, c], x[5, c]
        for r in range(6):
            x[r, c] = sign * (
                head[r, 0] * h0
                + head[r, 1] * h1
                + head[r, 2] * h2
                + head[r, 3] * h3
                + head[r, 4] * h4
                + head[r, 5] * h5
            )
    start = 0
    while start < n:
        count = _leg_size(ws, free, start)
        _substitute(legs, start, count, x, 6 + start, m)
        for a in range(start, start + count):
            for c in range(m):
                x[6 + a, c] *= sign
            for r in range(6):
                factor = legs[a, r]
                for c in range(m):
                    x[6 + a, c] -= factor * x[r, c]
        start += count
