"""SE(3) as Murray, Li and Sastry write it: twists V = (v, w) and wrenches F = (f, m), linear part first.

Farghdani & Chhabra 2025, section III-A; all functions take and return float arrays.
"""

from __future__ import annotations

import numpy as np


def skew(vector) -> np.ndarray:
    """Matrix [a] (3, 3) with [a] b = a x b, of a vector (3,)."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def pose(rotation, position) -> np.ndarray:
    """Homogeneous matrix (4, 4) of a rotation (3, 3) and a position (3,) (equation 1)."""
    g = np.eye(4)
    g[:3, :3] = rotation
    g[:3, 3] = position
    return g


def inverse(g) -> np.ndarray:
    """Inverse (4, 4) of a pose (4, 4)."""
    rotation = g[:3, :3].T
    return pose(rotation, -rotation @ g[:3, 3])


def Ad(g) -> np.ndarray:
    """Adjoint (6, 6) of the pose g_ab: takes a twist seen in frame b to frame a (equation 3)."""
    rotation = g[:3, :3]
    adjoint = np.zeros((6, 6))
    adjoint[:3, :3] = adjoint[3:, 3:] = rotation
    adjoint[:3, 3:] = skew(g[:3, 3]) @ rotation
    return adjoint


def ad(twist) -> np.ndarray:
    """Lie bracket matrix (6, 6): ad_V W = [V, W], of a twist V (6,) (equation 4)."""
    bracket = np.zeros((6, 6))
    bracket[:3, :3] = bracket[3:, 3:] = skew(twist[3:])
    bracket[:3, 3:] = skew(twist[:3])
    return bracket


def exp(twist) -> np.ndarray:
    """Pose (4, 4) reached by following the constant twist (6,) for a unit of time (Rodrigues' formula)."""
    v, w = np.asarray(twist[:3], dtype=float), np.asarray(twist[3:], dtype=float)
    angle2 = float(w @ w)
    a, b, c = _rodrigues(angle2)
    hat = skew(w)
    hat2 = hat @ hat
    return pose(np.eye(3) + a * hat + b * hat2, v + b * (hat @ v) + c * (hat2 @ v))


def log(g) -> np.ndarray:
    """Twist (6,) with exp(twist) = g, rotation angle in [0, pi]; inverse of `exp`."""
    rotation, position = g[:3, :3], g[:3, 3]
    axial = 0.5 * np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    sine = float(np.linalg.norm(axial))
    cosine = 0.5 * (float(np.trace(rotation)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if cosine < -0.99:  # near a half turn the axis is in the symmetric part: R + R^T = 2 cos I + 2 (1 - cos) u u^T
        outer = 0.5 * (rotation + rotation.T) - cosine * np.eye(3)
        column = outer[:, int(np.argmax(np.diag(outer)))]
        axis = column / np.linalg.norm(column)
        w = angle * (axis if axis @ axial >= 0 else -axis)
    else:
        w = axial * (angle / sine if sine > 1e-8 else 1.0 + sine * sine / 6.0)
    hat = skew(w)
    angle2 = float(w @ w)
    a, b, _ = _rodrigues(angle2)
    # V^-1 = I - [w]/2 + d [w]^2, d = (1 - a / (2 b)) / angle^2
    d = 1.0 / 12.0 + angle2 / 720.0 if angle2 < 1e-6 else (1.0 - a / (2.0 * b)) / angle2
    return np.concatenate([position - 0.5 * hat @ position + d * (hat @ (hat @ position)), w])


def _rodrigues(angle2: float) -> tuple[float, float, float]:
    """sin(t)/t, (1 - cos t)/t^2, (t - sin t)/t^3 of t^2, by Taylor's series near zero."""
    if angle2 < 1e-4:
        return (
            1.0 - angle2 / 6.0 * (1.0 - angle2 / 20.0 * (1.0 - angle2 / 42.0)),
            0.5 - angle2 / 24.0 * (1.0 - angle2 / 30.0 * (1.0 - angle2 / 56.0)),
            1.0 / 6.0 - angle2 / 120.0 * (1.0 - angle2 / 42.0 * (1.0 - angle2 / 72.0)),
        )
    angle = np.sqrt(angle2)
    half = np.sin(0.5 * angle)
    return np.sin(angle) / angle, 2.0 * half * half / angle2, (angle - np.sin(angle)) / (angle2 * angle)


def spatial_inertia(mass: float, com, inertia) -> np.ndarray:
    """Generalised mass matrix (6, 6) about a frame's origin, of a body with com (3,) and inertia (3, 3) about it."""
    hat = skew(com)
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = mass * np.eye(3)
    matrix[:3, 3:] = -mass * hat
    matrix[3:, :3] = mass * hat
    matrix[3:, 3:] = inertia - mass * hat @ hat
    return matrix
