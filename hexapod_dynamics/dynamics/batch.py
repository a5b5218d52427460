"""Forward and inverse dynamics of many states in one call: a robot in each lane, on all cores.

The states of one morphology run in groups of as many as a vector register has lanes, on memory of one robot that each
thread makes for itself (some 20 kB are in use: the first-level cache holds them). Legs that are missing are left out.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.compiled import inline_kernel, kernel
from hexapod_dynamics.dynamics.batch_code import (
    DETERMINANT,
    ROTATION,
    SKEWNESS,
    batch_kernels,
    leg_size,
)
from hexapod_dynamics.dynamics.entry_points import ROTATION_TOLERANCE, is_rotation
from hexapod_dynamics.dynamics.kernels import call_kernel
from hexapod_dynamics.dynamics.late_intrinsics import fetch_line, move
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.machine_code import native_lanes
from hexapod_dynamics.dynamics.native import floats_at, number_at, write_at
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
from hexapod_dynamics.robot import Morphology

KEPT = 256  # morphologies that a model remembers the preparations of; 20 kB each
LEAST_SHARE = 2048  # states for which another thread is worth its start
LEAST_GROUP = 48  # states of a morphology for which the memory that a call makes is worth it
WORTH = 1024  # states of a morphology, in all calls, for which its preparation is worth it
WASTE, ZERO, CHECK = -3 * LINE, -2 * LINE, -LINE  # rows before the legs' memory; `collect` writes to the last one


class BatchModel:
    """A robot's batch kernels."""

    def __init__(self, kernels: RobotKernels):
        self.kernels = kernels
        self.lanes = native_lanes()
        self.code = [batch_kernels(LegType.of(leg), kernels.rows) for leg in kernels.robot.legs]
        self._known: dict[tuple[bool, Morphology, bool], Callable] = {}  # what `_prepared` made
        self._counts: dict[Morphology, int] = {}  # states so far of morphologies that are not prepared

    def is_worth(self, forward: bool, morphology: Morphology, count: int) -> bool:
        """Whether so many states (LEAST_GROUP or more) of a morphology take less time here than one after the other."""
        if (forward, morphology, True) in self._known:
            return True
        if len(self._counts) >= KEPT:
            self._counts = {}
        self._counts[morphology] = total = self._counts.get(morphology, 0) + count
        return total >= WORTH

    def run(self, forward: bool, morphology: Morphology, in_place: bool, states, given, out) -> int:
        """Fill out for the states (indices) of one morphology; the first state that cannot be computed, -1 if none.

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
    """Function of (states, R, q, nu, tau or nudot, out) that fills out, with a memory made at each call."""
    ws, lanes = model.kernels.workspace(morphology), model.lanes
    legs = [index for index in range(len(ws.legs)) if ws.legs[index, 4] >= 0]
    names = ("forward", "substitute") if forward else ("inverse", "inverse")
    code = np.array([[model.code[leg].address(name) for name in names] for leg in legs], dtype=np.int64).reshape(-1, 2)
    robot = model.code[0]
    parts = ("start" if forward else "start_inverse", "solve_head", "spread", "collect")
    heads = np.array([robot.address(name) for name in parts])
    size = leg_size(ws.rows, lanes)
    template = _template(ws, legs, lanes, size)
    tables = _places(ws, legs, lanes, size, morphology, forward, in_place)
    widths = tuple(len(table) for table in tables)
    padded = tuple(max(lanes, width) for width in widths)
    fills = zip(tables, padded, (WASTE,) * 4 + (ZERO,), strict=True)
    places = np.concatenate(
        [np.pad(table, (0, size - len(table)), constant_values=fill) for table, size, fill in fills]
    )
    layout = (lanes, len(legs), size)

    def work(states, rotations, q, nu, given, out):
        memory = np.empty(template.size + LINE)
        memory = memory[-(memory.ctypes.data // 8) % LINE :][: template.size]
        memory[:] = template
        room = np.zeros(max(padded) * lanes)
        arrays = tuple(array.ctypes.data for array in (rotations, q, nu, given, out))
        sizes = layout, widths, padded
        return int(run_batch(memory.ctypes.data, code, heads, *sizes, places, forward, states, arrays, room))

    return work


def _places(ws: Workspace, legs, lanes: int, size: int, morphology: Morphology, forward: bool, in_place: bool) -> list:
    """Where the columns of R, q, nu, tau or nudot, and out have their lanes in the memory behind its first three rows.

    What is ignored goes to WASTE, what is zero comes from ZERO.
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
    """Three rows (WASTE, ZERO, CHECK), the legs' memory, `shared`: all that does not depend on the state."""
    rows, start = ws.rows, -WASTE
    memory = np.zeros(start + len(legs) * size + SHARED_SIZE * max(lanes, LINE))
    for index, leg in enumerate(legs):
        block, lane, _, count, _ = ws.legs[leg]
        own = memory[start + index * size : start + (index + 1) * size]
        own[: rows.q] = ws.lanes[block, : rows.q, lane]
        for k in range(count):  # where the joint is locked; those that move are written over
            at = first_vector(rows) + k * lanes
            own[at : at + lanes] = ws.lanes[block, rows.q + k, lane]
    shared = memory[start + len(legs) * size :]
    for place in (GRAVITY, *range(BODY, BODY + 10)):
        shared[place * lanes : (place + 1) * lanes] = ws.shared[place]
    return memory


@inline_kernel
def _fetch_rows(arrays, widths, state, lanes):
    """Ask for the rows of so many states from one on, of all arrays, while others are computed."""
    for part in range(5):
        begin = arrays[part] + 8 * widths[part] * state
        for place in range(0, 8 * widths[part] * lanes, 64):
            fetch_line(begin + place)


@inline_kernel
def _copy_rows(states, first, lanes, width, source, room, row):
    """Copy the rows of those states behind each other, so far apart; past the end the last one again."""
    for lane in range(lanes):
        s = states[min(first + lane, states.shape[0] - 1)]
        for i in range(width):
            write_at(room, lane * row + i, number_at(source, width * s + i))


@inline_kernel
def _move_columns(mover, states, columns, lanes, memory, places):
    """Move all columns of as many states as there are lanes; if they are no multiple of the lanes, some twice."""
    for first in range(0, columns, lanes):
        column = min(first, columns - lanes)
        move(mover, states + 8 * column, columns, memory, places + 8 * column)


@kernel
def run_batch(memory, code, heads, layout, widths, padded, places, forward, states, arrays, room):
    """Fill out for the states; the first one that is no state or whose result is not finite, -1 if none.

    memory and arrays (R, q, nu, given, out) are addresses; widths are the columns of the arrays, and padded those of
    `places`. Groups of states that follow each other are read and written where they are, others by way of `room`.
    """
    lanes, legs, size = layout
    base = memory - 8 * WASTE
    shared, count, worst = base + 8 * legs * size, states.shape[0], -1
    for group in range(0, count, lanes):
        s = states[group]
        in_line = group + lanes <= count and states[group + lanes - 1] == s + lanes - 1
        table = places.ctypes.data
        for part in range(4):
            source = arrays[part] + 8 * widths[part] * s
            if not in_line or widths[part] < lanes:
                source = room.ctypes.data
                _copy_rows(states, group, lanes, widths[part], arrays[part], source, padded[part])
            _move_columns(heads[2], source, padded[part], lanes, base, table)
            table += 8 * padded[part]
        if group + lanes < count:
            _fetch_rows(arrays, widths, states[group + lanes], lanes)
        call_kernel(heads[0], shared, shared)
        for leg in range(legs):
            call_kernel(code[leg, 0], base + 8 * leg * size, shared)
        if forward:
            call_kernel(heads[1], shared, shared)
            for leg in range(legs):
                call_kernel(code[leg, 1], base + 8 * leg * size, shared)
        for lane in range(lanes):
            write_at(base, lane - lanes, 0.0)
        direct = in_line and widths[4] >= lanes
        target = arrays[4] + 8 * widths[4] * s if direct else room.ctypes.data
        _move_columns(heads[3], target, padded[4], lanes, base, table)
        for lane in range(min(lanes, count - group)):
            s = states[group + lane]
            if not direct:
                for i in range(widths[4]):
                    write_at(arrays[4], widths[4] * s + i, number_at(target, lane * padded[4] + i))
            good = number_at(shared, SKEWNESS * lanes + lane) <= ROTATION_TOLERANCE * ROTATION_TOLERANCE
            if not (good and number_at(shared, DETERMINANT * lanes + lane) > 0.0):
                good = is_rotation(floats_at(arrays[0] + 72 * s, (3, 3)))
            if (not good or number_at(base, lane - lanes) != 0.0) and (worst < 0 or s < worst):
                worst = s
    return worst
