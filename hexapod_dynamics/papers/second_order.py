"""Second time derivative of inverse dynamics, each line differentiated by hand (Mueller & Kumar's reference [12]).

`nth_order.recursive` does this for any order by the Leibniz rule; here it is written out for orders 0, 1, 2, to
compare results and times. For body i, from its parent's quantities, with A = Ad_{i,p}, r_k = q^(k), x = ad_{X_i},
from D A = -x A r_1 and x X = 0:

    V     = A V_p + X r_1
    V'    = A V'_p   - x (r_1 V) + X r_2
    V''   = A V''_p  - x (2 r_1 V' + r_2 V + r_1^2 x V) + X r_3
    V'''  = A V'''_p - x (3 r_1 V'' + 3 r_2 V' + r_3 V + x (3 r_1^2 V' + 3 r_1 r_2 V + r_1^3 x V)) + X r_4

and for the twist G that represents gravity the same without X, up to order 2.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics import se3
from hexapod_dynamics.dynamics.chain.chain import BASE, Chain
from hexapod_dynamics.errors import DynamicsError


def second_order(chain: Chain, motion: np.ndarray) -> np.ndarray:
    """Generalized forces and their first two time derivatives, (3, n), of a chain on the ground.

    motion (5, n): q and its derivatives up to order 4. DynamicsError for another shape or a value that is not finite.
    """
    motion = np.asarray(motion, float)
    if motion.shape != (5, len(chain)) or not np.isfinite(motion).all():
        raise DynamicsError(f"motion: shape {motion.shape} given, finite numbers of shape {(5, len(chain))} needed")
    still = np.zeros((4, 6)), np.array([[*-chain.gravity, 0.0, 0.0, 0.0], [0.0] * 6, [0.0] * 6])
    known: dict[int, tuple[np.ndarray, np.ndarray]] = {BASE: still}
    carried, wrenches, inertias = [], [], chain.spatial_inertias()
    for i, (pose, X) in enumerate(zip(chain.transforms(motion[0]), chain.screws, strict=True)):
        A, x, (r1, r2, r3, r4) = se3.Ad(se3.inverse(pose)), se3.ad(X), motion[1:, i]
        V_p, G_p = known[chain.parents[i]]
        V, V1, V2, V3 = V_p @ A.T
        G, G1, G2 = G_p @ A.T
        V = V + X * r1
        xV = x @ V
        V1 = V1 - r1 * xV + X * r2
        xV1, xxV = x @ V1, x @ xV
        V2 = V2 - 2 * r1 * xV1 - r2 * xV - r1**2 * xxV + X * r3
        inner = 3 * r1**2 * xV1 + 3 * r1 * r2 * xV + r1**3 * xxV
        V3 = V3 - 3 * r1 * (x @ V2) - 3 * r2 * xV1 - r3 * xV - x @ inner + X * r4
        xG = x @ G
        G1 = G1 - r1 * xG
        G2 = G2 - 2 * r1 * (x @ G1) - r2 * xG - r1**2 * (x @ xG)
        known[i] = np.array((V, V1, V2, V3)), np.array((G, G1, G2))
        carried.append((A, x, r1, r2))
        wrenches.append(_wrenches(inertias[i], known[i]))
    forces = np.empty((3, len(chain)))
    for i in reversed(range(len(chain))):
        W, W1, W2 = wrenches[i]
        forces[:, i] = wrenches[i] @ chain.screws[i]
        if chain.parents[i] != BASE:
            A, x, r1, r2 = carried[i]
            xW = W @ x  # x^T W
            W2 = W2 - 2 * r1 * (W1 @ x) - r2 * xW + r1**2 * (xW @ x)
            wrenches[chain.parents[i]] += np.array((W, W1 - r1 * xW, W2)) @ A
    return forces


def _wrenches(M: np.ndarray, motion: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """W = M (V' + G) - ad_V^T M V and its first two derivatives, (3, 6)."""
    (V, V1, V2, V3), (G, G1, G2) = motion
    P, P1, P2 = M @ V, M @ V1, M @ V2
    a, a1, a2 = se3.ad(V).T, se3.ad(V1).T, se3.ad(V2).T
    return np.array(
        (
            M @ (V1 + G) - a @ P,
            M @ (V2 + G1) - a1 @ P - a @ P1,
            M @ (V3 + G2) - a2 @ P - 2 * (a1 @ P1) - a @ P2,
        )
    )
