"""Compiled entry points that Python calls: inputs checked, compact vectors (6 + n) in and out, nothing allocated.

A call passes the address of a model and that of a morphology's key instead of a dozen arrays: unpacking an array costs
more than a leg's dynamics. Signatures are fixed, so arrays of another kind raise TypeError instead of compiling;
callers then convert or refuse.

An entry point keeps the interpreter's lock, and changes the model's workspace to the morphology of its key where it is
another one's. So a call is one step that no other thread can come between, whichever morphologies the threads use.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic
from numba.np.unsafe.ndarray import to_fixed_tuple

from hexapod_dynamics.compiled import entry, kernel
from hexapod_dynamics.dynamics.kernels import body_wrench, leg_terms, solve_arrow, solve_forward
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels, set_morphology
from hexapod_dynamics.dynamics.workspace import (
    BASE_ACCELERATION,
    CUT_SIZE,
    GRAVITY,
    HEAD_ACC,
    HEAD_FORCE,
    KERNELS,
    LINK_SIZE,
    SHARED_SIZE,
    TWIST,
    Rows,
    Workspace,
)
from hexapod_dynamics.robot import Morphology

OK, BAD_ROTATION, BAD_Q, BAD_NU, BAD_INPUT, BAD_OUTPUT, NOT_FINITE, MISSING = range(8)
ROTATION_TOLERANCE = 1e-6


class Descriptor(NamedTuple):
    """What compiled code is told of a model, as whole numbers; `Rows` follows."""

    moving_count: int  # n
    serial: int  # of the morphology in the workspace
    lanes: int  # addresses, from here to cut
    shared: int
    legs: int
    joints: int
    moving: int
    locked: int
    code: int
    solve_head: int
    change: int
    free: int
    links: int
    cut: int
    blocks: int  # sizes
    row_count: int
    width: int
    leg_count: int
    joint_count: int


FIELDS, ROW_FIELDS = len(Descriptor._fields), len(Rows._fields)
DESCRIPTOR_SIZE = FIELDS + ROW_FIELDS
COUNT, SERIAL = Descriptor._fields.index("moving_count"), Descriptor._fields.index("serial")
_serials = count(1)


class Handle:
    """A workspace that compiled entry points find by its address."""

    def __init__(self, kernels: RobotKernels):
        self.kernels = kernels
        self.workspace = ws = kernels.workspace()
        self.free = np.zeros((len(ws.joints), 3), dtype=np.int64)  # joints that move: see open_handle
        arrays = {name: getattr(ws, name) for name in Descriptor._fields if name in Workspace._fields}
        arrays |= {"free": self.free, "links": kernels.links, "cut": kernels.cut}
        blocks, row_count, width = ws.lanes.shape
        descriptor = Descriptor(
            moving_count=0,
            serial=0,
            blocks=blocks,
            row_count=row_count,
            width=width,
            leg_count=len(ws.legs),
            joint_count=len(ws.joints),
            change=_address_of(change),
            **{name: array.ctypes.data for name, array in arrays.items()},
        )
        self._numbers = np.array([*descriptor, *ws.rows], dtype=np.int64)
        self.address = int(self._numbers.ctypes.data)


class Selection:
    """A morphology as entry points take it: `key` is the address of its table's address and its serial number."""

    __slots__ = ("morphology", "key", "size", "n", "_table", "_numbers")

    def __init__(self, morphology: Morphology):
        self.morphology, self._table = morphology, morphology.table
        self._numbers = np.array([self._table.ctypes.data, next(_serials)], dtype=np.int64)
        self.key = int(self._numbers.ctypes.data)
        self.n = int(np.count_nonzero(self._table[1]))
        self.size = 6 + self.n


def _address_of(function) -> int:
    """Address of an entry point of two numbers for callers in compiled code."""
    if not function.signatures:
        function.compile(types.int64(types.int64, types.int64))
        function.disable_compile()
    (result,) = function.overloads.values()
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


@intrinsic
def _call_entry(typing_context, address, first, second):
    """Call an entry point of two numbers at an address: compiled once, not into each of its callers."""

    def generate(context, builder, signature, arguments):
        number = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(number, [number, number]).as_pointer())
        return builder.call(function, arguments[1:])

    return types.int64(types.int64, types.int64, types.int64), generate


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
def _workspace(d, rows):
    """Workspace of a descriptor."""
    joints = d.joint_count
    return Workspace(
        carray(_floats(d.lanes), (d.blocks, d.row_count, d.width)),
        carray(_floats(d.shared), (SHARED_SIZE,)),
        carray(_integers(d.legs), (d.leg_count, 5)),
        carray(_integers(d.joints), (joints, 3)),
        carray(_floats(d.moving), (joints,)),
        carray(_floats(d.locked), (joints,)),
        carray(_integers(d.code), (d.blocks, KERNELS)),
        carray(_integers(d.solve_head), (1,)),
        rows,
    )


@kernel
def open_handle(address, key):
    """Workspace of a model with the morphology of that key, its lanes as one row, and the joints that move: (n, 3),
    the joint's index among all, its place in row 0 of a section in those lanes, and 0 where it is limp.
    """
    numbers = carray(_integers(address), (DESCRIPTOR_SIZE,))
    d = Descriptor(*to_fixed_tuple(numbers[:FIELDS], FIELDS))
    ws = _workspace(d, Rows(*to_fixed_tuple(numbers[FIELDS:], ROW_FIELDS)))
    wanted = carray(_integers(key), (2,))
    if d.serial != wanted[1]:
        _call_entry(d.change, address, wanted[0])
        numbers[SERIAL] = wanted[1]
    flat = carray(_floats(d.lanes), (d.blocks * d.row_count * d.width,))
    return ws, flat, carray(_integers(d.free), (numbers[COUNT], 3))


@entry
def change(address, table_address):
    """Make the workspace that of a morphology's table; n, the number of joints that move."""
    numbers = carray(_integers(address), (DESCRIPTOR_SIZE,))
    d = Descriptor(*to_fixed_tuple(numbers[:FIELDS], FIELDS))
    ws = _workspace(d, Rows(*to_fixed_tuple(numbers[FIELDS:], ROW_FIELDS)))
    joints = d.joint_count
    table = carray(_floats(table_address), (4, joints))
    set_morphology(ws, carray(_floats(d.links), (joints, LINK_SIZE)), carray(_floats(d.cut), (joints, CUT_SIZE)), table)
    free = carray(_integers(d.free), (joints, 3))
    n = 0
    for j in range(joints):
        if table[1, j] != 0.0:
            free[n, 0] = j
            free[n, 1] = (ws.joints[j, 0] * d.row_count + ws.joints[j, 2]) * d.width + ws.joints[j, 1]
            free[n, 2] = 1 if table[3, j] != 0.0 else 0
            n += 1
    numbers[COUNT] = n
    return n


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
def set_still(ws, flat, free):
    """Write zero velocities."""
    first = ws.rows.rate * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = 0.0
    for i in range(6):
        ws.shared[TWIST + i] = 0.0


@kernel
def set_gravity(ws, rotation):
    """Let gravity act like an upward acceleration of the body: R^T (0, 0, g)."""
    for i in range(3):
        ws.shared[BASE_ACCELERATION + i] = rotation[2, i] * ws.shared[GRAVITY]
        ws.shared[BASE_ACCELERATION + 3 + i] = 0.0


@kernel
def set_motion(ws, flat, free, rotation, q, nu):
    """Write a state; a status."""
    if not is_rotation(rotation):
        return BAD_ROTATION
    if q.shape[0] != ws.joints.shape[0]:
        return BAD_Q
    if nu.shape[0] != 6 + free.shape[0]:
        return BAD_NU
    set_q(ws, flat, free, q)
    for i in range(6):
        ws.shared[TWIST + i] = nu[i]
    set_gravity(ws, rotation)
    set_row(ws, flat, free, ws.rows.rate, nu, 6)
    return OK


@kernel
def set_torque(ws, flat, free, tau):
    """Write the motors' torques; a limp joint's is zero, whatever tau says."""
    first = ws.rows.torque * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = tau[i] * free[i, 2]


@kernel
def get_solution(ws, flat, free, out):
    """Copy the accelerations to out (6 + n,); a status.

    What is not finite in the input is not in the output either, where one look finds it.
    """
    for i in range(6):
        out[i] = ws.shared[HEAD_ACC + i]
    get_row(ws, flat, free, ws.rows.acc, out, 6)
    return OK if is_finite(out) else NOT_FINITE


@kernel
def set_acceleration(ws, flat, free, nudot):
    """Add the accelerations of a motion to a state that is set."""
    for i in range(6):
        ws.shared[BASE_ACCELERATION + i] += nudot[i]
    set_row(ws, flat, free, ws.rows.qdd, nudot, 6)


INTEGER, VECTOR, MATRIX, CUBE = types.int64, types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]


def compiled(function, *arguments):
    """Compile an entry point for these arguments after its two addresses, and for nothing else."""
    if not function.signatures:
        function.compile(types.int64(types.int64, types.int64, *arguments))
        function.disable_compile()
    return function


@entry
def forward(address, key, rotation, q, nu, tau, out):
    """Accelerations (6 + n,) under joint torques tau (n,); a status."""
    ws, flat, free = open_handle(address, key)
    status = set_motion(ws, flat, free, rotation, q, nu)
    if status != OK:
        return status
    if tau.shape[0] != free.shape[0]:
        return BAD_INPUT
    if out.shape[0] != 6 + free.shape[0]:
        return BAD_OUTPUT
    set_torque(ws, flat, free, tau)
    solve_forward(ws)
    return get_solution(ws, flat, free, out)


@kernel
def leg_force(ws, rotation, leg, forces, wrench, columns):
    """Write the wrench on the body of a leg's tip force (world axes) and its joints' shares; needs the geometry."""
    block, lane, last = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 4]
    lanes, rows = ws.lanes, ws.rows
    point = rows.point + 3 * last
    px, py, pz = lanes[block, point, lane], lanes[block, point + 1, lane], lanes[block, point + 2, lane]
    fx, fy, fz = forces[leg, 0], forces[leg, 1], forces[leg, 2]
    x = rotation[0, 0] * fx + rotation[1, 0] * fy + rotation[2, 0] * fz
    y = rotation[0, 1] * fx + rotation[1, 1] * fy + rotation[2, 1] * fz
    z = rotation[0, 2] * fx + rotation[1, 2] * fy + rotation[2, 2] * fz
    mx, my, mz = py * z - pz * y, pz * x - px * z, px * y - py * x
    wrench[0], wrench[1], wrench[2], wrench[3], wrench[4], wrench[5] = x, y, z, mx, my, mz
    for k in range(last + 1):
        s = rows.screw + 6 * k
        columns[k] = (
            x * lanes[block, s, lane]
            + y * lanes[block, s + 1, lane]
            + z * lanes[block, s + 2, lane]
            + mx * lanes[block, s + 3, lane]
            + my * lanes[block, s + 4, lane]
            + mz * lanes[block, s + 5, lane]
        )


@entry
def forward_under(address, key, rotation, q, nu, tau, forces, scratch, out):
    """Accelerations like `forward`, under tip forces (legs, 3) [world axes], too; scratch (6 + deepest leg,)."""
    ws, flat, free = open_handle(address, key)
    status = set_motion(ws, flat, free, rotation, q, nu)
    if status != OK:
        return status
    if tau.shape[0] != free.shape[0]:
        return BAD_INPUT
    if out.shape[0] != 6 + free.shape[0]:
        return BAD_OUTPUT
    set_torque(ws, flat, free, tau)
    leg_terms(ws)
    for leg in range(ws.legs.shape[0]):
        if ws.legs[leg, 4] < 0 or (forces[leg, 0] == 0.0 and forces[leg, 1] == 0.0 and forces[leg, 2] == 0.0):
            continue
        leg_force(ws, rotation, leg, forces, scratch[:6], scratch[6:])
        for i in range(6):
            ws.shared[HEAD_FORCE + i] += scratch[i]
        for k in range(ws.legs[leg, 4] + 1):
            if ws.moving[ws.legs[leg, 2] + k] != 0.0:
                ws.lanes[ws.legs[leg, 0], ws.rows.force + k, ws.legs[leg, 1]] += scratch[6 + k]
    solve_arrow(ws)
    return get_solution(ws, flat, free, out)


@entry
def inverse(address, key, rotation, q, nu, nudot, out):
    """Wrench on the base and joint torques (6 + n,) of a motion; a status, as of `forward`."""
    ws, flat, free = open_handle(address, key)
    status = set_motion(ws, flat, free, rotation, q, nu)
    if status != OK:
        return status
    if nudot.shape[0] != 6 + free.shape[0]:
        return BAD_INPUT
    if out.shape[0] != 6 + free.shape[0]:
        return BAD_OUTPUT
    set_acceleration(ws, flat, free, nudot)
    body_wrench(ws, out)
    get_row(ws, flat, free, ws.rows.out, out, 6)
    return OK if is_finite(out) else NOT_FINITE


@entry
def gravity(address, key, rotation, q, out):
    """Gravity (6 + n,) on the left-hand side: inverse dynamics at rest; a status."""
    ws, flat, free = open_handle(address, key)
    if not is_rotation(rotation):
        return BAD_ROTATION
    if q.shape[0] != ws.joints.shape[0]:
        return BAD_Q
    if out.shape[0] != 6 + free.shape[0]:
        return BAD_OUTPUT
    set_q(ws, flat, free, q)
    set_still(ws, flat, free)
    set_gravity(ws, rotation)
    first = ws.rows.qdd * ws.lanes.shape[2]
    for i in range(free.shape[0]):
        flat[first + free[i, 1]] = 0.0
    body_wrench(ws, out)
    get_row(ws, flat, free, ws.rows.out, out, 6)
    return OK if is_finite(out) else NOT_FINITE
