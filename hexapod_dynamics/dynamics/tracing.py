"""Scalars that record operations: evaluating a formula on them gives its straight-line program.

Zeros, ones and constants are folded as they appear and equal subexpressions are the same node, so the program holds
each operation once (Farghdani & Chhabra 2025, section V: symbolic expressions are generated once for each unique leg).
"""

from __future__ import annotations

import math
from typing import Any


class Trace:
    """Owner of the nodes; `constant` and `read` create leaves, `write` names results."""

    def __init__(self) -> None:
        self._nodes: dict[tuple, Scalar] = {}
        self.outputs: list[tuple[str, int, Scalar]] = []
        self.zero, self.one = self.constant(0.0), self.constant(1.0)

    def constant(self, value: float) -> Scalar:
        """A number that is known while tracing."""
        return self.node("constant", (), float(value))

    def read(self, section: str, row: int) -> Scalar:
        """A number read at run time: row of a section of the kernel's memory."""
        return self.node("read", (), (section, row))

    def write(self, section: str, row: int, value: Any) -> None:
        """Name a result: row of a section."""
        self.outputs.append((section, row, self.lift(value)))

    def lift(self, value: Any) -> Scalar:
        """Return the value as a node: a number becomes a constant."""
        return value if isinstance(value, Scalar) else self.constant(value)

    def node(self, operation: str, arguments: tuple, value: Any = None) -> Scalar:
        """Return the node of an operation on nodes; equal operations are one node."""
        key = (operation, tuple(argument.index for argument in arguments), value)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Scalar(self, operation, arguments, value, len(self._nodes))
        return node

    def program(self) -> list[Scalar]:
        """Return the nodes on which the outputs depend, arguments before their users."""
        order, seen = [], set()
        for _, _, output in self.outputs:
            stack = [(output, False)]
            while stack:
                node, ready = stack.pop()
                if ready:
                    order.append(node)
                elif node.index not in seen:
                    seen.add(node.index)
                    stack.append((node, True))
                    stack.extend((argument, False) for argument in reversed(node.arguments))
        return order

    def operation_count(self) -> dict[str, int]:
        """Return how many operations of each kind the program executes."""
        counts: dict[str, int] = {}
        for node in self.program():
            if node.arguments:
                counts[node.operation] = counts.get(node.operation, 0) + 1
        return counts


class Scalar:
    """One node of a trace; arithmetic on it makes new nodes, simplified."""

    __slots__ = ("trace", "operation", "arguments", "value", "index")

    def __init__(self, trace: Trace, operation: str, arguments: tuple, value: Any, index: int) -> None:
        self.trace, self.operation, self.arguments, self.value = trace, operation, arguments, value
        self.index = index  # order of creation, so that the same formula always yields the same program

    @property
    def is_constant(self) -> bool:
        """Whether the number is known while tracing."""
        return self.operation == "constant"

    def __add__(self, other: object) -> Scalar:
        a, b, trace = self, self.trace.lift(other), self.trace
        if a.is_constant and b.is_constant:
            return trace.constant(a.value + b.value)
        if a is trace.zero:
            return b
        if b is trace.zero:
            return a
        if b.operation == "neg":
            return a - b.arguments[0]
        if a.operation == "neg":
            return b - a.arguments[0]
        if b.operation == "sub" and b.arguments[1] is a:  # cos + (1 - cos)
            return b.arguments[0]
        return trace.node("add", (a, b) if a.index <= b.index else (b, a))

    def __sub__(self, other: object) -> Scalar:
        a, b, trace = self, self.trace.lift(other), self.trace
        if a.is_constant and b.is_constant:
            return trace.constant(a.value - b.value)
        if b is trace.zero:
            return a
        if a is b:
            return trace.zero
        if a is trace.zero:
            return -b
        if b.operation == "neg":
            return a + b.arguments[0]
        if a.operation == "neg":
            return -(a.arguments[0] + b)
        return trace.node("sub", (a, b))

    def __mul__(self, other: object) -> Scalar:
        a, b, trace = self, self.trace.lift(other), self.trace
        if b.is_constant:
            a, b = b, a
        if a.is_constant:
            if b.is_constant:
                return trace.constant(a.value * b.value)
            if a.value == 0.0:
                return trace.zero
            if a.value == 1.0:
                return b
            if a.value == -1.0:
                return -b
            if a.value < 0:  # one sign convention, so that equal products are recognised
                return -(trace.constant(-a.value) * b)
            if b.operation == "mul" and b.arguments[0].is_constant:
                return trace.constant(a.value * b.arguments[0].value) * b.arguments[1]
        if a.operation == "neg":
            return -(a.arguments[0] * b)
        if b.operation == "neg":
            return -(a * b.arguments[0])
        if not a.is_constant and a.index > b.index:
            a, b = b, a
        return trace.node("mul", (a, b))

    def __neg__(self) -> Scalar:
        if self.is_constant:
            return self.trace.constant(-self.value)
        if self.operation == "neg":
            return self.arguments[0]
        if self.operation == "sub":
            return self.arguments[1] - self.arguments[0]
        return self.trace.node("neg", (self,))

    def __truediv__(self, other: object) -> Scalar:
        b = self.trace.lift(other)
        if b.is_constant:
            return self * (1.0 / b.value)
        return self.trace.node("div", (self, b))

    def __radd__(self, other: object) -> Scalar:
        return self + other

    def __rsub__(self, other: object) -> Scalar:
        return self.trace.lift(other) - self

    def __rmul__(self, other: object) -> Scalar:
        return self * other

    def __rtruediv__(self, other: object) -> Scalar:
        return self.trace.lift(other) / self

    def sincos(self) -> tuple[Scalar, Scalar]:
        """Sine and cosine."""
        if self.is_constant:
            return self.trace.constant(math.sin(self.value)), self.trace.constant(math.cos(self.value))
        return self.trace.node("sin", (self,)), self.trace.node("cos", (self,))

    def __repr__(self) -> str:
        if self.is_constant:
            return f"{self.value:g}"
        if self.operation == "read":
            return f"{self.value[0]}[{self.value[1]}]"
        return f"{self.operation}({', '.join(map(repr, self.arguments))})"


# Vectors of three and matrices of three rows, as tuples of scalars (traced or plain floats).


def add(a: Any, b: Any) -> tuple[Any, ...]:
    """Sum of two vectors."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def scale(factor: Any, a: Any) -> tuple[Any, ...]:
    """Vector times a number."""
    return tuple(factor * x for x in a)


def dot(a: Any, b: Any) -> Any:
    """Scalar product, summed from the left."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cross(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Vector product a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def matvec(rows: Any, a: Any) -> tuple[Any, ...]:
    """Matrix times vector."""
    return tuple(dot(row, a) for row in rows)


def transpose(rows: Any) -> tuple[Any, ...]:
    """Transposed matrix."""
    return tuple(zip(*rows, strict=True))


def matmul(a: Any, b: Any) -> tuple[Any, ...]:
    """Matrix product."""
    columns = transpose(b)
    return tuple(tuple(dot(row, column) for column in columns) for row in a)
