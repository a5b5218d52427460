"""Compiled entry points for matrices and tip forces; see calls.py."""

from __future__ import annotations

from hexapod_dynamics.dynamics.calls import (
    BAD_INPUT,
    BAD_NU,
    BAD_OUTPUT,
    BAD_Q,
    BAD_ROTATION,
    OK,
    is_finite,
    is_rotation,
    open_handle,
    set_q,
    set_row,
)
from hexapod_dynamics.dynamics.kernel_cache import entry, kernel
from hexapod_dynamics.dynamics.kernels import leg_terms, run_kernels
from hexapod_dynamics.dynamics.leg_matrices import COMPOSITE_RATE, MOMENTUM
from hexapod_dynamics.dynamics.memory import BODY, CORIOLIS, FRAMES, HEAD, TWIST


@entry
def mass(address, q, out):
    """Mass matrix, out (6 + n, 6 + n); a status."""
    _, ws, flat, free = open_handle(address)
    n = free.shape[0]
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return BAD_Q
    if out.shape[0] != 6 + n or out.shape[1] != 6 + n:
        return BAD_OUTPUT
    lanes, rows = ws.lanes, ws.rows
    leg_terms(ws)
    for r in range(6):
        for c in range(r + 1):
            out[r, c] = out[c, r] = ws.shared[HEAD + r * (r + 1) // 2 + c]
    for i in range(n):
        j = free[i, 0]
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        for r in range(6):
            out[r, 6 + i] = out[6 + i, r] = lanes[block, rows.arm + 6 * k + r, lane]
        for other in range(i + 1):
            o = free[other, 0]
            value = 0.0
            if ws.joints[o, 0] == block and ws.joints[o, 1] == lane:
                value = lanes[block, rows.block + k * (k + 1) // 2 + ws.joints[o, 2], lane]
            out[6 + i, 6 + other] = out[6 + other, 6 + i] = value
    return OK


@entry
def coriolis(address, q, nu, out):
    """Coriolis matrix, out (6 + n, 6 + n), zeros on entry; a status."""
    _, ws, flat, free = open_handle(address)
    n = free.shape[0]
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return BAD_Q
    if nu.shape[0] != 6 + n or not is_finite(nu):
        return BAD_NU
    if out.shape[0] != 6 + n or out.shape[1] != 6 + n:
        return BAD_OUTPUT
    s, lanes, rows = ws.shared, ws.lanes, ws.rows
    for i in range(6):
        s[TWIST + i] = nu[i]
    set_row(ws, flat, free, rows.rate, nu, 6)
    for i in range(15):
        s[MOMENTUM + i] = 0.0
    # momentum of the main body, whose centre of mass is its frame's origin
    i0 = BODY + 4
    s[MOMENTUM] = s[BODY] * nu[0]
    s[MOMENTUM + 1] = s[BODY] * nu[1]
    s[MOMENTUM + 2] = s[BODY] * nu[2]
    s[MOMENTUM + 3] = s[i0] * nu[3] + s[i0 + 3] * nu[4] + s[i0 + 4] * nu[5]
    s[MOMENTUM + 4] = s[i0 + 3] * nu[3] + s[i0 + 1] * nu[4] + s[i0 + 5] * nu[5]
    s[MOMENTUM + 5] = s[i0 + 4] * nu[3] + s[i0 + 5] * nu[4] + s[i0 + 2] * nu[5]
    run_kernels(ws, CORIOLIS)
    # (45): half the composite inertia's rate, and the Lie group's -ad_V^T P as a skew matrix times V
    h = (0.5 * s[COMPOSITE_RATE], 0.5 * s[COMPOSITE_RATE + 1], 0.5 * s[COMPOSITE_RATE + 2])
    _set_skew(out, 0, 3, -h[0], -h[1], -h[2])
    _set_skew(out, 3, 0, h[0], h[1], h[2])
    for i in range(6):
        a = i if i < 3 else (0 if i < 5 else 1)
        b = i if i < 3 else (1 if i == 3 else 2)
        out[3 + a, 3 + b] = out[3 + b, 3 + a] = 0.5 * s[COMPOSITE_RATE + 3 + i]
    for row, column, part in ((0, 3, 0), (3, 0, 0), (3, 3, 3)):
        _set_skew(out, row, column, -s[MOMENTUM + part], -s[MOMENTUM + part + 1], -s[MOMENTUM + part + 2])
    places = rows.size
    lower, square = places + 6 * rows.count, places + 12 * rows.count
    for i in range(n):
        j = free[i, 0]
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        for r in range(6):
            out[r, 6 + i] = lanes[block, places + 6 * k + r, lane]
            out[6 + i, r] = lanes[block, lower + 6 * k + r, lane]
        for other in range(n):
            o = free[other, 0]
            if ws.joints[o, 0] == block and ws.joints[o, 1] == lane:
                out[6 + i, 6 + other] = lanes[block, square + rows.count * k + ws.joints[o, 2], lane]
    return OK


@kernel
def _set_skew(matrix, row, column, x, y, z):
    """Add [x, y, z]'s skew matrix to a block."""
    matrix[row, column + 1] -= z
    matrix[row, column + 2] += y
    matrix[row + 1, column] += z
    matrix[row + 1, column + 2] -= x
    matrix[row + 2, column] -= y
    matrix[row + 2, column + 1] += x


@entry
def tip(address, leg, q, link_rotation, out):
    """Tip Jacobian of the leg of that index, out (6, 6 + n), zeros on entry; a status.

    link_rotation (3, 3): link frame <- link axes, of the last existing link.
    """
    _, ws, flat, free = open_handle(address)
    n = free.shape[0]
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return BAD_Q
    if out.shape[0] != 6 or out.shape[1] != 6 + n:
        return BAD_OUTPUT
    run_kernels(ws, FRAMES)
    lanes, rows = ws.lanes, ws.rows
    block, lane, last = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 4]
    frame, point = rows.size + 12 * rows.count + rows.count * rows.count + 9 * last, rows.point + 3 * last
    px, py, pz = lanes[block, point, lane], lanes[block, point + 1, lane], lanes[block, point + 2, lane]
    for a in range(3):  # row a of the inverse rotation: the tip frame's axis a in the body frame
        x = y = z = 0.0
        for m in range(3):
            x += lanes[block, frame + m, lane] * link_rotation[m, a]
            y += lanes[block, frame + 3 + m, lane] * link_rotation[m, a]
            z += lanes[block, frame + 6 + m, lane] * link_rotation[m, a]
        out[a, 0] = out[3 + a, 3] = x
        out[a, 1] = out[3 + a, 4] = y
        out[a, 2] = out[3 + a, 5] = z
        # row . (v + w x p) = row . v + (p x row) . w
        mx, my, mz = py * z - pz * y, pz * x - px * z, px * y - py * x
        out[a, 3], out[a, 4], out[a, 5] = mx, my, mz
        for i in range(n):
            j = free[i, 0]
            k = ws.joints[j, 2]
            if ws.joints[j, 0] == block and ws.joints[j, 1] == lane and k <= last:
                first = rows.screw + 6 * k
                wx, wy, wz = lanes[block, first + 3, lane], lanes[block, first + 4, lane], lanes[block, first + 5, lane]
                out[3 + a, 6 + i] = x * wx + y * wy + z * wz
                out[a, 6 + i] = (
                    x * lanes[block, first, lane]
                    + y * lanes[block, first + 1, lane]
                    + z * lanes[block, first + 2, lane]
                    + mx * wx
                    + my * wy
                    + mz * wz
                )
    return OK


@entry
def tip_force(address, leg, rotation, q, force, out):
    """Add J^T F of a force (3,) [world axes] at a leg's tip to out (6 + n,): body rows first; a status."""
    _, ws, flat, free = open_handle(address)
    n = free.shape[0]
    if not is_rotation(rotation):
        return BAD_ROTATION
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return BAD_Q
    if force.shape[0] != 3 or not is_finite(force):
        return BAD_INPUT
    if out.shape[0] != 6 + n:
        return BAD_OUTPUT
    run_kernels(ws, FRAMES)
    lanes, rows = ws.lanes, ws.rows
    block, lane, last = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 4]
    point = rows.point + 3 * last
    px, py, pz = lanes[block, point, lane], lanes[block, point + 1, lane], lanes[block, point + 2, lane]
    x = rotation[0, 0] * force[0] + rotation[1, 0] * force[1] + rotation[2, 0] * force[2]
    y = rotation[0, 1] * force[0] + rotation[1, 1] * force[1] + rotation[2, 1] * force[2]
    z = rotation[0, 2] * force[0] + rotation[1, 2] * force[1] + rotation[2, 2] * force[2]
    mx, my, mz = py * z - pz * y, pz * x - px * z, px * y - py * x
    out[0] += x
    out[1] += y
    out[2] += z
    out[3] += mx
    out[4] += my
    out[5] += mz
    for i in range(n):
        j = free[i, 0]
        k = ws.joints[j, 2]
        if ws.joints[j, 0] == block and ws.joints[j, 1] == lane and k <= last:
            first = rows.screw + 6 * k
            out[6 + i] += (
                x * lanes[block, first, lane]
                + y * lanes[block, first + 1, lane]
                + z * lanes[block, first + 2, lane]
                + mx * lanes[block, first + 3, lane]
                + my * lanes[block, first + 4, lane]
                + mz * lanes[block, first + 5, lane]
            )
    return OK
