"""Compiled entry points for what links do: their frames in the body, and the momentum M nu; see entry_points.py."""

from __future__ import annotations

from hexapod_dynamics.compiled import entry, kernel
from hexapod_dynamics.dynamics.entry_points import (
    BAD_NU,
    BAD_OUTPUT,
    BAD_Q,
    NOT_FINITE,
    OK,
    is_finite,
    open_call,
    set_q,
    set_row,
    set_still,
)
from hexapod_dynamics.dynamics.kernels import body_wrench, run_kernels
from hexapod_dynamics.dynamics.native import answer, matrix, vector
from hexapod_dynamics.dynamics.workspace import BASE_ACCELERATION, FRAMES, LINK_SIZE

# Columns of `frames`, in the body frame: rotation of the link's frame (9), where the link begins and ends (3 each), its
# joint's screw (6), mass (1) and mass times centre of mass from the body's origin (3).
FRAME, START, END, SCREW, MASS, MOMENT, LINK_COLUMNS = 0, 9, 12, 15, 21, 22, 25


@entry
def frames(runtime, arguments, count):
    """(memory, q, out): frames of all joints' links, out (joints, LINK_COLUMNS); missing: no mass; a status."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    return answer(words, _frames(ws, flat, free, vector(words, objects[1]), matrix(words, objects[2])))


@kernel
def _frames(ws, flat, free, q, out):
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return BAD_Q
    if out.shape[0] != ws.joints.shape[0] or out.shape[1] != LINK_COLUMNS:
        return BAD_OUTPUT
    run_kernels(ws, FRAMES)
    lanes, rows = ws.lanes, ws.rows
    for j in range(ws.joints.shape[0]):
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        for i in range(9):
            out[j, FRAME + i] = lanes[block, rows.frame + 9 * k + i, lane]
        for i in range(6):
            out[j, SCREW + i] = lanes[block, rows.screw + 6 * k + i, lane]
        link = rows.links + LINK_SIZE * k
        mass = lanes[block, link + 6, lane]
        out[j, MASS] = mass
        for r in range(3):
            reach = moment = 0.0
            for c in range(3):
                reach += out[j, FRAME + 3 * r + c] * lanes[block, link + 3 + c, lane]
                moment += out[j, FRAME + 3 * r + c] * lanes[block, link + 7 + c, lane]
            out[j, END + r] = lanes[block, rows.point + 3 * k + r, lane]
            out[j, START + r] = out[j, END + r] - reach
            out[j, MOMENT + r] = mass * out[j, START + r] + moment
    return OK


@entry
def momentum(runtime, arguments, count):
    """(memory, q, nu, out): generalised momentum M nu, out (6 + n,); a status.

    Inverse dynamics at rest without gravity.
    """
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, nu, out = vector(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    return answer(words, _momentum(ws, flat, free, q, nu, out))


@kernel
def _momentum(ws, flat, free, q, nu, out):
    if q.shape[0] != ws.joints.shape[0]:
        return BAD_Q
    if nu.shape[0] != 6 + free.shape[0]:
        return BAD_NU
    if out.shape[0] != 6 + free.shape[0]:
        return BAD_OUTPUT
    set_q(ws, flat, free, q)
    set_still(ws, flat, free)
    for i in range(6):
        ws.shared[BASE_ACCELERATION + i] = nu[i]
    set_row(ws, flat, free, ws.rows.qdd, nu, 6)
    body_wrench(ws, out)
    first = ws.rows.out * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        out[6 + i] = flat[first + free[i, 1]]
    return OK if is_finite(out) else NOT_FINITE
