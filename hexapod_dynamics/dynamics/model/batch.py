"""Forward and inverse dynamics of many states in one call: a robot in each lane, on all cores.

The states of one morphology run in groups of as many as a vector register has lanes, on memory of one robot that each
thread makes for itself (some 20 kB, which fit into the first-level cache). Missing legs are left out.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.dynamics.batch_code import ROTATION, leg_size
from hexapod_dynamics.dynamics.leg_code import batch_library
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.workspace import (
    BASE_ACCELERATION,
    BODY,
    GRAVITY,
    HEAD_ACC,
    HEAD_FORCE,
    LINE,
    SHARED_SIZE,
    TWIST,
    Workspace,
    first_vector,
)
from hexapod_dynamics.native.processor import native_lanes
from hexapod_dynamics.robot import Morphology

KEPT = 256  # number of morphologies whose preparation a model keeps; 20 kB each
LEAST_SHARE = 2048  # number of states above which another thread saves time
LEAST_GROUP = 48  # number of states of a morphology above which allocating memory for the call saves time
WORTH = 1024  # number of states of a morphology, in all calls, above which its preparation saves time
WASTE, ZERO = -3 * LINE, -2 * LINE  # rows before the legs' memory: WASTE takes ignored numbers, ZERO provides zeros


class _Plan(ctypes.Structure):
    """struct hd_batch of native/include/hd_batch.h."""

    _fields_ = (
        ("forward", ctypes.c_int64),
        ("legs", ctypes.c_int64),
        ("leg_size", ctypes.c_int64),
        ("memory_size", ctypes.c_int64),
        ("widths", ctypes.c_int64 * 5),
        ("padded", ctypes.c_int64 * 5),
        ("places", ctypes.c_void_p),
        ("whole", ctypes.c_void_p),
        ("code", ctypes.c_void_p),
    )


RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 7)


class BatchModel:
    """A robot's batch kernels."""

    def __init__(self, kernels: RobotKernels):
        self.kernels = kernels
        self.lanes = native_lanes()
        self.code = [batch_library(LegType.of(leg), kernels.rows, self.lanes) for leg in kernels.robot.legs]
        self.run_batch = RUN(self.code[0].address("hd_run_batch"))  # ctypes releases the interpreter's lock
        self._known: dict[tuple[bool, Morphology, bool], Callable] = {}  # results of `_prepared`
        self._counts: dict[Morphology, int] = {}  # number of states so far, of morphologies that are not prepared

    def is_worth(self, forward: bool, morphology: Morphology, count: int) -> bool:
        """Whether this number of states (LEAST_GROUP or more) takes less time here than one after the other."""
        if (forward, morphology, True) in self._known:
            return True
        if len(self._counts) >= KEPT:
            self._counts = {}
        self._counts[morphology] = total = self._counts.get(morphology, 0) + count
        return total >= WORTH

    def run(self, forward: bool, morphology: Morphology, in_place: bool, states, given, out) -> int:
        """Fill `out` for the states (indices) of one morphology; return the first state that cannot be computed,
        -1 if none.

        given: R (N, 3, 3), q, nu, and tau or nudot. in_place: nu, tau, out have all joints, not only those that move.
        """
        workers = max(1, min(len(os.sched_getaffinity(0)), len(states) // LEAST_SHARE))
        shares = np.array_split(states, workers)
        bad = [-1] * workers
        work = self._known.get((forward, morphology, in_place))
        if work is None:
            if len(self._known) >= KEPT:
                self._known = {}
            work = self._known[forward, morphology, in_place] = _prepared(self, forward, morphology, in_place)

        def run_share(index):
            bad[index] = work(shares[index], *given, out)

        threads = [threading.Thread(target=run_share, args=(index,)) for index in range(1, workers)]
        for thread in threads:
            thread.start()
        run_share(0)
        for thread in threads:
            thread.join()
        return min((state for state in bad if state >= 0), default=-1)


def _prepared(model: BatchModel, forward: bool, morphology: Morphology, in_place: bool) -> Callable:
    """Return a function of (states, R, q, nu, tau or nudot, out) that fills `out` and allocates its memory at each
    call.
    """
    ws, lanes = model.kernels.workspace(morphology), model.lanes
    legs = [index for index in range(len(ws.legs)) if ws.legs[index, 4] >= 0]
    names = ("forward", "substitute") if forward else ("inverse", "inverse")
    code = np.array([[model.code[leg].address(name) for name in names] for leg in legs], dtype=np.int64).reshape(-1, 2)
    size = leg_size(ws.rows, lanes)
    template = _template(ws, legs, lanes, size)
    tables = _places(ws, legs, lanes, size, morphology, forward, in_place)
    widths = tuple(len(table) for table in tables)
    padded = tuple(max(lanes, width) for width in widths)
    fills = zip(tables, padded, (WASTE,) * 4 + (ZERO,), strict=True)
    places = np.concatenate(
        [np.pad(table, (0, size - len(table)), constant_values=fill) for table, size, fill in fills]
    )
    plan = _Plan(
        forward, len(legs), size, template.size, widths, padded, *(a.ctypes.data for a in (places, template, code))
    )
    kept = places, template, code, plan
    address, run = ctypes.addressof(plan), model.run_batch

    def work(states, rotations, q, nu, given, out, kept=kept):
        memory = np.empty(template.size + LINE + max(padded) * lanes)
        begin = memory.ctypes.data
        begin += -begin % (8 * LINE)
        arrays = (array.ctypes.data for array in (rotations, q, nu, given, out))
        return int(run(address, states.ctypes.data, len(states), begin, begin + 8 * template.size, *arrays))

    return work


def _places(ws: Workspace, legs, lanes: int, size: int, morphology: Morphology, forward: bool, in_place: bool) -> list:
    """Return where the columns of R, q, nu, tau or nudot, and out have their lanes in the memory behind its first
    three rows.

    Ignored numbers go to WASTE, zeros come from ZERO.
    """
    rows, table, moving = ws.rows, morphology.table, morphology.moving_mask
    shared = len(legs) * size
    joints = np.full(len(moving), WASTE)  # places of the joints' positions
    for index, leg in enumerate(legs):
        for k in range(int(ws.legs[leg, 3])):
            joints[int(ws.legs[leg, 2]) + k] = index * size + first_vector(rows) + k * lanes
    joints[~moving] = WASTE
    columns = joints if in_place else joints[moving]

    def section(row, ignored=WASTE):
        return np.where(columns == WASTE, ignored, columns + (row - rows.q) * lanes)

    def head(place, count):
        return shared + lanes * np.arange(place, place + count)

    if forward:
        driven = table[3] > 0 if in_place else table[3][moving] > 0
        given = np.where(driven, section(rows.torque), WASTE)
        out = np.concatenate([head(HEAD_ACC, 6), section(rows.acc, ZERO)])
    else:
        given = np.concatenate([head(BASE_ACCELERATION, 6), section(rows.qdd)])
        out = np.concatenate([head(HEAD_FORCE, 6), section(rows.out, ZERO)])
    nu = np.concatenate([head(TWIST, 6), section(rows.rate)])
    return [head(ROTATION, 9), joints, nu, given, out]


def _template(ws: Workspace, legs, lanes: int, size: int) -> np.ndarray:
    """Return the part of the memory that does not depend on the state: three rows (WASTE, ZERO, one unused), the
    legs' memory, `shared`.
    """
    rows, start = ws.rows, -WASTE
    memory = np.zeros(start + len(legs) * size + SHARED_SIZE * max(lanes, LINE))
    for index, leg in enumerate(legs):
        block, lane, _, count, _ = ws.legs[leg]
        own = memory[start + index * size : start + (index + 1) * size]
        own[: rows.q] = ws.lanes[block, : rows.q, lane]
        for k in range(count):  # position of a locked joint; overwritten for moving joints
            at = first_vector(rows) + k * lanes
            own[at : at + lanes] = ws.lanes[block, rows.q + k, lane]
    shared = memory[start + len(legs) * size :]
    for place in (GRAVITY, *range(BODY, BODY + 10)):
        shared[place * lanes : (place + 1) * lanes] = ws.shared[place]
    return memory
