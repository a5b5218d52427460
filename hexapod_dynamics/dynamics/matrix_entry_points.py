"""Compiled entry points for matrices and tip forces; see entry_points.py."""

from __future__ import annotations

from hexapod_dynamics.compiled import entry, inline_kernel
from hexapod_dynamics.dynamics.entry_points import (
    are_forces,
    body_force,
    is_finite,
    is_rotation,
    joint_share,
    open_call,
    set_q,
    set_row,
    tip_moment,
)
from hexapod_dynamics.dynamics.kernels import leg_terms, run_kernels
from hexapod_dynamics.dynamics.leg_matrices import COMPOSITE_RATE, MOMENTUM
from hexapod_dynamics.dynamics.native import ABSENCE, answer, matrix, new_matrix, new_vector, peek, refusal, vector
from hexapod_dynamics.dynamics.workspace import BODY, CORIOLIS, FRAMES, HEAD, TWIST


@inline_kernel
def clear(out):
    """Fill a matrix with zeros."""
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[r, c] = 0.0


@inline_kernel
def write_mass(ws, free, out):
    """Copy the arrow that `leg_terms` left to a full matrix, out (6 + n, 6 + n)."""
    clear(out)
    n, lanes, rows = free.shape[0], ws.lanes, ws.rows
    for r in range(6):
        for c in range(r + 1):
            out[r, c] = out[c, r] = ws.shared[HEAD + r * (r + 1) // 2 + c]
    for i in range(n):
        j = free[i, 0]
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        for r in range(6):
            out[r, 6 + i] = out[6 + i, r] = peek(lanes, block, rows.arm + 6 * k + r, lane)
        for back in range(i + 1):  # joints of a leg follow each other
            other = i - back
            o = free[other, 0]
            if j - o > k:
                break
            value = peek(lanes, block, rows.block + k * (k + 1) // 2 + ws.joints[o, 2], lane)
            out[6 + i, 6 + other] = out[6 + other, 6 + i] = value


@entry
def mass(runtime, arguments, count):
    """(memory, q): mass matrix (6 + n, 6 + n)."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    made, out = new_matrix(words, 6 + free.shape[0], 6 + free.shape[0])
    return answer(words, made, _mass(ws, flat, free, vector(words, objects[1]), out))


@inline_kernel
def _mass(ws, flat, free, q, out):
    if out.shape[0] == 0 or q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return False
    leg_terms(ws)
    write_mass(ws, free, out)
    return True


@entry
def coriolis(runtime, arguments, count):
    """(memory, q, nu): Coriolis matrix (6 + n, 6 + n)."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, nu = vector(words, objects[1]), vector(words, objects[2])
    made, out = new_matrix(words, 6 + free.shape[0], 6 + free.shape[0])
    return answer(words, made, _coriolis(ws, flat, free, q, nu, out))


@inline_kernel
def _coriolis(ws, flat, free, q, nu, out):
    n = free.shape[0]
    if out.shape[0] == 0 or q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return False
    if nu.shape[0] != 6 + n or not is_finite(nu):
        return False
    s, lanes, rows = ws.shared, ws.lanes, ws.rows
    for i in range(6):
        s[TWIST + i] = nu[i]
    set_row(ws, flat, free, rows.rate, nu, 6)
    for i in range(15):
        s[MOMENTUM + i] = 0.0
    # momentum of the main body: m v + w x h, h x v + I w
    i0, hx, hy, hz = BODY + 4, s[BODY + 1], s[BODY + 2], s[BODY + 3]
    vx, vy, vz, wx, wy, wz = nu[0], nu[1], nu[2], nu[3], nu[4], nu[5]
    s[MOMENTUM] = s[BODY] * vx + wy * hz - wz * hy
    s[MOMENTUM + 1] = s[BODY] * vy + wz * hx - wx * hz
    s[MOMENTUM + 2] = s[BODY] * vz + wx * hy - wy * hx
    s[MOMENTUM + 3] = s[i0] * wx + s[i0 + 3] * wy + s[i0 + 4] * wz + hy * vz - hz * vy
    s[MOMENTUM + 4] = s[i0 + 3] * wx + s[i0 + 1] * wy + s[i0 + 5] * wz + hz * vx - hx * vz
    s[MOMENTUM + 5] = s[i0 + 4] * wx + s[i0 + 5] * wy + s[i0 + 2] * wz + hx * vy - hy * vx
    run_kernels(ws, CORIOLIS)
    clear(out)
    # (45): half the composite inertia's rate, and the Lie group's -ad_V^T P as a skew matrix times V
    h = (0.5 * s[COMPOSITE_RATE], 0.5 * s[COMPOSITE_RATE + 1], 0.5 * s[COMPOSITE_RATE + 2])
    add_skew(out, 0, 3, -h[0], -h[1], -h[2])
    add_skew(out, 3, 0, h[0], h[1], h[2])
    for i in range(6):
        a = i if i < 3 else (0 if i < 5 else 1)
        b = i if i < 3 else (1 if i == 3 else 2)
        out[3 + a, 3 + b] = out[3 + b, 3 + a] = 0.5 * s[COMPOSITE_RATE + 3 + i]
    for row, column, part in ((0, 3, 0), (3, 0, 0), (3, 3, 3)):
        add_skew(out, row, column, -s[MOMENTUM + part], -s[MOMENTUM + part + 1], -s[MOMENTUM + part + 2])
    for i in range(n):
        j = free[i, 0]
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        for r in range(6):
            out[r, 6 + i] = peek(lanes, block, rows.upper + 6 * k + r, lane)
            out[6 + i, r] = peek(lanes, block, rows.lower + 6 * k + r, lane)
        for back in range(i + 1):  # joints of a leg follow each other
            other = i - back
            o = free[other, 0]
            if j - o > k:
                break
            l = ws.joints[o, 2]
            out[6 + i, 6 + other] = peek(lanes, block, rows.square + rows.count * k + l, lane)
            out[6 + other, 6 + i] = peek(lanes, block, rows.square + rows.count * l + k, lane)
    return True


@inline_kernel
def add_skew(matrix, row, column, x, y, z):
    """Add the skew matrix of (x, y, z) to the block of a matrix that begins at a row and column."""
    matrix[row, column + 1] -= z
    matrix[row, column + 2] += y
    matrix[row + 1, column] += z
    matrix[row + 1, column + 2] -= x
    matrix[row + 2, column] -= y
    matrix[row + 2, column + 1] += x


@entry
def tip_forces(runtime, arguments, count):
    """(memory, R, q, *forces): sum of J^T F (6 + n,) of tip forces (3,) [world axes], ABSENT where none is."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q = matrix(words, objects[1]), vector(words, objects[2])
    good = is_rotation(rotation) and q.shape[0] == ws.joints.shape[0] and set_q(ws, flat, free, q)
    if not (good and are_forces(words, objects, 3, ws)):
        return refusal(words)
    made, out = new_vector(words, 6 + free.shape[0])
    if made == 0:
        return made
    run_kernels(ws, FRAMES)
    for i in range(6):
        out[i] = 0.0
    at = 6
    for leg in range(ws.legs.shape[0]):
        block, lane, first = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 2]
        x = y = z = mx = my = mz = 0.0
        if objects[3 + leg] != words[ABSENCE]:
            force = vector(words, objects[3 + leg])
            x, y, z = body_force(rotation, force[0], force[1], force[2])
            mx, my, mz = tip_moment(ws, leg, x, y, z)
        out[0] += x
        out[1] += y
        out[2] += z
        out[3] += mx
        out[4] += my
        out[5] += mz
        for k in range(ws.legs[leg, 4] + 1):
            if ws.moving[first + k] != 0.0:
                out[at] = joint_share(ws, block, lane, k, x, y, z, mx, my, mz)
                at += 1
    return made
