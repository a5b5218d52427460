"""Centre of mass, zero-moment point and support polygon against Pinocchio, MuJoCo and scipy."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot

from hexapod_dynamics.control.support import Support, support_polygon, zero_moment_point
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Simulator
from hexapod_dynamics.simulation.world import SteppedModel

HURT = WHOLE.without("RM").locked("RF.tibia", -0.3).broken("LF.tibia", 0.5)


def compiled(morphology):
    """The compiled model of a robot with this morphology."""
    return SteppedModel(ROBOT, morphology, Ground())


@pytest.mark.parametrize("morphology", [WHOLE, HURT], ids=["whole", "hurt"])
def test_the_centre_of_mass_and_the_feet_are_pinocchios(morphology):
    random, support = np.random.default_rng(5), Support(ROBOT)
    model, other = compiled(morphology), PinocchioRobot(morphology)
    for _ in range(20):
        rotation, position = Rotation.random(random_state=random).as_matrix(), random.uniform(-1, 1, 3)
        q, nu, nudot = random.uniform(-1, 1, 18), random.uniform(-1, 1, 24), random.uniform(-1, 1, 24)
        support.update(model, position, rotation, q, nu, nudot, np.zeros(2))
        there = other.configuration(rotation, q)
        center = position + pin.centerOfMass(other.model, other.data, there)
        np.testing.assert_allclose(support.center_of_mass, center, atol=1e-12)
        pin.framesForwardKinematics(other.model, other.data, there)
        for leg, tip in other.tips.items():
            expected = position + other.data.oMf[tip].translation
            np.testing.assert_allclose(support.feet[ROBOT.leg_names.index(leg)], expected, atol=1e-12)


def mujoco_wrench(physics):
    """Force and moment about the world's origin (3,), (3,) of all of MuJoCo's contacts on the robot."""
    model, data, total, moment = physics.model, physics.data, np.zeros(3), np.zeros(3)
    ground, wrench = model.geom("ground").id, np.zeros(6)
    for k, contact in enumerate(data.contact):
        mujoco.mj_contactForce(model, data, k, wrench)
        force = contact.frame.reshape(3, 3).T @ wrench[:3]  # on the second geom
        force = force if contact.geom1 == ground else -force
        total += force
        moment += np.cross(contact.pos, force)
    return total, moment


@pytest.mark.parametrize(("slope", "morphology"), [(0.0, WHOLE), (8.0, WHOLE), (0.0, HURT)])
def test_the_zero_moment_point_of_the_motion_is_the_centre_of_pressure_of_mujocos_contacts(slope, morphology):
    """The motion alone, against the contact forces alone, while it walks."""
    ground = Ground(slope=slope, slope_yaw=30.0)
    physics = MujocoSimulator(ROBOT, morphology, TripodGait(), ground=ground)
    support, model = Support(ROBOT), compiled(morphology)
    inclination = np.array([ground.slope_x, ground.slope_y])
    nudot, compared, away = np.zeros(24), 0, []
    joints = [k for k, name in enumerate(ROBOT.joint_names) if morphology.moving_mask[k]]
    columns = [physics.model.jnt_dofadr[physics.model.joint(ROBOT.joint_names[k]).id] for k in joints]
    for _ in range(100):
        physics.step(25)
        mujoco.mj_forward(physics.model, physics.data)  # accelerations and contacts of one and the same state
        rotation, nu, acceleration = physics.rotation, physics.nu, physics.data.qacc
        nudot[:3] = rotation.T @ acceleration[:3] - np.cross(nu[3:6], nu[:3])
        nudot[3:6] = acceleration[3:6]
        nudot[[6 + k for k in joints]] = acceleration[columns]
        support.update(model, physics.position, rotation, physics.q, nu, nudot, inclination)
        force, moment = mujoco_wrench(physics)
        if support.zero_moment_point is None:
            assert force[2] < 0.1 * 20.0
            continue
        pressure = zero_moment_point(force, moment, np.zeros(3), inclination)
        # MuJoCo solves for its contact forces iteratively: they and its accelerations agree that far.
        np.testing.assert_allclose(support.zero_moment_point, pressure, rtol=0, atol=1e-5)
        compared += 1
        level = support.center_of_mass[:2] - physics.position[:2]
        away.append(np.abs(support.zero_moment_point[:2] - physics.position[:2] - level).max())
    assert compared > 80
    assert max(away) > 0.005  # it is not the centre of mass: the robot accelerates


def test_where_the_robot_rests_the_zero_moment_point_is_under_its_centre_of_mass():
    physics = Simulator(ROBOT)
    physics.reset(joints=TripodGait().bind(ROBOT).position)
    physics.step(2000)
    support = Support(ROBOT)
    still = np.zeros(24)
    support.update(compiled(WHOLE), physics.position, physics.rotation, physics.q, still, still, np.zeros(2))
    np.testing.assert_allclose(support.zero_moment_point[:2], support.center_of_mass[:2], atol=1e-12)
    assert support.zero_moment_point[2] == pytest.approx(0.0, abs=1e-12)
    polygon = support_polygon(support.feet, physics.foot_forces)
    assert len(polygon) == 6
    assert inside(polygon, support.zero_moment_point)


def test_on_ground_of_another_level_the_zero_moment_point_is_that_much_higher():
    force, moment, slope = np.array([0.3, -0.2, 20.0]), np.array([0.1, 0.4, 0.05]), np.array([0.1, -0.05])
    place = np.array([2.0, -1.0, 0.12])
    low = zero_moment_point(force, moment, place, slope)
    high = zero_moment_point(force, moment, place + [0.0, 0.0, 0.3], slope, 0.3)
    np.testing.assert_allclose(high - low, [0.0, 0.0, 0.3], atol=1e-12)
    assert high[2] == pytest.approx(0.3 + slope @ high[:2])


def inside(polygon, point):
    """Whether a point is to the left of every edge, seen from above."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    to = point - polygon
    return bool((edges[:, 0] * to[:, 1] - edges[:, 1] * to[:, 0] > 0.0).all())


def test_a_falling_robot_has_no_zero_moment_point():
    support, model = Support(ROBOT), compiled(WHOLE)
    nudot = np.zeros(24)
    nudot[2] = -ROBOT.gravity
    support.update(model, np.zeros(3), np.eye(3), np.zeros(18), np.zeros(24), nudot, np.zeros(2))
    assert support.zero_moment_point is None


def test_the_support_polygon_is_scipys_hull_of_the_loaded_feet():
    random = np.random.default_rng(2)
    for _ in range(200):
        feet, forces = random.uniform(-0.2, 0.2, (8, 3)), np.zeros((8, 3))
        forces[:, 2] = random.uniform(-0.5, 4.0, 8)
        standing = feet[forces[:, 2] > 0.5]
        corners = support_polygon(feet, forces)
        if len(standing) < 3:
            assert sorted(corners.tolist()) == sorted(standing.tolist())
            continue
        hull = standing[ConvexHull(standing[:, :2]).vertices]
        first = np.argmin(np.abs(hull - corners[0]).sum(axis=1))
        np.testing.assert_array_equal(corners, np.roll(hull, -first, axis=0))


def test_feet_on_one_line_give_its_ends_and_none_give_nothing():
    feet = np.array([[0.0, 0.0, 0.0], [0.1, 0.1, 0.0], [0.2, 0.2, 0.0]])
    np.testing.assert_array_equal(support_polygon(feet, np.full((3, 3), 2.0)), feet[[0, 2]])
    assert support_polygon(feet, np.zeros((3, 3))).shape == (0, 3)
