"""Tips that are held: the motion closest to the free motion, its forces, and how well the tips are held.

With the free acceleration a, the tips' Jacobian J and the acceleration w that the tips are to be given,

    D f = w,  D = J M^-1 J^T        nudot = a + M^-1 J^T f

D is singular if the tips' constraints are redundant: straight legs, or feet that form one rigid body with the
base. The forces are found by proximal iterations, as in Pinocchio (ProximalSettings; Parikh & Boyd, Proximal
algorithms, 2014, 4.1),

    (D + mu 1) f_k+1 = w + mu f_k,  f_0 = 0

in which mu [1/kg] is the compliance of a tip. The limit is the smallest of all solutions f. With the singular
values s of A = L^-1 J^T (M = L L^T), which square to those of D, f_k has s^-2 (1 - (mu / (s^2 + mu))^k) for s^-2;
because they are computed from A and not from D, values down to 1e-16 of the largest are accurate instead of 1e-8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-6  # largest acceleration of a tip that counts as held: in m/s^2, and as a share of the largest in w


@dataclass(frozen=True)
class HeldTips:
    """How well tips are held.

    residual: largest acceleration [m/s^2] of a tip that remains. tolerance [m/s^2]: residuals up to it count as held.
    rank: number of directions, of `rows` (three for each tip), in which the tips' forces move the robot. damping
    [1/kg]: mu of the proximal iterations; iterations: their number.
    """

    residual: float
    tolerance: float
    rank: int
    rows: int
    damping: float
    iterations: int

    @property
    def are_held(self) -> bool:
        """Whether the tips are held within the tolerance."""
        return self.residual <= self.tolerance


NOTHING_HELD = HeldTips(0.0, TOLERANCE, 0, 0, 0.0, 0)


def hold_tips(
    mass: np.ndarray, jacobian: np.ndarray, free: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray, HeldTips]:
    """Accelerations (m,), forces (rows,) and how well the tips are held.

    mass (m, m); jacobian (rows, m); free (m,): accelerations without the forces; wanted (rows,): demanded value of
    jacobian @ nudot.
    """
    lower = np.linalg.cholesky(mass)
    left, s, right = np.linalg.svd(np.linalg.solve(lower, jacobian.T), full_matrices=False)
    kept = s > 1e-7 * s[0]  # other directions do not count for the rank
    left, s, right = left[:, kept], s[kept], right[kept]
    damping = 1e-12 * float(s[0]) ** 2  # of the largest eigenvalue of D
    share = damping / (s * s + damping)  # share of a direction's residual that an iteration leaves
    target = right @ (wanted - jacobian @ free)
    enough = 1e-15 * float(np.linalg.norm(target))
    remaining, iterations = share.copy(), 1
    while iterations < 100 and np.linalg.norm(remaining * target) > enough:
        remaining, iterations = remaining * share, iterations + 1
    impulse = (1.0 - remaining) * target / s
    nudot = free + np.linalg.solve(lower.T, left @ impulse)
    errors = np.linalg.norm((jacobian @ nudot - wanted).reshape(-1, 3), axis=1)
    required = np.linalg.norm((wanted - jacobian @ free).reshape(-1, 3), axis=1)
    tolerance = TOLERANCE * max(1.0, float(required.max()))
    info = HeldTips(float(errors.max()), tolerance, len(s), len(wanted), damping, iterations)
    return nudot, right.T @ (impulse / s), info
