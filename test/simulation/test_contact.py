"""Ground contact: the spring and damper law, Coulomb's cone, sliding by its closed form, slopes, steps, rough ground,
knees, corners, joint stops.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.jethexa import MASS, ROBOT, STAND, WHOLE

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.se3 import exp
from hexapod_dynamics.simulation import Ground, Simulator, TripodGait


def upright_on(ground):
    """Rotation of a body whose z axis is the normal of a sloping plane."""
    normal = np.array([-ground.slope_x, -ground.slope_y, 1.0])
    normal /= np.linalg.norm(normal)
    turn = np.cross([0.0, 0.0, 1.0], normal)
    return exp(np.concatenate([np.zeros(3), turn / np.linalg.norm(turn) * np.arcsin(np.linalg.norm(turn))]))[:3, :3]


def test_foot_forces_obey_the_law():
    """f_n = max(0, -K z - B vz), f_t = -b v, at the feet's own place and velocity, found by differences."""
    from hexapod_dynamics.kinematics import LegKinematics

    legs = [LegKinematics.from_robot(ROBOT, name) for name in ROBOT.leg_names]
    h = 1e-5
    sim = Simulator(ROBOT, gait=TripodGait(), timestep=h, ground=Ground.viscous())
    sim.run(0.4)

    def feet():
        in_base = [leg.to_base(leg.forward(sim.q[3 * i : 3 * i + 3])) for i, leg in enumerate(legs)]
        return sim.position + np.array(in_base) @ sim.rotation.T

    seen = 0
    for _ in range(40):
        sim.run(100 * h)
        before = feet()
        sim.step()
        after = feet()
        v = (after - before) / h
        push = np.maximum(0.0, -1e4 * after[:, 2] - 150.0 * v[:, 2])
        expected = np.column_stack([-50.0 * v[:, 0], -50.0 * v[:, 1], push]) * (before[:, 2:] < 0.0)
        # Positions and velocities after the step are taken at the geometry before it: relative 1e-5 of a radian.
        assert sim.foot_forces == pytest.approx(expected, abs=2e-3)
        seen += np.count_nonzero(push > 1.0)
    assert seen > 80


@pytest.mark.parametrize("slope", [(0.02, 0.0), (0.0, 0.03), (0.02, -0.015)])
def test_on_a_slope_it_slides_at_the_speed_that_viscous_friction_allows(slope):
    ground = Ground(*slope, law="viscous")
    sim = Simulator(ROBOT, ground=ground)
    upright = upright_on(ground)
    normal = upright[:, 2]
    sim.reset(rotation=upright, joints=STAND)
    log = sim.run(4.0)
    velocity = (log.position[-1] - log.position[-1001]) / 1.0
    downhill = np.array([0.0, 0.0, -1.0]) + normal[2] * normal
    assert velocity == pytest.approx(MASS * ROBOT.gravity * downhill / (6 * ROBOT.contact.friction), rel=2e-3, abs=1e-5)
    # Normal and tangential forces add up to the weight, upright.
    assert sim.ground_force == pytest.approx([0.0, 0.0, MASS * ROBOT.gravity], abs=0.01)


def test_it_stands_on_a_slope_within_the_cone():
    """10 degrees, mu 0.6: 1 mm in a minute at most, and no force outside the cone."""
    ground = Ground(slope=10.0, slope_yaw=30.0, friction=0.6)
    sim = Simulator(ROBOT, ground=ground)
    upright = upright_on(ground)
    sim.reset(rotation=upright, joints=STAND)
    sim.step(2000)
    start = sim.position.copy()
    sim.step(60000)
    assert np.linalg.norm(sim.position - start) < 1e-3
    assert sim.ground_force == pytest.approx([0.0, 0.0, MASS * ROBOT.gravity], abs=0.01)
    along = sim.foot_forces @ upright
    assert np.all(np.hypot(along[:, 0], along[:, 1]) < 0.6 * along[:, 2])


@pytest.mark.parametrize("friction, degrees", [(0.6, 31.5), (0.3, 20.0), (0.0, 5.0)])
def test_beyond_the_cone_it_slides_with_coulomb_s_acceleration(friction, degrees):
    ground = Ground(slope=degrees, friction=friction)
    sim = Simulator(ROBOT, ground=ground)
    sim.reset(rotation=upright_on(ground), joints=STAND)
    log = sim.run(2.0, log_every=100)
    down = np.array([-1.0, 0.0, -ground.slope_x]) / np.hypot(1.0, ground.slope_x)
    acceleration = np.diff(log.position @ down, 2)[-3:] / 0.1**2
    angle = np.radians(degrees)
    expected = ROBOT.gravity * (np.sin(angle) - friction * np.cos(angle))
    assert acceleration == pytest.approx(np.full(3, expected), rel=1e-2)


@pytest.mark.parametrize("ground", [Ground(friction=0.4), Ground(friction=1.0)])
def test_walking_feet_stay_in_the_cone_nothing_pulls_and_nothing_rubs_in_the_air(ground):
    log = Simulator(ROBOT, WHOLE.without("LM.femur", "RR.femur"), gait=TripodGait(), ground=ground).run(2.6)
    push, rub = log.foot_forces[:, :, 2], np.linalg.norm(log.foot_forces[:, :, :2], axis=2)
    assert np.all(rub[push == 0.0] == 0.0) and np.any(push == 0.0)
    assert push.min() >= -1e-12 and push.max() > 5.0  # the ground never pulls
    excess = np.maximum(0.0, rub - ground.friction * push)
    assert np.mean(excess > 0.06 * ground.friction * push + 0.03) < 0.01  # a step whose corrections ran out
    assert np.count_nonzero(rub > 0.99 * ground.friction * push) > 100  # feet do slide


def test_coulomb_friction_converges_with_the_step():
    ends = []
    for timestep in (4e-3, 1e-3, 2.5e-4):
        sim = Simulator(ROBOT, WHOLE.without("LM.femur", "RR.femur"), gait=TripodGait(), timestep=timestep)
        log = sim.run(2.6)
        ends.append(np.append(log.position[-1, :2], 0.1 * log.euler_zyx[-1, 0]))
    coarse, fine = np.linalg.norm(ends[0] - ends[2]), np.linalg.norm(ends[1] - ends[2])
    assert fine < 2e-3 and fine < 0.5 * coarse


def test_joint_stops_hold_a_limp_leg():
    """Held up by the body, a limp leg hangs at its stops, not beyond; a loaded one cannot be driven through them."""
    sim = Simulator(ROBOT)
    sim.reset(position=[0.0, 0.0, 1.0], joints=STAND)
    sim.push([0.0, 0.0, MASS * ROBOT.gravity, 0.0, 0.0, 0.0])
    upper = ROBOT.legs[0].joints[2].upper
    sim.command_joint(2, upper + 0.5, 0.1)
    sim.load_joint(4, False)
    sim.step(4000)
    # Against the servo's lag of half a radian, twenty times as stiff.
    assert upper < sim.q[2] < upper + 0.5 / 20.0
    lower = ROBOT.legs[1].joints[1].lower
    assert lower - 0.01 < sim.q[4]


def test_rough_ground_is_drawn_by_its_seed():
    one, two = Ground(rough=0.008, seed=7), Ground(rough=0.008, seed=8)
    xs, ys = np.linspace(-2.0, 2.0, 201), np.linspace(-1.0, 1.0, 101)
    heights = one.heights(xs, ys)
    assert heights[30, 40] == one.height(xs[40], ys[30])
    assert np.array_equal(heights, Ground(rough=0.008, seed=7).heights(xs, ys))
    assert 0.006 < np.ptp(heights) <= 0.008 and abs(heights.mean()) < 5e-4
    assert abs(np.corrcoef(heights.ravel(), two.heights(xs, ys).ravel())[0, 1]) < 0.05


def test_it_walks_up_a_slope_and_down_a_slope():
    speeds = []
    for slope in (0.05, 0.0, -0.05):
        sim = Simulator(ROBOT, gait=TripodGait(), ground=Ground(slope_x=slope))
        log = sim.run(5.2)
        speeds.append(log.position[-1, 0] / 5.2)
        assert log.position[-1, 2] - slope * log.position[-1, 0] == pytest.approx(0.118, abs=0.004)
    assert speeds[0] < speeds[1] < speeds[2]


def test_it_climbs_a_small_step():
    sim = Simulator(ROBOT, gait=TripodGait(step_height=0.02), ground=Ground(steps=((0.25, 0.008),), ramp=0.02))
    log = sim.run(12.0, log_every=10)
    assert log.position[-1, 0] > 0.5
    assert log.position[-130:, 2].mean() - log.position[:130, 2].mean() == pytest.approx(0.008, abs=0.001)


@given(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5), st.floats(-1, 1), st.floats(-1, 1))
@settings(max_examples=100, deadline=None)
def test_the_ground_s_normal_is_its_gradient(slope_x, slope_y, x, y):
    ground = Ground(slope_x, slope_y, steps=((0.1, 0.02), (-0.3, -0.03)), ramp=0.05, rough=0.01, seed=5)
    height, *normal = ground.surface(x, y)
    e = 1e-6
    gradient = [
        (ground.height(x + e, y) - ground.height(x - e, y)) / (2 * e),
        (ground.height(x, y + e) - ground.height(x, y - e)) / (2 * e),
    ]
    expected = np.array([-gradient[0], -gradient[1], 1.0]) / np.sqrt(1.0 + np.dot(gradient, gradient))
    assert normal == pytest.approx(expected, abs=2e-3)  # the step's second derivative jumps at its ends
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert height == ground.height(x, y)


def test_steps_are_as_high_as_said():
    ground = Ground(steps=((0.1, 0.02), (0.3, -0.05)), ramp=0.02)
    assert [ground.height(x, 7.0) for x in (0.0, 0.1, 0.2, 0.4)] == pytest.approx([0.0, 0.01, 0.02, -0.03])
    assert Ground(slope=45.0, slope_yaw=90.0).height(3.0, 2.0) == pytest.approx(2.0)


@pytest.mark.parametrize("bad", [{"ramp": 0.0}, {"steps": ((0.1,),)}, {"slope_y": np.inf}])
def test_a_ground_that_cannot_be_is_refused(bad):
    with pytest.raises(HexapodError, match="finite"):
        Ground(**bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"friction": -0.1},
        {"friction": np.nan},
        {"slope": 80.0},
        {"rough": 1.0},
        {"seed": -1},
        {"seed": 0.5},
        {"law": "glue"},
        {"slope": 3.0, "slope_x": 0.1},
    ],
)
def test_a_bad_value_of_the_ground_is_refused_by_name(bad):
    with pytest.raises(HexapodError, match=f"ground: .*{next(iter(bad))}"):
        Ground(**bad)


def test_knees_and_stumps_carry_it():
    """The robot without tibias, and with its tibias folded up, stands on its knees."""
    no_tibias = WHOLE.without(*(f"{name}.tibia" for name in ROBOT.leg_names))
    folded = WHOLE
    for name in ROBOT.leg_names:
        folded = folded.locked(f"{name}.tibia", 3.0)  # beyond the joint's stops
    for morphology, tibia in ((no_tibias, 0.0), (folded, 3.0)):
        sim = Simulator(ROBOT, morphology)
        sim.reset(joints=np.tile([0.0, -1.2, tibia], 6))
        sim.step(2000)
        knees = sim.position[2] + 0.077 * np.sin(sim.q[1::3])
        assert knees == pytest.approx(np.zeros(6), abs=2e-3)
        mass = MASS - (6 * 0.11 if morphology is no_tibias else 0.0)
        assert sim.ground_force[2] == pytest.approx(mass * ROBOT.gravity, abs=0.01)


def test_a_point_deep_in_the_ground_is_pushed_out_not_shot_out():
    sim = Simulator(ROBOT)
    sim.reset(position=[0.0, 0.0, 0.10], joints=STAND)  # two centimetres deep: 200 N a foot
    highest = 0.0
    for _ in range(500):
        sim.step()
        highest = max(highest, sim.position[2])
    assert np.isfinite(sim.nu).all() and highest < 0.5
