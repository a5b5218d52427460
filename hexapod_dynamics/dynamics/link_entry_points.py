"""Compiled entry points for mass, momentum and energy; see entry_points.py."""

from __future__ import annotations

from hexapod_dynamics.compiled import entry, inline_kernel
from hexapod_dynamics.dynamics.entry_points import is_finite, is_rotation, open_call, set_q, set_row, set_still
from hexapod_dynamics.dynamics.kernels import body_wrench, run_kernels
from hexapod_dynamics.dynamics.native import answer, float_answer, integers, matrix, new_vector, refusal, vector
from hexapod_dynamics.dynamics.selection import scratch_of
from hexapod_dynamics.dynamics.workspace import BASE_ACCELERATION, BODY, CENTER, COMPOSITE, GRAVITY


@inline_kernel
def mass_moment(ws):
    """Mass of all, and mass times centre of mass, in the body frame; the joints' positions are set."""
    s = ws.shared
    for i in range(4):
        s[COMPOSITE + i] = s[BODY + i]
    run_kernels(ws, CENTER)
    return s[COMPOSITE], s[COMPOSITE + 1], s[COMPOSITE + 2], s[COMPOSITE + 3]


@entry
def center(runtime, arguments, count):
    """(memory, R, p, q): centre of mass (3,) in the world."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, position, q = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    if not is_rotation(rotation) or position.shape[0] != 3 or q.shape[0] != ws.joints.shape[0]:
        return refusal(words)
    set_q(ws, flat, free, q)
    mass, hx, hy, hz = mass_moment(ws)
    x, y, z = hx / mass, hy / mass, hz / mass
    made, out = new_vector(words, 3)
    if made == 0:
        return made
    for r in range(3):
        out[r] = position[r] + rotation[r, 0] * x + rotation[r, 1] * y + rotation[r, 2] * z
    return answer(words, made, is_finite(out))


@entry
def potential_energy(runtime, arguments, count):
    """(memory, R, p, q): energy [J] of gravity, zero for a centre of mass at height 0."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, position, q = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    if not is_rotation(rotation) or position.shape[0] != 3 or q.shape[0] != ws.joints.shape[0]:
        return refusal(words)
    if not (is_finite(position) and set_q(ws, flat, free, q)):
        return refusal(words)
    mass, x, y, z = mass_moment(ws)
    moment = mass * position[2] + rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
    return float_answer(words, ws.shared[GRAVITY] * moment)


@inline_kernel
def set_momentum(ws, flat, free, q, nu, head):
    """Momentum M nu: the body's rows (6,) in head, the joints' in the section `out`; whether the input is good.

    Inverse dynamics at rest without gravity.
    """
    if q.shape[0] != ws.joints.shape[0] or nu.shape[0] != 6 + free.shape[0]:
        return False
    set_q(ws, flat, free, q)
    set_still(ws, flat, free)
    for i in range(6):
        ws.shared[BASE_ACCELERATION + i] = nu[i]
    set_row(ws, flat, free, ws.rows.qdd, nu, 6)
    body_wrench(ws, head)
    return True


@entry
def centroidal_momentum(runtime, arguments, count):
    """(memory, R, q, nu): momentum (6,), linear, then angular about the centre of mass, world axes."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    made, out = new_vector(words, 6)
    good = made != 0 and is_rotation(rotation) and set_momentum(ws, flat, free, q, nu, out)
    if not good:
        return answer(words, made, False)
    mass, x, y, z = mass_moment(ws)
    px, py, pz = out[0], out[1], out[2]
    x, y, z = x / mass, y / mass, z / mass
    lx, ly, lz = out[3] - (y * pz - z * py), out[4] - (z * px - x * pz), out[5] - (x * py - y * px)
    for r in range(3):
        out[r] = rotation[r, 0] * px + rotation[r, 1] * py + rotation[r, 2] * pz
        out[3 + r] = rotation[r, 0] * lx + rotation[r, 1] * ly + rotation[r, 2] * lz
    return answer(words, made, is_finite(out) and is_finite(nu))


@entry
def kinetic_energy(runtime, arguments, count):
    """(memory, q, nu): 1/2 nu^T M nu [J]."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, nu = vector(words, objects[1]), vector(words, objects[2])
    head = scratch_of(integers(objects[0]), 0, 1, 6)[0]
    if not set_momentum(ws, flat, free, q, nu, head):
        return refusal(words)
    energy = 0.0
    for i in range(6):
        energy += head[i] * nu[i]
    first = ws.rows.out * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        energy += flat[first + free[i, 1]] * nu[6 + i]
    return float_answer(words, 0.5 * energy)
