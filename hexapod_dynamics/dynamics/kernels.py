"""The whole-body model for compiled code: numba functions around the leg kernels, on memory that is made once.

A Workspace is passed to them as one argument. Arrays have the robot's full size whatever is missing: a change of
morphology changes numbers, never shapes. Leg i's numbers are lanes[legs[i, 0], :, legs[i, 1]], one row of `rows`'
sections each. The steps of forward dynamics, `set_state`, `leg_terms`, `solve_arrow`, leave room between the last two
for terms of one's own (implicit contact, servos); `forward` does all of them at once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hexapod_dynamics.dynamics.kernel_cache import cached_object, kernel
from hexapod_dynamics.dynamics.leg_matrices import MatrixRows, trace_coriolis, trace_frames
from hexapod_dynamics.dynamics.leg_program import (
    BASE_ACCELERATION,
    BODY,
    COMPOSITE,
    EXTERNAL,
    GRAVITY,
    HEAD,
    HEAD_ACC,
    HEAD_FORCE,
    LINK_SIZE,
    SHARED_SIZE,
    TWIST,
    LegType,
    Rows,
    link_parameters,
    trace_eliminate,
    trace_forward,
    trace_inverse,
    trace_solve_head,
    trace_substitute,
    trace_terms,
)
from hexapod_dynamics.dynamics.vector_code import LoadedObject, emit_object, machine, native_lanes
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology, Robot

__all__ = [
    "EXTERNAL",
    "HEAD",
    "HEAD_ACC",
    "HEAD_FORCE",
    "TWIST",
    "RobotKernels",
    "Workspace",
    "forward",
    "get_acceleration",
    "inverse",
    "leg_terms",
    "set_state",
    "solve_arrow",
]

CUT_SIZE = 21  # of RobotKernels.cut: rotation of the link's axes 9, inertia 9, centre of mass 3
TERMS, ELIMINATE, FORWARD, SUBSTITUTE, INVERSE, FRAMES, CORIOLIS = range(7)  # columns of Workspace.code


class Workspace(NamedTuple):
    """Memory and code of one robot's model; `RobotKernels.workspace` makes it."""

    lanes: np.ndarray  # float64 (blocks, rows, lanes)
    shared: np.ndarray  # float64 (SHARED_SIZE,)
    legs: np.ndarray  # int64 (legs, 5): block, lane, first joint, joints, last existing link (-1: none)
    joints: np.ndarray  # int64 (joints, 3): block, lane, k
    moving: np.ndarray  # float64 (joints,): 1 moves, 0 locked or missing
    locked: np.ndarray  # float64 (joints,): position where locked
    code: np.ndarray  # int64 (blocks, 7): addresses of the kernels
    solve_head: np.ndarray  # int64 (1,): address
    rows: Rows


# ---- the robot's kernels -------------------------------------------------------------------------------------------


class RobotKernels:
    """Kernels of a robot, compiled or loaded from the disk cache, and the constants of its legs."""

    def __init__(self, robot: Robot):
        self.robot = robot
        self.rows = rows = Rows.of(max(len(leg.joints) for leg in robot.legs))
        by_type: dict[LegType, list[int]] = {}
        for index, leg in enumerate(robot.legs):
            by_type.setdefault(LegType.of(leg), []).append(index)
        self.lane_count = _lane_count([len(indices) for indices in by_type.values()])
        places, code = {}, []
        self._loaded = []  # keeps the code in memory
        self._block_types: list[LegType] = []
        for leg_type, indices in by_type.items():
            loaded = _leg_kernels(leg_type, rows, self.lane_count)
            self._loaded.append(loaded)
            addresses = [loaded.address(name) for name in ("terms", "eliminate", "forward", "substitute", "inverse")]
            addresses += [0, 0]  # until matrix_kernels is called
            for start in range(0, len(indices), self.lane_count):
                for lane, index in enumerate(indices[start : start + self.lane_count]):
                    places[index] = (len(code), lane)
                code.append(addresses)
                self._block_types.append(leg_type)
        self.code = np.array(code, dtype=np.int64)
        self._loaded.append(_head_kernel())
        self.solve_head = np.array([self._loaded[-1].address("solve_head")], dtype=np.int64)

        starts = np.cumsum([0] + [len(leg.joints) for leg in robot.legs])
        self.legs = np.array(
            [(*places[i], starts[i], len(leg.joints), len(leg.joints) - 1) for i, leg in enumerate(robot.legs)],
            dtype=np.int64,
        )
        self.joints = np.array(
            [(*places[i], k) for i, leg in enumerate(robot.legs) for k in range(len(leg.joints))], dtype=np.int64
        )
        self.links = np.concatenate([link_parameters(leg) for leg in robot.legs])  # of the whole robot
        # rotations of link axes, in which a cut link's inertia scales, and inertias about the centre of mass in them
        self.cut = np.array(
            [
                np.concatenate([link.rotation.ravel(), link.inertia.ravel(), link.com_in_leg])
                for leg in robot.legs
                for link in leg.links
            ]
        )
        self._whole = self._template()

    def _template(self) -> np.ndarray:
        """Lanes of the whole robot."""
        rows = self.rows
        lanes = np.zeros((len(self.code), MatrixRows(rows).size, self.lane_count))
        for index, leg in enumerate(self.robot.legs):
            block, lane = self.legs[index, :2]
            lanes[block, rows.mount : rows.mount + 9, lane] = leg.mount_rotation.ravel()
            lanes[block, rows.mount + 9 : rows.mount + 12, lane] = leg.mount_position
        # a lane without a leg, and a joint that a shorter leg does not have, is a locked joint without mass
        for joint, (block, lane, k) in enumerate(self.joints):
            lanes[block, rows.links + LINK_SIZE * k : rows.links + LINK_SIZE * (k + 1), lane] = self.links[joint]
            lanes[block, rows.mask + k, lane] = 1.0
        return lanes

    def matrix_kernels(self) -> None:
        """Make the kernels for Coriolis matrices and link frames, which only those who want them pay for."""
        if self.code[0, FRAMES]:
            return
        for block, leg_type in enumerate(self._block_types):
            loaded = _matrix_kernels(leg_type, self.rows, self.lane_count)
            self._loaded.append(loaded)
            self.code[block, CORIOLIS] = loaded.address("coriolis")
            self.code[block, FRAMES] = loaded.address("frames")

    def workspace(self, morphology: Morphology | None = None) -> Workspace:
        """Memory for the model of a morphology (the whole robot where none is given)."""
        robot, count = self.robot, len(self.joints)
        shared = np.zeros(SHARED_SIZE)
        shared[GRAVITY] = robot.gravity
        shared[BODY] = robot.body.mass
        shared[BODY + 4 : BODY + 10] = robot.body.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        workspace = Workspace(
            lanes=self._whole.copy(),
            shared=shared,
            legs=self.legs.copy(),
            joints=self.joints,
            moving=np.ones(count),
            locked=np.zeros(count),
            code=self.code,
            solve_head=self.solve_head,
            rows=self.rows,
        )
        if morphology is not None:
            self.set_morphology(workspace, morphology)
        return workspace

    def set_morphology(self, workspace: Workspace, morphology: Morphology) -> None:
        """Make a workspace that of another morphology: the same arrays, new numbers, nothing compiled."""
        if morphology.robot != self.robot:
            raise DynamicsError(
                f"morphology of robot {morphology.robot.name!r} given to the model of {self.robot.name!r}; "
                "make it from the model's own robot"
            )
        set_morphology(workspace, self.links, self.cut, morphology.table)


def _lane_count(group_sizes: list[int]) -> int:
    """Lanes that need the fewest instructions for groups of legs of one type, as few lanes as do."""
    native = native_lanes()
    costs = {}
    for lanes in (1, 2, 4, 8):
        blocks = sum(-(-size // lanes) for size in group_sizes)
        costs[lanes] = blocks * max(1, lanes // native)
    return min(costs, key=lambda lanes: (costs[lanes], lanes))


@lru_cache(maxsize=64)
def _leg_kernels(leg_type: LegType, rows: Rows, lanes: int) -> LoadedObject:
    def make() -> bytes:
        count = len(leg_type.joints)
        return emit_object(
            {
                "terms": (trace_terms(leg_type, rows), lanes),
                "eliminate": (trace_eliminate(count, rows), lanes),
                "forward": (trace_forward(leg_type, rows), lanes),
                "substitute": (trace_substitute(count, rows), lanes),
                "inverse": (trace_inverse(leg_type, rows), lanes),
            }
        )

    return LoadedObject(cached_object(__name__, f"{machine()} {leg_type!r} {rows!r} {lanes}", make))


@lru_cache(maxsize=64)
def _matrix_kernels(leg_type: LegType, rows: Rows, lanes: int) -> LoadedObject:
    def make() -> bytes:
        return emit_object(
            {
                "frames": (trace_frames(leg_type, rows), lanes),
                "coriolis": (trace_coriolis(leg_type, rows), lanes),
            }
        )

    return LoadedObject(cached_object(__name__, f"{machine()} matrices {leg_type!r} {rows!r} {lanes}", make))


@lru_cache(maxsize=1)
def _head_kernel() -> LoadedObject:
    def make() -> bytes:
        return emit_object({"solve_head": (trace_solve_head(), 1)})

    return LoadedObject(cached_object(__name__, f"{machine()} head", make))


# ---- calls from numba ----------------------------------------------------------------------------------------------


@intrinsic
def _call(typing_context, address, block, shared):
    """Call the kernel at an address with two addresses."""

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer()
        builder.call(
            builder.inttoptr(arguments[0], function), [builder.inttoptr(value, pointer) for value in arguments[1:]]
        )
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@kernel
def run_kernels(ws, which):
    """Run one of a leg's kernels on every block."""
    block = ws.lanes.ctypes.data
    size = ws.lanes.shape[1] * ws.lanes.shape[2] * 8
    shared = ws.shared.ctypes.data
    for index in range(ws.code.shape[0]):
        _call(np.int64(ws.code[index, which]), np.int64(block + index * size), np.int64(shared))


@kernel
def set_state(ws, rotation, q, nu, torque):
    """Write a state: rotation (3, 3) world <- base_link, q and torque (joints,), nu (6 + joints,), full size.

    Entries of missing and locked joints are ignored.
    """
    shared, lanes, rows = ws.shared, ws.lanes, ws.rows
    for i in range(6):
        shared[TWIST + i] = nu[i]
    for i in range(3):
        # gravity acts like an upward acceleration of the body: R^T (0, 0, g)
        shared[BASE_ACCELERATION + i] = rotation[2, i] * shared[GRAVITY]
        shared[BASE_ACCELERATION + 3 + i] = 0.0
    for j in range(q.shape[0]):
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        moves = ws.moving[j] != 0.0
        lanes[block, rows.q + k, lane] = q[j] if moves else ws.locked[j]
        lanes[block, rows.rate + k, lane] = nu[6 + j] if moves else 0.0
        lanes[block, rows.torque + k, lane] = torque[j] if moves else 0.0


@kernel
def _start_head(ws):
    """HEAD of the body alone, and HEAD_FORCE: external wrench less the body's own bias."""
    s = ws.shared
    mass, xx, yy, zz = s[BODY], s[BODY + 4], s[BODY + 5], s[BODY + 6]
    xy, xz, yz = s[BODY + 7], s[BODY + 8], s[BODY + 9]
    for i in range(21):
        s[HEAD + i] = 0.0
    s[HEAD] = s[HEAD + 2] = s[HEAD + 5] = mass
    s[HEAD + 9], s[HEAD + 14], s[HEAD + 20] = xx, yy, zz
    s[HEAD + 13], s[HEAD + 18], s[HEAD + 19] = xy, xz, yz
    vx, vy, vz, wx, wy, wz = s[TWIST], s[TWIST + 1], s[TWIST + 2], s[TWIST + 3], s[TWIST + 4], s[TWIST + 5]
    # m (a + w x v) and w x I w: the body's centre of mass is its frame's origin
    lx, ly, lz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
    s[HEAD_FORCE] = s[EXTERNAL] - mass * (s[BASE_ACCELERATION] + wy * vz - wz * vy)
    s[HEAD_FORCE + 1] = s[EXTERNAL + 1] - mass * (s[BASE_ACCELERATION + 1] + wz * vx - wx * vz)
    s[HEAD_FORCE + 2] = s[EXTERNAL + 2] - mass * (s[BASE_ACCELERATION + 2] + wx * vy - wy * vx)
    s[HEAD_FORCE + 3] = s[EXTERNAL + 3] - (wy * lz - wz * ly)
    s[HEAD_FORCE + 4] = s[EXTERNAL + 4] - (wz * lx - wx * lz)
    s[HEAD_FORCE + 5] = s[EXTERNAL + 5] - (wx * ly - wy * lx)


@kernel
def leg_terms(ws):
    """Arrow and right-hand side at the state set: HEAD, HEAD_FORCE; arm, block, force, screw, point of every leg."""
    s = ws.shared
    _start_head(ws)
    for i in range(10):
        s[COMPOSITE + i] = 0.0
    run_kernels(ws, TERMS)
    mass, hx, hy, hz = s[COMPOSITE], s[COMPOSITE + 1], s[COMPOSITE + 2], s[COMPOSITE + 3]
    s[HEAD] += mass
    s[HEAD + 2] += mass
    s[HEAD + 5] += mass
    s[HEAD + 7] -= hz
    s[HEAD + 8] += hy
    s[HEAD + 9] += s[COMPOSITE + 4]
    s[HEAD + 10] += hz
    s[HEAD + 12] -= hx
    s[HEAD + 13] += s[COMPOSITE + 7]
    s[HEAD + 14] += s[COMPOSITE + 5]
    s[HEAD + 15] -= hy
    s[HEAD + 16] += hx
    s[HEAD + 18] += s[COMPOSITE + 8]
    s[HEAD + 19] += s[COMPOSITE + 9]
    s[HEAD + 20] += s[COMPOSITE + 6]


@kernel
def solve_arrow(ws):
    """Eliminate leg by leg, solve the head, substitute back: HEAD_ACC and every leg's acc. Consumes HEAD."""
    run_kernels(ws, ELIMINATE)
    shared = np.int64(ws.shared.ctypes.data)
    _call(np.int64(ws.solve_head[0]), shared, shared)
    run_kernels(ws, SUBSTITUTE)


@kernel
def get_acceleration(ws, out):
    """Copy HEAD_ACC and the joints' accelerations to out (6 + joints,); 0 for missing and locked joints."""
    for i in range(6):
        out[i] = ws.shared[HEAD_ACC + i]
    for j in range(ws.joints.shape[0]):
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        out[6 + j] = ws.lanes[block, ws.rows.acc + k, lane] if ws.moving[j] != 0.0 else 0.0


@kernel
def solve_forward(ws):
    """Forward dynamics at the state set, fused."""
    _start_head(ws)
    run_kernels(ws, FORWARD)
    shared = np.int64(ws.shared.ctypes.data)
    _call(np.int64(ws.solve_head[0]), shared, shared)
    run_kernels(ws, SUBSTITUTE)


@kernel
def forward(ws, rotation, q, nu, torque, out):
    """Forward dynamics, full size: out (6 + joints,)."""
    set_state(ws, rotation, q, nu, torque)
    solve_forward(ws)
    get_acceleration(ws, out)


@kernel
def inverse(ws, rotation, q, nu, nudot, out):
    """Inverse dynamics, full size: the wrench on the base and the joint torques, out (6 + joints,).

    The external wrench is not taken off; torques of missing and locked joints are 0.
    """
    set_state(ws, rotation, q, nu, q)
    for i in range(6):
        ws.shared[BASE_ACCELERATION + i] += nudot[i]
    for j in range(q.shape[0]):
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        ws.lanes[block, ws.rows.qdd + k, lane] = nudot[6 + j] if ws.moving[j] != 0.0 else 0.0
    body_wrench(ws, out)
    for j in range(q.shape[0]):
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        out[6 + j] = ws.lanes[block, ws.rows.out + k, lane] if ws.moving[j] != 0.0 else 0.0


@kernel
def body_wrench(ws, out):
    """Inverse dynamics at the state and accelerations set: the wrench on the base in out[:6], torques in `out` rows."""
    s = ws.shared
    for i in range(6):
        s[HEAD_FORCE + i] = 0.0
    run_kernels(ws, INVERSE)
    mass, xx, yy, zz = s[BODY], s[BODY + 4], s[BODY + 5], s[BODY + 6]
    xy, xz, yz = s[BODY + 7], s[BODY + 8], s[BODY + 9]
    vx, vy, vz, wx, wy, wz = s[TWIST], s[TWIST + 1], s[TWIST + 2], s[TWIST + 3], s[TWIST + 4], s[TWIST + 5]
    ax, ay, az = s[BASE_ACCELERATION], s[BASE_ACCELERATION + 1], s[BASE_ACCELERATION + 2]
    bx, by, bz = s[BASE_ACCELERATION + 3], s[BASE_ACCELERATION + 4], s[BASE_ACCELERATION + 5]
    lx, ly, lz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
    out[0] = s[HEAD_FORCE] + mass * (ax + wy * vz - wz * vy)
    out[1] = s[HEAD_FORCE + 1] + mass * (ay + wz * vx - wx * vz)
    out[2] = s[HEAD_FORCE + 2] + mass * (az + wx * vy - wy * vx)
    out[3] = s[HEAD_FORCE + 3] + xx * bx + xy * by + xz * bz + (wy * lz - wz * ly)
    out[4] = s[HEAD_FORCE + 4] + xy * bx + yy * by + yz * bz + (wz * lx - wx * lz)
    out[5] = s[HEAD_FORCE + 5] + xz * bx + yz * by + zz * bz + (wx * ly - wy * lx)


@kernel
def set_morphology(ws, links, cut, table):
    """Masks, locked positions and link parameters of a morphology's table; a cut link's scale as Link.cut has it."""
    lanes, rows = ws.lanes, ws.rows
    remaining, moving, locked = table[0], table[1], table[2]
    for leg in range(ws.legs.shape[0]):
        ws.legs[leg, 4] = -1
        for k in range(ws.legs[leg, 3]):
            if remaining[ws.legs[leg, 2] + k] > 0.0:
                ws.legs[leg, 4] = k
    for j in range(ws.joints.shape[0]):
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        ws.moving[j] = moving[j]
        ws.locked[j] = locked[j]
        lanes[block, rows.mask + k, lane] = moving[j]
        lanes[block, rows.q + k, lane] = locked[j]
        for row in (rows.rate, rows.torque, rows.qdd, rows.acc):
            lanes[block, row + k, lane] = 0.0
        first = rows.links + LINK_SIZE * k
        r = remaining[j]
        for i in range(3):
            lanes[block, first + 3 + i, lane] = r * links[j, 3 + i]  # the end
        if r == 0.0 or r == 1.0:
            for i in range(6, LINK_SIZE):
                lanes[block, first + i, lane] = r * links[j, i]
            continue
        mass = r * links[j, 6]
        cx, cy, cz = r * cut[j, 18], r * cut[j, 19], r * cut[j, 20]
        lanes[block, first + 6, lane] = mass
        lanes[block, first + 7, lane] = mass * cx
        lanes[block, first + 8, lane] = mass * cy
        lanes[block, first + 9, lane] = mass * cz
        # about the frame's origin: turned inertia + m (c.c 1 - c c^T)
        root = np.sqrt(r)
        square = cx * cx + cy * cy + cz * cz
        for i in range(6):
            a = i if i < 3 else (0 if i < 5 else 1)
            b = i if i < 3 else (1 if i == 3 else 2)
            total = 0.0
            for m in range(3):
                for n in range(3):
                    scale = (root if m == 0 else root * r) * (root if n == 0 else root * r)
                    total += cut[j, 3 * a + m] * scale * cut[j, 9 + 3 * m + n] * cut[j, 3 * b + n]
            total -= mass * cut[j, 18 + a] * cut[j, 18 + b] * r * r
            if a == b:
                total += mass * square
            lanes[block, first + 10 + i, lane] = total
