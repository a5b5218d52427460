"""Arms of the papers' examples as `Chain`s.

The two-link arm of Xiang, Arora and Abdel-Malek 2008 (section 6), and the appendix's closed form. The Franka Emika
Panda, and a smooth trajectory for it with all its derivatives.

Geometry: Craig's Denavit-Hartenberg rows of the maker's documentation. Masses, centres of mass and inertias: Gaz,
Cognetti, Oliva, Robuffo Giordano and De Luca, "Dynamic identification of the Franka Emika Panda robot with retrieval of
feasible parameters using penalty-based optimization", RA-L 4(4), 2019, as the maker's robot description carries them
(inertias about the centre of mass, link axes). Ranges, speeds and torques: the maker's joint limits.
"""

import numpy as np

from hexapod_dynamics.papers.chain.chain import Chain, DenavitHartenbergRow
from hexapod_dynamics.papers.chain.sensitivities import ExternalLoad, Sensitivities
from hexapod_dynamics.se3 import inertia_matrix

# ---- two links ------------------------------------------------------------------------------------------------------

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


# ---- seven joints ---------------------------------------------------------------------------------------------------

_ROWS = (
    (0, 0.333, 0, 0),
    (0, 0, 0, -np.pi / 2),
    (0, 0.316, 0, np.pi / 2),
    (0, 0, 0.0825, np.pi / 2),
    (0, 0.384, -0.0825, -np.pi / 2),
    (0, 0, 0, np.pi / 2),
    (0, 0, 0.088, np.pi / 2),
)
_MASSES = (4.970684, 0.646926, 3.228604, 3.587895, 1.225946, 1.666555, 0.735522)
_COMS = (
    (0.003875, 0.002081, -0.04762),
    (-0.003141, -0.02872, 0.003495),
    (0.027518, 0.039252, -0.066502),
    (-0.05317, 0.104419, 0.027454),
    (-0.011953, 0.041065, -0.038437),
    (0.060149, -0.014117, -0.010517),
    (0.010517, -0.004252, 0.061597),
)
_INERTIAS = (  # xx, yy, zz, xy, xz, yz
    (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169),
    (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704),
    (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805),
    (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641),
    (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
    (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341),
    (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741),
)
LOWER = np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])
UPPER = np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
SPEED = np.array([2.175] * 4 + [2.61] * 3)


def franka() -> Chain:
    """The seven-joint arm without a hand, base level."""
    return Chain.from_denavit_hartenberg(
        [DenavitHartenbergRow(*row) for row in _ROWS],
        _MASSES,
        _COMS,
        [inertia_matrix(*row) for row in _INERTIAS],
        convention="modified",
        names=tuple(f"panda_joint{i}" for i in range(1, 8)),
    )


def sines(
    t: np.ndarray,
    order: int,
    amplitudes: np.ndarray,
    frequencies: np.ndarray,
    phases: np.ndarray,
    centre: float = 0.0,
) -> np.ndarray:
    """Derivatives 0..order at time t [s] of centre + sum of sines: (order + 1, n).

    amplitudes, frequencies [rad/s], phases: (terms, n); the k-th derivative of a sin(w t + p) is a w^k sin(w t + p + k
    pi / 2).
    """
    k = np.arange(order + 1)[:, None, None]
    terms = amplitudes * frequencies**k * np.sin(frequencies * t + phases + k * np.pi / 2)
    motion = terms.sum(axis=1)
    motion[0] += centre
    return motion


def franka_trajectory(t: np.ndarray, order: int) -> np.ndarray:
    """An excitation within the arm's ranges and speeds, two sines a joint: q and its derivatives (order + 1, 7)."""
    base = 2 * np.pi * np.array([0.10, 0.10, 0.15, 0.15, 0.20, 0.20, 0.25])
    span = np.minimum((UPPER - LOWER) / 4, SPEED / base / 2.5)
    return sines(
        t,
        order,
        np.array([0.7, 0.3])[:, None] * span,
        np.array([[1], [2]]) * base,
        np.array([[0], [1]]) * np.arange(1, 8) / 3,
        (UPPER + LOWER) / 2,
    )
