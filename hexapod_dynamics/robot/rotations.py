"""Rotations from the entries of a robot file: roll, pitch and yaw, or a direction."""

import math

import numpy as np


def rotation_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rotation Rz(yaw) Ry(pitch) Rx(roll), (3, 3); angles in rad; exact zeros at right angles."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    rotation[np.abs(rotation) < 1e-15] = 0.0  # cos(pi/2) is not zero in floating point, a mount at 90 degrees is
    return rotation


def rotation_x_to(direction) -> np.ndarray:
    """Smallest rotation that takes x to the given unit vector, (3, 3); about z where the two are opposite."""
    x, y, z = (float(component) for component in direction)
    if x < -1 + 1e-12:
        return np.diag([-1.0, -1.0, 1.0])
    k = 1.0 / (1.0 + x)
    return np.array([[x, -y, -z], [y, 1.0 - k * y * y, -k * y * z], [z, -k * y * z, 1.0 - k * z * z]])


def roll_pitch_yaw(rotation: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] of a rotation (3, 3), the inverse of `rotation_rpy`."""
    return (
        math.atan2(rotation[2, 1], rotation[2, 2]),
        -math.asin(min(1.0, max(-1.0, rotation[2, 0]))),
        math.atan2(rotation[1, 0], rotation[0, 0]),
    )
