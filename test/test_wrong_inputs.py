"""What the Python calls refuse, by the name of the argument and with a remedy: things of another kind, wrong shapes,
what is no number, and values that cannot be.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from support.driver_session import MAP
from support.jethexa import ROBOT, WHOLE
from support.random_robots import random_robot

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.imu.mpu6050 import Mpu6050Settings
from hexapod_dynamics.drivers.servos.interface import PortSettings, make_servos
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.regressors import parameters_to_body
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait import AdaptiveGait, GetUp, TripodGait
from hexapod_dynamics.gait.planning.search import make_plan
from hexapod_dynamics.gait.recovery.brace import Brace
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.gait_kinds import make_gait
from hexapod_dynamics.identification import Recording, identify, standing_exercise
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.onboard.simulation import OnboardSimulation
from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.ros2_control import add_ros2_control
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import rotation_from_quaternion
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Predictor, Simulator, simulate_many

GAITS = (TripodGait, AdaptiveGait)
FIVE, ROW, EYE, NAN = np.zeros(5), np.zeros(18), np.eye(3), float("nan")
TEXTS, NOBODY = ["0.1"] * 18, np.zeros(18, bool)
TIMES = np.arange(0.0, 20.0, 0.02)
MOTION = TIMES, np.zeros((1000, 18)), TIMES, np.zeros(1000, int), np.zeros(1000)


@pytest.mark.parametrize("stranger", ["config/jethexa.yaml", None, WHOLE], ids=str)
@pytest.mark.parametrize(
    "make",
    [
        Morphology.whole,
        WholeBodyModel,
        Simulator,
        MujocoSimulator,
        Predictor,
        Observer,
        DamageDetector,
        *(lambda robot, kind=kind: kind().bind(robot) for kind in GAITS),
    ],
)
def test_what_is_no_robot_is_refused(make, stranger):
    with pytest.raises(HexapodError, match=r"robot: .* a Robot needed \(Robot.load"):
        make(stranger)


@pytest.mark.parametrize(
    "adopt",
    [
        lambda morphology: Simulator(ROBOT, morphology, gait=TripodGait()),
        *(kind(ROBOT).set_morphology for kind in (Simulator, Predictor, Observer, DamageDetector, Brace)),
        *(kind().bind(ROBOT).set_morphology for kind in GAITS),
        lambda morphology: GetUp(ROBOT, GetUpLibrary(ROBOT)).begin(AdaptiveGait(), morphology),
    ],
)
def test_what_is_no_morphology_of_this_robot_is_refused(adopt):
    with pytest.raises(HexapodError, match=r"morphology: 'RM' given, a Morphology needed .*Morphology.whole"):
        adopt("RM")
    with pytest.raises(HexapodError, match="morphology of robot 'phantomx' given, one of 'jethexa' needed"):
        adopt(Morphology.whole(Robot.load("config/phantomx.yaml")))


REFUSED = {
    Observer(ROBOT): [
        ("command", (0.1, FIVE, ROW), "positions"),
        ("command", (0.1, ROW, 0.0), "rates"),
        ("command", (0.1, TEXTS, ROW), "positions"),
        ("command", (NAN, ROW, ROW), "time"),
        ("feed_forward", (0.5,), "torques"),
        ("measure_joints", (0.1, FIVE), "angles"),
        ("measure_joint", (0.1, 18, 0.0), "joint"),
        ("measure_joint", (0.1, -1, 0.0), "joint"),
        ("measure_joint", (0.1, 4, NAN), "angle"),
        ("measure_joint", (0.1, 4, "0.1"), "angle"),
        ("measure_attitude", (0.1, [0.0, 0.0, 0.0, 1.0]), "rotation"),
        ("measure_attitude", (0.1, 2.0 * EYE), "rotation"),
        ("measure_attitude", ("now", EYE), "time"),
        ("measure_motion", (0.1, (0.0, 9.8), (0.0, 0.0, 0.0)), "acceleration"),
        ("measure_motion", (0.1, (0.0, 0.0, 9.8), "abc"), "rate"),
        ("advance", (NAN,), "time"),
        ("set_start_pose", (0.0, None, 0.0), "y"),
    ],
    DamageDetector(ROBOT): [
        ("command", (0.1, FIVE), "positions"),
        ("command", (0.1, ROW, FIVE), "torques"),
        ("command", (None, ROW), "time"),
        ("measure_joint", (0.1, 18, 0.0), "joint"),
        ("measure_joint", (0.1, "coxa_joint_LF", 0.0), "joint"),
        ("measure_joint", (NAN, 4, 0.0), "time"),
        ("measure_joint", (0.1, 4, "x"), "angle"),
        ("measure_attitude", (0.1, np.full((3, 3), NAN)), "rotation"),
        ("measure_attitude", (0.1, np.zeros(3)), "rotation"),
        ("bus", (0.1, True, NOBODY), "silent"),
        ("bus", (0.1, NOBODY, [3, 4]), "torque_off"),
        ("bus", (0.1, NOBODY, range(18)), "torque_off"),  # indices are no mask
        ("bus", (0.1, NOBODY, NOBODY, TEXTS), "answering"),
        ("update", ("x",), "time"),
    ],
    Predictor(ROBOT): [
        ("roll_out", (ROW,), "targets"),
        ("roll_out", (0.1,), "targets"),
        ("roll_out", ([[0.0] * 5] * 3,), "targets"),
        ("roll_out", (np.zeros((26, 18)),), "targets.*at most 25 rows"),
        ("roll_out", (np.full((3, 18), NAN),), "targets"),
        ("advance", (0.02, FIVE), "targets"),
        ("advance", (0.02, ROW, NAN), "command_duration"),
        ("set_state", (np.zeros(2), EYE, ROW, np.zeros(24)), "position"),
        ("set_state", (np.zeros(3), 2.0 * EYE, ROW, np.zeros(24)), "rotation"),
        ("set_state", (np.zeros(3), EYE, 0.0, np.zeros(24)), "q"),
    ],
    AdaptiveGait().bind(ROBOT): [
        ("sense", ("x", 0.0, 0.0), "roll"),
        ("sense", (0.0, NAN, 0.0), "pitch"),
        ("set_payload", (0.1, None, 0.0), "x_moment"),
        ("set_payload", (-0.1, 0.0, 0.0), "mass"),
        ("lean", ("abc",), "body pose"),
        ("lean", (np.zeros(3),), "body pose.*yaw"),
        ("set_payload", (0.1, float("inf"), 0.0), "x_moment"),
        ("command", (NAN, 0.0, 0.0), ".*finite"),
        ("lean", ([0.5, 0.0, 0.0, 0.0, 0.0, 0.0],), "body pose"),
        ("contact_probe", ("XX",), "leg 'XX': this robot has LF, LM"),
        ("step", (0.5,), "dt: given 0.5 s, allowed are 0 to a quarter period"),
        ("measure_joints", (TEXTS,), "angles"),
        ("measure_joints", (np.zeros(17),), "angles"),
    ],
}


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: type(one).__name__)
def test_wrong_shapes_and_what_is_no_number_are_refused_by_name_in_a_short_line(one):
    for call, given, named in REFUSED[one]:
        with pytest.raises(HexapodError, match=f"^{named}") as refusal:
            getattr(one, call)(*given)
        assert len(str(refusal.value)) < 500, call


def on(call, *values):
    """Cases of a call with one wrong value each."""
    return [lambda value=value: call(value) for value in values]


LEG = LegKinematics.from_robot(ROBOT, "LF")
MADE = {
    "HexapodError: gait: 'auto' given, a Gait needed .*make_gait": [lambda: Simulator(ROBOT, gait="auto")],
    "HexapodError: gait: .*class.* a Gait needed": [lambda: Simulator(ROBOT, gait=TripodGait)],
    "HexapodError: gait: 'auto' given": [lambda: simulate_many(ROBOT, [WHOLE], 0.1, gait="auto")],
    "HexapodError: truth: .* a Truth needed": [lambda: Simulator(ROBOT, truth="servos=real")],
    "HexapodError: ground: .* a Ground needed": [lambda: Simulator(ROBOT, ground="flat")],
    "DynamicsError: joint: (18|-1) given": on(lambda joint: Simulator(ROBOT).command_joint(joint, 0.1, 0.1), 18, -1),
    "DynamicsError: joint: 'tibia_joint_LF' given": [lambda: Simulator(ROBOT).load_joint("tibia_joint_LF", False)],
    "DynamicsError: targets: 'stand'": [lambda: Simulator(ROBOT).command("stand", 0.1)],
    "HexapodError: onboard: .* an? Onboard needed": [lambda: OnboardSimulation("jethexa")],
    "HexapodError: physics: .*'bullet'.*mujoco": [lambda: OnboardSimulation(Onboard(ROBOT), "bullet")],
    "HexapodError: horizon_steps: ": [lambda: Predictor(ROBOT, horizon_steps=2.5)],
    "HexapodError: settings: ": [lambda: Observer(ROBOT, {"horizon": 0.5}), lambda: DamageDetector(ROBOT, "declare")],
    "HexapodError: timestep: given (0.0|-1.0|'1e-3')": [
        *on(lambda step: Simulator(ROBOT, timestep=step), 0.0, "1e-3"),
        lambda: Predictor(ROBOT, timestep=-1.0),
    ],
    "HexapodError: command_period": [lambda: Simulator(ROBOT, timestep=1e-3, command_period=0.0015)],
    "HexapodError: seconds: given (-1.0|'1')": on(Simulator(ROBOT).run, -1.0, "1"),
    "HexapodError: target: nan": [lambda: Simulator(ROBOT).command_joint(0, NAN, 0.1)],
    "HexapodError: duration: given (0.0|-0.01)": [
        lambda: Simulator(ROBOT).command(ROW, 0.0),
        lambda: Predictor(ROBOT).advance(-0.01),
    ],
    "DynamicsError: targets: shape": [lambda: Simulator(ROBOT).command(FIVE, 0.1)],
    "DynamicsError: rotation: .* not a rotation matrix": [lambda: Simulator(ROBOT).reset(rotation=np.ones((3, 3)))],
    "DynamicsError: joints: .*(not finite|real numbers)": on(
        lambda angle: Simulator(ROBOT).reset(joints=np.full(18, angle)), NAN, 1j
    ),
    "HexapodError: steps: given 2.5": [lambda: Simulator(ROBOT).step(2.5)],
    "HexapodError: log_every: given 1.5": [lambda: Simulator(ROBOT).run(1.0, log_every=1.5)],
    "HexapodError: .*patches .* MujocoSimulator": [lambda: Simulator(ROBOT, ground=Ground(patches=True))],
    # Onboard
    "HexapodError: robot: 'config/jethexa.yaml'": [lambda: Onboard("config/jethexa.yaml")],
    "HexapodError: get_up": [lambda: Onboard(ROBOT, get_up="never")],
    "HexapodError: detect is": [lambda: Onboard(ROBOT, detect="Declare")],
    "HexapodError: gait: ": on(lambda gait: Onboard(ROBOT, gait=gait), None, AdaptiveGait),
    "MorphologyError: morphology": [lambda: Onboard(ROBOT, morphology="RM")],
    "HexapodError: detector: ": [lambda: Onboard(ROBOT, detector="declare")],
    "HexapodError: prediction: ": [lambda: Onboard(ROBOT, prediction={})],
    "HexapodError: reads_a_second: ": [lambda: Onboard(ROBOT, reads_a_second=NAN)],
    # Gaits
    "HexapodError: leg L0: closed-form kinematics need 3 revolute joints": [
        lambda: TripodGait().bind(random_robot(np.random.default_rng(0), 1, 4))
    ],
    "HexapodError: phase: ": [lambda: TripodGait().bind(ROBOT).reset(phase="half")],
    "HexapodError: step_length: given -0.1": [lambda: TripodGait(step_length=-0.1)],
    "HexapodError: body_height: given (nan|3.0)": [
        lambda: TripodGait(body_height=NAN),
        lambda: AdaptiveGait(body_height=3.0),
    ],
    "'moonwalk'.*'half_sine'": [lambda: TripodGait(swing="moonwalk")],
    "out of reach or too fast": [
        lambda: TripodGait(body_height=0.3).bind(ROBOT),
        lambda: TripodGait(step_length=0.3).bind(ROBOT),
        lambda: TripodGait(period=0.02).bind(ROBOT),
    ],
    "quarter period": [lambda: TripodGait().bind(ROBOT).step(0.5)],
    "HexapodError: step_height": [
        lambda: AdaptiveGait(step_height=-1.0),
        lambda: make_gait("tripod", {"step_height": "high"}),
    ],
    "HexapodError: period: ": [lambda: AdaptiveGait(period=NAN)],
    "pattern: .*'gallop'": [lambda: AdaptiveGait(pattern="gallop")],
    "'gallop': allowed are auto, tripod": [lambda: make_gait("gallop", {})],
    "ReachError: leg LF: foot target ": on(LEG.inverse, [0.1, 0.0], [NAN, 0.0, 0.0], "up"),
    "DynamicsError: (angles|near): ": [
        *on(LEG.forward, 0.3, FIVE),
        *on(lambda near: LEG.inverse([0.122, 0.0, -0.12], near), 0.3, [NAN] * 3),
    ],
    "HexapodError: dt: given 0.0": [lambda: GetUp(ROBOT, GetUpLibrary(ROBOT), dt=0.0)],
    "MorphologyError: 'XX': no such leg": [lambda: make_plan(ROBOT, ["XX"])],
    r"ReachError: leg LF.*0\.2550 m from the femur.*0\.0460 to 0\.2000 m": [lambda: LEG.inverse([0.3, 0.0, 0.0])],
    r"ReachError: leg LF.*femur -2\.0\d+ rad \(allowed -1\.700 to 2\.090\)": [lambda: LEG.inverse([-0.1, 0.0, -0.12])],
    # Robots
    r"MorphologyError: .*RF\.tibia": on(lambda angle: WHOLE.locked("RF.tibia", angle), NAN, np.inf, "0.4", True, None),
    r"RobotError: .*nowhere\.yaml": [lambda: Robot.load("/nowhere.yaml")],
    "RobotError: .*robot file": on(Robot.load, None, 5, b"config/jethexa.yaml", "a\0b.yaml"),
    "RobotError: ros2_control: 'gazebo' given, allowed are mock": [lambda: add_ros2_control("", ROBOT, "gazebo")],
    "DynamicsError: .*one of all, base, joints": [lambda: WholeBodyModel(ROBOT).base_parameters(rows="feet")],
    "DynamicsError: .*positive mass": [lambda: parameters_to_body(np.zeros(10))],
    "HexapodError: .*quaternion": on(rotation_from_quaternion, (0, 0, 0, 0), (NAN, 0, 0, 1), (np.inf, 0, 0, 1)),
    r"legs.FL.servo_ids: missing; .* servo_ids: \[1, 2, 3\], servo_directions": [
        lambda: ServoMap.from_robot(Robot.load(Path(__file__).parent / "robots/quadruped.yaml"))
    ],
    "RobotError: .* shin_FL is prismatic, in m; .*hardware:=topics": [
        lambda: ServoMap.from_robot(Robot.load(Path(__file__).parent / "robots/quadruped_with_sliders.yaml"))
    ],
    "DynamicsError: .*'ball', allowed: revolute, prismatic": [
        lambda: Chain.from_denavit_hartenberg([(0, 0, 1, 0, "ball")], [1], np.zeros((1, 3)), [EYE])
    ],
    # Drivers
    "DeviceError: ": [
        *on(lambda angle: lx.move_time(1, angle, 0.1), 2.2, NAN),
        *on(lambda duration: lx.move_time(1, 0.0, duration), -0.1, 31.0),
        *on(lambda servo: lx.move_time(servo, 0.0, 0.1), 255, -1),
        lambda: lx.id_write(1, 254),
        lambda: lx.angle_offset_adjust(1, 0.6),
        lambda: lx.read_request(1, lx.Command.MOVE_START),
        lambda: lx.read_request(254, lx.Command.POS_READ),
        lambda: lx.build(1, lx.Command.POS_READ, b"\x00"),
    ],
    "DeviceError: .*release <= sit <= warn": [lambda: SupplyLimits(warn=9.0, sit=9.6)],
    "DeviceError: .*above 0": [
        lambda: GuardSettings(speed_limit=0.0),
        lambda: GuardSettings(approach_speed=-1.0),
        lambda: GuardSettings(step_limit=NAN),
    ],
    "DeviceError: .*allowed is": [
        *on(lambda rate: Mpu6050Settings(rate=rate), 0.0, 1000.0),
        lambda: Mpu6050Settings(address=0x50),
        lambda: Mpu6050Settings(accel_range=3),
        lambda: Mpu6050Settings(gyro_range=100),
        lambda: Mpu6050Settings(dlpf=7),
    ],
    "DeviceError: .*known are lx, board, dynamixel, feetech, topics": [
        lambda: make_servos(PortSettings("nowhere"), MAP.ids, "unknown")
    ],
    "DeviceError: servo model 'ax13' is unknown; known are ax12": [
        lambda: make_servos(PortSettings("nowhere", model="ax13"), MAP.ids, "dynamixel")
    ],
    # Recordings
    "DynamicsError: readings: ": [lambda: Recording(*MOTION[:4], ["a"] * 1000)],
    "IdentificationError: commands: ": [lambda: Recording(TIMES, np.zeros(1000), *MOTION[2:])],
    "IdentificationError: command: a value is not finite": [
        lambda: Recording(TIMES, np.full((1000, 18), NAN), *MOTION[2:])
    ],
    "IdentificationError: command_period: ": on(lambda period: Recording(*MOTION, command_period=period), -0.02, NAN),
    "IdentificationError: specific_force: ": [
        lambda: Recording(*MOTION, TIMES, np.zeros((1000, 2)), np.zeros((1000, 3)))
    ],
    "IdentificationError: .*joints": [lambda: Recording(TIMES, np.zeros((1000, 3)), *MOTION[2:]).check(ROBOT, "one")],
    "IdentificationError: one: .*at least 10 s": [
        lambda: Recording(*(part[:100] for part in MOTION)).check(ROBOT, "one")
    ],
    "HexapodError: robot: ": [lambda: identify("jethexa", Recording(*MOTION), None)],
    "HexapodError: standing: ": [lambda: identify(ROBOT, None, MOTION[1])],
    "IdentificationError: reading_joint: ": [
        lambda: identify(ROBOT, Recording(*MOTION[:3], np.full(1000, 18), MOTION[4]), None)
    ],
    "HexapodError: weighed: ": [lambda: identify(ROBOT, Recording(*MOTION), None, weighed="2.5 kg")],
    "HexapodError: seconds: ": [lambda: standing_exercise(ROBOT, NAN)],
}


@pytest.mark.parametrize("named", MADE)
def test_what_else_cannot_be_is_refused(named):
    for make in MADE[named]:
        with pytest.raises(HexapodError) as refusal:
            make()
        text = f"{type(refusal.value).__name__}: {refusal.value}"
        assert re.search(named, text), text
