"""Loops in C over states of a robot's model: how own programs call the model (hd_dynamics.h)."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from hexapod_dynamics.dynamics.workspace import Workspace
from hexapod_dynamics.native import LibrarySource, library

TEXT = """
#include "hd_dynamics.h"

#define LOOP(name) \\
    void name##_loop(struct hd_model *m, long count, const double *rotations, const double *q, const double *nu, \\
                     const double *inputs, long width, double *out) \\
    { \\
        const long n = m->joint_count; \\
        for (long i = 0; i < count; i++) \\
            hd_##name(m, rotations + 9 * i, q + n * i, nu + (6 + n) * i, inputs + width * i, out + (6 + n) * i); \\
    }
LOOP(forward)
LOOP(inverse)
"""


@cache
def loops() -> tuple:
    """Return the loops as functions of ctypes, and the library that holds them."""
    kept = library(LibrarySource("loops", TEXT, lambda: TEXT))
    arrays = 4 * [ctypes.c_void_p]
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, *arrays, ctypes.c_long, ctypes.c_void_p)
    return kind(kept.address("forward_loop")), kind(kept.address("inverse_loop")), kept


def run(function, workspace: Workspace, rotations, q, nu, inputs, out) -> None:
    """Run a loop over contiguous float64 arrays, a row for each state; results go to out."""
    arrays = rotations, q, nu, inputs
    assert all(each.flags.c_contiguous and each.dtype == np.float64 for each in (*arrays, out))
    addresses = [each.ctypes.data for each in arrays]
    function(workspace.memory.ctypes.data, len(q), *addresses, inputs.shape[1], out.ctypes.data)


def forward_loop(workspace: Workspace, rotations, q, nu, torques, out) -> None:
    """Forward dynamics of many states: out (N, 6 + joints)."""
    run(loops()[0], workspace, rotations, q, nu, torques, out)


def inverse_loop(workspace: Workspace, rotations, q, nu, nudot, out) -> None:
    """Inverse dynamics of many states: out (N, 6 + joints)."""
    run(loops()[1], workspace, rotations, q, nu, nudot, out)
