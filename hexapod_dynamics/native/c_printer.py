"""Prints a traced program as a C function: every operation on lanes, one leg (or one state of a batch) in each lane.

A kernel is `void(double *block, double *shared)`. "lane" rows hold HD_LANES numbers each; "shared" numbers are the same
for all lanes; a "sum" output adds the lanes' results to a number in `shared`. include/hd_lanes.h defines the type
and the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Program(Protocol):
    """The program that is printed: a dynamics.tracing.Trace."""

    outputs: list[tuple[str, int, Any]]  # section, row, node

    def program(self) -> list[Any]:
        """Return the nodes that the outputs depend on, arguments before users."""


@dataclass(frozen=True)
class Layout:
    """How a kernel reads and writes its memory: C expressions for a section ("lane", "shared", "sum") and a row."""

    type: str
    read: Callable[[str, int], str]
    write: Callable[[str, int, str], str]


def _read_leg(section: str, row: int) -> str:
    return f"hd_load(block + HD_LANES * {row})" if section == "lane" else f"hd_splat(shared[{row}])"


def _write_leg(section: str, row: int, value: str) -> str:
    if section == "lane":
        return f"hd_store(block + HD_LANES * {row}, {value})"
    return f"shared[{row}] {'+=' if section == 'sum' else '='} hd_sum({value})"


def _write_shared(section: str, row: int, value: str) -> str:
    return f"shared[{row}] = {value}"


LEG = Layout("hd_lanes", _read_leg, _write_leg)  # a leg in each lane
SHARED = Layout("double", lambda section, row: f"shared[{row}]", _write_shared)  # only numbers that the legs share


def batch_layout(constants: int, first: int) -> Layout:
    """Return the layout of kernels with a state in each lane; see include/hd_batch.h.

    A leg's memory begins with its `constants`, one number for all lanes; from `first` on it has rows of lanes.
    """

    def place(section: str, row: int) -> str:
        if section != "lane":
            return f"shared + HD_LANES * {row}"
        return f"block + {first} + HD_LANES * {row - constants}"

    def read(section: str, row: int) -> str:
        if section == "lane" and row < constants:
            return f"hd_splat(block[{row}])"
        return f"hd_load_line({place(section, row)})"

    def write(section: str, row: int, value: str) -> str:
        at = place(section, row)
        return f"hd_store_line({at}, {f'hd_load_line({at}) + {value}' if section == 'sum' else value})"

    return Layout("hd_lanes", read, write)


def print_kernel(name: str, trace: Program, layout: Layout, linkage: str = "") -> str:
    """Return the C function of a trace; linkage: "" or "static "."""
    lines = [f"{linkage}void {name}(double *restrict block, double *restrict shared)", "{"]
    read = {node.value for node in trace.program() if node.operation == "read"}
    results: dict[int, list[tuple[str, int]]] = {}
    for section, row, node in trace.outputs:
        results.setdefault(node.index, []).append((section, row))
    late: list[str] = []
    names: dict[int, str] = {}
    turned: set[int] = set()
    for node in trace.program():
        index = node.index
        if node.operation == "constant":
            names[index] = repr(node.value) if layout.type == "double" else f"hd_splat({node.value!r})"
        else:
            lines += _operation(node, names, turned, layout)
        for section, row in results.get(index, ()):
            statement = f"    {layout.write(section, row, names[index])};"
            # write results only after everything is computed: rows that are still read must keep their numbers
            (late if (section, row) in read or section == "sum" else lines).append(statement)
    lines += late
    unused = [f"(void){each};" for each in ("block", "shared") if not any(each in line for line in lines[2:])]
    return "\n".join([*lines, *(f"    {each}" for each in unused), "}", ""])


OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def _operation(node: Any, names: dict[int, str], turned: set[int], layout: Layout) -> list[str]:
    """Return the statements of one operation; the name of its result is added to `names`, `turned` holds angles
    whose sine is known.
    """
    name = names[node.index] = f"t{node.index}"
    if node.operation == "read":
        return [f"    const {layout.type} {name} = {layout.read(*node.value)};"]
    if node.operation in ("sin", "cos"):
        angle = node.arguments[0]
        sine, cosine = f"sin_{names[angle.index]}", f"cos_{names[angle.index]}"
        names[node.index] = sine if node.operation == "sin" else cosine
        if angle.index in turned:
            return []
        turned.add(angle.index)
        call = f"hd_sincos({names[angle.index]}, &{sine}, &{cosine})"
        return [f"    {layout.type} {sine}, {cosine};", f"    {call};"]
    operands = [names[argument.index] for argument in node.arguments]
    if node.operation == "neg":
        return [f"    const {layout.type} {name} = -{operands[0]};"]
    return [f"    const {layout.type} {name} = {operands[0]} {OPERATORS[node.operation]} {operands[1]};"]
