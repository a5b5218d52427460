"""Memory of a model for one morphology, in one piece: what entry points work on.

It begins with a Header: addresses and sizes as whole numbers, then `Rows`. Behind it lie, from a cache line's start on,
the lanes, and what else a morphology decides. Choosing a morphology copies the whole robot's lanes and rewrites a few
hundred numbers; nothing is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hexapod_dynamics.compiled import entry, inline_kernel, inlined
from hexapod_dynamics.dynamics.late_intrinsics import named
from hexapod_dynamics.dynamics.native import (
    builtin,
    floats_at,
    given,
    integer_answer,
    integers,
    integers_at,
    matrix,
    runtime_words,
)
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels, set_morphology
from hexapod_dynamics.dynamics.workspace import CUT_SIZE, KERNELS, LINK_SIZE, SHARED_SIZE, Rows, Workspace
from hexapod_dynamics.robot import Morphology

LINE = 64  # bytes of a cache line, and of the widest vector register


class Header(NamedTuple):
    """Addresses and sizes of a model for compiled code, as integers; `Rows` follows."""

    moving_count: int  # n
    lanes: int  # addresses in this memory, from here to free
    shared: int
    legs: int
    moving: int
    locked: int
    free: int
    joints: int  # addresses in what all morphologies share, from here to scratch
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


FIELDS, ROW_FIELDS = len(Header._fields), len(Rows._fields)
HEADER_SIZE = FIELDS + ROW_FIELDS
COUNT, LANES = Header._fields.index("moving_count"), Header._fields.index("lanes")
SCRATCH = Header._fields.index("scratch")
LEG_COLUMNS, FREE_COLUMNS = 5, 3


class Template:
    """What the memories of all morphologies of a model begin with."""

    def __init__(self, kernels: RobotKernels):
        self._whole = ws = kernels.workspace()
        self._kept = kernels  # whose arrays the addresses are of
        blocks, row_count, width = ws.lanes.shape
        legs, joints = len(ws.legs), len(ws.joints)
        shared = {"joints": ws.joints, "code": ws.code, "solve_head": ws.solve_head, "links": kernels.links}
        shared |= {"cut": kernels.cut, "whole_lanes": ws.lanes, "whole_shared": ws.shared, "whole_legs": ws.legs}
        deepest = max(len(leg.joints) for leg in kernels.robot.legs)
        # the most that an entry point takes: held feet (stance_entry_points.py), derivatives
        held = 6 * joints + 36 * legs + 63 + 9 * legs * legs + 3 * legs
        derivatives = 36 + 6 * (6 + joints) + (6 + joints)
        shared["scratch"] = self._scratch = np.zeros(joints * (6 + deepest) + max(held, derivatives))
        own = dict.fromkeys(("moving_count", "lanes", "shared", "legs", "moving", "locked", "free"), 0)
        header = Header(
            **own,
            **{name: array.ctypes.data for name, array in shared.items()},
            blocks=blocks,
            row_count=row_count,
            width=width,
            leg_count=legs,
            joint_count=joints,
        )
        self.header = np.array([*header, *ws.rows], dtype=np.int64)
        words = ws.lanes.size + SHARED_SIZE + LEG_COLUMNS * legs + (2 + FREE_COLUMNS) * joints
        self.size = HEADER_SIZE + LINE // 8 + words
        self.place = builtin(place)

    def new_memories(self, count: int) -> list[np.ndarray]:
        """So many memories, each to be filled by `place` with a morphology's table."""
        memories = np.empty((count, self.size), dtype=np.int64)
        memories[:, :HEADER_SIZE] = self.header
        return list(memories)


class Selection:
    """A morphology as entry points take it: `given` is what the caller passed, the Morphology or None."""

    __slots__ = ("given", "morphology", "memory", "size", "n", "mass", "links")

    def __init__(self, template: Template, morphology: Morphology, given: Morphology | None):
        self.given, self.morphology = given, morphology
        self.memory = np.empty(template.size, dtype=np.int64)
        self.memory[:HEADER_SIZE] = template.header
        self.n: int = template.place(self.memory, morphology.table)
        self.size = 6 + self.n
        self.mass: float | None = None  # of all, where it has been asked for
        self.links: tuple[str, ...] = ()  # names of those that exist, likewise


@inline_kernel
def _workspace(d, rows):
    """Workspace of a header."""
    joints = d.joint_count
    return Workspace(
        floats_at(d.lanes, (d.blocks, d.row_count, d.width)),
        floats_at(d.shared, (SHARED_SIZE,)),
        integers_at(d.legs, (d.leg_count, LEG_COLUMNS)),
        integers_at(d.joints, (joints, 3)),
        floats_at(d.moving, (joints,)),
        floats_at(d.locked, (joints,)),
        integers_at(d.code, (d.blocks, KERNELS)),
        integers_at(d.solve_head, (1,)),
        rows,
    )


@inline_kernel
def _header(address):
    return named(address, Header), named(address + 8 * FIELDS, Rows)


@inline_kernel
def open_memory(address):
    """Workspace of a morphology, its lanes as one row, and the joints that move: (n, 3), the joint's index among all,
    its place in row 0 of a section in those lanes, and 0 where it is limp.
    """
    d, rows = _header(address)
    flat = floats_at(d.lanes, (d.blocks * d.row_count * d.width,))
    return _workspace(d, rows), flat, integers_at(d.free, (d.moving_count, FREE_COLUMNS))


@entry
def place(runtime, arguments, count):
    """(memory, table): lay out the memory behind its header for a morphology's table; n, the joints that move."""
    words, objects = runtime_words(runtime), given(arguments, count)
    address, table = integers(objects[0]), matrix(words, objects[1])
    numbers = integers_at(address, (HEADER_SIZE,))
    d, rows = _header(address)
    lanes = d.blocks * d.row_count * d.width
    at = (address + 8 * HEADER_SIZE + LINE - 1) // LINE * LINE
    sizes = (lanes, SHARED_SIZE, LEG_COLUMNS * d.leg_count, d.joint_count, d.joint_count, FREE_COLUMNS * d.joint_count)
    for part in range(len(sizes)):
        numbers[LANES + part] = at
        at += 8 * sizes[part]
    d, rows = _header(address)
    ws = _workspace(d, rows)
    _copy(floats_at(d.lanes, (lanes,)), floats_at(d.whole_lanes, (lanes,)))
    _copy(ws.shared, floats_at(d.whole_shared, (SHARED_SIZE,)))
    legs = LEG_COLUMNS * d.leg_count
    _copy(integers_at(d.legs, (legs,)), integers_at(d.whole_legs, (legs,)))
    joints = d.joint_count
    links, cut = floats_at(d.links, (joints, LINK_SIZE)), floats_at(d.cut, (joints, CUT_SIZE))
    set_morphology(ws, links, cut, table)
    free = integers_at(d.free, (joints, FREE_COLUMNS))
    n = 0
    for j in range(joints):
        if table[1, j] != 0.0:
            free[n, 0] = j
            free[n, 1] = (ws.joints[j, 0] * d.row_count + ws.joints[j, 2]) * d.width + ws.joints[j, 1]
            free[n, 2] = 1 if table[3, j] != 0.0 else 0
            n += 1
    numbers[COUNT] = n
    return integer_answer(words, n)


@inline_kernel
def _copy(to, source):
    for i in range(source.shape[0]):
        to[i] = source[i]


@inlined
def scratch_of(address, first, rows, columns):
    """Room for intermediate results from a place on, (rows, columns); all morphologies share it."""
    return floats_at(integers_at(address, (HEADER_SIZE,))[SCRATCH] + 8 * first, (rows, columns))
