"""The axioms of the group and the exponential, near the identity and near a half turn too; rotations in other forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from hexapod_dynamics import se3
from hexapod_dynamics.se3 import Ad, ad, cross, exp, inverse, log, pose, skew, spatial_inertia

SCALES = (0.0, 1e-12, 1e-7, 1e-3, 0.5, 3.0)
vectors = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(np.array)


@st.composite
def twists(draw):
    return np.concatenate([draw(vectors), draw(vectors) * draw(st.sampled_from(SCALES))])


def hat(twist):
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(twist[3:]), twist[:3]
    return matrix


@given(twists())
@settings(max_examples=100, deadline=None)
def test_exp_is_the_matrix_exponential(twist):
    np.testing.assert_allclose(exp(twist), expm(hat(twist)), atol=1e-13)


@given(twists())
@settings(max_examples=100, deadline=None)
def test_log_undoes_exp(twist):
    g = exp(twist)
    np.testing.assert_allclose(exp(log(g)), g, atol=1e-12)
    assert np.linalg.norm(log(g)[3:]) <= np.pi + 1e-12


@pytest.mark.parametrize("short", [0.0, 1e-12, 1e-8, 1e-4, 1e-2])
def test_log_undoes_exp_near_a_half_turn(short):
    axis = np.array([1.0, -2.0, 2.0]) / 3
    g = exp(np.concatenate([[0.1, 0.2, 0.3], (np.pi - short) * axis]))
    np.testing.assert_allclose(exp(log(g)), g, atol=1e-12)


@given(twists(), twists(), twists())
@settings(max_examples=50, deadline=None)
def test_group_axioms(a, b, c):
    ga, gb, gc = exp(a), exp(b), exp(c)
    np.testing.assert_allclose((ga @ gb) @ gc, ga @ (gb @ gc), atol=1e-13)
    np.testing.assert_allclose(ga @ inverse(ga), np.eye(4), atol=1e-14)
    np.testing.assert_allclose(Ad(ga @ gb), Ad(ga) @ Ad(gb), atol=1e-13)
    np.testing.assert_allclose(Ad(inverse(ga)), np.linalg.inv(Ad(ga)), atol=1e-12)
    np.testing.assert_allclose(hat(Ad(ga) @ b), ga @ hat(b) @ inverse(ga), atol=1e-13)


@given(twists(), twists(), twists())
@settings(max_examples=50, deadline=None)
def test_the_bracket_is_the_commutator_and_obeys_jacobi(a, b, c):
    np.testing.assert_allclose(hat(ad(a) @ b), hat(a) @ hat(b) - hat(b) @ hat(a), atol=1e-14)
    jacobi = ad(a) @ ad(b) @ c + ad(b) @ ad(c) @ a + ad(c) @ ad(a) @ b
    np.testing.assert_allclose(jacobi, np.zeros(6), atol=1e-13)
    np.testing.assert_allclose(expm(ad(a)), Ad(exp(a)), atol=1e-12)


def test_spatial_inertia_is_that_of_point_masses():
    rng = np.random.default_rng(0)
    points, masses, twist = rng.normal(size=(5, 3)), rng.uniform(1, 2, size=5), rng.normal(size=6)
    mass = masses.sum()
    com = masses @ points / mass
    inertia = sum(
        m * ((p - com) @ (p - com) * np.eye(3) - np.outer(p - com, p - com))
        for m, p in zip(masses, points, strict=True)
    )
    energy = sum(m * np.sum((twist[:3] + np.cross(twist[3:], p)) ** 2) for m, p in zip(masses, points, strict=True))
    assert twist @ spatial_inertia(mass, com, inertia) @ twist == pytest.approx(energy)


def test_a_pose_holds_what_it_was_made_of():
    g = pose(np.diag([1.0, -1.0, -1.0]), [1, 2, 3])
    np.testing.assert_array_equal(g @ [0, 1, 0, 1], [1, 1, 3, 1])


def test_the_cross_product_is_numpys_to_the_bit():
    random = np.random.default_rng(5)
    for _ in range(100):
        a, b = random.normal(size=(2, 3)) * 10.0 ** random.integers(-8, 8)
        np.testing.assert_array_equal(cross(a, b), np.cross(a, b))


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
