"""Foot forces: balance where balance is possible, never a pull, smooth in the load; centre of mass, zero moment point
and support polygon against Pinocchio, MuJoCo and scipy.
"""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import nnls
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from support.allocations import least_growth
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot

from hexapod_dynamics.control.feedforward import FootForces
from hexapod_dynamics.control.support import Support, support_polygon, zero_moment_point
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Simulator
from hexapod_dynamics.simulation.world import SteppedModel

ANGLES = np.deg2rad([45, 90, 135, -135, -90, -45])
TIPS = np.column_stack([0.2 * np.cos(ANGLES), 0.2 * np.sin(ANGLES), np.full(6, -0.12)])
TRIPOD = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
WEIGHT = np.array([0.0, 0.0, 25.0, 0.0, 0.0, 0.0])


def wrench_of(forces, rotation, tips):
    body = forces @ rotation
    return np.r_[body.sum(axis=0), np.cross(tips, body).sum(axis=0)]


def tilt(angle):
    return np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("load", [np.ones(6), TRIPOD, 1.0 - TRIPOD])
@pytest.mark.parametrize("angle", [0.0, 0.1])
def test_a_balanced_stance_carries_the_weight(load, angle):
    rotation = tilt(angle)
    wrench = np.r_[rotation.T @ WEIGHT[:3], 0, 0, 0]
    forces = FootForces(6).solve(wrench, rotation, TIPS, load)
    # The regularisation leaves 1e-4 / (feet + 1e-4) of the wrench uncarried.
    np.testing.assert_allclose(wrench_of(forces, rotation, TIPS), wrench, atol=5e-3)
    assert (forces[load == 0.0] == 0.0).all()


def test_forces_stay_in_the_friction_cone():
    rng = np.random.default_rng(2)
    solver = FootForces(6, friction=0.5)
    for _ in range(200):
        wrench = rng.normal(size=6) * [20, 20, 30, 3, 3, 3]
        forces = solver.solve(wrench, tilt(rng.normal() * 0.3), TIPS, rng.uniform(size=6))
        assert (np.hypot(forces[:, 0], forces[:, 1]) <= 0.5 * forces[:, 2] + 1e-9).all()


def test_a_foot_that_lifts_off_is_unloaded_smoothly():
    solver, before = FootForces(6), None
    for load in np.linspace(1.0, 0.0, 101):
        forces = solver.solve(WEIGHT, np.eye(3), TIPS, np.r_[load, np.ones(5)]).copy()
        if before is not None:
            assert np.abs(forces - before).max() < 0.6
        before = forces
    assert (before[0] == 0.0).all()


@pytest.mark.parametrize(
    "wrench, rounds, words",
    [(np.full(6, np.nan), 3, "not finite"), (np.full(6, np.inf), 3, "not finite"), (WEIGHT, 0, "did not end")],
    ids=["not a number", "infinite", "no convergence"],
)
def test_what_the_solver_cannot_do_is_an_error_of_this_package(monkeypatch, wrench, rounds, words):
    monkeypatch.setattr("hexapod_dynamics.control.feedforward.ROUNDS", rounds)
    with pytest.raises(HexapodError, match=f"no foot forces.*{words}"):
        FootForces(6).solve(wrench, np.eye(3), TIPS, np.ones(6))


def forces_of_scipy(solver, wrench, rotation, tips, load):
    """The minimum of the stated cost by scipy.optimize.nnls, (legs, 3)."""
    legs, edges, r = solver.legs, solver.edges, solver.regularisation
    share, body = np.sqrt(np.clip(load, 0, 1)), rotation.T @ solver.edges
    scale = np.r_[1, 1, 1, np.full(3, 1 / solver.length)]
    top = [
        scale * share[leg] * np.r_[body[:, e], np.cross(tips[leg], body[:, e])] for leg in range(legs) for e in range(4)
    ]
    matrix = np.vstack([np.array(top).T, np.kron(np.eye(legs), r * edges)])
    x, _ = nnls(matrix, np.r_[scale * wrench, np.zeros(3 * legs)])
    return (x.reshape(legs, 4) * share[:, None]) @ edges.T


@pytest.mark.parametrize("legs", [1, 2, 3, 6, 8])
def test_it_is_scipys_solution_whatever_was_solved_before(legs):
    rng = np.random.default_rng(legs)
    warm, worst = FootForces(legs, friction=0.5), 0.0
    tips, wrench, rotation, load = rng.normal(size=(legs, 3)) * 0.2, WEIGHT.copy(), np.eye(3), np.ones(legs)
    for k in range(240):
        if k % 3 == 0:  # another problem; else one a tick later
            tips = np.column_stack([*rng.uniform(-0.25, 0.25, (2, legs)), rng.uniform(-0.15, -0.05, legs)])
            wrench = rng.normal(size=6) * [8, 8, 30, 3, 3, 1]
            load = rng.choice([0.0, 1.0, 0.5, 1e-6, rng.uniform()], legs)
            rotation = tilt(rng.normal() * 0.3)
        else:
            wrench, tips = wrench + rng.normal(size=6) * 0.1, tips + rng.normal(size=(legs, 3)) * 1e-3
        reference = forces_of_scipy(warm, wrench, rotation, tips, load)
        worst = max(worst, np.abs(warm.solve(wrench, rotation, tips, load) - reference).max())
        worst = max(worst, np.abs(FootForces(legs, friction=0.5).solve(wrench, rotation, tips, load) - reference).max())
    assert worst < 1e-9, worst


def test_a_symmetric_stance_without_a_unique_choice_of_edges_is_scipys_too():
    """The four edges of a foot are dependent; on level ground many sets of edges give the same forces."""
    solver = FootForces(6)
    for load in (np.ones(6), TRIPOD, 1.0 - TRIPOD):
        for wrench in (WEIGHT, np.r_[5.0, 0, 25, 0, 0, 0], np.r_[0, 0, 25, 0, 0.5, 0]):
            reference = forces_of_scipy(solver, wrench, np.eye(3), TIPS, load)
            np.testing.assert_allclose(solver.solve(wrench, np.eye(3), TIPS, load), reference, rtol=0, atol=1e-9)


def test_solving_again_and_again_keeps_no_memory():
    solver = FootForces(6)
    assert least_growth(lambda: solver.solve(WEIGHT, np.eye(3), TIPS, TRIPOD)) <= 100


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
