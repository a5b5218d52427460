"""The instructions of batch_code.py's kernels; it needs LLVM."""

from __future__ import annotations

import llvmlite.ir as ir

from hexapod_dynamics.dynamics.tracing import Trace
from hexapod_dynamics.dynamics.vector_code import DOUBLE, FUSE, INT32, INT64, VectorEmitter, emit_object
from hexapod_dynamics.dynamics.workspace import Rows, first_vector


def emit_batch(traces: dict[str, Trace], lanes: int, rows: Rows, shared: bool) -> bytes:
    """Object code of traces with a robot in each lane, and of the movers; shared: see `vector_code.target_machine`."""

    def emitter(module: ir.Module, name: str, lanes: int) -> BatchEmitter:
        return BatchEmitter(module, name, lanes, rows)

    kernels = {name: (trace, lanes) for name, trace in traces.items()}
    return emit_object(kernels, emitter=emitter, more=lambda module: _write_movers(module, lanes), shared=shared)


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
