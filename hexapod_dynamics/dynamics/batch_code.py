"""Leg kernels with a robot in each lane: for many states of one morphology at once.

The traced programs are those of leg_kernels.py. Here a vector register holds the same number of several robots, so
all lanes of a wide register are used for any number of legs, and nothing is added up across lanes. The signature
of a kernel is `void(double *leg, double *shared)`: a leg's memory begins with its constants, one number for all
lanes (the rows before `q`), and has a row of lanes for each further row of `Rows`; `shared` has one for each
place.
"""

from __future__ import annotations

from hexapod_dynamics.dynamics.rigid_body import inertia_times, spatial_lower
from hexapod_dynamics.dynamics.tracing import Scalar, Trace, add, cross, dot
from hexapod_dynamics.dynamics.workspace import (
    BASE_ACCELERATION,
    BODY,
    GRAVITY,
    HEAD,
    HEAD_FORCE,
    LINE,
    TWIST,
    WRENCH_BY_TWIST,
    Rows,
    first_vector,
)

# Places of `shared` that only batches use.
ROTATION = WRENCH_BY_TWIST  # IN of start: 9 row by row
SKEWNESS = ROTATION + 9  # OUT of start: sum of the squares of R R^T - 1, and R's determinant
DETERMINANT = ROTATION + 10


def leg_size(rows: Rows, lanes: int) -> int:
    """Return the number of doubles of a leg's memory."""
    return first_vector(rows) + (rows.size - rows.q) * max(lanes, LINE)


def trace_start(with_accelerations: bool) -> Trace:
    """Write the body's share of the head and of the right-hand side (in inverse dynamics: its wrench), at
    ROTATION, TWIST.

    with_accelerations: the body's accelerations are given in BASE_ACCELERATION; gravity is added to them here.
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
