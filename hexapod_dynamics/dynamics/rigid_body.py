"""Rigid bodies for traced scalars: rotations, and inertias (m, h = m com, I about the frame's origin).

I is (xx, yy, zz, xy, xz, yz); twists are linear first.
"""

from __future__ import annotations

from typing import Any

from hexapod_dynamics.dynamics.tracing import add, cross, dot, matmul, matvec, scale, transpose


def rodrigues(
    axis: Any, sine: Any, cosine: Any
) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """Rotation about a unit axis: cos I + sin [a] + (1 - cos) a a^T."""
    x, y, z = axis
    rest = 1.0 - cosine
    return (
        (cosine + rest * (x * x), rest * (x * y) - sine * z, rest * (x * z) + sine * y),
        (rest * (x * y) + sine * z, cosine + rest * (y * y), rest * (y * z) - sine * x),
        (rest * (x * z) - sine * y, rest * (y * z) + sine * x, cosine + rest * (z * z)),
    )


def symmetric_times(inertia: Any, a: Any) -> tuple[Any, Any, Any]:
    """Symmetric matrix (xx, yy, zz, xy, xz, yz) times a vector."""
    xx, yy, zz, xy, xz, yz = inertia
    return (dot((xx, xy, xz), a), dot((xy, yy, yz), a), dot((xz, yz, zz), a))


def inertia_times(body: Any, v: Any, w: Any) -> tuple[Any, Any]:
    """Momentum (p, L) of a body with twist (v, w): p = m v + w x h, L = h x v + I w."""
    mass, h, inertia = body
    return add(scale(mass, v), cross(w, h)), add(cross(h, v), symmetric_times(inertia, w))


def add_inertia(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Return two bodies joined to one, in the same frame."""
    return a[0] + b[0], add(a[1], b[1]), add(a[2], b[2])


def move_inertia(body: Any, rotation: Any, position: Any) -> tuple[Any, Any, tuple[Any, Any, Any, Any, Any, Any]]:
    """Return a body's inertia in another frame, in which the body's frame has this rotation and position."""
    mass, h, (xx, yy, zz, xy, xz, yz) = body
    turned = matmul(matmul(rotation, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))), transpose(rotation))
    h = matvec(rotation, h)
    # about the new origin: I + (2 p.h + m p.p) 1 - (p h^T + h p^T + m p p^T)
    (x, y, z), moved = position, add(h, scale(mass, position))
    gx, gy, gz = (component * both for component, both in zip(position, add(h, moved), strict=True))
    return (
        mass,
        moved,
        (
            turned[0][0] + (gy + gz),
            turned[1][1] + (gx + gz),
            turned[2][2] + (gx + gy),
            turned[0][1] - (x * moved[1] + y * h[0]),
            turned[0][2] - (x * moved[2] + z * h[0]),
            turned[1][2] - (y * moved[2] + z * h[1]),
        ),
    )


def spatial_lower(body: Any, zero: Any) -> Any:
    """Lower triangle (21) of the generalised mass matrix [[m, -[h]], [[h], I]] of (m, h, I)."""
    mass, (hx, hy, hz), (xx, yy, zz, xy, xz, yz) = body
    return (
        (mass,)
        + (zero, mass)
        + (zero, zero, mass)
        + (zero, -hz, hy, xx)
        + (hz, zero, -hx, xy, yy)
        + (-hy, hx, zero, xz, yz, zz)
    )
