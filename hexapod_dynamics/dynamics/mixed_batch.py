"""Forward and inverse dynamics of states that share their morphology with few others: one after the other, compiled.

A morphology's batch code (batch.py) takes half a millisecond to prepare, which pays from a thousand states on. Here a
state takes what a call of the model takes, without the way through Python, on the memory of its morphology
(selection.py). The interpreter's lock is held throughout, as in every call of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hexapod_dynamics.compiled import entry, inline_kernel
from hexapod_dynamics.dynamics.entry_points import is_rotation, set_gravity, set_q
from hexapod_dynamics.dynamics.kernels import body_wrench, solve_forward
from hexapod_dynamics.dynamics.native import (
    builtin,
    floats_at,
    given,
    integer_answer,
    integers,
    integers_at,
    runtime_words,
)
from hexapod_dynamics.dynamics.selection import open_memory
from hexapod_dynamics.dynamics.workspace import BASE_ACCELERATION, HEAD_ACC, TWIST


def run_mixed(forward: bool, memories: Sequence[np.ndarray], states: Any, arrays: Any, out: np.ndarray) -> int:
    """Fill out for the states (indices), each on its own memory; the first that cannot be computed, -1 if none.

    arrays: R (N, 3, 3), q (N, joints), nu (N, 6 + joints), and tau (N, joints) or nudot (N, 6 + joints), C-contiguous
    floats of all joints, as out (N, 6 + joints), which is zero; what belongs to joints that do not move is ignored.
    """
    task = np.array([len(states), forward, out.shape[1] - 6, *map(id, (*arrays, out))], dtype=np.int64)
    objects = np.array([*map(id, memories)], dtype=np.int64)
    return builtin(run_each)(task, objects, np.array(states, dtype=np.int64))


@entry
def run_each(runtime, arguments, count):
    """(task, memories, states): what `run_mixed` is; task: number of states, forward, joints, ids of arrays."""
    objects = given(arguments, count)
    task, first, second = integers_at(integers(objects[0]), (8,)), integers(objects[1]), integers(objects[2])
    joints = task[2]
    rotations, positions, rates = integers(task[3]), integers(task[4]), integers(task[5])
    inputs, results = integers(task[6]), integers(task[7])
    memories, states = integers_at(first, (task[0],)), integers_at(second, (task[0],))
    width = joints if task[1] else 6 + joints
    worst = -1
    for i in range(task[0]):
        s = states[i]
        ws, flat, free = open_memory(integers(memories[i]))
        rotation = floats_at(rotations + 72 * s, (3, 3))
        q = floats_at(positions + 8 * joints * s, (joints,))
        nu = floats_at(rates + 8 * (6 + joints) * s, (6 + joints,))
        values = floats_at(inputs + 8 * width * s, (width,))
        out = floats_at(results + 8 * (6 + joints) * s, (6 + joints,))
        good = is_rotation(rotation) and set_q(ws, flat, free, q)
        if not (good and _run_state(ws, flat, free, task[1], rotation, nu, values, out)) and (worst < 0 or s < worst):
            worst = s
    return integer_answer(runtime_words(runtime), worst)


@inline_kernel
def _run_state(ws, flat, free, forward, rotation, nu, values, out):
    """Forward or inverse dynamics of a state whose q is set; whether the result is finite."""
    width, rows, total = ws.lanes.shape[2], ws.rows, 0.0
    set_gravity(ws, rotation)
    for i in range(6):
        ws.shared[TWIST + i] = nu[i]
    for i in range(free.shape[0]):
        flat[rows.rate * width + free[i, 1]] = nu[6 + free[i, 0]]
    if forward:
        for i in range(free.shape[0]):
            motor = values[free[i, 0]]
            flat[rows.torque * width + free[i, 1]] = motor if free[i, 2] != 0 else 0.0
        solve_forward(ws)
        for i in range(6):
            out[i] = ws.shared[HEAD_ACC + i]
    else:
        for i in range(6):
            ws.shared[BASE_ACCELERATION + i] += values[i]
        for i in range(free.shape[0]):
            flat[rows.qdd * width + free[i, 1]] = values[6 + free[i, 0]]
        body_wrench(ws, out)
    result = rows.acc if forward else rows.out
    for i in range(6):
        total += out[i] - out[i]
    for i in range(free.shape[0]):
        value = flat[result * width + free[i, 1]]
        out[6 + free[i, 0]] = value
        total += value - value
    return total == 0.0
