"""The arrow-shaped mass matrix, factored leg by leg for many right-hand sides; see kernels.solve_arrow for one.

With the head H, the arms A_i and the blocks B_i of M: Y_i = B_i^-1 A_i^T and S = H - sum A_i Y_i. Then
x = M^-1 (h, t) is x_0 = S^-1 (h - sum Y_i^T t_i), x_i = B_i^-1 t_i - Y_i x_0. Rows are those of the joints that move.
"""

from __future__ import annotations

from hexapod_dynamics.compiled import inline_kernel
from hexapod_dynamics.dynamics.native import peek
from hexapod_dynamics.dynamics.workspace import HEAD


@inline_kernel
def leg_size(ws, free, start):
    """How many moving joints the leg has whose first one is `start` among the moving joints."""
    j, count = free[start, 0], 1
    while start + count < free.shape[0]:
        o = free[start + count, 0]
        if ws.joints[o, 0] != ws.joints[j, 0] or ws.joints[o, 1] != ws.joints[j, 1]:
            break
        count += 1
    return count


@inline_kernel
def factor_legs(ws, free, legs):
    """Write, for each moving joint, its row of Y (6), and of L D L^T = B: L, and 1 / D on the diagonal.

    Needs the leg terms; legs (n, 6 + joints of the deepest leg).
    """
    n, lanes, rows = free.shape[0], ws.lanes, ws.rows
    start = 0
    while start < n:
        count = leg_size(ws, free, start)
        block, lane = ws.joints[free[start, 0], 0], ws.joints[free[start, 0], 1]
        for a in range(count):
            ka = ws.joints[free[start + a, 0], 2]
            for r in range(6):
                legs[start + a, r] = peek(lanes, block, rows.arm + 6 * ka + r, lane)
            for b in range(a + 1):
                kb = ws.joints[free[start + b, 0], 2]
                legs[start + a, 6 + b] = peek(lanes, block, rows.block + ka * (ka + 1) // 2 + kb, lane)
            for b in range(a):  # row a of L D, then of L
                for c in range(b):
                    legs[start + a, 6 + b] -= legs[start + a, 6 + c] * legs[start + b, 6 + c]
            pivot = legs[start + a, 6 + a]
            for b in range(a):
                factor = legs[start + a, 6 + b] * legs[start + b, 6 + b]
                pivot -= legs[start + a, 6 + b] * factor
                legs[start + a, 6 + b] = factor
            legs[start + a, 6 + a] = 1.0 / pivot
        substitute_leg(legs, start, count, legs, start, 0, 6)
        start += count


@inline_kernel
def substitute_leg(legs, start, count, x, row, first, last):
    """Replace columns first to last of `count` rows of x from `row` on by B^-1 times them, for the leg at `start`."""
    for a in range(count):
        for b in range(a):
            factor = legs[start + a, 6 + b]
            for c in range(first, last):
                x[row + a, c] -= factor * x[row + b, c]
    for back in range(count):
        a = count - 1 - back
        pivot = legs[start + a, 6 + a]
        for c in range(first, last):
            x[row + a, c] *= pivot
        for b in range(a + 1, count):
            factor = legs[start + b, 6 + a]
            for c in range(first, last):
                x[row + a, c] -= factor * x[row + b, c]


@inline_kernel
def invert_head(ws, out):
    """Write S^-1, of what `eliminate` left in HEAD, to out (6, 6)."""
    for r in range(6):
        for c in range(r + 1):
            out[r, c] = out[c, r] = ws.shared[HEAD + r * (r + 1) // 2 + c]
    for p in range(6):
        pivot = 1.0 / out[p, p]
        out[p, p] = 1.0
        for c in range(6):
            out[p, c] *= pivot
        for r in range(6):
            if r != p:
                factor = out[r, p]
                out[r, p] = 0.0
                for c in range(6):
                    out[r, c] -= factor * out[p, c]


@inline_kernel
def solve_head(inverse, head, x, sign):
    """Write sign S^-1 head (6, m) to the first six rows of x and, times sign, to head."""
    for r in range(6):
        a, b, c = sign * inverse[r, 0], sign * inverse[r, 1], sign * inverse[r, 2]
        d, e, f = sign * inverse[r, 3], sign * inverse[r, 4], sign * inverse[r, 5]
        for k in range(head.shape[1]):
            x[r, k] = (
                a * head[0, k] + b * head[1, k] + c * head[2, k] + d * head[3, k] + e * head[4, k] + f * head[5, k]
            )
    for r in range(6):
        for k in range(head.shape[1]):
            head[r, k] = x[r, k]


@inline_kernel
def solve_arrow_matrix(ws, free, legs, inverse, x, head):
    """Replace x (6 + n, 6 + n), an arrow itself, by -M^-1 x; head (6, 6 + n) is room for intermediate results.

    Columns of a leg's joints have entries in the head's rows and that leg's rows only.
    """
    n = free.shape[0]
    for r in range(6):
        for c in range(6 + n):
            head[r, c] = x[r, c]
    start = 0
    while start < n:
        count = leg_size(ws, free, start)
        for a in range(start, start + count):
            for r in range(6):
                factor = legs[a, r]
                for c in range(6):
                    head[r, c] -= factor * x[6 + a, c]
                for c in range(6 + start, 6 + start + count):
                    head[r, c] -= factor * x[6 + a, c]
        substitute_leg(legs, start, count, x, 6 + start, 0, 6)
        substitute_leg(legs, start, count, x, 6 + start, 6 + start, 6 + start + count)
        start += count
    solve_head(inverse, head, x, -1.0)
    for a in range(n):
        b, c, d, e, f, g = legs[a, 0], legs[a, 1], legs[a, 2], legs[a, 3], legs[a, 4], legs[a, 5]
        for k in range(6 + n):
            x[6 + a, k] = -x[6 + a, k] - (
                b * head[0, k] + c * head[1, k] + d * head[2, k] + e * head[3, k] + f * head[4, k] + g * head[5, k]
            )


@inline_kernel
def write_inverse(ws, free, legs, inverse, x, head):
    """Write M^-1's columns of the joints to x (6 + n, n); head (6, n) is room for intermediate results.

    Columns of limp joints are zero.
    """
    n = free.shape[0]
    for r in range(6 + n):
        for c in range(n):
            x[r, c] = 0.0
    for i in range(n):
        x[6 + i, i] = free[i, 2]
        for r in range(6):
            head[r, i] = -legs[i, r] * free[i, 2]
    solve_head(inverse, head, x, 1.0)
    start = 0
    while start < n:
        count = leg_size(ws, free, start)
        substitute_leg(legs, start, count, x, 6 + start, start, start + count)
        start += count
    for a in range(n):
        b, c, d, e, f, g = legs[a, 0], legs[a, 1], legs[a, 2], legs[a, 3], legs[a, 4], legs[a, 5]
        for k in range(n):
            x[6 + a, k] -= (
                b * head[0, k] + c * head[1, k] + d * head[2, k] + e * head[3, k] + f * head[4, k] + g * head[5, k]
            )
