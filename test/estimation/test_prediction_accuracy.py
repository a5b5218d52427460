"""Predictions of walks on MuJoCo, whose robots and ground differ from the model: a small sample of the benchmark's."""

import numpy as np
import pytest
from support.sensed_walk import SensedWalk, errors, height_errors, random_truth

from hexapod_dynamics.estimation.pose_uncertainty import PoseDrift
from hexapod_dynamics.onboard.prediction import PredictionSettings
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_vector
from hexapod_dynamics.simulation import Truth

# 95 % of chi-square with 3, 2 and 1 degrees of freedom, between its 2.5 and 97.5 % quantiles.
POSE, TILT, SINGLE = (0.216, 9.348), (0.0506, 7.378), (0.00098, 5.024)


def test_errors_are_as_large_as_the_covariance_says_and_nothing_is_doubted():
    """Two walks of 20 s each, the second on rough ground; benchmark/prediction.py measures 60 s of many."""
    rng, squares, ends = np.random.default_rng(3000), [], []
    for k in range(2):
        walk = SensedWalk("mujoco", random_truth(rng, 0.008 * k), seed=3000 + k, gait="auto")
        rows = walk.log(20.0)
        assert not walk.said  # no false doubt
        _, tilt, *both = errors(rows)
        squares.append(both)
        ends.append(np.hypot(*(rows[-1, 6:8] - rows[-1, 1:3])) / np.hypot(*rows[-1, 1:3]))
        assert np.degrees(np.sqrt(np.mean(tilt**2))) < 0.5
    assert max(ends) < 0.06
    pose, tilt = (np.concatenate(values) for values in zip(*squares, strict=True))
    # Errors of one walk last, so a few walks are further from 95 % than many; three times too small or too large a
    # covariance [in standard deviations] leaves less than half within the band.
    assert np.mean((pose > POSE[0]) & (pose < POSE[1])) > 0.75
    assert np.mean((tilt > TILT[0]) & (tilt < TILT[1])) > 0.85


def test_what_is_mounted_off_is_in_the_covariance_of_x_y_z_and_of_the_tilt():
    """A walk of 12 s in each physics: horns off, hips 2 mm off, legs turned by 1 degree, an IMU askew by up to 2
    degrees, which no sensor of the robot shows.
    """
    inside, tilts, heights, known = [], [], [], []
    for seed in (51, 52):
        truth = Truth.parse(f"servos=real,seed={seed},hips=2,leg_yaw=1")
        physics = ("built_in", "mujoco")[seed % 2]
        rows = SensedWalk(physics, truth, seed=seed, gait="auto", settings=PredictionSettings()).log(12.0)
        pose, tilt, _, square = errors(rows)
        height = height_errors(rows)
        planar = np.stack([pose[:, 0] ** 2 / rows[:, 18], pose[:, 1] ** 2 / rows[:, 22], height[1]], axis=1)
        inside.append(np.mean((planar > SINGLE[0]) & (planar < SINGLE[1]), axis=0))
        tilts.append(np.mean((square > TILT[0]) & (square < TILT[1])))
        # Without what is known of mountings:
        heights.append(np.mean(np.abs(height[0][-40:]) < 2.24 * PoseDrift().height))
        known.append(np.mean(np.sum((tilt / PoseDrift().tilt) ** 2, axis=1) < TILT[1]))
    assert (np.mean(inside, axis=0) > 0.8).all() and np.mean(tilts) > 0.9  # of few walks, whose errors last
    assert np.mean(heights) < 0.7 and np.mean(known) < 0.5


def test_legs_are_mounted_off_by_what_the_truth_says_and_its_links_stay_as_they_are():
    robot = Robot.jethexa()
    off = Truth(hips=2.0, leg_yaw=1.0, seed=5).robot(robot)
    for leg, other in zip(robot.legs, off.legs, strict=True):
        assert [(k.mass, *k.inertia.flat) for k in other.links] == [(k.mass, *k.inertia.flat) for k in leg.links]
        assert np.linalg.norm(other.mount_position - leg.mount_position) == pytest.approx(0.002)
        assert np.degrees(
            np.linalg.norm(rotation_vector(leg.mount_rotation.T @ other.mount_rotation))
        ) == pytest.approx(1.0)
