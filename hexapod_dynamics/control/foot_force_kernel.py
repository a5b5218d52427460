"""Non-negative least squares for foot forces: Lawson and Hanson's active set, compiled; it starts from the active
set of the last call.

    minimise  | A x - b |^2 + r^2 | E x |^2    over x >= 0

A (6, n): wrenches of the edges of the friction pyramids, E: their forces. With P the edges in use, the minimum over x_P
satisfies H_PP x_P = (A^T b)_P with H = A^T A + r^2 E^T E, by Cholesky and one step of refinement (the residual is
computed with A and E, because the condition number of H is the square of theirs and would cost digits). The four
edges of a foot are linearly dependent; an edge that depends on those in use is left out: forces are unique, x is
not.
"""

import math

import numpy as np

from hexapod_dynamics import kernel_memory

EDGES = 4  # of a friction pyramid
DEPENDENT = 1e-9  # share of its diagonal that a pivot of a dependent edge does not exceed
EPSILON = 2.220446049250313e-16


class ForceMemory:
    """The memory of the foot forces of a robot.

    edges (3, 4): of a friction pyramid; length [m] converts moments to forces; r: regularisation; rounds: most changes
    of the edges in use. Inputs: wrench (6,) on the body, rotation (3, 3) world <- body, tips (legs, 3) and load
    (legs,), as `FootForces.solve` has them. Result: forces (legs, 3), world axes [N]. The edges in use are kept between
    calls.
    """

    def __init__(self, edges, legs, length, r, rounds):
        n = EDGES * legs
        self.legs, self.n, self.rounds, self.used = legs, n, rounds, 0
        self.length, self.r = length, r
        self.wrench, self.rotation, self.tips = np.zeros(6), np.zeros((3, 3)), np.zeros((legs, 3))
        self.load, self.forces = np.zeros(legs), np.zeros((legs, 3))
        self.given_wrench = kernel_memory.numbers(self.wrench, 6)
        self.given_rotation = kernel_memory.numbers(self.rotation, 9)
        self.given_tips, self.given_load = (
            kernel_memory.numbers(self.tips, 3 * legs),
            kernel_memory.numbers(self.load, legs),
        )
        self.out = kernel_memory.numbers(self.forces, 3 * legs)
        wrenches_of_edges, factor, vectors, residual = (
            np.zeros((6, n)),
            np.zeros((n, n)),
            np.zeros((6, n)),
            np.zeros(12),
        )
        order = np.zeros(n, np.int64)
        self.kept = edges, wrenches_of_edges, factor, vectors, residual, order
        self.edges, self.A = kernel_memory.numbers(edges, 3 * EDGES), kernel_memory.numbers(wrenches_of_edges, 6 * n)
        self.L, self.order = kernel_memory.numbers(factor, n * n), kernel_memory.integers(order, n)
        self.x = kernel_memory.numbers(vectors[0], n)
        self.s = kernel_memory.numbers(vectors[1], n)
        self.w = kernel_memory.numbers(vectors[2], n)
        self.step = kernel_memory.numbers(vectors[3], n)
        self.slope = kernel_memory.numbers(vectors[4], n)
        self.share = kernel_memory.numbers(vectors[5], n)
        self.b, self.left = kernel_memory.numbers(residual[:6], 6), kernel_memory.numbers(residual[6:], 6)

    def __reduce__(self):
        return type(self), (self.kept[0], self.legs, self.length, self.r, self.rounds)


def wrenches(m, wrench, rotation, tips, load):
    """Write A (6, n) and b (6,), moments divided by `length`; share (legs,) = sqrt(load). Return whether finite."""
    good = True
    A, edges, n = m.A, m.edges, m.n
    for i in range(6):
        m.b[i] = wrench[i] if i < 3 else wrench[i] / m.length
        good = good and math.isfinite(m.b[i])
    for leg in range(m.legs):
        m.share[leg] = math.sqrt(min(max(load[leg], 0.0), 1.0))
        share = m.share[leg]
        lever = share / m.length
        x, y, z = tips[3 * leg], tips[3 * leg + 1], tips[3 * leg + 2]
        for e in range(EDGES):
            j = EDGES * leg + e
            ex, ey, ez = edges[e], edges[EDGES + e], edges[2 * EDGES + e]
            fx = rotation[0] * ex + rotation[3] * ey + rotation[6] * ez
            fy = rotation[1] * ex + rotation[4] * ey + rotation[7] * ez
            fz = rotation[2] * ex + rotation[5] * ey + rotation[8] * ez
            A[j], A[n + j], A[2 * n + j] = share * fx, share * fy, share * fz
            A[3 * n + j] = lever * (y * fz - z * fy)
            A[4 * n + j] = lever * (z * fx - x * fz)
            A[5 * n + j] = lever * (x * fy - y * fx)
            for i in range(6):
                good = good and math.isfinite(A[i * n + j])
    return good


def gradient(m, x, w):
    """Write w (n,) = A^T (b - A x) - r^2 E^T E x."""
    A, edges, n = m.A, m.edges, m.n
    for i in range(6):
        m.left[i] = m.b[i]
        for j in range(n):
            m.left[i] -= A[i * n + j] * x[j]
    for leg in range(m.legs):
        fx, fy, fz = 0.0, 0.0, 0.0
        for e in range(EDGES):
            value = x[EDGES * leg + e]
            fx += edges[e] * value
            fy += edges[EDGES + e] * value
            fz += edges[2 * EDGES + e] * value
        for e in range(EDGES):
            j = EDGES * leg + e
            total = -m.r * m.r * (edges[e] * fx + edges[EDGES + e] * fy + edges[2 * EDGES + e] * fz)
            for i in range(6):
                total += A[i * n + j] * m.left[i]
            w[j] = total


def product(m, j, k):
    """Return the element H_jk."""
    total = 0.0
    for i in range(6):
        total += m.A[i * m.n + j] * m.A[i * m.n + k]
    if j // EDGES == k // EDGES:
        for i in range(3):
            total += m.r * m.r * m.edges[EDGES * i + j % EDGES] * m.edges[EDGES * i + k % EDGES]
    return total


def add_row(m, count):
    """Write row `count` of the Cholesky factor of H_PP for the edge order[count]; return whether it is independent."""
    j, n, row = m.order[count], m.n, m.L + m.n * count
    for k in range(count):
        total = product(m, j, m.order[k])
        for i in range(k):
            total -= row[i] * m.L[n * k + i]
        row[k] = total / m.L[n * k + k]
    whole = product(m, j, j)
    pivot = whole
    for i in range(count):
        pivot -= row[i] * row[i]
    if not pivot > DEPENDENT * whole:
        return False
    row[count] = math.sqrt(pivot)
    return True


def back_substitute(m, count):
    """Solve H_PP step_P = slope_P by its Cholesky factor; step (n,) is zero elsewhere."""
    L, n, step, order = m.L, m.n, m.step, m.order
    for j in range(n):
        step[j] = 0.0
    for k in range(count):
        total = m.slope[order[k]]
        for i in range(k):
            total -= L[n * k + i] * step[order[i]]
        step[order[k]] = total / L[n * k + k]
    for back in range(count):
        k = count - 1 - back
        total = step[order[k]]
        for i in range(k + 1, count):
            total -= L[n * i + k] * step[order[i]]
        step[order[k]] = total / L[n * k + k]


def minimum(m, count):
    """Write s (n,), the minimum over the edges in use, zero elsewhere: Cholesky, then one step of refinement."""
    for j in range(m.n):
        m.s[j] = 0.0
    for _ in range(2):
        gradient(m, m.s, m.slope)
        back_substitute(m, count)
        for j in range(m.n):
            m.s[j] += m.step[j]


def factorise(m, count):
    """Factorise H_PP for order[:count]; return whether all edges are independent."""
    for k in range(count):
        if not add_row(m, k):
            return False
    return True


def warm_start(m, count):
    """Begin with the edges in use at the last call; return their number, 0 if they do not give positive values."""
    if count > 0 and factorise(m, count):
        minimum(m, count)
        if all_positive(m, count):
            for j in range(m.n):
                m.x[j] = m.s[j]
            return count
    for j in range(m.n):
        m.x[j] = 0.0
    return 0


def drop_negative(m, count):
    """Go from x towards s as far as x stays non-negative, and take the edges out that are zero there; new count."""
    x, s, order = m.x, m.s, m.order
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


def all_positive(m, count):
    """Tell whether all edges in use have positive values."""
    for k in range(count):
        if not m.s[m.order[k]] > 0.0:
            return False
    return True


def largest_column(m):
    """Return the largest sum of magnitudes of a column of [A; r E]."""
    largest, n = 0.0, m.n
    for j in range(n):
        total = 0.0
        for i in range(3):
            total += m.r * math.fabs(m.edges[EDGES * i + j % EDGES])
            total += math.fabs(m.A[i * n + j]) + math.fabs(m.A[(i + 3) * n + j])
        largest = max(largest, total)
    return largest


def add_edge(m, count, tolerance):
    """Take the edge into use that lowers the cost most, is independent of the others and becomes positive.

    Writes the minimum s (n,) with it; returns the number of edges in use, which is unchanged if none was added.
    """
    while True:
        best, largest = -1, tolerance
        for j in range(m.n):
            if m.w[j] > largest:
                best, largest = j, m.w[j]
        if best < 0:
            return count
        m.order[count] = best
        if add_row(m, count):
            minimum(m, count + 1)
            if m.s[best] > 0.0:
                return count + 1
        m.w[best] = 0.0


def solve_forces(m, wrench, rotation, tips, load):
    """Write the forces of a ForceMemory; return 0, 1: not finite, 2: no minimum after `rounds` changes."""
    n, x = m.n, m.x
    count = m.used
    m.used = 0
    if not wrenches(m, wrench, rotation, tips, load):
        return 1
    tolerance = 10.0 * n * EPSILON * largest_column(m)  # that of scipy.optimize.nnls
    count = warm_start(m, count)
    changes = 0
    while True:
        gradient(m, x, m.w)
        for k in range(count):
            m.w[m.order[k]] = 0.0
        before = count
        count = add_edge(m, count, tolerance)
        if count == before:
            break
        while not all_positive(m, count):
            changes += 1
            if changes > m.rounds:
                return 2
            count = drop_negative(m, count)
            factorise(m, count)
            minimum(m, count)
        changes += 1
        if changes > m.rounds:
            return 2
        for j in range(n):
            x[j] = m.s[j]
    m.used = count
    for leg in range(m.legs):
        for i in range(3):
            total = 0.0
            for e in range(EDGES):
                total += m.edges[EDGES * i + e] * x[EDGES * leg + e]
            m.out[3 * leg + i] = m.share[leg] * total
    return 0


def foot_forces(memory):
    """Write the forces for the inputs of a ForceMemory; see `solve_forces`."""
    return solve_forces(memory, memory.given_wrench, memory.given_rotation, memory.given_tips, memory.given_load)
