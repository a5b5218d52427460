"""Exact derivatives of traced formulas, by the chain rule along the program; zeros and equal expressions are
folded.
"""

from __future__ import annotations

from typing import Any

from hexapod_dynamics.dynamics.tracing import Scalar, Trace


def differentiate(trace: Trace, outputs: Any, variable: Scalar) -> list[Scalar]:
    """Return the derivatives of the outputs (nodes of the trace) by one of the numbers that the trace reads."""
    needed, stack = set(), list(outputs)
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(node.arguments)
    by: dict[Scalar, Scalar] = {}
    # a node is made after its arguments, so this order is valid
    for node in sorted(needed, key=lambda node: node.index):
        by[node] = _rule(trace, node, [by[argument] for argument in node.arguments], variable)
    return [by[output] for output in outputs]


def _rule(trace: Trace, node: Scalar, by: Any, variable: Scalar) -> Scalar:
    if node.operation in ("constant", "read"):
        return trace.one if node is variable else trace.zero
    if all(part is trace.zero for part in by):
        return trace.zero
    if node.operation == "add":
        return by[0] + by[1]
    if node.operation == "sub":
        return by[0] - by[1]
    if node.operation == "neg":
        return -by[0]
    if node.operation == "mul":
        a, b = node.arguments
        return by[0] * b + a * by[1]
    if node.operation == "div":
        return (by[0] - node * by[1]) / node.arguments[1]
    sine, cosine = node.arguments[0].sincos()
    return cosine * by[0] if node.operation == "sin" else -(sine * by[0])
