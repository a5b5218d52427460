"""Leg kernels with a robot in each lane: for many states of one morphology at once.

The traced programs are those of leg_kernels.py. Here a vector register holds the same number of several robots, so all
lanes of a wide register work whatever the number of legs is, and nothing is added up across lanes. The signature of a
kernel is `void(double *leg, double *shared)`: a leg's memory begins with its constants, one number for all lanes (the
rows before `q`), and has a row of lanes for each further row of `Rows`; `shared` has one for each place.
"""

from __future__ import annotations

from functools import lru_cache

import llvmlite.ir as ir

from hexapod_dynamics.compiled import cached_object
from hexapod_dynamics.dynamics.leg_kernels import trace_forward, trace_inverse, trace_solve_head, trace_substitute
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.rigid_body import inertia_times, spatial_lower
from hexapod_dynamics.dynamics.tracing import Scalar, Trace, add, cross, dot
from hexapod_dynamics.dynamics.vector_code import (
    DOUBLE,
    FUSE,
    INT32,
    INT64,
    LoadedObject,
    VectorEmitter,
    emit_object,
    machine,
    native_lanes,
)
from hexapod_dynamics.dynamics.workspace import (
    BASE_ACCELERATION,
    BODY,
    GRAVITY,
    HEAD,
    HEAD_FORCE,
    SHARED_SIZE,
    TWIST,
    WRENCH_BY_TWIST,
    Rows,
)

# Places of `shared` that only batches use.
ROTATION = WRENCH_BY_TWIST  # IN of start: 9 row by row
SKEWNESS = ROTATION + 9  # OUT of start: sum of the squares of R R^T - 1, and R's determinant
DETERMINANT = ROTATION + 10
LINE = 8  # doubles of a cache line; the memory of a leg and all rows begin on one


def first_vector(rows: Rows) -> int:
    """Where the rows of lanes begin in a leg's memory."""
    return -(-rows.q // LINE) * LINE


def leg_size(rows: Rows, lanes: int) -> int:
    """Doubles of a leg's memory."""
    return first_vector(rows) + (rows.size - rows.q) * max(lanes, LINE)


class BatchEmitter(VectorEmitter):
    """Writes one kernel's instructions for memory of that kind; made for the `Rows` of a robot."""

    def __init__(self, module: ir.Module, name: str, lanes: int, rows: Rows) -> None:
        super().__init__(module, name, lanes)
        self.rows = rows

    def load(self, section: str, row: int) -> ir.Value:
        """A row of lanes, or a constant in every lane."""
        if section == "lane" and row < self.rows.q:
            return self.broadcast(self.builder.load(self.builder.gep(self.block, [INT64(row)]), align=8))
        return self.builder.load(self._address(section, row), align=8 * self.lanes)

    def store(self, section: str, row: int, value: ir.Value) -> None:
        """A result's store; a "sum" is added in each lane."""
        address = self._address(section, row)
        if section == "sum":
            value = self.builder.fadd(self.builder.load(address, align=8 * self.lanes), value, flags=FUSE)
        self.builder.store(value, address, align=8 * self.lanes)

    def _address(self, section: str, row: int) -> ir.Value:
        place, memory = row * self.lanes, self.shared
        if section == "lane":
            place, memory = first_vector(self.rows) + (row - self.rows.q) * self.lanes, self.block
        address = self.builder.gep(memory, [INT64(place)])
        return self.builder.bitcast(address, self.vector.as_pointer()) if self.lanes > 1 else address


def trace_start(with_accelerations: bool) -> Trace:
    """The head of the body alone and the right-hand side (of inverse dynamics: the body's wrench), at ROTATION, TWIST.

    With accelerations, those in BASE_ACCELERATION are the body's; gravity is added to them here.
    """
    trace = Trace()

    def read(start: int, count: int) -> tuple[Scalar, ...]:
        return tuple(trace.read("shared", start + i) for i in range(count))

    rotation, g = read(ROTATION, 9), trace.read("shared", GRAVITY)
    v, w = read(TWIST, 3), read(TWIST + 3, 3)
    body = trace.read("shared", BODY), read(BODY + 1, 3), read(BODY + 4, 6)
    a: tuple[Scalar, ...] = tuple(entry * g for entry in rotation[6:])
    b: tuple[Scalar, ...] = (trace.zero,) * 3
    if with_accelerations:
        a, b = add(a, read(BASE_ACCELERATION, 3)), read(BASE_ACCELERATION + 3, 3)
    momentum, spin = inertia_times(body, v, w)
    force, moment = inertia_times(body, a, b)
    wrench = add(force, cross(w, momentum)) + add(moment, add(cross(v, momentum), cross(w, spin)))
    for i in range(6):
        trace.write("shared", BASE_ACCELERATION + i, (a + b)[i])
        trace.write("shared", HEAD_FORCE + i, wrench[i] if with_accelerations else -wrench[i])
    for i, value in enumerate(spatial_lower(body, trace.zero)):
        trace.write("shared", HEAD + i, value)
    lines = rotation[0:3], rotation[3:6], rotation[6:9]
    skewness = trace.zero
    for i in range(3):
        for j in range(i + 1):
            error = dot(lines[i], lines[j]) - (trace.one if i == j else trace.zero)
            skewness = skewness + error * error
    trace.write("shared", SKEWNESS, skewness)
    trace.write("shared", DETERMINANT, dot(lines[0], cross(lines[1], lines[2])))
    return trace


def _transposed(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Columns of a square of numbers given as vectors, by shuffles: halves of squares of 2, 4, 8 change places."""
    lanes, distance = len(rows), 1
    while distance < lanes:
        here = [j if not j & distance else lanes + j - distance for j in range(lanes)]
        there = [j + distance if not j & distance else lanes + j for j in range(lanes)]
        for i in range(lanes):
            if not i & distance:
                pair = rows[i], rows[i + distance]
                for place, pattern in ((i, here), (i + distance, there)):
                    mask = ir.Constant(ir.VectorType(INT32, lanes), pattern)
                    rows[place] = builder.shuffle_vector(*pair, mask)
        distance *= 2
    return rows


def _write_movers(module: ir.Module, lanes: int) -> None:
    """Write `spread` and `collect`, which move as many columns of as many states as there are lanes.

    void(double *states, int64 row, double *memory, int64 *places): states' rows are `row` doubles apart; the lanes of
    column c lie at memory + places[c]. `collect` adds zero times what it moves to the row of lanes before the memory.
    """
    vector = ir.VectorType(DOUBLE, lanes) if lanes > 1 else DOUBLE

    def at(builder: ir.IRBuilder, base: ir.Value, place: ir.Value) -> ir.Value:
        return builder.bitcast(builder.gep(base, [place]), vector.as_pointer())

    numbers, wholes = DOUBLE.as_pointer(), INT64.as_pointer()
    for name in ("spread", "collect"):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [numbers, INT64, numbers, wholes]), name)
        states, row, memory, places = function.args
        builder = ir.IRBuilder(function.append_basic_block())

        outside = [at(builder, states, builder.mul(row, INT64(r))) for r in range(lanes)]
        inside = [at(builder, memory, builder.load(builder.gep(places, [INT64(c)]))) for c in range(lanes)]
        if name == "spread":
            columns = [builder.load(place, align=8) for place in outside]
            for place, column in zip(inside, _transposed(builder, columns), strict=True):
                builder.store(column, place, align=8 * lanes)
        else:
            columns = [builder.load(place, align=8 * lanes) for place in inside]
            check = at(builder, memory, INT64(-lanes))
            total, zero = builder.load(check, align=8 * lanes), ir.Constant(vector, [0.0] * lanes if lanes > 1 else 0.0)
            for column in columns:
                total = builder.fadd(total, builder.fmul(column, zero))
            builder.store(total, check, align=8 * lanes)
            for place, column in zip(outside, _transposed(builder, columns), strict=True):
                builder.store(column, place, align=8)
        builder.ret_void()


@lru_cache(maxsize=64)
def batch_kernels(leg_type: LegType, rows: Rows) -> LoadedObject:
    """A leg's kernels (forward, substitute, inverse), a robot's (start, start_inverse, solve_head), and the movers."""

    def make() -> bytes:
        lanes = native_lanes()
        traces = {
            "forward": trace_forward(leg_type, rows),
            "substitute": trace_substitute(len(leg_type.joints), rows),
            "inverse": trace_inverse(leg_type, rows),
            "start": trace_start(with_accelerations=False),
            "start_inverse": trace_start(with_accelerations=True),
            "solve_head": trace_solve_head(),
        }
        emitter = lambda module, name, lanes: BatchEmitter(module, name, lanes, rows)  # noqa: E731
        kernels = {name: (trace, lanes) for name, trace in traces.items()}
        return emit_object(kernels, emitter=emitter, more=lambda module: _write_movers(module, lanes))

    return LoadedObject(cached_object(__name__, f"{machine()} batch {leg_type!r} {rows!r} {SHARED_SIZE}", make))
