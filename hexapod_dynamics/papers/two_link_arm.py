"""The two-link arm of Xiang, Arora and Abdel-Malek 2008 (section 6): its chain, and the appendix's closed form."""

import numpy as np

from hexapod_dynamics.dynamics.chain.chain import Chain, DenavitHartenbergRow
from hexapod_dynamics.dynamics.chain.sensitivities import ExternalLoad, Sensitivities

LENGTH, MASS, INERTIA = 0.4, 0.5, 0.1  # of either link (table 1) [m, kg, kg m^2]
TO_COM = LENGTH / 2  # from the joint


def two_link_arm(gravity: float = 0.0) -> Chain:
    """Chain of tables 1 and 2 in a vertical plane; gravity [m/s^2] along -y."""
    rows = [DenavitHartenbergRow(0, 0, LENGTH, 0)] * 2
    return Chain.from_denavit_hartenberg(
        rows, [MASS] * 2, [[TO_COM - LENGTH, 0, 0]] * 2, [np.diag([0, INERTIA, INERTIA])] * 2, gravity=(0, -gravity, 0)
    )


def tip_load(force: float) -> ExternalLoad:
    """The vertical load of example 2: `force` [N] downwards at the end of the second link (51)."""
    return ExternalLoad(1, force=(0.0, -force, 0.0))


def closed_form(
    q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray, gravity: float = 0.0, force: float = 0.0
) -> Sensitivities:
    """Torques (69), (70) and their derivatives (71)-(82) at one state (2,)."""
    (q1, q2), (w1, w2), (a1, a2) = q, qdot, qddot
    m, L, l, inertia, g, f = MASS, LENGTH, TO_COM, INERTIA, gravity, force
    c1, s1, c2, s2, c12, s12 = np.cos(q1), np.sin(q1), np.cos(q2), np.sin(q2), np.cos(q1 + q2), np.sin(q1 + q2)
    k = m * L * l
    m11 = 2 * inertia + m * l**2 + m * (L**2 + l**2 + 2 * L * l * c2)
    m12 = inertia + m * l**2 + k * c2
    m22 = inertia + m * l**2
    hang2, hang1 = (m * g * l + f * L) * c12, (m * g * l + m * g * L + f * L) * c1
    torques = [
        m11 * a1 + m12 * a2 - 2 * k * w1 * w2 * s2 - k * w2**2 * s2 + hang2 + hang1,  # (69)
        m22 * a2 + m12 * a1 + k * w1**2 * s2 + hang2,
    ]  # (70)
    tilt2, tilt1 = -(m * g * l + f * L) * s12, -(m * g * l + m * g * L + f * L) * s1
    by_q = [
        [
            tilt2 + tilt1,  # (71)
            -2 * k * s2 * a1 - k * s2 * a2 - 2 * k * w1 * w2 * c2 - k * w2**2 * c2 + tilt2,
        ],  # (72)
        [tilt2, -k * s2 * a1 + k * w1**2 * c2 + tilt2],
    ]  # (77), (78)
    by_qdot = [[-2 * k * w2 * s2, -2 * k * w1 * s2 - 2 * k * w2 * s2], [2 * k * w1 * s2, 0.0]]  # (73)-(74), (79)-(80)
    by_qddot = [[m11, m12], [m12, m22]]  # (75), (76), (81), (82)
    return Sensitivities(*map(np.array, (torques, by_q, by_qdot, by_qddot)))
