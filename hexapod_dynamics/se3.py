"""SE(3) and SO(3): poses, twists and rotations, for the whole package.

Conventions of Murray, Li and Sastry: twists V = (v, w) and wrenches F = (f, m), linear part first (Farghdani & Chhabra
2025, section III-A). Quaternions are (x, y, z, w). Roll, pitch and yaw are those of R = Rz(yaw) Ry(pitch) Rx(roll).
All functions take and return float arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError

Array = npt.NDArray[np.float64]

# ---- poses and twists ------------------------------------------------------------------------------------------------


def cross(a: Array, b: Array) -> Array:
    """Return the cross product (3,) of two vectors (3,): numpy's own, for any axes, takes ten times as long."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def skew(vector: npt.ArrayLike) -> Array:
    """Matrix [a] (3, 3) with [a] b = a x b, of a vector (3,)."""
    x, y, z = np.asarray(vector, float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def pose(rotation: npt.ArrayLike, position: npt.ArrayLike) -> Array:
    """Homogeneous matrix (4, 4) of a rotation (3, 3) and a position (3,) (equation 1)."""
    g = np.eye(4)
    g[:3, :3] = rotation
    g[:3, 3] = position
    return g


def inverse(g: Array) -> Array:
    """Inverse (4, 4) of a pose (4, 4)."""
    rotation = g[:3, :3].T
    return pose(rotation, -rotation @ g[:3, 3])


def Ad(g: Array) -> Array:
    """Adjoint (6, 6) of the pose g_ab: transforms a twist from frame b to frame a (equation 3)."""
    rotation = g[:3, :3]
    adjoint = np.zeros((6, 6))
    adjoint[:3, :3] = adjoint[3:, 3:] = rotation
    adjoint[:3, 3:] = skew(g[:3, 3]) @ rotation
    return adjoint


def ad(twist: Array) -> Array:
    """Lie bracket matrix (6, 6): ad_V W = [V, W], of a twist V (6,) (equation 4)."""
    bracket = np.zeros((6, 6))
    bracket[:3, :3] = bracket[3:, 3:] = skew(twist[3:])
    bracket[:3, 3:] = skew(twist[:3])
    return bracket


def exp(twist: npt.ArrayLike) -> Array:
    """Pose (4, 4) reached by following the constant twist (6,) for a unit of time (Rodrigues' formula)."""
    twist = np.asarray(twist, float)
    v, w = twist[:3], twist[3:]
    angle2 = float(w @ w)
    a, b, c = _rodrigues(angle2)
    hat = skew(w)
    hat2 = hat @ hat
    return pose(np.eye(3) + a * hat + b * hat2, v + b * (hat @ v) + c * (hat2 @ v))


def log(g: Array) -> Array:
    """Twist (6,) with exp(twist) = g, rotation angle in [0, pi]; inverse of `exp`."""
    rotation, position = g[:3, :3], g[:3, 3]
    axial = 0.5 * np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    sine = float(np.linalg.norm(axial))
    cosine = 0.5 * (float(np.trace(rotation)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    # near a half turn the axis follows from the symmetric part: R + R^T = 2 cos I + 2 (1 - cos) u u^T
    if cosine < -0.99:
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
    """sin(t)/t, (1 - cos t)/t^2, (t - sin t)/t^3 as functions of t^2, by Taylor's series near zero."""
    if angle2 < 1e-4:
        return (
            1.0 - angle2 / 6.0 * (1.0 - angle2 / 20.0 * (1.0 - angle2 / 42.0)),
            0.5 - angle2 / 24.0 * (1.0 - angle2 / 30.0 * (1.0 - angle2 / 56.0)),
            1.0 / 6.0 - angle2 / 120.0 * (1.0 - angle2 / 42.0 * (1.0 - angle2 / 72.0)),
        )
    angle = np.sqrt(angle2)
    half = np.sin(0.5 * angle)
    return np.sin(angle) / angle, 2.0 * half * half / angle2, (angle - np.sin(angle)) / (angle2 * angle)


def spatial_inertia(mass: float, com: Array, inertia: Array) -> Array:
    """Generalised mass matrix (6, 6) about a frame's origin, of a body with com (3,) and inertia (3, 3) about it."""
    hat = skew(com)
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = mass * np.eye(3)
    matrix[:3, 3:] = -mass * hat
    matrix[3:, :3] = mass * hat
    matrix[3:, 3:] = inertia - mass * hat @ hat
    return matrix


def inertia_matrix(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> Array:
    """Inertia (3, 3) of its elements."""
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def inertia_elements(inertia: Array) -> Array:
    """(Ixx, Iyy, Izz, Ixy, Ixz, Iyz) of an inertia (3, 3), the inverse of `inertia_matrix`."""
    return inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def combine_inertias(parts: Iterable[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    """Mass, centre of mass (3,) and inertia (3, 3) about it of several (mass, centre, inertia) in the same axes."""
    parts = list(parts)
    mass = float(sum(part[0] for part in parts))
    if mass == 0.0:
        return 0.0, np.zeros(3), sum((part[2] for part in parts), np.zeros((3, 3)))
    com = sum((m * c for m, c, _ in parts), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for m, c, inertia in parts:
        arm = skew(c - com)
        total += inertia - m * arm @ arm
    return mass, com, 0.5 * (total + total.T)


# ---- rotations -------------------------------------------------------------------------------------------------------


def rotation_about(axis: int, angle: float) -> Array:
    """Rotation (3, 3) about the axis x (0), y (1) or z (2) by an angle [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    rotation = np.eye(3)
    rotation[i, i] = rotation[j, j] = c
    rotation[i, j], rotation[j, i] = -s, s
    return rotation


def rotation_z(angle: float) -> Array:
    """Rotation (3, 3) about z by an angle [rad]."""
    return rotation_about(2, angle)


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation Rz(yaw) Ry(pitch) Rx(roll), (3, 3); angles in rad; exact zeros at right angles."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    # cos(pi/2) is not exactly zero in floating point, but it must be for a mount at 90 degrees
    rotation[np.abs(rotation) < 1e-15] = 0.0
    return rotation


def roll_pitch_yaw(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] of a rotation (3, 3), the inverse of `rotation_rpy`.

    At a pitch of +-90 degrees only yaw -+ roll is defined: yaw is then 0. Near this pitch, roll is computed from
    the returned yaw, so that all three together equal the rotation to 1e-14.
    """
    (x, i, n), (y, j, k), (z, _, _) = rotation.tolist()
    yaw = math.atan2(y, x) if math.hypot(x, y) > 1e-14 else 0.0
    c, s = math.cos(yaw), math.sin(yaw)
    return math.atan2(s * n - c * k, c * j - s * i), math.atan2(-z, c * x + s * y), yaw


def euler_zyx(rotation: Array) -> Array:
    """(yaw, pitch, roll) (3,) [rad] of a rotation (3, 3)."""
    return np.array(roll_pitch_yaw(rotation)[::-1])


def rotation_x_to(direction: npt.ArrayLike) -> Array:
    """Smallest rotation (3, 3) that turns x to a unit vector (3,); about z if the two are opposite."""
    x, y, z = (float(component) for component in np.asarray(direction))
    if x < -1 + 1e-12:
        return np.diag([-1.0, -1.0, 1.0])
    k = 1.0 / (1.0 + x)
    return np.array([[x, -y, -z], [y, 1.0 - k * y * y, -k * y * z], [z, -k * y * z, 1.0 - k * z * z]])


def rotation_from_quaternion(quaternion: Iterable[float]) -> Array:
    """Rotation (3, 3) of a quaternion (x, y, z, w) of any length; HexapodError if it is zero or not finite."""
    x, y, z, w = map(float, quaternion)
    square = x * x + y * y + z * z + w * w
    if not (math.isfinite(square) and square > 1e-12):
        raise HexapodError(f"quaternion ({x}, {y}, {z}, {w}) is no rotation: it must be finite and not zero")
    s = 2.0 / square
    return np.array(
        [
            [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(rotation: Array) -> tuple[float, float, float, float]:
    """Unit quaternion (x, y, z, w), w >= 0, of a rotation (3, 3), by Shepperd's method."""
    r = rotation.tolist()  # Python numbers: access to an element of an array takes three times as long
    terms = (
        r[0][0] - r[1][1] - r[2][2],
        r[1][1] - r[0][0] - r[2][2],
        r[2][2] - r[0][0] - r[1][1],
        r[0][0] + r[1][1] + r[2][2],
    )
    largest = max(range(4), key=terms.__getitem__)
    root = math.sqrt(max(1.0 + terms[largest], 0.0))
    half, part = 0.5 * root, 0.5 / root
    if largest == 3:
        return ((r[2][1] - r[1][2]) * part, (r[0][2] - r[2][0]) * part, (r[1][0] - r[0][1]) * part, half)
    i, j, k = largest, (largest + 1) % 3, (largest + 2) % 3
    out = [0.0, 0.0, 0.0, (r[k][j] - r[j][k]) * part]
    out[i], out[j], out[k] = half, (r[j][i] + r[i][j]) * part, (r[k][i] + r[i][k]) * part
    sign = -1.0 if out[3] < 0.0 else 1.0
    return sign * out[0], sign * out[1], sign * out[2], sign * out[3]


def rotation_vector(rotation: Array) -> Array:
    """Axis times angle (3,) [rad] of a rotation (3, 3), angle 0 to pi."""
    x, y, z, w = quaternion_from_rotation(rotation)
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    return np.array([x, y, z]) * scale


def rotation_from_vector(vector: Array) -> Array:
    """Rotation (3, 3) of axis times angle (3,) [rad], by Rodrigues' formula."""
    x, y, z = np.asarray(vector, float).tolist()
    angle = math.sqrt(x * x + y * y + z * z)
    if angle < 1e-12:
        return rotation_from_quaternion((0.5 * x, 0.5 * y, 0.5 * z, 1.0))
    s = math.sin(0.5 * angle) / angle
    return rotation_from_quaternion((s * x, s * y, s * z, math.cos(0.5 * angle)))
