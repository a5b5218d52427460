"""The whole-body model for compiled code: numba functions around the leg kernels, on memory that is made once.

A Workspace is passed to them as one argument. Arrays have the robot's full size whatever is missing: a change of
morphology changes numbers, never shapes. Leg i's numbers are lanes[legs[i, 0], :, legs[i, 1]], one row of `rows`'
sections each. The steps of forward dynamics, `set_state`, `leg_terms`, `solve_arrow`, leave room between the last two
for terms of one's own (implicit contact, servos); `forward` does all of them at once.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.compiled import inline_kernel
from hexapod_dynamics.dynamics.late_intrinsics import call_kernel
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.workspace import (
    BASE_ACCELERATION,
    BODY,
    COMPOSITE,
    ELIMINATE,
    EXTERNAL,
    FORWARD,
    GRAVITY,
    HEAD,
    HEAD_ACC,
    HEAD_FORCE,
    INVERSE,
    SUBSTITUTE,
    TERMS,
    TWIST,
    Workspace,
)

__all__ = [
    "BODY",
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


@inline_kernel
def run_kernels(ws, which):
    """Run one of a leg's kernels on every block."""
    block = ws.lanes.ctypes.data
    size = ws.lanes.shape[1] * ws.lanes.shape[2] * 8
    shared = ws.shared.ctypes.data
    for index in range(ws.code.shape[0]):
        call_kernel(np.int64(ws.code[index, which]), np.int64(block + index * size), np.int64(shared))


@inline_kernel
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


@inline_kernel
def _start_head(ws):
    """HEAD of the body alone, and HEAD_FORCE: external wrench less the body's own bias."""
    s = ws.shared
    mass, xx, yy, zz = s[BODY], s[BODY + 4], s[BODY + 5], s[BODY + 6]
    xy, xz, yz = s[BODY + 7], s[BODY + 8], s[BODY + 9]
    hx, hy, hz = s[BODY + 1], s[BODY + 2], s[BODY + 3]
    for i in range(21):
        s[HEAD + i] = 0.0
    s[HEAD] = s[HEAD + 2] = s[HEAD + 5] = mass
    s[HEAD + 9], s[HEAD + 14], s[HEAD + 20] = xx, yy, zz
    s[HEAD + 13], s[HEAD + 18], s[HEAD + 19] = xy, xz, yz
    vx, vy, vz, wx, wy, wz = s[TWIST], s[TWIST + 1], s[TWIST + 2], s[TWIST + 3], s[TWIST + 4], s[TWIST + 5]
    s[HEAD + 7], s[HEAD + 8], s[HEAD + 10] = -hz, hy, hz
    s[HEAD + 12], s[HEAD + 15], s[HEAD + 16] = -hx, -hy, hx
    # m (a + w x v) + w x (w x h) and h x (a + w x v) + w x I w; h is zero but for a payload
    lx, ly, lz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
    ax = s[BASE_ACCELERATION] + wy * vz - wz * vy
    ay = s[BASE_ACCELERATION + 1] + wz * vx - wx * vz
    az = s[BASE_ACCELERATION + 2] + wx * vy - wy * vx
    cx, cy, cz = wy * hz - wz * hy, wz * hx - wx * hz, wx * hy - wy * hx
    s[HEAD_FORCE] = s[EXTERNAL] - mass * ax - (wy * cz - wz * cy)
    s[HEAD_FORCE + 1] = s[EXTERNAL + 1] - mass * ay - (wz * cx - wx * cz)
    s[HEAD_FORCE + 2] = s[EXTERNAL + 2] - mass * az - (wx * cy - wy * cx)
    s[HEAD_FORCE + 3] = s[EXTERNAL + 3] - (wy * lz - wz * ly) - (hy * az - hz * ay)
    s[HEAD_FORCE + 4] = s[EXTERNAL + 4] - (wz * lx - wx * lz) - (hz * ax - hx * az)
    s[HEAD_FORCE + 5] = s[EXTERNAL + 5] - (wx * ly - wy * lx) - (hx * ay - hy * ax)


@inline_kernel
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


@inline_kernel
def solve_arrow(ws):
    """Eliminate leg by leg, solve the head, substitute back: HEAD_ACC and every leg's acc. Consumes HEAD."""
    run_kernels(ws, ELIMINATE)
    shared = np.int64(ws.shared.ctypes.data)
    call_kernel(np.int64(ws.solve_head[0]), shared, shared)
    run_kernels(ws, SUBSTITUTE)


@inline_kernel
def get_acceleration(ws, out):
    """Copy HEAD_ACC and the joints' accelerations to out (6 + joints,); 0 for missing and locked joints."""
    for i in range(6):
        out[i] = ws.shared[HEAD_ACC + i]
    for j in range(ws.joints.shape[0]):
        block, lane, k = ws.joints[j, 0], ws.joints[j, 1], ws.joints[j, 2]
        out[6 + j] = ws.lanes[block, ws.rows.acc + k, lane] if ws.moving[j] != 0.0 else 0.0


@inline_kernel
def solve_forward(ws):
    """Forward dynamics at the state set, fused."""
    _start_head(ws)
    run_kernels(ws, FORWARD)
    shared = np.int64(ws.shared.ctypes.data)
    call_kernel(np.int64(ws.solve_head[0]), shared, shared)
    run_kernels(ws, SUBSTITUTE)


@inline_kernel
def forward(ws, rotation, q, nu, torque, out):
    """Forward dynamics, full size: out (6 + joints,)."""
    set_state(ws, rotation, q, nu, torque)
    solve_forward(ws)
    get_acceleration(ws, out)


@inline_kernel
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


@inline_kernel
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
    hx, hy, hz = s[BODY + 1], s[BODY + 2], s[BODY + 3]
    ax, ay, az = ax + wy * vz - wz * vy, ay + wz * vx - wx * vz, az + wx * vy - wy * vx
    cx, cy, cz = wy * hz - wz * hy, wz * hx - wx * hz, wx * hy - wy * hx
    out[0] = s[HEAD_FORCE] + mass * ax + (by * hz - bz * hy) + (wy * cz - wz * cy)
    out[1] = s[HEAD_FORCE + 1] + mass * ay + (bz * hx - bx * hz) + (wz * cx - wx * cz)
    out[2] = s[HEAD_FORCE + 2] + mass * az + (bx * hy - by * hx) + (wx * cy - wy * cx)
    out[3] = s[HEAD_FORCE + 3] + xx * bx + xy * by + xz * bz + (wy * lz - wz * ly) + (hy * az - hz * ay)
    out[4] = s[HEAD_FORCE + 4] + xy * bx + yy * by + yz * bz + (wz * lx - wx * lz) + (hz * ax - hx * az)
    out[5] = s[HEAD_FORCE + 5] + xz * bx + yz * by + zz * bz + (wx * ly - wy * lx) + (hx * ay - hy * ax)
