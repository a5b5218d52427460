"""The libraries of a robot's leg kernels: the C code that is printed, and when it is compiled.

Legs of one type share their code, even if they belong to different robots. Functions that most programs do not
call are in separate libraries, which are compiled only when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from hexapod_dynamics.dynamics.leg_derivatives import trace_derivatives
from hexapod_dynamics.dynamics.leg_kernels import (
    trace_eliminate,
    trace_forward,
    trace_inverse,
    trace_solve_head,
    trace_substitute,
    trace_terms,
)
from hexapod_dynamics.dynamics.leg_matrices import trace_center, trace_coriolis, trace_frames, trace_poses
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.tracing import Trace
from hexapod_dynamics.dynamics.workspace import Rows, first_vector
from hexapod_dynamics.native import LibrarySource, library

if TYPE_CHECKING:
    from hexapod_dynamics.native.library import Library


# Flags for code with loops: -O3 unrolls short loops and vectorises those over n numbers. Nothing else is joined to
# vectors: the processor would wait when it reads, as a vector, numbers that were just written one by one.
LOOPS = ("-O3", "-fno-tree-slp-vectorize")
# Kernels for Coriolis matrices and for derivatives: long programs, each in a library of its own.
MATRIX_KERNELS: dict[str, Callable[[LegType, Rows], Trace]] = {
    "coriolis": trace_coriolis,
    "derivatives": trace_derivatives,
}


def leg_traces(leg_type: LegType, rows: Rows) -> dict[str, Trace]:
    """Programs of the kernels that every model has from the start, by name."""
    count = len(leg_type.joints)
    return {
        "terms": trace_terms(leg_type, rows),
        "eliminate": trace_eliminate(count, rows),
        "forward": trace_forward(leg_type, rows),
        "substitute": trace_substitute(count, rows),
        "inverse": trace_inverse(leg_type, rows),
        "frames": trace_frames(leg_type, rows),
        "center": trace_center(leg_type, rows),
        "poses": trace_poses(leg_type, rows),
    }


def leg_source(leg_type: LegType, rows: Rows, lanes: int) -> LibrarySource:
    """Source of the functions named in `leg_traces`, and of `solve_head`."""

    def print_source() -> str:
        from hexapod_dynamics.native.c_printer import LEG, SHARED, print_kernel

        kernels = [print_kernel(name, trace, LEG) for name, trace in leg_traces(leg_type, rows).items()]
        return _source(lanes, *kernels, print_kernel("solve_head", trace_solve_head(), SHARED))

    return LibrarySource("legs", f"{leg_type!r} {rows!r} {lanes}", print_source)


def matrix_source(name: str, leg_type: LegType, rows: Rows, lanes: int) -> LibrarySource:
    """Source of the function `name`, one of MATRIX_KERNELS."""

    def print_source() -> str:
        from hexapod_dynamics.native.c_printer import LEG, print_kernel

        return _source(lanes, print_kernel(name, MATRIX_KERNELS[name](leg_type, rows), LEG))

    # Without this limit, gcc spends half of its time for a leg of six joints on choosing which register to spill; clang
    # ignores the limit.
    spilling = "--param=lra-max-considered-reload-pseudos=0"
    return LibrarySource(name, f"{leg_type!r} {rows!r} {lanes}", print_source, (spilling,))


def batch_source(leg_type: LegType, rows: Rows, lanes: int) -> LibrarySource:
    """Source of the functions forward, substitute, inverse of a leg, and of hd_run_batch, which runs them for the
    legs of a robot.
    """

    def print_source() -> str:
        from hexapod_dynamics.dynamics.batch_code import trace_start
        from hexapod_dynamics.native.c_printer import batch_layout, print_kernel

        layout = batch_layout(rows.q, first_vector(rows))
        legs = {
            "forward": trace_forward(leg_type, rows),
            "substitute": trace_substitute(len(leg_type.joints), rows),
            "inverse": trace_inverse(leg_type, rows),
        }
        heads = {
            "start": trace_start(with_accelerations=False),
            "start_inverse": trace_start(with_accelerations=True),
            "solve_head": trace_solve_head(),
        }
        kernels = [print_kernel(name, trace, layout) for name, trace in (legs | heads).items()]
        return _source(lanes, '#include "hd_batch.h"', *kernels)

    return LibrarySource("batch", f"{leg_type!r} {rows!r} {lanes}", print_source, LOOPS)


def model_source(rows: Rows, lanes: int) -> LibrarySource:
    """The table hd_entries of the functions that Python calls, for memory of that layout."""

    def print_source() -> str:
        fixed = [f"enum {{ HD_ROW_{name} = {place} }};" for name, place in rows._asdict().items()]
        return _source(lanes, "#define HD_FIXED_ROWS", *fixed, '#include "hd_entries.h"', "")

    return LibrarySource("model", f"{rows!r} {lanes}", print_source, LOOPS)


@lru_cache(maxsize=64)
def leg_library(leg_type: LegType, rows: Rows, lanes: int) -> Library:
    """Return the compiled functions of `leg_source`, loaded from the cache or compiled now."""
    return library(leg_source(leg_type, rows, lanes))


@lru_cache(maxsize=64)
def matrix_library(name: str, leg_type: LegType, rows: Rows, lanes: int) -> Library:
    """Return the compiled functions of `matrix_source`, loaded from the cache or compiled now."""
    return library(matrix_source(name, leg_type, rows, lanes))


@lru_cache(maxsize=64)
def batch_library(leg_type: LegType, rows: Rows, lanes: int) -> Library:
    """Return the compiled functions of `batch_source`, loaded from the cache or compiled now."""
    return library(batch_source(leg_type, rows, lanes))


@lru_cache(maxsize=8)
def model_library(rows: Rows, lanes: int) -> Library:
    """Return the compiled functions of `model_source`, loaded from the cache or compiled now."""
    return library(model_source(rows, lanes))


def _source(lanes: int, *parts: str) -> str:
    return "\n".join([f"#define HD_LANES {lanes}", '#include "hd_lanes.h"', "", *parts])
