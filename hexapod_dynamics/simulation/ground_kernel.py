"""Height and normal of the ground, compiled; see ground.py.

The numbers of a ground are a Plane, then a Rise for each of its steps.
"""

import math

import cython

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.kernel_layout import columns, struct

# Slopes along x and y, roughness [m], its seed, its cell [m], the highest point over the sloping plane [m], the plane's
# height at the origin [m], width [m] over which the height changes between two cells.
PLANE = struct(slope_x=1, slope_y=1, rough=1, seed=1, cell=1, highest=1, level=1, edge=1)
SLOPE_X, SLOPE_Y, ROUGH, SEED, CELL, HIGHEST, LEVEL, EDGE, STEPS = columns(PLANE)
# For each step: its place along x, rise, half width of its ramp [m].
RISE = struct(at=1, rise=1, half_width=1)
STEP = RISE.itemsize // 8
LOW_BITS = 2**32 - 1


def plane_of(ground):
    """Return the plane in the numbers of a ground."""
    return cython.cast("Plane *", kernel_memory.struct(ground[:STEPS], PLANE))


def count_rises(ground):
    """Return the number of steps of a ground."""
    return (len(ground) - STEPS) // STEP


def rises_of(ground):
    """Return the steps in the numbers of a ground."""
    return cython.cast("Rise *", kernel_memory.structs(ground[STEPS:], RISE, count_rises(ground)))


def _corner(i, j, seed):
    """Return a pseudo-random number from -0.5 to 0.5 for the corner (i, j) of a lattice and a seed."""
    x = (i * 374761393 + j * 668265263 + seed * 1274126177) & LOW_BITS
    x = ((x ^ (x >> 13)) * 1274126177) & LOW_BITS
    x = ((x ^ (x >> 16)) * 668265263) & LOW_BITS
    return (x ^ (x >> 15)) / 4294967296.0 - 0.5


def drawn(i, j, seed):
    """Return a pseudo-random number from 0 to 1 for the whole numbers i, j and a seed."""
    return _corner(i, j, seed) + 0.5


def _roughness(plane, x, y):
    """Return the height [m] of the rough surface over the plane, and its slopes along x and y."""
    cell = plane.cell
    u, v = x / cell, y / cell
    seed = cython.cast("long long", math.floor(plane.seed))
    i, j = cython.cast("long long", math.floor(u)), cython.cast("long long", math.floor(v))
    # Level around the corners if the edges between them are narrower than a cell.
    share = plane.edge / cell
    u = min(1.0, max(0.0, 0.5 + (u - i - 0.5) / share))
    v = min(1.0, max(0.0, 0.5 + (v - j - 0.5) / share))
    # Quintic between the corners: curvature is continuous.
    su, sv = u * u * u * (u * (u * 6.0 - 15.0) + 10.0), v * v * v * (v * (v * 6.0 - 15.0) + 10.0)
    du, dv = 30.0 * u * u * (u - 1.0) * (u - 1.0), 30.0 * v * v * (v - 1.0) * (v - 1.0)
    a, b = _corner(i, j, seed), _corner(i + 1, j, seed)
    c, d = _corner(i, j + 1, seed), _corner(i + 1, j + 1, seed)
    twist = a - b - c + d
    scale = plane.rough
    height = a + (b - a) * su + (c - a) * sv + twist * su * sv
    return (
        scale * height,
        scale / plane.edge * du * (b - a + twist * sv),
        scale / plane.edge * dv * (c - a + twist * su),
    )


def surface_at(plane, rises, count, x, y):
    """Return the height [m] at (x, y) and the upward unit normal (three numbers); rises: number of steps."""
    height = plane.level + plane.slope_x * x + plane.slope_y * y
    slope, across = plane.slope_x, plane.slope_y
    if plane.rough > 0.0:
        rise, along_x, along_y = _roughness(plane, x, y)
        height += rise
        slope += along_x
        across += along_y
    for k in range(count):
        # Smoothstep: flat at both ends.
        u = min(1.0, max(-1.0, (x - rises[k].at) / rises[k].half_width))
        height += rises[k].rise * (0.5 + u * (0.75 - 0.25 * u * u))
        slope += rises[k].rise * 0.75 * (1.0 - u * u) / rises[k].half_width
    nz = 1.0 / math.sqrt(1.0 + slope * slope + across * across)
    return height, -slope * nz, -across * nz, nz


def highest_at(plane, x, y):
    """Return an upper bound [m] of the ground's height at (x, y)."""
    return plane.level + plane.slope_x * x + plane.slope_y * y + plane.highest


def is_flat(plane, count):
    """Tell whether the ground with this number of steps is the plane z = 0."""
    if count > 0 or plane.rough != 0.0:
        return False
    return plane.slope_x == 0.0 and plane.slope_y == 0.0 and plane.level == 0.0


# ---- for Python: the numbers of a Ground -----------------------------------------------------------------------------


def surface(ground, x, y):
    """Return the height [m] at (x, y) and the upward unit normal (three numbers)."""
    return surface_at(plane_of(ground), rises_of(ground), count_rises(ground), x, y)


def fill_heights(ground, xs, ys, out):
    """Write the heights over a grid to out (len(ys), len(xs)) [m]."""
    plane, rises, count = plane_of(ground), rises_of(ground), count_rises(ground)
    width, height = len(xs), len(ys)
    along, across = kernel_memory.values(xs, width), kernel_memory.values(ys, height)
    heights = kernel_memory.numbers(out, width * height)
    for r in range(height):
        for c in range(width):
            z, _, _, _ = surface_at(plane, rises, count, along[c], across[r])
            heights[r * width + c] = z


def is_level(ground):
    """Tell whether the ground is the plane z = 0."""
    return bool(is_flat(plane_of(ground), count_rises(ground)))
