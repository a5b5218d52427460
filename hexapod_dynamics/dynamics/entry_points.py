"""Compiled entry points that Python calls: inputs checked, compact vectors (6 + n) in and out.

Each is a builtin (native.py) of the memory of one morphology (selection.py) and the inputs. It returns its result, or
None where it did not compute: callers then convert their input or refuse it. Different morphologies have memory of
their own, and a builtin keeps the interpreter's lock: threads may share a model.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.compiled import entry, inline_kernel, inlined
from hexapod_dynamics.dynamics.kernels import body_wrench, leg_terms, solve_arrow, solve_forward
from hexapod_dynamics.dynamics.native import (
    ABSENCE,
    answer,
    given,
    integers,
    matrix,
    new_vector,
    peek,
    refusal,
    runtime_words,
    vector,
)
from hexapod_dynamics.dynamics.selection import open_memory
from hexapod_dynamics.dynamics.workspace import BASE_ACCELERATION, GRAVITY, HEAD_ACC, HEAD_FORCE, TWIST

ROTATION_TOLERANCE = 1e-6
# Largest position [rad or m] of a joint. The reduction of angles by multiples of pi/2 (Cody and Waite) is exact up to
# here, with and without fused products; from 1e15 on its error is as large as the sine.
FARTHEST_POSITION = 1e6


@inlined
def open_call(runtime, arguments, count):
    """Words of the runtime and addresses of the arguments; of the memory, which comes first: see `open_memory`."""
    objects = given(arguments, count)
    ws, flat, free = open_memory(integers(objects[0]))
    return runtime_words(runtime), objects, ws, flat, free


@inline_kernel
def is_finite(array):
    """Whether a vector has no nan and no infinity."""
    even = odd = 0.0  # two sums, which need not wait for each other
    for i in range(array.shape[0] // 2):
        # nan for what is not finite. Not zero times it: the LLVM of numba 0.55 drops such products from sums.
        even += array[2 * i] - array[2 * i]
        odd += array[2 * i + 1] - array[2 * i + 1]
    if array.shape[0] % 2:
        odd += array[-1] - array[-1]
    return even + odd == 0.0


@inline_kernel
def is_rotation(rotation):
    """Whether a matrix is a (3, 3) rotation within ROTATION_TOLERANCE."""
    if rotation.shape[0] != 3 or rotation.shape[1] != 3:
        return False
    worst = 0.0
    for i in range(3):
        for j in range(i + 1):
            product = -1.0 if i == j else 0.0
            for k in range(3):
                product += rotation[i, k] * rotation[j, k]
            worst = max(worst, abs(product)) if product == product else np.inf
    determinant = (
        rotation[0, 0] * (rotation[1, 1] * rotation[2, 2] - rotation[1, 2] * rotation[2, 1])
        - rotation[0, 1] * (rotation[1, 0] * rotation[2, 2] - rotation[1, 2] * rotation[2, 0])
        + rotation[0, 2] * (rotation[1, 0] * rotation[2, 1] - rotation[1, 1] * rotation[2, 0])
    )
    return worst <= ROTATION_TOLERANCE and determinant > 0.0


@inline_kernel
def set_q(ws, flat, free, q):
    """Write the moving joints' positions, nan beyond FARTHEST_POSITION; whether all are finite and none is beyond."""
    first = ws.rows.q * ws.lanes.shape[2]
    total = 0.0
    for i in range(free.shape[0]):
        value = q[free[i, 0]]
        value = value if abs(value) <= FARTHEST_POSITION else np.nan
        flat[first + free[i, 1]] = value
        total += value - value  # as in `is_finite`
    return total == 0.0


@inline_kernel
def set_row(ws, flat, free, row, values, start):
    """Write a section of the lanes from compact values."""
    first = row * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = values[start + i]


@inline_kernel
def get_row(ws, flat, free, row, values, start):
    """Read a section of the lanes into compact values."""
    first = row * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        values[start + i] = flat[first + free[i, 1]]


@inline_kernel
def set_still(ws, flat, free):
    """Write zero velocities."""
    first = ws.rows.rate * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = 0.0
    for i in range(6):
        ws.shared[TWIST + i] = 0.0


@inline_kernel
def set_gravity(ws, rotation):
    """Let gravity act like an upward acceleration of the body: R^T (0, 0, g)."""
    for i in range(3):
        ws.shared[BASE_ACCELERATION + i] = rotation[2, i] * ws.shared[GRAVITY]
        ws.shared[BASE_ACCELERATION + 3 + i] = 0.0


@inline_kernel
def set_motion(ws, flat, free, rotation, q, nu):
    """Write a state; whether it is one."""
    if not is_rotation(rotation) or q.shape[0] != ws.joints.shape[0] or nu.shape[0] != 6 + free.shape[0]:
        return False
    set_q(ws, flat, free, q)
    for i in range(6):
        ws.shared[TWIST + i] = nu[i]
    set_gravity(ws, rotation)
    set_row(ws, flat, free, ws.rows.rate, nu, 6)
    return True


@inline_kernel
def set_torque(ws, flat, free, tau):
    """Write the motors' torques; a limp joint's is zero, whatever tau says."""
    first = ws.rows.torque * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = tau[i] * free[i, 2]


@inline_kernel
def get_solution(ws, flat, free, out):
    """Copy the accelerations to out (6 + n,); whether they are finite.

    What is not finite in the input is not in the output either, where one look finds it.
    """
    for i in range(6):
        out[i] = ws.shared[HEAD_ACC + i]
    get_row(ws, flat, free, ws.rows.acc, out, 6)
    return is_finite(out)


@inline_kernel
def set_acceleration(ws, flat, free, nudot):
    """Add the accelerations of a motion to a state that is set."""
    for i in range(6):
        ws.shared[BASE_ACCELERATION + i] += nudot[i]
    set_row(ws, flat, free, ws.rows.qdd, nudot, 6)


@inline_kernel
def _forward(ws, flat, free, rotation, q, nu, tau, out):
    if not set_motion(ws, flat, free, rotation, q, nu) or tau.shape[0] != free.shape[0] or out.shape[0] == 0:
        return False
    set_torque(ws, flat, free, tau)
    solve_forward(ws)
    return get_solution(ws, flat, free, out)


@entry
def forward(runtime, arguments, count):
    """(memory, R, q, nu, tau): accelerations (6 + n,) under joint torques tau (n,)."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    tau = vector(words, objects[4])
    made, out = new_vector(words, 6 + free.shape[0])
    return answer(words, made, _forward(ws, flat, free, rotation, q, nu, tau, out))


@inline_kernel
def body_force(rotation, fx, fy, fz):
    """A force in world axes, in the body's."""
    return (
        rotation[0, 0] * fx + rotation[1, 0] * fy + rotation[2, 0] * fz,
        rotation[0, 1] * fx + rotation[1, 1] * fy + rotation[2, 1] * fz,
        rotation[0, 2] * fx + rotation[1, 2] * fy + rotation[2, 2] * fz,
    )


@inline_kernel
def tip_moment(ws, leg, x, y, z):
    """Moment about the body's origin of a force at a leg's tip, body axes; needs the geometry."""
    block, lane, point = ws.legs[leg, 0], ws.legs[leg, 1], ws.rows.point + 3 * ws.legs[leg, 4]
    px, py, pz = (
        peek(ws.lanes, block, point, lane),
        peek(ws.lanes, block, point + 1, lane),
        peek(ws.lanes, block, point + 2, lane),
    )
    return py * z - pz * y, pz * x - px * z, px * y - py * x


@inline_kernel
def joint_share(ws, block, lane, k, x, y, z, mx, my, mz):
    """Return the torque of joint k that a wrench (body frame) on the links beyond it causes; needs the geometry."""
    lanes, s = ws.lanes, ws.rows.screw + 6 * k
    return (
        x * peek(lanes, block, s, lane)
        + y * peek(lanes, block, s + 1, lane)
        + z * peek(lanes, block, s + 2, lane)
        + mx * peek(lanes, block, s + 3, lane)
        + my * peek(lanes, block, s + 4, lane)
        + mz * peek(lanes, block, s + 5, lane)
    )


@inline_kernel
def add_tip_force(ws, leg, force):
    """Add a tip force (3,) in body axes to the right-hand side that `leg_terms` left."""
    x, y, z = force
    mx, my, mz = tip_moment(ws, leg, x, y, z)
    s = ws.shared
    s[HEAD_FORCE] += x
    s[HEAD_FORCE + 1] += y
    s[HEAD_FORCE + 2] += z
    s[HEAD_FORCE + 3] += mx
    s[HEAD_FORCE + 4] += my
    s[HEAD_FORCE + 5] += mz
    block, lane, first = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 2]
    for k in range(ws.legs[leg, 4] + 1):
        if ws.moving[first + k] != 0.0:
            ws.lanes[block, ws.rows.force + k, lane] += joint_share(ws, block, lane, k, x, y, z, mx, my, mz)


@entry
def forward_under(runtime, arguments, count):
    """(memory, R, q, nu, tau, *forces): as `forward`, under tip forces (3,) [world axes], ABSENT where none is."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    tau = vector(words, objects[4])
    good = set_motion(ws, flat, free, rotation, q, nu) and tau.shape[0] == free.shape[0]
    if not (good and are_forces(words, objects, 5, ws)):
        return refusal(words)
    set_torque(ws, flat, free, tau)
    leg_terms(ws)
    for leg in range(ws.legs.shape[0]):
        if objects[5 + leg] != words[ABSENCE]:
            force = vector(words, objects[5 + leg])
            add_tip_force(ws, leg, body_force(rotation, force[0], force[1], force[2]))
    solve_arrow(ws)
    made, out = new_vector(words, 6 + free.shape[0])
    return answer(words, made, made != 0 and get_solution(ws, flat, free, out))


@inline_kernel
def are_forces(words, objects, first, ws):
    """Whether the arguments from `first` on are a force (3,) for each existing leg, or ABSENT."""
    for leg in range(ws.legs.shape[0]):
        if objects[first + leg] != words[ABSENCE]:
            force = vector(words, objects[first + leg])
            if ws.legs[leg, 4] < 0 or force.shape[0] != 3 or not is_finite(force):
                return False
    return True


@inline_kernel
def _inverse(ws, flat, free, rotation, q, nu, nudot, out):
    if not set_motion(ws, flat, free, rotation, q, nu) or nudot.shape[0] != 6 + free.shape[0] or out.shape[0] == 0:
        return False
    set_acceleration(ws, flat, free, nudot)
    body_wrench(ws, out)
    get_row(ws, flat, free, ws.rows.out, out, 6)
    return is_finite(out)


@entry
def inverse(runtime, arguments, count):
    """(memory, R, q, nu, nudot): wrench on the base and joint torques (6 + n,) of a motion."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q, nu = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    nudot = vector(words, objects[4])
    made, out = new_vector(words, 6 + free.shape[0])
    return answer(words, made, _inverse(ws, flat, free, rotation, q, nu, nudot, out))


@inline_kernel
def _gravity(ws, flat, free, rotation, q, out):
    if not is_rotation(rotation) or q.shape[0] != ws.joints.shape[0] or out.shape[0] == 0:
        return False
    set_q(ws, flat, free, q)
    set_still(ws, flat, free)
    set_gravity(ws, rotation)
    first = ws.rows.qdd * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = 0.0
    body_wrench(ws, out)
    get_row(ws, flat, free, ws.rows.out, out, 6)
    return is_finite(out)


@entry
def gravity(runtime, arguments, count):
    """(memory, R, q): gravity (6 + n,) on the left-hand side, inverse dynamics at rest."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, q = matrix(words, objects[1]), vector(words, objects[2])
    made, out = new_vector(words, 6 + free.shape[0])
    return answer(words, made, _gravity(ws, flat, free, rotation, q, out))
