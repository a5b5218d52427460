"""Rotations as messages and people write them: quaternions (x, y, z, w), Euler angles, rotation vectors."""

import math

import numpy as np

from hexapod_dynamics.errors import HexapodError


def rotation_from_quaternion(quaternion):
    """Return the rotation (3, 3) of a quaternion (x, y, z, w) of any length but zero; not finite or zero is refused."""
    x, y, z, w = (float(c) for c in quaternion)
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


def quaternion_from_rotation(rotation):
    """Return the unit quaternion (x, y, z, w), w >= 0, of a rotation (3, 3): Shepperd's choice of the largest."""
    r = rotation
    terms = (
        r[0, 0] - r[1, 1] - r[2, 2],
        r[1, 1] - r[0, 0] - r[2, 2],
        r[2, 2] - r[0, 0] - r[1, 1],
        r[0, 0] + r[1, 1] + r[2, 2],
    )
    largest = max(range(4), key=terms.__getitem__)
    root = math.sqrt(max(1.0 + terms[largest], 0.0))
    half, part = 0.5 * root, 0.5 / root
    if largest == 3:
        return ((r[2, 1] - r[1, 2]) * part, (r[0, 2] - r[2, 0]) * part, (r[1, 0] - r[0, 1]) * part, half)
    i, j, k = largest, (largest + 1) % 3, (largest + 2) % 3
    out = [0.0, 0.0, 0.0, (r[k, j] - r[j, k]) * part]
    out[i], out[j], out[k] = half, (r[j, i] + r[i, j]) * part, (r[k, i] + r[i, k]) * part
    sign = -1.0 if out[3] < 0.0 else 1.0
    return tuple(sign * c for c in out)


def euler_zyx(rotation):
    """Return (yaw, pitch, roll) [rad] of a rotation (3, 3) = Rz(yaw) Ry(pitch) Rx(roll)."""
    return np.array(
        [
            math.atan2(rotation[1, 0], rotation[0, 0]),
            math.asin(min(1.0, max(-1.0, -rotation[2, 0]))),
            math.atan2(rotation[2, 1], rotation[2, 2]),
        ]
    )


def rotation_z(angle):
    """Return the rotation (3, 3) about z by an angle [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_vector(rotation):
    """Return axis times angle (3,) [rad] of a rotation (3, 3), angle 0..pi."""
    x, y, z, w = quaternion_from_rotation(rotation)
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    return np.array([x, y, z]) * scale


def rotation_from_vector(vector):
    """Return the rotation (3, 3) by axis times angle (3,) [rad]: Rodrigues' formula."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return rotation_from_quaternion((0.5 * vector[0], 0.5 * vector[1], 0.5 * vector[2], 1.0))
    s = math.sin(0.5 * angle) / angle
    return rotation_from_quaternion((s * vector[0], s * vector[1], s * vector[2], math.cos(0.5 * angle)))
