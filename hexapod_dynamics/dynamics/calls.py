"""Compiled entry points that Python calls: inputs checked, compact vectors (6 + n) in and out, nothing allocated.

A call passes one address instead of a dozen arrays: unpacking an array costs more than a leg's dynamics. Signatures are
fixed, so arrays of another kind raise TypeError instead of compiling; callers then convert or refuse. The interpreter's
lock is kept, so that threads that share a model take turns.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from hexapod_dynamics.dynamics.kernel_cache import entry, kernel
from hexapod_dynamics.dynamics.kernels import body_wrench, solve_forward
from hexapod_dynamics.dynamics.memory import (
    BASE_ACCELERATION,
    CUT_SIZE,
    GRAVITY,
    HEAD_ACC,
    LINK_SIZE,
    SHARED_SIZE,
    TWIST,
    Rows,
    Workspace,
)
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels, set_morphology

OK, BAD_ROTATION, BAD_Q, BAD_NU, BAD_INPUT, BAD_OUTPUT, NOT_FINITE = range(7)
ROTATION_TOLERANCE = 1e-6


# Places in a descriptor: addresses of arrays, their sizes, the number n of moving joints, the fields of Rows.
(
    LANES, SHARED, LEGS, JOINTS, MOVING, LOCKED, CODE, SOLVE_HEAD, FREE, LINKS, CUT,
    BLOCKS, ROW_COUNT, WIDTH, LEG_COUNT, JOINT_COUNT, COUNT, ROWS,
) = range(18)
DESCRIPTOR_SIZE = ROWS + len(Rows._fields)


class Handle:
    """A workspace that compiled entry points find by its address."""

    def __init__(self, kernels: RobotKernels):
        self.kernels = kernels
        self.workspace = ws = kernels.workspace()
        self.free = np.zeros((len(ws.joints), 2), dtype=np.int64)  # joints that move: see open_handle
        arrays = [ws.lanes, ws.shared, ws.legs, ws.joints, ws.moving, ws.locked, ws.code, ws.solve_head, self.free]
        arrays += [kernels.links, kernels.cut]
        sizes = [*ws.lanes.shape, len(ws.legs), len(ws.joints), len(ws.joints)]
        self._descriptor = np.array([array.ctypes.data for array in arrays] + sizes + list(ws.rows), dtype=np.int64)
        self.address = int(self._descriptor.ctypes.data)


@intrinsic
def _floats(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), generate


@intrinsic
def _integers(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@kernel
def _workspace(d):
    """Workspace of a descriptor."""
    r, joints = ROWS, d[JOINT_COUNT]
    return Workspace(
        carray(_floats(d[LANES]), (d[BLOCKS], d[ROW_COUNT], d[WIDTH])),
        carray(_floats(d[SHARED]), (SHARED_SIZE,)),
        carray(_integers(d[LEGS]), (d[LEG_COUNT], 5)),
        carray(_integers(d[JOINTS]), (joints, 3)),
        carray(_floats(d[MOVING]), (joints,)),
        carray(_floats(d[LOCKED]), (joints,)),
        carray(_integers(d[CODE]), (d[BLOCKS], 7)),
        carray(_integers(d[SOLVE_HEAD]), (1,)),
        Rows(
            d[r], d[r + 1], d[r + 2], d[r + 3], d[r + 4], d[r + 5], d[r + 6], d[r + 7], d[r + 8], d[r + 9],
            d[r + 10], d[r + 11], d[r + 12], d[r + 13], d[r + 14], d[r + 15], d[r + 16], d[r + 17], d[r + 18],
        ),
    )


@kernel
def open_handle(address):
    """Descriptor, workspace, its lanes as one row, and the joints that move: (n, 2), the joint's index among all and
    its place in row 0 of a section in those lanes.
    """
    d = carray(_integers(address), (DESCRIPTOR_SIZE,))
    flat = carray(_floats(d[LANES]), (d[BLOCKS] * d[ROW_COUNT] * d[WIDTH],))
    return d, _workspace(d), flat, carray(_integers(d[FREE]), (d[COUNT], 2))


@kernel
def is_finite(array):
    """Whether a vector has no nan and no infinity."""
    even = odd = 0.0  # two sums, which need not wait for each other
    for i in range(array.shape[0] // 2):
        even += array[2 * i] * 0.0  # nan for what is not finite
        odd += array[2 * i + 1] * 0.0
    if array.shape[0] % 2:
        odd += array[-1] * 0.0
    return even + odd == 0.0


@kernel
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


@kernel
def set_q(ws, flat, free, q):
    """Write the moving joints' positions; whether all are finite."""
    first = ws.rows.q * ws.lanes.shape[2]
    total = 0.0
    for i in range(free.shape[0]):
        value = q[free[i, 0]]
        flat[first + free[i, 1]] = value
        total += value * 0.0
    return total == 0.0


@kernel
def set_row(ws, flat, free, row, values, start):
    """Write a section of the lanes from compact values."""
    first = row * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = values[start + i]


@kernel
def get_row(ws, flat, free, row, values, start):
    """Read a section of the lanes into compact values."""
    first = row * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        values[start + i] = flat[first + free[i, 1]]


@kernel
def _set_motion(ws, flat, free, rotation, q, nu):
    """Write a state; a status."""
    if not is_rotation(rotation):
        return BAD_ROTATION
    if q.shape[0] != ws.joints.shape[0]:
        return BAD_Q
    if nu.shape[0] != 6 + free.shape[0]:
        return BAD_NU
    set_q(ws, flat, free, q)
    shared = ws.shared
    for i in range(6):
        shared[TWIST + i] = nu[i]
    for i in range(3):
        shared[BASE_ACCELERATION + i] = rotation[2, i] * shared[GRAVITY]
        shared[BASE_ACCELERATION + 3 + i] = 0.0
    set_row(ws, flat, free, ws.rows.rate, nu, 6)
    return OK


INTEGER, VECTOR, MATRIX = types.int64, types.float64[::1], types.float64[:, ::1]
TABLE = types.Array(types.float64, 2, "C", readonly=True)


def compiled(function, *arguments):
    """Compile an entry point for these arguments after its address, and for nothing else."""
    if not function.signatures:
        function.compile(types.int64(types.int64, *arguments))
        function.disable_compile()
    return function


@entry
def change(address, table):
    """Set a morphology's table; the number n of moving joints."""
    d, ws, _, _ = open_handle(address)
    joints = d[JOINT_COUNT]
    links, cut = carray(_floats(d[LINKS]), (joints, LINK_SIZE)), carray(_floats(d[CUT]), (joints, CUT_SIZE))
    set_morphology(ws, links, cut, table)
    free = carray(_integers(d[FREE]), (joints, 2))
    n = 0
    for j in range(joints):
        if table[1, j] != 0.0:
            free[n, 0] = j
            free[n, 1] = (ws.joints[j, 0] * d[ROW_COUNT] + ws.joints[j, 2]) * d[WIDTH] + ws.joints[j, 1]
            n += 1
    d[COUNT] = n
    return n


@entry
def forward(address, rotation, q, nu, tau, out):
    """Accelerations (6 + n,) under joint torques tau (n,) and the EXTERNAL wrench; a status.

    What is not finite in the input is not in the output either, where one look finds it.
    """
    _, ws, flat, free = open_handle(address)
    status = _set_motion(ws, flat, free, rotation, q, nu)
    if status != OK:
        return status
    if tau.shape[0] != free.shape[0]:
        return BAD_INPUT
    if out.shape[0] != 6 + free.shape[0]:
        return BAD_OUTPUT
    set_row(ws, flat, free, ws.rows.torque, tau, 0)
    solve_forward(ws)
    for i in range(6):
        out[i] = ws.shared[HEAD_ACC + i]
    get_row(ws, flat, free, ws.rows.acc, out, 6)
    return OK if is_finite(out) else NOT_FINITE


@entry
def inverse(address, rotation, q, nu, nudot, out):
    """Wrench on the base and joint torques (6 + n,) of a motion; a status, as of `forward`."""
    _, ws, flat, free = open_handle(address)
    status = _set_motion(ws, flat, free, rotation, q, nu)
    if status != OK:
        return status
    if nudot.shape[0] != 6 + free.shape[0]:
        return BAD_INPUT
    if out.shape[0] != 6 + free.shape[0]:
        return BAD_OUTPUT
    for i in range(6):
        ws.shared[BASE_ACCELERATION + i] += nudot[i]
    set_row(ws, flat, free, ws.rows.qdd, nudot, 6)
    body_wrench(ws, out)
    get_row(ws, flat, free, ws.rows.out, out, 6)
    return OK if is_finite(out) else NOT_FINITE
