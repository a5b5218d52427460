"""Non-negative least squares for foot forces: Lawson and Hanson's active set, compiled, begun with the last one.

    minimise  | A x - b |^2 + r^2 | E x |^2    over x >= 0

A (6, n): wrenches of the edges of the friction pyramids, E: their forces. With P the edges in use, the minimum over x_P
satisfies H_PP x_P = (A^T b)_P with H = A^T A + r^2 E^T E, by Cholesky and one step of refinement (the residual is
computed with A and E, so that H's condition, the square of theirs, does not cost digits). The four edges of a foot are
linearly dependent; an edge that depends on those in use is left out: forces are unique, x is not.
"""

import math

from hexapod_dynamics.compiled import kernel

EDGES = 4  # of a friction pyramid
DEPENDENT = 1e-9  # share of its diagonal that a pivot of a dependent edge does not exceed
EPSILON = 2.220446049250313e-16


@kernel
def wrenches(wrench, rotation, tips, load, edges, length, A, b, share):
    """Write A (6, n) and b (6,), moments divided by `length`; share (legs,) = sqrt(load). Return whether finite."""
    good = True
    for i in range(6):
        b[i] = wrench[i] if i < 3 else wrench[i] / length
        good = good and math.isfinite(b[i])
    for leg in range(tips.shape[0]):
        share[leg] = math.sqrt(min(max(load[leg], 0.0), 1.0))
        x, y, z = tips[leg, 0], tips[leg, 1], tips[leg, 2]
        for e in range(EDGES):
            j = EDGES * leg + e
            fx = rotation[0, 0] * edges[0, e] + rotation[1, 0] * edges[1, e] + rotation[2, 0] * edges[2, e]
            fy = rotation[0, 1] * edges[0, e] + rotation[1, 1] * edges[1, e] + rotation[2, 1] * edges[2, e]
            fz = rotation[0, 2] * edges[0, e] + rotation[1, 2] * edges[1, e] + rotation[2, 2] * edges[2, e]
            A[0, j], A[1, j], A[2, j] = share[leg] * fx, share[leg] * fy, share[leg] * fz
            lever = share[leg] / length
            A[3, j], A[4, j], A[5, j] = lever * (y * fz - z * fy), lever * (z * fx - x * fz), lever * (x * fy - y * fx)
            for i in range(6):
                good = good and math.isfinite(A[i, j])
    return good


@kernel
def gradient(A, b, edges, r, x, left, w):
    """Write w (n,) = A^T (b - A x) - r^2 E^T E x; left (6,): room for b - A x."""
    for i in range(6):
        left[i] = b[i]
        for j in range(x.shape[0]):
            left[i] -= A[i, j] * x[j]
    for leg in range(x.shape[0] // EDGES):
        fx, fy, fz = 0.0, 0.0, 0.0
        for e in range(EDGES):
            value = x[EDGES * leg + e]
            fx += edges[0, e] * value
            fy += edges[1, e] * value
            fz += edges[2, e] * value
        for e in range(EDGES):
            j = EDGES * leg + e
            total = -r * r * (edges[0, e] * fx + edges[1, e] * fy + edges[2, e] * fz)
            for i in range(6):
                total += A[i, j] * left[i]
            w[j] = total


@kernel
def product(A, edges, r, j, k):
    """Element H_jk."""
    total = 0.0
    for i in range(6):
        total += A[i, j] * A[i, k]
    if j // EDGES == k // EDGES:
        for i in range(3):
            total += r * r * edges[i, j % EDGES] * edges[i, k % EDGES]
    return total


@kernel
def add_row(A, edges, r, order, count, L):
    """Write row `count` of the Cholesky factor of H_PP for the edge order[count]; return whether it is independent."""
    j = order[count]
    for k in range(count):
        total = product(A, edges, r, j, order[k])
        for i in range(k):
            total -= L[count, i] * L[k, i]
        L[count, k] = total / L[k, k]
    whole = product(A, edges, r, j, j)
    pivot = whole
    for i in range(count):
        pivot -= L[count, i] * L[count, i]
    if not pivot > DEPENDENT * whole:
        return False
    L[count, count] = math.sqrt(pivot)
    return True


@kernel
def back_substitute(L, order, count, right, step):
    """Solve H_PP step_P = right_P by its Cholesky factor; step (n,) is zero elsewhere."""
    for j in range(step.shape[0]):
        step[j] = 0.0
    for k in range(count):
        total = right[order[k]]
        for i in range(k):
            total -= L[k, i] * step[order[i]]
        step[order[k]] = total / L[k, k]
    for k in range(count - 1, -1, -1):
        total = step[order[k]]
        for i in range(k + 1, count):
            total -= L[i, k] * step[order[i]]
        step[order[k]] = total / L[k, k]


@kernel
def minimum(A, b, edges, r, order, count, L, left, slope, step, s):
    """Write s (n,), the minimum over the edges in use, zero elsewhere: Cholesky, then one step of refinement."""
    for j in range(s.shape[0]):
        s[j] = 0.0
    for _ in range(2):
        gradient(A, b, edges, r, s, left, slope)
        back_substitute(L, order, count, slope, step)
        for j in range(s.shape[0]):
            s[j] += step[j]


@kernel
def factorise(A, edges, r, order, count, L):
    """Factorise H_PP for order[:count]; return whether all edges are independent."""
    for k in range(count):
        if not add_row(A, edges, r, order, k, L):
            return False
    return True


@kernel
def warm_start(A, b, edges, r, order, count, L, left, slope, step, s, x):
    """Begin with the edges in use at the last call; return their number, 0 if they do not give positive values."""
    if count > 0 and factorise(A, edges, r, order, count, L):
        minimum(A, b, edges, r, order, count, L, left, slope, step, s)
        if all_positive(order, count, s):
            for j in range(x.shape[0]):
                x[j] = s[j]
            return count
    for j in range(x.shape[0]):
        x[j] = 0.0
    return 0


@kernel
def drop_negative(order, count, x, s):
    """Go from x towards s as far as x stays non-negative, and take the edges out that are zero there; new count."""
    alpha, first = 1.0, -1
    for k in range(count):
        j = order[k]
        if s[j] <= 0.0:
            share = x[j] / (x[j] - s[j]) if x[j] > 0.0 else 0.0
            if share <= alpha:
                alpha, first = share, j
    kept = 0
    for k in range(count):
        j = order[k]
        x[j] += alpha * (s[j] - x[j])
        if j == first or (s[j] <= 0.0 and x[j] <= 0.0):
            x[j] = 0.0
        else:
            order[kept] = j
            kept += 1
    return kept


@kernel
def all_positive(order, count, s):
    """Whether all edges in use have positive values."""
    for k in range(count):
        if not s[order[k]] > 0.0:
            return False
    return True


@kernel
def largest_column(A, edges, r):
    """Largest sum of magnitudes of a column of [A; r E]."""
    largest = 0.0
    for j in range(A.shape[1]):
        total = 0.0
        for i in range(3):
            total += r * abs(edges[i, j % EDGES]) + abs(A[i, j]) + abs(A[i + 3, j])
        largest = max(largest, total)
    return largest


@kernel
def add_edge(A, b, edges, r, order, count, L, left, slope, step, s, w, tolerance):
    """Take the edge into use that lowers the cost most, is independent of the others and becomes positive.

    Writes the minimum s (n,) with it; returns the new number of edges in use, and whether one was added.
    """
    while True:
        best, largest = -1, tolerance
        for j in range(w.shape[0]):
            if w[j] > largest:
                best, largest = j, w[j]
        if best < 0:
            return count, False
        order[count] = best
        if add_row(A, edges, r, order, count, L):
            minimum(A, b, edges, r, order, count + 1, L, left, slope, step, s)
            if s[best] > 0.0:
                return count + 1, True
        w[best] = 0.0


@kernel
def foot_forces(wrench, rotation, tips, load, edges, length, r, rounds, A, L, vectors, residual, order, used, forces):
    """Write forces (legs, 3), world axes [N]; return 0, 1: not finite, 2: no minimum after `rounds` changes.

    wrench (6,), rotation (3, 3), tips (legs, 3), load (legs,) as `FootForces.solve` has them; edges (3, 4). Room, with
    n = 4 legs: A (6, n), L (n, n), vectors (6, n), residual (2, 6). order (n,) and used (1,) int hold the edges in use
    between calls.
    """
    n = A.shape[1]
    x, s, w, step, slope = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    share, b, left = vectors[5], residual[0], residual[1]
    count, used[0] = used[0], 0
    if not wrenches(wrench, rotation, tips, load, edges, length, A, b, share):
        return 1
    tolerance = 10.0 * n * EPSILON * largest_column(A, edges, r)  # that of scipy.optimize.nnls
    count = warm_start(A, b, edges, r, order, count, L, left, slope, step, s, x)
    changes = 0
    while True:
        gradient(A, b, edges, r, x, left, w)
        for k in range(count):
            w[order[k]] = 0.0
        count, added = add_edge(A, b, edges, r, order, count, L, left, slope, step, s, w, tolerance)
        if not added:
            break
        while not all_positive(order, count, s):
            changes += 1
            if changes > rounds:
                return 2
            count = drop_negative(order, count, x, s)
            factorise(A, edges, r, order, count, L)
            minimum(A, b, edges, r, order, count, L, left, slope, step, s)
        changes += 1
        if changes > rounds:
            return 2
        for j in range(n):
            x[j] = s[j]
    used[0] = count
    for leg in range(tips.shape[0]):
        for i in range(3):
            total = 0.0
            for e in range(EDGES):
                total += edges[i, e] * x[EDGES * leg + e]
            forces[leg, i] = share[leg] * total
    return 0
