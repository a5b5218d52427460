"""The simulated robot: the paper's walks, momentum, rest, falls, commands, damage in mid walk, refusals."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from support.allocations import least_growth
from support.jethexa import ROBOT, STAND, WHOLE, standing
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import random_robot

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import DivergedError, DynamicsError
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Predictor, Simulator, TripodGait, Truth
from hexapod_dynamics.simulation.world import place_returned

MODEL = WholeBodyModel(ROBOT)


def walk(morphology=WHOLE, seconds=5.2, **options):
    return Simulator(ROBOT, morphology, gait=TripodGait(), ground=Ground.viscous(), **options).run(seconds)


# ---- the paper's walks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"timestep": 5e-3}, {"command_period": 0.02, "quantised": True}])
def test_the_whole_robot_walks_straight_on(options):
    log = walk(seconds=10.0, **options)
    assert log.position[-1, 0] / 10.0 == pytest.approx(0.068, rel=0.15)
    assert abs(log.position[-1, 1]) < 0.01 and abs(np.degrees(log.euler_zyx[-1, 0])) < 2.0


def test_without_its_middle_legs_it_stays_and_rocks():
    log = walk(WHOLE.without("RM", "LM"))
    assert np.linalg.norm(log.position[-1, :2]) < 0.01
    roll = np.degrees(log.euler_zyx[:, 2])
    assert 1.5 < roll.max() < 7.0 and -7.0 < roll.min() < -1.5


@pytest.mark.parametrize("options", [{}, {"timestep": 5e-3}, {"command_period": 0.02, "quantised": True}])
def test_with_two_legs_down_to_their_coxa_it_goes_on_turning_and_drops_each_cycle(options):
    log = walk(WHOLE.without("LM.femur", "RR.femur"), **options)
    assert 0.02 < np.linalg.norm(log.position[-1, :2]) / 5.2 < 0.035
    assert 15.0 < np.degrees(log.euler_zyx[-1, 0]) < 35.0
    cycles = log.position[:, 2].reshape(4, -1)
    assert np.all(np.ptp(cycles[1:], axis=1) > 0.006) and np.all(np.ptp(cycles[1:], axis=1) < 0.015)


# ---- momentum ------------------------------------------------------------------------------------------------------


def tumbling():
    """A simulator whose robot tumbles high up, limp, without servo damping: nothing acts but gravity."""
    robot = replace(ROBOT, servo=replace(ROBOT.servo, stiffness=1e-12, damping=0.0))
    sim = Simulator(robot, timestep=1e-4)
    sim.reset(position=[0.0, 0.0, 5.0], joints=STAND)
    sim.nu[:] = np.random.default_rng(2).normal(size=24) * np.array([0.3] * 3 + [1.0] * 3 + [2.0] * 18)
    return sim


def centroidal(sim, morphology):
    """Momentum (6,) about the centre of mass, world axes, by Pinocchio."""
    peer = PinocchioRobot(morphology)
    q = np.concatenate([sim.position, peer.configuration(sim.rotation, sim.q)[3:]])
    nu = sim.nu[np.r_[np.arange(6), 6 + np.array(peer.q_places)]]
    return np.array(pin.computeCentroidalMomentum(peer.model, peer.data, q, nu))


@pytest.mark.parametrize("robot_part", ["simulator", "predictor"])
def test_joints_that_lock_in_flight_keep_the_momentum(robot_part):
    sim = tumbling()
    if robot_part == "predictor":
        flown, sim = sim, Predictor(sim.robot)
        sim.set_state(flown.position, flown.rotation, flown.q, flown.nu)
    femurs = [f"{leg}.femur" for leg in ROBOT.leg_names]
    stuck = Morphology.whole(sim.robot)
    for name, joint in zip(femurs, range(1, 18, 3), strict=True):
        stuck = stuck.locked(name, sim.q[joint])
    before = centroidal(sim, Morphology.whole(sim.robot))
    sim.set_morphology(stuck)
    np.testing.assert_allclose(centroidal(sim, stuck), before, rtol=0, atol=1e-12)
    assert not sim.nu[6 + np.arange(1, 18, 3)].any()


def test_what_breaks_off_in_flight_takes_its_own_momentum_along():
    sim = tumbling()
    hurt = Morphology.whole(sim.robot).without("RM").broken("LF.tibia", 0.5).locked("LF.femur", sim.q[1])
    only_broken = Morphology.whole(sim.robot).without("RM").broken("LF.tibia", 0.5)
    left = centroidal(sim, only_broken)  # of the parts that stay, at their velocities before
    sim.set_morphology(only_broken)
    np.testing.assert_allclose(centroidal(sim, only_broken), left, rtol=0, atol=1e-12)
    sim.set_morphology(Morphology.whole(sim.robot))
    sim.set_morphology(hurt)
    np.testing.assert_allclose(centroidal(sim, hurt), left, rtol=0, atol=1e-12)


# ---- rest and falls ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("morphology", [WHOLE, WHOLE.without("RM"), WHOLE.without("RM", "LM").broken("LF.tibia", 0.97)])
def test_at_rest_the_ground_carries_the_weight(morphology):
    sim = standing(Simulator(ROBOT, morphology), 3000)
    weight = [0.0, 0.0, MODEL.total_mass(morphology) * ROBOT.gravity]
    assert sim.foot_forces.sum(axis=0) == pytest.approx(weight, abs=2e-3)
    assert sim.ground_force == pytest.approx(weight, abs=2e-3)
    assert np.abs(sim.nu).max() < 1e-3
    # Statics: forces and torques balance in the independent model, world forces at the tips.
    forces = zip(ROBOT.leg_names, sim.foot_forces, strict=True)
    tips = {name: force for name, force in forces if morphology.has_leg(name)}
    nu = np.zeros(6 + morphology.moving_mask.sum())
    needed = MODEL.inverse_dynamics(sim.rotation, sim.q, nu, nu, morphology, tip_forces=tips)
    assert needed[:6] == pytest.approx(np.zeros(6), abs=5e-3)
    assert needed[6:] == pytest.approx(sim.joint_torques[morphology.moving_mask], abs=2e-3)
    for name in tips:  # the feet are as deep in the ground as its springs say
        i, leg = ROBOT.leg_names.index(name), LegKinematics.from_robot(ROBOT, name, morphology)
        foot = sim.position + sim.rotation @ leg.to_base(leg.forward(sim.q[3 * i : 3 * i + 3]))
        assert foot[2] == pytest.approx(-sim.foot_forces[i, 2] / ROBOT.contact.stiffness, abs=1e-6)


@pytest.mark.parametrize(
    "morphology",
    [
        WHOLE.without(*ROBOT.leg_names),
        WHOLE.without("LF", "LM", "LR"),
        WHOLE.without(*(f"{name}.femur" for name in ROBOT.leg_names)),
        WHOLE.without(*(f"{name}.tibia" for name in ROBOT.leg_names)),
    ],
    ids=["no legs", "one side", "coxas only", "no tibias"],
)
@pytest.mark.parametrize("timestep", [1e-3, 5e-3])
def test_without_enough_legs_it_lies_on_the_ground_not_under_it(morphology, timestep):
    sim = Simulator(ROBOT, morphology, timestep=timestep)
    sim.reset(position=[0.0, 0.0, 0.12], joints=STAND)
    sim.step(round(3.0 / timestep))
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * ROBOT.body.box / 2
    lowest = (sim.position + corners @ sim.rotation.T)[:, 2].min()
    assert -2e-3 < lowest < 0.1
    assert np.abs(sim.nu).max() < 0.05
    assert sim.ground_force[2] == pytest.approx(MODEL.total_mass(morphology) * ROBOT.gravity, rel=1e-3)


def test_limp_legs_let_it_sink_on_knees_or_belly():
    sim = standing(Simulator(ROBOT), 100)
    for joint in range(18):
        sim.load_joint(joint, False)
    sim.step(4000)
    assert sim.position[2] < 0.06 and np.isfinite(sim.position).all()
    for joint in range(18):
        sim.load_joint(joint, True)
    still = sim.q.copy()
    sim.step(500)
    assert np.abs(sim.q - still).max() < 0.05  # torque returns where the joints are: no leap


def test_a_limp_joint_gives_no_torque_and_yields():
    sim = Simulator(ROBOT, WHOLE.limp("LR.femur"))
    predictor = Predictor(ROBOT, WHOLE.limp("LR.femur"), timestep=1e-3)
    sim.reset(joints=STAND)
    predictor.set_state(sim.position, sim.rotation, sim.q, sim.nu)
    joint = ROBOT.joint_names.index("femur_joint_LR")
    sim.command(STAND, 0.1)
    for joint_index in range(18):  # what the bus says does not bring the torque back
        sim.load_joint(joint_index, True)
    sim.step(1000)
    predictor.advance(1.0)
    assert sim.joint_torques[joint] == 0.0 == predictor.joint_torques[joint]
    assert abs(sim.q[joint] - STAND[joint]) > 0.004  # the others sag, this one follows its foot
    assert sim.foot_forces[:, 2].argmin() == ROBOT.leg_names.index("LR")
    np.testing.assert_allclose(predictor.q, sim.q, atol=1e-12)
    sim.set_morphology(WHOLE)
    before = sim.q.copy()
    sim.step(200)
    assert np.abs(sim.q - before).max() < 0.02 and sim.joint_torques[joint] != 0.0  # mended: no leap


def test_the_predictors_ground_turns_about_the_point_below_the_robot_and_the_motion_is_that_on_a_ground_of_this_slope():
    """On a plane of another slope and level, far from the origin: the same motion as from the origin, shifted."""
    slope, place = np.array([0.05, -0.03]), np.array([7.0, -4.0])
    near, far = Predictor(ROBOT, ground=Ground(*slope)), Predictor(ROBOT)
    near.set_state(np.array([0.0, 0.0, 0.119]), np.eye(3), STAND, np.zeros(24))
    far.set_state(np.array([*place, 0.119]), np.eye(3), STAND, np.zeros(24))
    far.tilt_ground(np.array([slope[1], -slope[0], 0.4]))
    assert far.position.tolist() == [*place, 0.119] and far.height == pytest.approx(0.119)
    assert far.slope == pytest.approx(slope) and far.level == pytest.approx(-slope @ place)
    targets = np.tile(STAND, (5, 1))
    for predictor in (near, far):
        predictor.advance(0.5, STAND)
        predictor.roll_out(targets)
    shift = np.array([*place, 0.0])
    np.testing.assert_allclose(far.position - shift, near.position, atol=1e-9)
    np.testing.assert_allclose(far.path_positions[:5] - shift, near.path_positions[:5], atol=1e-9)
    assert far.resting_height() == pytest.approx(near.resting_height() - slope @ place)


# ---- damage, commands, sensors -------------------------------------------------------------------------------------


def test_damage_in_mid_walk_is_in_the_next_step_and_nothing_leaps():
    sim = Simulator(ROBOT, gait=TripodGait())
    sim.run(2.0)
    position, q, nu = sim.position.copy(), sim.q.copy(), sim.nu.copy()
    sim.set_morphology(WHOLE.without("RM").locked("LF.coxa", sim.q[0]))
    assert np.array_equal(sim.position, position) and np.array_equal(sim.q, q)
    assert np.abs(sim.nu[:6] - nu[:6]).max() < 0.15 and sim.nu[6] == 0.0  # the coxa's momentum goes to the body
    log = sim.run(1.0)
    assert np.all(log.joint_positions[:, 0] == q[0])
    assert np.all(log.foot_forces[:, ROBOT.leg_names.index("RM")] == 0.0)
    sim.set_morphology(WHOLE)
    assert sim.run(2.6).position[-1, 0] - sim.position[0] == pytest.approx(0.0)
    assert sim.time == pytest.approx(5.6)


def test_a_gait_is_copied_and_can_be_steered():
    gait = TripodGait()
    first, again = Simulator(ROBOT, gait=gait).run(0.5), Simulator(ROBOT, gait=gait).run(0.5)
    assert np.array_equal(first.position, again.position) and not gait.is_bound
    gait.bind(ROBOT)
    assert np.array_equal(Simulator(ROBOT, gait=gait).run(0.5).position, first.position)
    gait.command(0.0, 0.04, 0.0)  # commanded while it stands: starts from there
    sim = Simulator(ROBOT, gait=gait)
    sim.run(3.0)
    assert sim.position[1] > 0.05 and abs(sim.position[0]) < 0.01
    sim.gait.command(0.0, 0.0, 0.3)
    yaw = np.degrees(sim.run(3.0).euler_zyx[-1, 0])
    assert yaw > 15.0
    sim.gait.command(0.0, 0.0, 0.0)
    sim.run(3.0)
    assert not sim.gait.walking and np.abs(sim.nu).max() < 0.02


@pytest.mark.parametrize("log_every", [1, 7, 50])
def test_a_gait_in_python_walks_it_the_same_way(log_every):
    class FromPython(TripodGait):
        compiled = None

    sims = [Simulator(ROBOT, gait=gait, command_period=0.02) for gait in (TripodGait(), FromPython())]
    for seconds in (0.3, 0.111):
        ours, theirs = (sim.run(seconds, log_every=log_every) for sim in sims)
        assert np.array_equal(ours.position, theirs.position) and np.array_equal(ours.time, theirs.time)


def test_the_rotation_stays_a_rotation():
    sim = Simulator(ROBOT, WHOLE.without("LM.femur", "RR.femur"), gait=TripodGait())
    sim.run(40.0, log_every=1000)
    assert sim.rotation.T @ sim.rotation == pytest.approx(np.eye(3), abs=1e-11)
    assert np.linalg.det(sim.rotation) == pytest.approx(1.0, abs=1e-11)


def test_a_run_in_pieces_and_one_of_which_less_is_logged_are_the_same_run():
    whole = walk(seconds=1.3, command_period=0.02)
    sim = Simulator(ROBOT, gait=TripodGait(), command_period=0.02, ground=Ground.viscous())
    pieces = [sim.run(seconds) for seconds in (0.5, 0.007, 0.793)]
    assert np.array_equal(np.concatenate([piece.position for piece in pieces]), whole.position)
    assert np.concatenate([piece.time for piece in pieces]) == pytest.approx(whole.time)
    assert whole.time == pytest.approx(np.arange(1, 1301) * 1e-3)
    sim = Simulator(ROBOT, gait=TripodGait(), command_period=0.02, ground=Ground.viscous())
    assert np.array_equal(sim.run(1.3, log_every=10).position, whole.position[9::10])


def test_servos_go_uniformly_to_their_targets_and_no_faster_than_they_can():
    sim = Simulator(ROBOT)
    sim.reset(position=[0, 0, 1.0], joints=STAND)
    sim.command_joint(0, 0.5, 0.1)
    sim.command_joint(1, STAND[1] + 2.0, 0.1)  # 20 rad/s are asked, 5.82 given
    sim.step(50)
    assert sim.setpoints[0] == pytest.approx(0.25, abs=1e-12)
    assert sim.setpoints[1] == pytest.approx(STAND[1] + 0.05 * ROBOT.servo.speed_limit, abs=1e-12)
    sim.step(450)
    assert sim.setpoints[:2] == pytest.approx([0.5, STAND[1] + 2.0], abs=1e-12)
    untouched = np.full(18, np.nan)
    untouched[2] = STAND[2] + 0.03
    sim.command(untouched, 0.01)
    with pytest.raises(DynamicsError, match="targets: .*not finite"):  # none of its servos is commanded
        sim.command([*np.zeros(17), np.inf], 0.01)
    sim.step(10)
    assert sim.setpoints[:3] == pytest.approx([0.5, STAND[1] + 2.0, STAND[2] + 0.03], abs=1e-12)


def test_torque_stops_at_the_limit_and_the_rest_follows_newton():
    robot = replace(ROBOT, gravity=0.0, servo=replace(ROBOT.servo, torque_limit=0.01))
    sim = Simulator(robot)
    sim.reset(position=[0, 0, 1.0], joints=STAND)
    sim.command(STAND + 1.0, 0.001)
    sim.step(300)
    assert np.abs(sim.joint_torques).max() == 0.01


def test_quantised_commands_are_multiples_of_the_resolution():
    sim = Simulator(ROBOT, gait=TripodGait(), command_period=0.02, quantised=True)
    sim.run(0.02)
    counts = sim.setpoints / ROBOT.servo.resolution
    assert counts == pytest.approx(np.round(counts), abs=1e-6)


def test_the_imu_feels_gravity_at_rest_and_nothing_in_free_fall():
    sim = standing(Simulator(ROBOT), 3000)
    sim.step(10)
    assert sim.specific_force == pytest.approx([0.0, 0.0, ROBOT.gravity], abs=0.01)
    assert sim.nu[3:6] == pytest.approx(np.zeros(3), abs=1e-3)
    sim.reset(position=[0, 0, 3.0], joints=STAND)
    sim.step(10)
    assert sim.specific_force == pytest.approx(np.zeros(3), abs=0.02)


def test_the_imu_feels_what_its_position_feels():
    """Along a walk: the specific force is the second derivative of the IMU's place in the world, less gravity."""
    sim = Simulator(ROBOT, gait=TripodGait(), timestep=2e-4)
    sim.run(0.3)
    places, forces = [], []
    for _ in range(300):
        places.append(sim.position + sim.rotation @ ROBOT.imu.position)
        sim.step()
        forces.append(sim.rotation @ sim.specific_force - [0, 0, ROBOT.gravity])
    acceleration = np.diff(places, 2, axis=0) / 4e-8
    assert np.mean(np.abs(acceleration - forces[1:-1])) < 0.05 * np.mean(np.abs(acceleration))


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles_go_their_own_way(twin, physics):
    truth = Truth.parse("servos=real,seed=3,mass=1.2,stiffness=0.7,payload=0.3,payload_x=0.03")
    sim = physics(ROBOT, WHOLE.without("RM"), gait=TripodGait(), truth=truth)
    sim.run(0.2)
    sim.push([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    other, before = twin(sim), sim.position.copy()
    moved = other.run(0.1).position[-1]
    assert np.array_equal(sim.position, before) and not np.array_equal(moved, before)
    np.testing.assert_array_equal(sim.run(0.1).position[-1], moved)
    predictor = Predictor(ROBOT, WHOLE.without("RM"))
    predictor.set_state(sim.position, sim.rotation, sim.q, sim.nu)
    ahead = twin(predictor)
    ahead.advance(0.05)
    assert np.array_equal(predictor.q, sim.q) and not np.array_equal(ahead.q, sim.q)
    assert np.shares_memory(ahead.q, ahead.memory)  # its names are views of its own state


# ---- the predictor -------------------------------------------------------------------------------------------------


def test_a_simulation_that_diverges_ends_before_its_angles_are_taken_for_measured_ones():
    physics = standing(Simulator(ROBOT))
    physics.nu[-1] = 1e5  # [rad/s]
    with pytest.raises(DivergedError, match="take a shorter one"):
        physics.step(1)


def test_the_predictor_is_the_simulator_in_other_hands():
    sim, predictor = Simulator(ROBOT), Predictor(ROBOT, timestep=1e-3)
    sim.reset(joints=STAND)
    predictor.set_state(sim.position, sim.rotation, sim.q, sim.nu)
    gait = TripodGait().bind(ROBOT)
    gait.walk()
    for _ in range(65):
        targets = gait.step(0.02)[0]
        sim.command(targets, 0.02)
        sim.step(20)
        predictor.advance(0.01, targets, 0.02)
        predictor.advance(0.01)
    assert np.array_equal(predictor.position, sim.position) and np.array_equal(predictor.nu, sim.nu)


def test_no_time_at_all_changes_nothing_but_the_command():
    predictor = Predictor(ROBOT)
    predictor.set_state(np.array([0.0, 0.0, 0.12]), np.eye(3), STAND, np.full(24, 0.1))
    before = predictor.position.copy(), predictor.nu.copy(), predictor.setpoints.copy()
    predictor.advance(0.0, STAND + 0.1)
    for given, expected in zip((predictor.position, predictor.nu, predictor.setpoints), before, strict=True):
        np.testing.assert_array_equal(given, expected)
    np.testing.assert_array_equal(predictor.servos["target"], STAND + 0.1)
    predictor.advance(0.1)
    assert np.isfinite(predictor.nu).all() and (predictor.setpoints > STAND).all()


@pytest.mark.parametrize("morphology", [WHOLE, WHOLE.without("LM.femur", "RR.femur"), WHOLE.without("RM", "LM")])
def test_the_horizon_is_where_it_will_be(morphology):
    predictor = Predictor(ROBOT, morphology, horizon_steps=25, horizon_period=0.02, horizon_timestep=5e-3)
    sim = Simulator(ROBOT, morphology, gait=TripodGait(), command_period=0.02)
    sim.run(2.0)
    predictor.set_state(sim.position, sim.rotation, sim.q, sim.nu, sim.setpoints)
    ahead = sim.gait.copy()
    targets = np.array([ahead.step(0.02)[0].copy() for _ in range(25)])
    before = predictor.position.copy(), predictor.nu.copy(), predictor.setpoints.copy()
    positions, rotations, joints = predictor.roll_out(targets)
    after = predictor.position, predictor.nu, predictor.setpoints
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    log = sim.run(0.5)
    assert np.linalg.norm(positions - log.position[19::20], axis=1).max() < 1e-3
    assert np.linalg.norm(rotations - log.rotation[19::20], axis=(1, 2)).max() < np.radians(0.5)
    assert np.abs(joints - log.joint_positions[19::20])[:, morphology.moving_mask].max() < 0.02


def test_the_predictor_allocates_nothing_that_stays():
    predictor = Predictor(ROBOT)
    predictor.set_state([0.0, 0.0, 0.12], np.eye(3), STAND, np.zeros(24))
    targets = np.tile(STAND, (25, 1))

    def tick():
        predictor.advance(0.01, STAND, 0.02)
        predictor.roll_out(targets)

    assert least_growth(tick) < 1000


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_a_stump_that_is_mended_is_lifted_out_of_the_ground(physics):
    """Tibias that grew into the ground under a robot that leant on its stumps threw it up and turned it over."""
    simulator = standing(physics(ROBOT), 300)
    simulator.set_morphology(WHOLE.broken("LF.tibia", 0.5).broken("LM.tibia", 0.5).broken("LR.tibia", 0.5))
    simulator.step(2000)  # it leans to the left
    assert np.arccos(simulator.rotation[2, 2]) > np.radians(8.0)
    simulator.set_morphology(WHOLE)
    highest, most = 0.0, 0.0
    for _ in range(100):
        simulator.step(10)
        highest = max(highest, simulator.position[2])
        most = max(most, np.arccos(min(simulator.rotation[2, 2], 1.0)))
    assert highest < 0.16 and most < np.radians(15.0)


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_a_leg_comes_back_clear_of_the_ground(physics):
    """A leg put back under a robot on its belly, at the angles of its last stance, threw it 24 cm up."""
    simulator = standing(physics(ROBOT), 300)
    simulator.set_morphology(WHOLE.without("RM", "LM"))
    lifted = simulator.q.copy()
    lifted[1::3] += 0.9  # the other feet rise, so that the body comes down
    simulator.command(lifted, 1.0)
    simulator.step(2000)
    low = simulator.position[2]
    assert low < 0.06
    simulator.set_morphology(WHOLE)
    highest = 0.0
    for _ in range(50):
        simulator.step(10)
        highest = max(highest, simulator.position[2])
    assert highest < low + 0.01


def test_a_returned_leg_of_six_joints_tries_the_nearest_postures_until_it_is_clear():
    """All 5^6 postures took a node two seconds."""
    robot, heights = random_robot(np.random.default_rng(0), 5, 6), []
    whole, q = Morphology.whole(robot), np.zeros(robot.joint_count)
    change = whole.without(robot.legs[0].name), whole
    place_returned(robot, *change, np.zeros(3), np.eye(3), q, lambda x, y: heights.append(0.0) or 0.0)
    assert q[:6].any() and len(heights) < 5**6
