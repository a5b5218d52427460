"""Compiled entry point for forward dynamics with held feet; see entry_points.py and arrow.py.

Each held tip has the Jacobian J_i = (Jb_i, Jq_i), by the body and by its own leg's joints. The forces f in body axes
solve sum_j D_ij f_j = -(acceleration of tip i without them), with K_i = Jb_i - Jq_i Y_i and

    D_ij = J_i M^-1 J_j^T = K_i S^-1 K_j^T  +  Jq_i B_i^-1 Jq_i^T  for i = j

and then act like any tip force. No matrix larger than D, 3 for each held foot, is factored.
"""

from __future__ import annotations

from hexapod_dynamics.compiled import entry, inline_kernel
from hexapod_dynamics.dynamics.arrow import factor_legs, invert_head, substitute_leg
from hexapod_dynamics.dynamics.entry_points import add_tip_force, get_solution, open_call, set_motion, set_torque
from hexapod_dynamics.dynamics.kernels import leg_terms, solve_arrow
from hexapod_dynamics.dynamics.native import (
    answer,
    integers,
    integers_at,
    matrix,
    new_tuple,
    new_vector,
    peek,
    put,
    vector,
)
from hexapod_dynamics.dynamics.point_entry_points import bias_at, first_column, point_velocity
from hexapod_dynamics.dynamics.selection import scratch_of
from hexapod_dynamics.dynamics.workspace import HEAD, HEAD_ACC

# Feet are held more than once over where a pivot of D is smaller than this share of D's largest diagonal entry.
LEAST_PIVOT = 1e-8


@inline_kernel
def _tip_rows(ws, flat, free, leg, nu, legs, K, Jq, Z, right):
    """K (3, 6), Jq^T and B^-1 Jq^T of a leg in its joints' rows (n, 3), and right (3,), less the tip's acceleration."""
    lanes, rows, s = ws.lanes, ws.rows, ws.shared
    block, lane, first, last = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 2], ws.legs[leg, 4]
    point = rows.point + 3 * last
    x, y, z = peek(lanes, block, point, lane), peek(lanes, block, point + 1, lane), peek(lanes, block, point + 2, lane)
    for r in range(3):
        for c in range(6):
            K[r, c] = 0.0
    K[0, 0] = K[1, 1] = K[2, 2] = 1.0
    K[0, 4], K[0, 5] = z, -y
    K[1, 3], K[1, 5] = -z, x
    K[2, 3], K[2, 4] = y, -x
    bx, by, bz, ux, uy, uz = bias_at(ws, free, leg, last, x, y, z, nu)
    wx, wy, wz = nu[3], nu[4], nu[5]
    vx, vy, vz = nu[0] + wy * z - wz * y + ux, nu[1] + wz * x - wx * z + uy, nu[2] + wx * y - wy * x + uz
    right[0] = -(bx + wy * vz - wz * vy)
    right[1] = -(by + wz * vx - wx * vz)
    right[2] = -(bz + wx * vy - wy * vx)
    for r in range(3):
        for c in range(6):
            right[r] -= K[r, c] * s[HEAD_ACC + c]
    start = at = first_column(ws, free, leg) - 6
    for k in range(last + 1):
        if ws.moving[first + k] == 0.0:
            continue
        Jq[at, 0], Jq[at, 1], Jq[at, 2] = point_velocity(ws, block, lane, k, x, y, z)
        acceleration = flat[rows.acc * lanes.shape[2] + free[at, 1]]
        for r in range(3):
            right[r] -= Jq[at, r] * acceleration
            Z[at, r] = Jq[at, r]
            for c in range(6):
                K[r, c] -= Jq[at, r] * legs[at, c]
        at += 1
    substitute_leg(legs, start, at - start, Z, start, 0, 3)
    return start, at


@inline_kernel
def _solve(D, x):
    """Replace x by D^-1 x, by D = L D L^T in its place; whether D is regular."""
    size, largest = x.shape[0], 0.0
    for r in range(size):
        largest = max(largest, D[r, r])
    for r in range(size):
        for c in range(r):
            for k in range(c):
                D[r, c] -= D[r, k] * D[c, k]
        pivot = D[r, r]
        for c in range(r):
            factor = D[r, c] / D[c, c]
            pivot -= D[r, c] * factor
            D[r, c] = factor
            x[r] -= factor * x[c]
        if not pivot > LEAST_PIVOT * largest:
            return False
        D[r, r] = pivot
    for r in range(size):
        x[r] /= D[r, r]
    for back in range(size):
        r = size - 1 - back
        for k in range(r + 1, size):
            x[r] -= D[k, r] * x[k]
    return True


@entry
def held(runtime, arguments, count):
    """(memory, R, q, nu, tau, *legs): accelerations (6 + n,) with the tips of those legs held, and their forces.

    One tuple of arrays, the forces (3,) in world axes. A leg is given as its index in an int64 array. Feet that are
    held more than once over are refused, too.
    """
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    tau, feet, n = vector(words, objects[4]), count - 5, free.shape[0]
    result = new_tuple(words, 1 + feet)  # before anything is computed: a collection of garbage may call the model
    good = result != 0 and set_motion(ws, flat, free, rotation, q, nu) and tau.shape[0] == n
    for foot in range(feet):
        good = good and ws.legs[integers_at(integers(objects[5 + foot]), (1,))[0], 4] >= 0
    if not good:
        return answer(words, result, False)
    # scratch: see selection.Template
    memory, size = integers(objects[0]), 3 * feet
    legs, place = scratch_of(memory, 0, n, 6 + ws.rows.count), n * (6 + ws.rows.count)
    inverse, place = scratch_of(memory, place, 6, 6), place + 36
    head, place = scratch_of(memory, place, 1, 27)[0], place + 27
    K, place = scratch_of(memory, place, size, 6), place + 6 * size
    W, place = scratch_of(memory, place, size, 6), place + 6 * size
    Jq, place = scratch_of(memory, place, n, 3), place + 3 * n
    Z, place = scratch_of(memory, place, n, 3), place + 3 * n
    D, place = scratch_of(memory, place, size, size), place + size * size
    forces = scratch_of(memory, place, 1, size)[0]

    set_torque(ws, flat, free, tau)
    leg_terms(ws)
    for i in range(27):
        head[i] = ws.shared[HEAD + i]
    factor_legs(ws, free, legs)
    solve_arrow(ws)
    invert_head(ws, inverse)
    for foot in range(feet):
        leg, at = integers_at(integers(objects[5 + foot]), (1,))[0], 3 * foot
        part = slice(at, at + 3)
        start, end = _tip_rows(ws, flat, free, leg, nu, legs, K[part], Jq, Z, forces[part])
        for r in range(3):
            for c in range(6):
                W[at + r, c] = 0.0
                for k in range(6):
                    W[at + r, c] += K[at + r, k] * inverse[k, c]
            for c in range(at + 3):
                D[at + r, c] = 0.0
                for k in range(6):
                    D[at + r, c] += W[at + r, k] * K[c, k]
            for c in range(3):
                for a in range(start, end):
                    D[at + r, at + c] += Jq[a, r] * Z[a, c]
    if not _solve(D, forces):
        return answer(words, result, False)
    for i in range(27):
        ws.shared[HEAD + i] = head[i]
    for foot in range(feet):
        leg, at = integers_at(integers(objects[5 + foot]), (1,))[0], 3 * foot
        add_tip_force(ws, leg, (forces[at], forces[at + 1], forces[at + 2]))
    solve_arrow(ws)
    made, out = new_vector(words, 6 + n)
    if made == 0:
        answer(words, result, False)
        return made
    put(words, result, 0, made)
    good = get_solution(ws, flat, free, out)
    for foot in range(feet):
        made, force = new_vector(words, 3)
        if made == 0:
            answer(words, result, False)
            return made
        put(words, result, 1 + foot, made)
        for r in range(3):
            at = 3 * foot
            force[r] = rotation[r, 0] * forces[at] + rotation[r, 1] * forces[at + 1] + rotation[r, 2] * forces[at + 2]
    return answer(words, result, good)
