"""Memory of a model for one morphology, in one block: compiled functions work on it.

It begins with struct hd_model of native/include/hd_model.h: addresses and sizes as whole numbers, then `Rows`.
Behind it are, aligned to a cache line, the lanes and everything else that depends on the morphology. Choosing a
morphology copies the whole robot's lanes and rewrites a few hundred numbers; nothing is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hexapod_dynamics.dynamics.workspace import KERNELS, SHARED_SIZE, Rows, Workspace
from hexapod_dynamics.robot import Morphology

if TYPE_CHECKING:
    from hexapod_dynamics.dynamics.robot_kernels import RobotKernels


class Header(NamedTuple):
    """struct hd_model, up to its rows."""

    moving_count: int  # n
    lanes: int  # from here to `free`: addresses in this memory
    shared: int
    legs: int
    moving: int
    locked: int
    free: int
    joints: int  # from here to `scratch`: addresses in memory that all morphologies share
    code: int
    solve_head: int
    links: int
    cut: int
    whole_lanes: int
    whole_shared: int
    whole_legs: int
    scratch: int
    blocks: int  # sizes
    row_count: int
    width: int
    leg_count: int
    joint_count: int


HEADER_SIZE = len(Header._fields) + len(Rows._fields)
LEG_COLUMNS, LINE_WORDS = 5, 8


class ModelMemory:
    """The part that the memories of all morphologies of a robot's model have in common."""

    def __init__(self, kernels: RobotKernels) -> None:
        self._kernels = kernels  # keeps the arrays alive whose addresses are used
        self.place = kernels.functions["place"]
        self._lanes, self._shared = kernels.whole_lanes(), kernels.whole_shared()
        legs, joints = len(kernels.legs), len(kernels.joints)
        deepest = max(len(leg.joints) for leg in kernels.robot.legs)
        # the largest scratch memory of a function: held feet (hd_stance.h), derivatives (hd_derivatives.h)
        held = 6 * joints + 36 * legs + 63 + 9 * legs * legs + 3 * legs
        derivatives = 36 + 6 * (6 + joints) + (6 + joints)
        self._scratch = np.zeros(joints * (6 + deepest) + max(held, derivatives))
        blocks, row_count, width = self._lanes.shape
        common: dict[str, np.ndarray] = {
            "joints": kernels.joints,
            "code": kernels.code,
            "solve_head": kernels.solve_head,
        }
        common |= {"links": kernels.links, "cut": kernels.cut, "whole_lanes": self._lanes}
        common |= {"whole_shared": self._shared, "whole_legs": kernels.legs, "scratch": self._scratch}
        sizes = {"blocks": blocks, "row_count": row_count, "width": width, "leg_count": legs, "joint_count": joints}
        values = {name: array.ctypes.data for name, array in common.items()} | sizes
        header = Header(**dict.fromkeys(Header._fields, 0) | values)
        self._header = np.array((*header, *kernels.rows), dtype=np.int64)
        self._size = HEADER_SIZE + LINE_WORDS + self._lanes.size + SHARED_SIZE + LEG_COLUMNS * legs + 5 * joints

    def make(self, morphology: Morphology) -> tuple[np.ndarray, int]:
        """Return the memory of a morphology, int64, and n, the number of its moving joints."""
        memory = np.empty(self._size, dtype=np.int64)
        memory[:HEADER_SIZE] = self._header
        return memory, self.place(memory, morphology.table)

    def new_memories(self, count: int) -> list[np.ndarray]:
        """Return this number of memories; `place` fills each with a morphology's table."""
        memories = np.empty((count, self._size), dtype=np.int64)
        memories[:, :HEADER_SIZE] = self._header
        return list(memories)

    def workspace(self, morphology: Morphology) -> Workspace:
        """Return the memory of a morphology with its parts as arrays."""
        memory, _ = self.make(morphology)
        header, begin = Header(*memory[: len(Header._fields)].tolist()), memory.ctypes.data
        numbers, kernels = memory.view(float), self._kernels

        def part(address: int, size: int, of: np.ndarray) -> np.ndarray:
            start = (address - begin) // 8
            return of[start : start + size]

        legs, joints = header.leg_count, header.joint_count
        return Workspace(
            lanes=part(header.lanes, self._lanes.size, numbers).reshape(self._lanes.shape),
            shared=part(header.shared, SHARED_SIZE, numbers),
            legs=part(header.legs, LEG_COLUMNS * legs, memory).reshape(legs, LEG_COLUMNS),
            joints=kernels.joints,
            moving=part(header.moving, joints, numbers),
            locked=part(header.locked, joints, numbers),
            code=kernels.code.reshape(header.blocks, KERNELS),
            solve_head=kernels.solve_head,
            rows=kernels.rows,
            memory=memory,
        )

    def set_morphology(self, workspace: Workspace, morphology: Morphology) -> None:
        """Change a workspace to another morphology."""
        self._kernels.functions["change"](workspace.memory, morphology.table)
