"""Traced programs: folded as far as they go, and the same numbers from machine code whatever the lanes."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_dynamics.dynamics.tracing import Trace, cross, dot, matmul, matvec, transpose
from hexapod_dynamics.native import LibrarySource, library
from hexapod_dynamics.native.c_printer import LEG, print_kernel


@pytest.fixture
def trace():
    return Trace()


def test_zeros_ones_and_constants_are_folded(trace):
    x, zero, one = trace.read("lane", 0), trace.zero, trace.one
    assert x * zero is zero
    assert x * one is x
    assert x + zero is x
    assert x - x is zero
    opposite = -x
    assert -opposite is x
    assert (x * 2.0) * 3.0 is x * 6.0
    assert x * -2.0 is -(x * 2.0)
    assert x / 4.0 is x * 0.25
    cosine = x.sincos()[1]
    assert cosine + (1.0 - cosine) is one
    assert trace.constant(0.5).sincos()[0].value == np.sin(0.5)


def test_equal_subexpressions_are_one_operation(trace):
    x, y = trace.read("lane", 0), trace.read("lane", 1)
    assert x * y is y * x
    assert x + y is y + x
    assert (-x) * y is -(x * y)
    trace.write("lane", 2, x * y + y * x)
    trace.write("lane", 3, (x * y) * (y * x))
    assert trace.operation_count() == {"mul": 2, "add": 1}


def test_only_what_results_need_is_in_the_program(trace):
    x, y = trace.read("lane", 0), trace.read("lane", 1)
    _ = x * y * y
    trace.write("lane", 2, x + y)
    assert trace.operation_count() == {"add": 1}


def run(trace, lanes, memory, shared):
    """A kernel's effect on copies of its memory."""
    source = f'#define HD_LANES {lanes}\n#include "hd_lanes.h"\n{print_kernel("kernel", trace, LEG)}'
    loaded = library(LibrarySource("test", source, lambda: source))
    pointer = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(None, pointer, pointer)(loaded.address("kernel"))
    memory, shared = memory.copy(), shared.copy()
    function(memory.ctypes.data_as(pointer), shared.ctypes.data_as(pointer))
    return memory, shared


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_machine_code_computes_what_was_traced(lanes):
    trace = Trace()
    read = [trace.read("lane", row) for row in range(6)]
    a, b, s = read[:3], read[3:], trace.read("shared", 0)
    matrix = ((a[0], a[1], s), (b[0], 2.0, b[1]), (a[2], b[2], -a[0]))
    matrix = tuple(tuple(trace.lift(x) for x in row) for row in matrix)
    for row, value in enumerate(cross(a, b)):
        trace.write("lane", 6 + row, value)
    for row, value in enumerate(matvec(matmul(matrix, transpose(matrix)), a)):
        trace.write("lane", 9 + row, value)
    trace.write("sum", 1, dot(a, b) / (1.0 + s * s))
    rng = np.random.default_rng(lanes)
    memory, shared = rng.normal(size=(12, lanes)), np.array([0.7, 10.0])
    after, total = run(trace, lanes, memory, shared)
    expected = 10.0
    for lane in range(lanes):
        u, v = memory[:3, lane], memory[3:6, lane]
        M = np.array([[u[0], u[1], 0.7], [v[0], 2.0, v[1]], [u[2], v[2], -u[0]]])
        np.testing.assert_allclose(after[6:9, lane], np.cross(u, v), atol=1e-14)
        np.testing.assert_allclose(after[9:, lane], M @ M.T @ u, atol=1e-13)
        expected += u @ v / (1 + 0.7 * 0.7)
    assert total[1] == pytest.approx(expected, rel=1e-14)


TURN = Trace()
for _row, _value in enumerate(TURN.read("lane", 0).sincos()):
    TURN.write("lane", 1 + _row, _value)


@given(st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=8))
@settings(max_examples=25, deadline=None)
def test_sine_and_cosine_are_right_to_the_last_places(angles):
    angles = np.array(angles)
    memory, _ = run(TURN, 8, np.stack([angles, np.zeros(8), np.zeros(8)]), np.zeros(1))
    # within two units in the last place of one, or of what rounding the angle itself means
    tolerance = 4.5e-16 + 1.2e-16 * np.abs(angles) * 1e-6
    assert np.all(np.abs(memory[1] - np.sin(angles)) <= tolerance)
    assert np.all(np.abs(memory[2] - np.cos(angles)) <= tolerance)


def test_sine_and_cosine_in_every_quadrant_and_at_its_edges():
    edges = np.arange(-8, 8) * np.pi / 4
    for row in np.concatenate([edges, np.nextafter(edges, 9)]).reshape(-1, 8):
        memory, _ = run(TURN, 8, np.stack([row, np.zeros(8), np.zeros(8)]), np.zeros(1))
        np.testing.assert_allclose(memory[1:], [np.sin(row), np.cos(row)], rtol=0, atol=2.3e-16)
