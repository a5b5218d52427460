"""Compiled entry points for matrices and tip forces; see entry_points.py."""

from __future__ import annotations

from numba import carray

from hexapod_dynamics.compiled import entry, kernel
from hexapod_dynamics.dynamics.entry_points import (
    BAD_NU,
    BAD_OUTPUT,
    BAD_Q,
    BAD_ROTATION,
    MISSING,
    OK,
    body_force,
    check_forces,
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
from hexapod_dynamics.dynamics.native import ABSENCE, answer, integers, integers_at, matrix, vector
from hexapod_dynamics.dynamics.workspace import BODY, CORIOLIS, FRAMES, HEAD, TWIST


@kernel
def clear(out):
    """Fill a matrix with zeros."""
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[r, c] = 0.0


@kernel
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
            out[r, 6 + i] = out[6 + i, r] = lanes[block, rows.arm + 6 * k + r, lane]
        for back in range(i + 1):  # joints of a leg follow each other
            other = i - back
            o = free[other, 0]
            if j - o > k:
                break
            value = lanes[block, rows.block + k * (k + 1) // 2 + ws.joints[o, 2], lane]
            out[6 + i, 6 + other] = out[6 + other, 6 + i] = value


@entry
def mass(runtime, arguments, count):
    """(memory, q, out): mass matrix, out (6 + n, 6 + n); a status."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    return answer(words, _mass(ws, flat, free, vector(words, objects[1]), matrix(words, objects[2])))


@kernel
def _mass(ws, flat, free, q, out):
    n = free.shape[0]
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return BAD_Q
    if out.shape[0] != 6 + n or out.shape[1] != 6 + n:
        return BAD_OUTPUT
    leg_terms(ws)
    write_mass(ws, free, out)
    return OK


@entry
def coriolis(runtime, arguments, count):
    """(memory, q, nu, out): Coriolis matrix, out (6 + n, 6 + n); a status."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, nu, out = vector(words, objects[1]), vector(words, objects[2]), matrix(words, objects[3])
    return answer(words, _coriolis(ws, flat, free, q, nu, out))


@kernel
def _coriolis(ws, flat, free, q, nu, out):
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
    clear(out)
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
    for i in range(n):
        j = free[i, 0]
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        for r in range(6):
            out[r, 6 + i] = lanes[block, rows.upper + 6 * k + r, lane]
            out[6 + i, r] = lanes[block, rows.lower + 6 * k + r, lane]
        for back in range(i + 1):  # joints of a leg follow each other
            other = i - back
            o = free[other, 0]
            if j - o > k:
                break
            l = ws.joints[o, 2]
            out[6 + i, 6 + other] = lanes[block, rows.square + rows.count * k + l, lane]
            out[6 + other, 6 + i] = lanes[block, rows.square + rows.count * l + k, lane]
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
def tip(runtime, arguments, count):
    """(memory, q, out, leg, links): tip Jacobian of a leg, out (6, 6 + n); a status.

    leg (1,) is the leg's index as an int64 array; links (joints, 9): rotations link frame <- link axes.
    """
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, out, links = vector(words, objects[1]), matrix(words, objects[2]), matrix(words, objects[4])
    leg = carray(integers_at(integers(objects[3])), (1,))[0]
    return answer(words, _tip(ws, flat, free, leg, q, links, out))


@kernel
def _tip(ws, flat, free, leg, q, links, out):
    n = free.shape[0]
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return BAD_Q
    block, lane, first_joint, last = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 2], ws.legs[leg, 4]
    if last < 0:
        return MISSING
    if out.shape[0] != 6 or out.shape[1] != 6 + n:
        return BAD_OUTPUT
    run_kernels(ws, FRAMES)
    clear(out)
    lanes, rows = ws.lanes, ws.rows
    frame, point, axes = rows.frame + 9 * last, rows.point + 3 * last, links[first_joint + last]
    px, py, pz = lanes[block, point, lane], lanes[block, point + 1, lane], lanes[block, point + 2, lane]
    column = 6
    for i in range(n):
        if free[i, 0] < first_joint:
            column += 1
    for a in range(3):  # row a of the inverse rotation: the tip frame's axis a in the body frame
        x = y = z = 0.0
        for m in range(3):
            x += lanes[block, frame + m, lane] * axes[3 * m + a]
            y += lanes[block, frame + 3 + m, lane] * axes[3 * m + a]
            z += lanes[block, frame + 6 + m, lane] * axes[3 * m + a]
        out[a, 0] = out[3 + a, 3] = x
        out[a, 1] = out[3 + a, 4] = y
        out[a, 2] = out[3 + a, 5] = z
        # row . (v + w x p) = row . v + (p x row) . w
        mx, my, mz = py * z - pz * y, pz * x - px * z, px * y - py * x
        out[a, 3], out[a, 4], out[a, 5] = mx, my, mz
        at = column
        for k in range(last + 1):
            if ws.moving[first_joint + k] == 0.0:
                continue
            s = rows.screw + 6 * k
            wx, wy, wz = lanes[block, s + 3, lane], lanes[block, s + 4, lane], lanes[block, s + 5, lane]
            out[3 + a, at] = x * wx + y * wy + z * wz
            linear = x * lanes[block, s, lane] + y * lanes[block, s + 1, lane] + z * lanes[block, s + 2, lane]
            out[a, at] = linear + mx * wx + my * wy + mz * wz
            at += 1
    return OK


@entry
def tip_forces(runtime, arguments, count):
    """(memory, R, q, out, *forces): sum of J^T F, out (6 + n,); a status.

    forces: a tip force (3,) [world axes] or ABSENT for each leg.
    """
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, out = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    status = check_forces(words, objects, 4, ws)
    if not is_rotation(rotation):
        status = BAD_ROTATION
    elif q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        status = BAD_Q
    elif out.shape[0] != 6 + free.shape[0]:
        status = BAD_OUTPUT
    if status != OK:
        return answer(words, status)
    run_kernels(ws, FRAMES)
    for i in range(out.shape[0]):
        out[i] = 0.0
    at = 6
    for leg in range(ws.legs.shape[0]):
        block, lane, first = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 2]
        x = y = z = mx = my = mz = 0.0
        if objects[4 + leg] != words[ABSENCE]:
            force = vector(words, objects[4 + leg])
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
    return answer(words, OK)
