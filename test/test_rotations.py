"""Quaternions, Euler angles and rotation vectors against scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hexapod_dynamics import se3

unit = st.floats(-1.0, 1.0)


@given(unit, unit, unit, unit)
def test_quaternions_equal_scipys(x, y, z, w):
    quaternion = np.array([x, y, z, w])
    if np.linalg.norm(quaternion) < 1e-5:
        quaternion = np.array([0.0, 0.0, 0.0, 1.0])
    expected = Rotation.from_quat(quaternion).as_matrix()
    rotation = se3.rotation_from_quaternion(quaternion)
    np.testing.assert_allclose(rotation, expected, atol=1e-14)
    back = se3.rotation_from_quaternion(se3.quaternion_from_rotation(rotation))
    np.testing.assert_allclose(back, rotation, atol=1e-14)


@given(unit, unit, unit)
def test_rotation_vectors_and_euler_angles_equal_scipys(x, y, z):
    vector = np.array([x, y, z]) * 1.8
    expected = Rotation.from_rotvec(vector)
    rotation = se3.rotation_from_vector(vector)
    np.testing.assert_allclose(rotation, expected.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(se3.rotation_vector(rotation), expected.as_rotvec(), atol=1e-7)
    # Near pitch = 90 degrees yaw and roll are not apart: compare the rotation they make.
    yaw, pitch, roll = se3.euler_zyx(rotation)
    rebuilt = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    if abs(np.cos(pitch)) > 1e-3:
        np.testing.assert_allclose(rebuilt, rotation, atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 0.3, -2.0])
def test_a_turn_about_z(angle):
    np.testing.assert_allclose(se3.rotation_z(angle), Rotation.from_euler("z", angle).as_matrix(), atol=1e-15)
