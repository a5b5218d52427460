"""Memory layout of the leg kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LINK_SIZE = 17  # offset 3 (from the inner joint, in its axes), end 3, mass 1, h 3, inertia 6, joint's rotor inertia 1
ROTOR = 16

# Numbers that all legs share: their first indices in Workspace.shared.
TWIST = 0  # body twist V
BASE_ACCELERATION = 6  # given acceleration of the body, which includes gravity as an upward acceleration
COMPOSITE = 12  # OUT of terms: sum over the legs of (m, h, I) in the body frame
HEAD = 22  # 6x6 head of the arrow, lower triangle, row r column c at r (r + 1) / 2 + c
HEAD_FORCE = 43  # right-hand side of the body's rows
HEAD_ACC = 49  # accelerations of the body
EXTERNAL = 55  # wrench on the body, body frame
GRAVITY = 61  # gravity acceleration, a positive number
BODY = 62  # (m, h, I) of the main body
WRENCH_BY_TWIST = 72  # derivatives of the wrench on the body by its twist, 6x6 row by row
BASE_POSE = WRENCH_BY_TWIST  # rotation 9 row by row and position 3 in the world, while `poses` runs
SHARED_SIZE = 108


class Rows(NamedTuple):
    """The first row of each section of a block's memory, for legs of up to `count` joints."""

    count: int  # type: ignore[assignment]  # hides tuple.count
    mount: int  # rotation 9 row by row, position 3
    links: int  # LINK_SIZE for each link
    mask: int  # 1 moves, 0 locked or missing
    q: int
    rate: int
    torque: int
    qdd: int  # IN of inverse
    arm: int
    block: int
    force: int
    screw: int
    point: int
    factor: int  # L below the diagonal
    scaled: int  # T = D^-1 L^-1 A^T, 6 for each joint
    reduced: int  # D^-1 L^-1 force
    acc: int
    out: int  # OUT of inverse: joint torques
    upper: int  # Coriolis matrix, 6 for each joint k: column k of C_0i
    lower: int  # row k of C_i0
    square: int  # C_ii
    frame: int  # rotation of link k's frame in the body frame, 9 row by row
    torque_by_q: int  # OUT of derivatives, square: row k the derivatives of joint k's torque
    torque_by_rate: int
    torque_by_twist: int  # 6 for each joint
    wrench_by_q: int  # 6 for each joint: derivatives of the wrench on the body by joint k's position
    wrench_by_rate: int
    axes: int  # rotation of link k's axes in its frame, 9 row by row
    pose: int  # OUT of poses: rotation 9 row by row and start 3 of each link in the world
    size: int

    @classmethod
    def of(cls, count: int) -> Rows:
        """Layout for legs of up to `count` joints."""
        triangle = count * (count + 1) // 2
        sizes: tuple[int, ...] = (12, LINK_SIZE * count, count, count, count, count, count)
        sizes += (6 * count, triangle, count, 6 * count, 3 * count, triangle - count, 6 * count, count, count, count)
        sizes += (6 * count, 6 * count, count * count, 9 * count)
        sizes += (count * count, count * count, 6 * count, 6 * count, 6 * count, 9 * count, 12 * count)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(count, *(int(start) for start in starts))


LINE = 8  # doubles of a cache line; in a batch the memory of a leg and all rows of lanes begin on one


def first_vector(rows: Rows) -> int:
    """Index in a leg's memory for batches at which the rows of lanes begin."""
    return -(-rows.q // LINE) * LINE


class Workspace(NamedTuple):
    """Memory and code of one robot's model; made by `RobotKernels.workspace`."""

    lanes: np.ndarray  # float64 (blocks, rows, lanes)
    shared: np.ndarray  # float64 (SHARED_SIZE,)
    legs: np.ndarray  # int64 (legs, 5): block, lane, first joint, joints, last existing link (-1: none)
    joints: np.ndarray  # int64 (joints, 3): block, lane, k
    moving: np.ndarray  # float64 (joints,): 1 moves, 0 locked or missing
    locked: np.ndarray  # float64 (joints,): position where locked
    code: np.ndarray  # int64 (blocks, KERNELS): addresses of the kernels
    solve_head: np.ndarray  # int64 (1,): address
    rows: Rows
    memory: np.ndarray  # int64: begins with struct hd_model of native/include/hd_model.h; the arrays above are parts


CUT_SIZE = 13  # of RobotKernels.cut: link's direction 3, inertia about it 1; inertia 6, centre of mass 3 in leg axes
# Columns of Workspace.code.
TERMS, ELIMINATE, FORWARD, SUBSTITUTE, INVERSE, FRAMES, CENTER, POSES, CORIOLIS, DERIVATIVES, KERNELS = range(11)
# Columns of Workspace.code that every robot has from the start, and the kernels' names.
COLUMNS = {
    TERMS: "terms",
    ELIMINATE: "eliminate",
    FORWARD: "forward",
    SUBSTITUTE: "substitute",
    INVERSE: "inverse",
    FRAMES: "frames",
    CENTER: "center",
    POSES: "poses",
}
