"""Ground contact: the spring and damper law, Coulomb's cone, sliding by its closed form, slopes, steps, rough ground,
knees, corners, joint stops; the simulation converges, at first order, to an independent solution. Truths by their
words: grounds and how they are simulated, refusals.
"""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from support.jethexa import MASS, ROBOT, STAND, WHOLE, standing
from support.pinocchio_robot import PinocchioRobot

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.se3 import exp
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Simulator, TripodGait, Truth
from hexapod_dynamics.simulation.truth import SERVOS


class ReferenceSimulation:
    """Equations of motion of a morphology on level ground, its servos on a straight way from q0 at given rates."""

    def __init__(self, morphology, q0, setpoint_rates):
        robot = self.robot = morphology.robot
        self.pin = PinocchioRobot(morphology)
        self.places = np.array(self.pin.q_places)
        self.limp = ~morphology.driven_mask[self.places]
        self.q0, self.rates = np.asarray(q0)[self.places], np.asarray(setpoint_rates)[self.places]
        names = [f"tip {leg.name} {link.name}" for leg in robot.legs for link in morphology.links(leg.name)]
        self.frames = [self.pin.model.getFrameId(name) for name in names]
        half = robot.body.box / 2
        self.corners = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        base = self.pin.model.getJointId("base")
        for k, corner in enumerate(self.corners):
            frame = pin.Frame(f"corner {k}", base, pin.SE3(np.eye(3), corner), pin.OP_FRAME)
            self.frames.append(self.pin.model.addFrame(frame))
        self.pin.data = self.pin.model.createData()

    def torque(self, t, q, rate):
        """Servo torques, and the drag of limp servos."""
        servo = self.robot.servo
        torque = servo.stiffness * (self.q0 + self.rates * t - q) + servo.damping * (self.rates - rate)
        torque = np.clip(torque, -servo.torque_limit, servo.torque_limit)
        return np.where(self.limp, -servo.damping * rate, torque)  # the gear train's drag is all that is left

    def __call__(self, t, state):
        """Time derivative of (position, quaternion, q of the moving joints, nu)."""
        model, data, contact = self.pin.model, self.pin.data, self.robot.contact
        n = len(self.places)
        configuration, nu = state[: 7 + n].copy(), state[7 + n :]
        configuration[3:7] /= np.linalg.norm(configuration[3:7])
        force = np.concatenate([np.zeros(6), self.torque(t, configuration[7:], nu[6:])])
        pin.forwardKinematics(model, data, configuration, nu)
        pin.computeJointJacobians(model, data, configuration)
        pin.updateFramePlacements(model, data)
        for frame in self.frames:
            z = data.oMf[frame].translation[2]
            if z >= 0.0:
                continue
            jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
            v = jacobian @ nu
            push = max(0.0, -contact.stiffness * z - contact.damping * v[2])
            force += jacobian.T @ [-contact.friction * v[0], -contact.friction * v[1], push]
        acceleration = pin.aba(model, data, configuration, nu, force)
        rotation = pin.Quaternion(configuration[3:7]).toRotationMatrix()
        w = nu[3:6]
        x, y, z, s = state[3:7]
        turn = 0.5 * np.array(
            [
                s * w[0] + y * w[2] - z * w[1],
                s * w[1] + z * w[0] - x * w[2],
                s * w[2] + x * w[1] - y * w[0],
                -x * w[0] - y * w[1] - z * w[2],
            ]
        )
        return np.concatenate([rotation @ nu[:3], turn, nu[6:], acceleration])

    def run(self, position, rotation, nu, seconds, tolerance=1e-9):
        """Return position, rotation, q of the moving joints and nu after so many seconds."""
        moving = np.concatenate([np.arange(6), 6 + self.places])
        start = np.concatenate([position, pin.Quaternion(rotation).coeffs(), self.q0, nu[moving]])
        # Contact damping on a foot's small mass makes the equations stiff: the longest step an explicit method bears.
        result = solve_ivp(self, (0.0, seconds), start, "DOP853", rtol=tolerance, atol=tolerance, max_step=4e-4)
        end = result.y[:, -1]
        n = len(self.places)
        turn = pin.Quaternion(end[3:7] / np.linalg.norm(end[3:7])).toRotationMatrix()
        return end[:3], turn, end[7 : 7 + n], end[7 + n :]


def upright_on(ground):
    """Rotation of a body whose z axis is the normal of a sloping plane."""
    normal = np.array([-ground.slope_x, -ground.slope_y, 1.0])
    normal /= np.linalg.norm(normal)
    turn = np.cross([0.0, 0.0, 1.0], normal)
    return exp(np.concatenate([np.zeros(3), turn / np.linalg.norm(turn) * np.arcsin(np.linalg.norm(turn))]))[:3, :3]


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


REST, TUMBLES = np.zeros(24), np.random.default_rng(2).normal(size=24) * ([0.3] * 3 + [1.0] * 3 + [2.0] * 18)
RATES = np.random.default_rng(5).uniform(-1.0, 1.0, 18)
HURT = WHOLE.without("LM.femur").locked("RF.tibia", STAND[17]).broken("LF.tibia", 0.9).limp("RR.femur")


def simulate(morphology, height, seconds, timestep, rates=RATES, nu=REST):
    sim = Simulator(ROBOT, morphology, timestep=timestep, ground=Ground.viscous())
    sim.reset(position=[0.0, 0.0, height], joints=STAND)
    sim.nu[:] = nu
    sim.command(STAND + rates * seconds, seconds)
    sim.step(round(seconds / timestep))
    return sim


def distance(sim, reference, places):
    position, rotation, q, nu = reference
    moving = np.concatenate([np.arange(6), 6 + places])
    turned = np.linalg.norm(rotation.T @ sim.rotation - np.eye(3))
    return np.array(
        [
            np.linalg.norm(sim.position - position),
            turned,
            np.linalg.norm(sim.q[places] - q),
            np.linalg.norm(sim.nu[moving] - nu),
        ]
    )


@pytest.mark.parametrize(
    "morphology, height, rates, nu, spread, most",
    [
        (WHOLE, 0.119, 0.05 * RATES, REST, 0.05, 1e-4),  # feet stay in the ground: nothing begins or ends
        # Each foot touches down at some time within a step, so errors scatter.
        (WHOLE, 0.125, RATES, REST, 0.35, 1e-4),
        (HURT, 0.119, RATES, REST, 0.5, 1e-4),  # feet lift off
        (WHOLE, 1.0, RATES, TUMBLES, 0.05, 5e-4),  # gravity alone makes g h t / 2 of it
    ],
    ids=["standing", "falling", "damaged", "flying"],
)
def test_the_error_shrinks_with_the_step_at_first_order(morphology, height, rates, nu, spread, most):
    seconds, steps = 0.08, np.array([1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5])
    reference = ReferenceSimulation(morphology, STAND, rates)
    exact = reference.run(np.array([0.0, 0.0, height]), np.eye(3), nu, seconds)
    errors = np.array(
        [distance(simulate(morphology, height, seconds, h, rates, nu), exact, reference.places) for h in steps]
    )
    assert errors[0, 0] < most and errors[0, 1] < 1e-3 and errors[0, 2] < 2e-3  # m, rad, rad after 80 ms at 1 ms
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slopes == pytest.approx(np.ones(4), abs=spread)


def test_long_steps_are_stable_and_near():
    short = simulate(WHOLE, 0.125, 0.3, 1e-4)
    for timestep in (1e-3, 2e-3, 5e-3, 10e-3):
        long = simulate(WHOLE, 0.125, 0.3, timestep)
        assert np.linalg.norm(long.position - short.position) < 1.0 * timestep  # metres a second of step
        assert np.abs(long.nu).max() < 10.0


AHEAD = np.linspace(0.0, 4.0, 801)


def profile(text: str) -> np.ndarray:
    """Heights along the robot's way."""
    return Truth.parse(text).make_ground().heights(AHEAD, np.zeros(1))[0]


def test_slopes_rise_in_the_direction_that_is_named():
    rise = np.tan(np.radians(12.0))
    for text, x, y in (("slope:12", rise, 0.0), ("slope:12:down", -rise, 0.0), ("slope:12:across", 0.0, rise)):
        ground = Truth.parse(f"ground={text}").make_ground()
        assert [ground.height(1.0, 0.0), ground.height(0.0, 1.0)] == pytest.approx([x, y])


def test_blocks_are_level_squares_of_ten_centimetres():
    heights = profile("ground=blocks:0.04,seed=7")
    assert 0.02 < np.ptp(heights) <= 0.04
    tops = heights[10:790].reshape(39, 20)  # the edges of the squares are at odd multiples of 5 cm
    assert np.ptp(tops[:, 2:17], axis=1).max() < 1e-9
    # Between two tops lie no more than the 12.5 mm of an edge.
    changing = np.abs(np.diff(heights)) > 1e-9
    assert 0.1 < changing.mean() < 0.21
    assert np.array_equal(heights, profile("ground=blocks:0.04,seed=7"))
    assert not np.array_equal(heights, profile("ground=blocks:0.04,seed=8"))


def test_steps_and_stairs_go_up_and_down_again_ahead_of_the_robot():
    heights = profile("ground=steps:0.04,seed=3")
    assert heights[0] == 0.0 and heights.max() == pytest.approx(0.04) and abs(heights[300:400]).max() < 0.05
    edges = AHEAD[1:][np.abs(np.diff(heights)) > 1e-6]
    assert 0.55 < edges[0] < 0.85
    stairs = profile("ground=stairs,seed=3")
    assert stairs.max() == pytest.approx(0.12) and abs(stairs[-1]) < 1e-9
    assert profile("ground=stairs:0.02,seed=3").max() == pytest.approx(0.06)


@pytest.mark.parametrize("text", ["ground=blocks:0.03,seed=2", "ground=steps:0.04", "ground=gravel,seed=1"])
def test_mujoco_s_robot_stands_on_what_is_drawn(text):
    sim = MujocoSimulator(ROBOT, timestep=2e-3, truth=Truth.parse(text))
    x = 1.0 if "steps" in text else 0.0
    height = sim.ground.heights(np.linspace(x - 0.2, x + 0.2, 81), np.linspace(-0.2, 0.2, 81)).max()
    sim.reset(joints=STAND, position=[x, 0.0, 0.14 + height])
    sim.step(600)
    mean = sim.ground.height(x, 0.0) if "steps" in text else 0.0
    assert sim.position[2] == pytest.approx(0.12 + mean, abs=0.02) and sim.rotation[2, 2] > np.cos(np.radians(12.0))


def test_patches_are_slippery_soft_or_neither():
    ground = Truth.parse("ground=patches,friction=0.7,seed=9").make_ground()
    kinds = [ground.patch(0.3 * i + 0.1, 0.3 * j + 0.1) for i in range(30) for j in range(30)]
    assert 0.2 < kinds.count("slippery") / 900 < 0.3 and 0.2 < kinds.count("soft") / 900 < 0.3
    assert ground.patch(0.01, 0.01) == ground.patch(0.29, 0.29)
    sim = standing(MujocoSimulator(ROBOT, timestep=2e-3, truth=Truth.parse("ground=patches,friction=0.7,seed=9")), 500)
    places = [sim.data.geom_xpos[geom] for geom in sim._foot_geoms]
    expected = [{"slippery": 0.25}.get(ground.patch(x, y), 0.7) for x, y, _ in places]
    assert [sim.model.geom_friction[geom, 0] for geom in sim._foot_geoms] == pytest.approx(expected)
    soft = [0.002 - z for (x, y, z) in places if ground.patch(x, y) == "soft"]
    firm = [0.002 - z for (x, y, z) in places if ground.patch(x, y) != "soft"]
    assert 0.003 < min(soft) and max(soft) < 0.03 and max(firm) < 0.002


@pytest.mark.parametrize(
    "text, named",
    [
        ("ground=blok:0.03", "ground=blok:0.03 given, allowed are flat, slope"),
        ("ground=blocks", "for blocks are numbers from 0.001 to 0.1 m"),
        ("ground=blocks:1", "for blocks are numbers from 0.001 to 0.1 m"),
        ("ground=slope:12:left", "directions are up, down, across"),
        ("ground=slope:12:up:up", "allowed are flat"),
        ("ground=slope:5,ground=flat", "ground is given twice"),
        ("ground=gravel,rough=0.01", "slope or rough given, allowed is one of them"),
        ("graund=gravel", "ground= with flat"),
        ("servos=ideal", "'servos=ideal' given, allowed is one servos=" + " or ".join(SERVOS)),
        ("backlash=1", "'backlash=1' given, allowed are name=number with .*hysteresis.*and servos=real or half"),
        ("friction_model=2", "friction_model=2 given, allowed are 0, 1, 4, 6"),
        ("lag=-1", "lag=-1.0 given, allowed are numbers from 0.0 to 0.1 s"),
        ("stiffness=soft", "stiffness='soft' given, a number is needed"),
        ("seed=1_0", "seed='1_0' given, a number is needed"),
        ("mass", "'mass' given"),
        ("mass=1,mass=2", "mass is given twice"),
        ("seed=1.5", "seed=1.5 given, a whole number"),
    ],
)
def test_truths_that_do_not_exist_are_refused_by_name(text, named):
    with pytest.raises(HexapodError, match=named):
        Truth.parse(text)


def test_a_truth_is_described_as_it_is_parsed():
    assert Truth.parse("") == Truth()
    assert Truth.parse("mass=1.1, payload=0.2,seed=7") == Truth(mass=1.1, payload=0.2, seed=7)
    truth = Truth.parse("ground=slope:12:across,mass=1.1, payload=0.2,seed=7")
    assert Truth.parse(truth.describe()) == truth and "ground=slope:12:across" in truth.describe()


def test_the_built_in_physics_has_slopes_alone():
    assert Simulator(ROBOT, truth=Truth.parse("ground=slope:5")).ground.slope_x > 0.08
    for text in ("blocks:0.03", "patches", "gravel"):
        with pytest.raises(HexapodError, match="needs physics:=mujoco"):
            Simulator(ROBOT, truth=Truth.parse(f"ground={text}"))
