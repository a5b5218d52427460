"""The robot's whole program in one process, on a simulated robot that is not its model's: what nodes do together."""

import itertools
import math
import threading
import time

import numpy as np
import pytest
from support.allocations import least_growth
from support.copies import on_a_copy
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.control.joint_trial import OFFSET
from hexapod_dynamics.control.walk_permit import WalkPermit
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.ground import AS_FELT
from hexapod_dynamics.gait_kinds import DEFAULTS
from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.onboard.gait_control import GaitControl, GaitControlSettings
from hexapod_dynamics.onboard.inputs import ImuReading
from hexapod_dynamics.onboard.prediction import Prediction
from hexapod_dynamics.onboard.servos import ReadingsBus, Servos
from hexapod_dynamics.onboard.simulation import OnboardSimulation
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.robot_file import find_packaged_file
from hexapod_dynamics.se3 import rotation_z
from hexapod_dynamics.simulation import Truth

TICK = 0.01


class World(OnboardSimulation):
    """A MuJoCo robot with 10 % more mass and softer servos, and the program of the robot with these options."""

    def __init__(self, **options):
        super().__init__(Onboard(ROBOT, **options), "mujoco", Truth.parse("mass=1.1,stiffness=0.9,seed=3"))

    @property
    def way(self):
        return float(np.linalg.norm(self.physics.position[:2]))


@pytest.fixture(scope="module")
def declaring():
    """A world that has walked for 4 s; tests go on with it, each in a copy of the process."""
    world = World()
    world.run(3.0)
    world.twist[0] = 0.077
    world.run(4.0)
    return world


@on_a_copy
def test_two_legs_that_are_torn_off_are_declared_and_the_robot_walks_on_and_knows_where_it_is(declaring):
    world = declaring
    before = world.way
    assert before > 0.2 and world.onboard.decisions == []
    world.break_parts(WHOLE.without("RM", "LM"))
    torn = world.time
    world.run(8.0)
    o = world.onboard
    assert o.morphology == WHOLE.without("RM", "LM")
    assert {name for d in o.decisions for name in d.values} == {"legs.RM", "legs.LM"}
    assert all(d.action == "declare" and 0.0 < d.time - torn < 1.0 for d in o.decisions)
    assert np.isnan(world.set_points[list(ROBOT.leg_joints("RM"))]).all() and np.isfinite(world.set_points).sum() == 12
    assert world.way - before > 0.25
    error = np.linalg.norm(o.prediction.position[:2] - world.physics.position[:2])
    assert error < 0.1 and error < 5.0 * np.sqrt(np.trace(o.prediction.covariance[:2, :2])) + 0.05
    assert o.state[0] == "ok" and o.diagnostics["damage_detector"][0] == "ok"


@on_a_copy
def test_report_finds_and_names_as_long_as_it_is_gone_and_leaves_the_rest_alone(declaring):
    world = declaring
    world.onboard.parts.detection.mode = "report"
    world.break_parts(WHOLE.without("RM"))
    world.run(1.0)
    for _ in range(8):
        world.run(0.25)
        level, message, _ = world.onboard.diagnostics["damage_detector"]
        assert level == "warn" and "RM missing" in message and world.onboard.morphology == WHOLE
    assert [d.action for d in world.onboard.decisions] == ["declare"]
    world.break_parts(WHOLE)
    assert world.run(2.0, until=lambda world: world.onboard.diagnostics["damage_detector"][0] == "ok")
    world.run(1.0)
    world.break_parts(WHOLE.without("RM"))
    world.run(1.0)
    world.onboard.declare(WHOLE.without("RM"))  # a person does, and this is no decision of the detector's
    world.run(1.0)
    level, message, values = world.onboard.diagnostics["damage_detector"]
    assert level == "ok" and "RM missing" in message and values["declared by this node"] == "nothing"


@on_a_copy
def test_a_leg_that_is_put_back_undeclared_may_take_its_time_to_follow_its_commands(declaring):
    world = declaring
    world.onboard.parts.detection.mode = "report"
    world.break_parts(WHOLE.without("RM"))
    world.run(2.0)
    world.break_parts(WHOLE.limp("RM.femur"))
    world.run(4.5)
    assert [list(d.values) for d in world.onboard.decisions] == [["legs.RM"]]
    world.run(4.0)
    assert [list(d.values) for d in world.onboard.decisions] == [["legs.RM"], ["limp.RM.femur"]]


def test_what_is_declared_by_a_person_is_walked_with_at_once():
    world = World(morphology=WHOLE.without("LF"))
    world.run(1.0)
    assert world.onboard.morphology == WHOLE.without("LF")
    world.onboard.declare(WHOLE.without("LF").locked("RR.tibia", 0.2))
    world.run(0.1)
    assert world.onboard.morphology.parameters()["locked.RR.tibia"]
    with pytest.raises(HexapodError, match="LF"):
        world.onboard.declare(WHOLE.without("LF").without("XX"))


@on_a_copy
def test_an_emergency_stop_freezes_whatever_is_commanded_and_commands_go_on_slowly_after_it(declaring):
    world = declaring
    angles = world.physics.readings.copy()
    world.onboard.emergency_stop(True)
    world.run(1.0)
    assert np.abs(world.physics.readings - angles).max() < 0.05  # [rad]; some were read last 0.15 rad from there
    held, place = world.set_points.copy(), world.physics.position.copy()
    world.run(3.0)
    assert np.array_equal(held, world.set_points)
    assert np.linalg.norm(world.physics.position - place) < 0.003
    world.onboard.emergency_stop(False)
    world.run(4.0)
    assert np.linalg.norm(world.physics.position - place) > 0.1


@on_a_copy
def test_it_stands_where_commands_stop_and_a_sample_that_is_no_number_is_named_and_not_kept(declaring):
    world, samples = declaring, itertools.count()
    accept = world.onboard.imu
    world.onboard.imu = lambda t, force, rate: accept(t, force * (math.nan if next(samples) % 7 == 0 else 1.0), rate)
    world.run(2.0)
    assert world.onboard.parts.imu.faults.list_recent(world.time)
    world.twist[:] = 0.0
    world.run(2.0)
    place = world.physics.position.copy()
    world.run(2.0)
    assert np.linalg.norm(world.physics.position - place) < 0.005
    assert world.onboard.state[1] == "standing" and world.onboard.decisions == []


@on_a_copy
def test_a_robot_gets_up_and_stays_there_though_its_gait_changes_and_its_twist_lasts(declaring):
    world, change = declaring, declaring.onboard.parts.gait.change
    world.physics.reset(position=[0.0, 0.0, 0.2], rotation=np.diag([1.0, -1.0, -1.0]), joints=world.set_points)
    assert world.run(15.0, lambda world: world.onboard.state[1] == "get up: standing up")
    place = world.physics.position.copy()
    change({"gait": "wave", "body_height": 0.15})
    with pytest.raises(HexapodError, match="does not stand"):
        change({"gait": "tripod"})
    assert world.run(5.0, lambda world: "until a new cmd_vel" in world.onboard.state[1]), world.onboard.state
    world.run(1.0)
    assert np.linalg.norm((world.physics.position - place)[:2]) < 0.02 and world.tilt < 0.05
    assert world.physics.position[2] == pytest.approx(0.15, abs=0.01)
    for speed in (0.0, 0.03):
        world.twist[0] = speed
        world.run(2.0)
    assert world.onboard.state[:2] == ("ok", "walking")


@on_a_copy
def test_a_gait_that_changes_while_the_robot_braces_is_walked_with_once_the_push_is_over(declaring):
    world, control = declaring, declaring.onboard.parts.gait
    world.wrench[1] = 45.0
    assert world.run(0.3, lambda world: control.brace.active)
    control.change({"gait": "wave", "body_height": 0.15})
    world.run(0.2)
    world.wrench[:] = 0.0
    assert control.brace.active and world.onboard.state[1].startswith("bracing")
    assert world.run(2.0, lambda world: not control.brace.active)
    world.run(2.0)
    assert world.onboard.state[:2] == ("ok", "walking") and world.tilt < 0.05 and control.brace.count == 1
    assert world.physics.position[2] == pytest.approx(0.15, abs=0.01)


def run_standing(onboard, ticks, begin=0, late=(0.0,)):
    """Let a program walk whose joints stand, and whose body is at rest; its readings are late [s] in turn."""
    lags = itertools.cycle(late)
    for tick in range(begin, begin + ticks):
        t = tick * TICK
        onboard.imu(t - next(lags), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0))
        for joint in onboard.reads(t):
            onboard.joint(t - next(lags), joint, onboard.standing_pose.item(joint))
        if tick % 2 == 0:
            onboard.command(t, 0.05, 0.0, 0.0)
            onboard.step(t)


def test_what_no_clock_and_no_bus_says_is_refused_and_leaves_nothing_behind():
    asked, other, now = Onboard(ROBOT), Onboard(ROBOT), 1.49
    for onboard in (asked, other):
        run_standing(onboard, 150)
    level, still = (0.0, 0.0, 9.8), (0.0, 0.0, 0.0)
    refused = {
        "step": [(np.nan,), (np.inf,), ("1.5",), (1.47,), (0.0,)],
        "command": [(0.4, 0.05, 0.0, 0.0), (np.nan, 0.05, 0.0, 0.0)],
        "imu": [(0.4, level, still), (now, ("x", 0.0, 9.8), still), (np.nan, level, still), (now, (0.0, 9.8), still)],
        "reads": [(0.4,), (np.nan,)],
        "joint": [(t, 4, 0.1) for t in (0.4, np.nan)]
        + [(t, joint, 0.1) for t, joint in ((1e9, -1), (now, -1), (now, 18), (now, True), (now, "tibia_joint_LF"))]
        + [(now, 4, angle) for angle in ("0.1", np.nan, 1e300, 90.0)],
        "silent": [(0.4, 4), (now, -1), (now, 18)],
        "declare": [(None,), (Morphology.whole(Robot.load(find_packaged_file("phantomx.yaml"))),)],
    }
    for name, given in [(name, given) for name, calls in refused.items() for given in calls]:
        with pytest.raises(HexapodError, match="needed|silent"):
            getattr(asked, name)(*given)
    for onboard in (asked, other):
        run_standing(onboard, 150, 150)
        onboard.close()
    assert np.array_equal(asked.step(3.0), other.step(3.0)) and asked.state == other.state
    assert np.array_equal(asked.prediction.joints, other.prediction.joints)
    assert np.array_equal(asked.prediction.position, other.prediction.position)


def test_nothing_moves_before_all_joints_are_measured_and_late_readings_in_any_order_and_a_repeated_step_are_legal():
    onboard = Onboard(ROBOT)
    onboard.command(-0.02, 0.077, 0.0, 0.0)
    assert np.isnan(onboard.step(-0.02)).all() and onboard.prediction is None
    run_standing(onboard, 400, late=(0.05, 0.03, 0.0, 0.02, 0.04))
    assert onboard.state[:2] == ("ok", "walking") and onboard.prediction is not None
    assert onboard.decisions == [] and onboard.diagnostics["imu"][:2] == ("ok", "measuring")
    assert np.array_equal(onboard.step(3.98), onboard.step(3.98))


@pytest.mark.parametrize("on", [None, 0, "", "False", np.zeros(2)], ids=repr)
def test_only_true_and_false_end_no_emergency_stop(on):
    onboard = Onboard(ROBOT)
    run_standing(onboard, 50)
    for kept in (False, True):  # a stop begins, and stays
        assert bool(onboard.parts.servos.supervisor.stop.frozen) == kept
        with pytest.raises(HexapodError, match="True or False needed"):
            onboard.emergency_stop(on)
        assert onboard.parts.servos.supervisor.stop.frozen
    onboard.emergency_stop(np.False_)
    assert not onboard.parts.servos.supervisor.stop.frozen


@pytest.mark.parametrize("name", ["phantomx", "hexapod_sts3215"])
def test_set_points_are_the_counts_of_this_robots_servos(name):
    robot = Robot.load(f"config/{name}.yaml")
    servos, angles = Servos(robot), np.linspace(-0.31, 0.31, robot.joint_count)
    for tick in range(400):
        t = TICK * tick
        for joint in servos.bus.reads(t):
            servos.bus.process_answer(t, joint, angles[joint])
        servos.command(t, angles)
        found = servos.step(t)
    counts = found / robot.servo.resolution
    assert np.abs(counts - np.round(counts)).max() < 1e-6
    assert np.abs(found - angles).max() < 0.51 * robot.servo.resolution


def test_a_leg_that_comes_back_after_a_stop_is_not_moved_before_it_is_measured():
    bus, leg = ReadingsBus(ROBOT), np.arange(18) < 3
    for joint in range(18):
        bus.process_answer(0.0, joint, 0.1)
    bus.set_missing(leg)
    bus.freeze()
    bus.unfreeze()
    bus.set_missing(leg & False)
    assert np.isnan(bus.targets[leg]).all() and np.isfinite(bus.targets[~leg]).all()


def test_a_servo_that_answers_again_in_an_emergency_stop_holds_where_it_was_moved_meanwhile():
    servos = Servos(ROBOT)
    for k in range(200):
        for joint in servos.bus.reads(0.02 * k):
            if joint or not 50 <= k < 150:
                servos.bus.process_answer(0.02 * k, joint, -0.6 if k >= 150 and joint == 0 else 0.3)
            else:
                servos.bus.process_silence(0.02 * k, joint)
        if k == 100:
            assert servos.supervisor.emergency_stop(True)[0] and servos.bus.state.silent[0]
        servos.command(0.02 * k, np.full(18, 0.3))
        set_points = servos.step(0.02 * k)
    assert set_points == pytest.approx([-0.6, *[0.3] * 17], abs=0.01)


def test_a_robot_that_was_moved_while_torque_was_off_holds_where_it_is_when_torque_comes_back():
    servos = Servos(ROBOT)

    def measure(t, angle):
        for joint in range(18):
            servos.bus.process_answer(t, joint, angle)

    for k in range(50):
        measure(0.02 * k, 0.3)
        servos.command(0.02 * k, np.full(18, 0.3))
        set_points = servos.step(0.02 * k)
    assert set_points == pytest.approx(np.full(18, 0.3), abs=0.01)
    servos.supervisor.disable_torque()
    measure(2.0, 0.9)
    assert np.isnan(servos.step(2.0)).all()
    assert servos.supervisor.stand() == ""
    assert servos.step(2.02) == pytest.approx(np.full(18, 0.9), abs=0.01)


def test_another_gait_has_the_legs_load_and_pose_though_the_plan_still_changes_and_none_that_were_refused():
    control = GaitControl(ROBOT, GaitControlSettings(values=DEFAULTS))
    control.set_payload(0.4, 0.016, 0.0)
    control.set_body_pose((0.0, 0.0, 0.01, 0.0, 0.0, 0.0))
    wanted, leaning = control.gait.terrain.load.wanted, control.gait.terrain.leaning.copy()
    control.set_payload(np.nan, 0.0, 0.0)
    control.set_body_pose((0.0, 0.0, np.nan, 0.0, 0.0, 0.0))
    control.set_body_pose((0.0, 0.0, 5.0, 0.0, 0.0, 0.0))
    assert control.faults.counts() == {"faults of payload": 1, "faults of body_pose": 2}
    control.set_morphology(0.0, WHOLE.without("RM"))
    for kind in ("tripod", "auto"):
        control.change({"gait": kind})
    assert not control.gait.morphology.has_leg("RM")
    assert control.gait.terrain.load.wanted == wanted != 0.0
    assert np.array_equal(control.gait.terrain.leaning, leaning) and any(leaning)
    control.close()


def test_another_gait_does_not_wait_for_a_change_of_plan_that_is_being_computed():
    control, goes_on = GaitControl(ROBOT, GaitControlSettings(values=DEFAULTS)), threading.Event()
    control.gait.worker.request(lambda: goes_on.wait(20.0))
    begin = time.monotonic()
    control.change({"gait": "tripod"})
    assert time.monotonic() - begin < 5.0 and control.step(0.0) is not None
    goes_on.set()
    control.close()


def test_a_robot_that_was_told_to_sit_stays_so_over_a_restart_until_it_is_told_to_stand():
    states, settings = [], GaitControlSettings(values=DEFAULTS, velocity=0.077)
    before = GaitControl(ROBOT, settings, keep=states.append)
    before.sit()
    control = GaitControl(ROBOT, settings, permit=WalkPermit.restored(states[-1], 0.0))
    for seated in (before, control):  # another kind of gait would stand up
        with pytest.raises(HexapodError, match="the service stand.*; now: sitting"):
            seated.change({"gait": "tripod"})
    for k in range(200):
        control.command(0.02 * k, (0.05, 0.0, 0.0))
        assert control.step(0.02 * k) is None
    level, message, values = control.state(4.0)
    assert level == "ok" and message.startswith("sitting") and not values["walking"]
    control.stand()
    assert control.step(4.02) is not None and control.permit.state["sits"] is False
    for each in (before, control):
        each.close()


def test_who_is_told_to_sit_while_it_gets_up_moves_no_joint_until_it_is_asked_again():
    announced: list[bool] = []
    control = GaitControl(ROBOT, GaitControlSettings(values=DEFAULTS), announce=announced.append)
    on_its_back = ImuReading(np.diag([1.0, -1.0, -1.0]), (0.0, 0.0, -9.81), (0.0, 0.0, 0.0), None, None)
    commands, angles, limp = [], control.gait.position.copy(), WHOLE.limp("RF.coxa")
    control.set_following(True)
    asked = {50: lambda: control.ask_to_get_up(1.0), 60: lambda: control.set_morphology(1.2, limp), 200: control.sit}
    for k in range(300):
        control.imu(0.02 * k, on_its_back)
        control.joints(0.02 * k, angles)
        asked.get(k, int)()
        commands.append(control.step(0.02 * k))
        if commands[-1]:
            angles[commands[-1].joints] = commands[-1].positions
    assert commands[199] is not None and not any(commands[50:155]) and not any(commands[200:])
    assert announced == [True, False, True, False]  # anew when its damage changes
    control.stand()
    for k in range(300, 500):  # put upright by hand, it walks again: nothing is left of it
        control.imu(0.02 * k, ImuReading(np.eye(3), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0), None, None))
        control.command(0.02 * k, (0.05 * (k > 400), 0.0, 0.0))
        control.step(0.02 * k)
        level, message, values = control.state(0.02 * k)
        assert values["off its feet"] == (k <= 400) and message.startswith("get up: stopped") == (k <= 400)
    assert level == "ok"
    with pytest.raises(HexapodError, match="has not fallen"):
        control.ask_to_get_up(10.0)
    control.close()


@pytest.mark.parametrize("holds, felt", [(0.0, True), (0.3, False)])
def test_a_body_whose_servos_hold_now_and_then_meets_no_obstacle(holds, felt):
    """On a computer that is too busy, servos hold for want of commands: "an obstacle is higher than it can step"."""
    control, before = GaitControl(ROBOT, GaitControlSettings(values=DEFAULTS)), 0.0
    for k in range(1250):
        t = 0.02 * k
        control.set_following(t % 1.5 >= holds)
        thrown_back = 0.3 * max(0.0, np.sin(4.0 * np.pi * t / control.gait.period)) ** 3
        force = (before - thrown_back) / 0.02, 0.0, 9.81
        before = thrown_back
        control.imu(t, ImuReading(np.eye(3), force, (0.0, 0.0, 0.0), None, None))
        control.command(t, (0.077, 0.0, 0.0))
        control.step(t)
    assert (control.gait.terrain.obstacle.does != AS_FELT) == felt
    for follows in (True, False):
        control.set_following(follows)
        _, message, values = control.state(t)
        assert values["walking"] == follows and ("walking, but the servos hold" in message) != follows
    control.probe_foot("LM")
    for k in range(20):  # it is carried
        control.imu(t + 0.02 * k, ImuReading(np.eye(3), (9.0 * (k > 5), 0.0, 9.81), (0.0, 0.0, 0.0), None, None))
    assert control.gait.doing == "walking" and not control.brace.is_needed
    control.close()


@pytest.mark.parametrize(
    "follows, turn, yaw, then, corrects",
    [(True, 0, None, 0.8, 0), (True, 0.2, None, 0.8, 0), (False, 0.2, 0.05, 0.05, 0), (True, 0, 1.5, 1.5, -0.1)],
    ids=["blind", "blind in a turn", "held in a turn", "its IMU has restarted"],
)
def test_a_heading_that_cannot_be_held_is_not_made_up_for(follows, turn, yaw, then, corrects):
    control = GaitControl(ROBOT, GaitControlSettings(values=DEFAULTS))
    stages = (True, 0.0, 0.0, 0.0), (True, 0.0, 0.05, -0.1), (follows, turn, yaw, corrects), (True, 0.0, then, corrects)
    for k, (follows, turn, yaw, corrects) in enumerate(stages):
        control.set_following(follows)
        for t in np.arange(6.0 * k, 6.0 * (k + 1), 0.02).tolist():
            if yaw is not None:
                control.imu(t, ImuReading(rotation_z(yaw), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0), None, None))
            control.command(t, (0.05, 0.0, turn))
            control.step(t)
        assert control.gait.data.state.corrected[2] - turn == pytest.approx(corrects, abs=0.05)
    control.close()


@pytest.mark.parametrize("happens", ["nothing", "a leg is lost", "it falls"])
def test_a_trial_of_a_locked_joint_ends_at_the_angle_of_its_lock_whatever_happens(happens):
    control, locked = GaitControl(ROBOT, GaitControlSettings(values=DEFAULTS)), WHOLE.locked("RF.femur", 0.4)
    control.set_morphology(0.0, locked)
    control.set_following(True)
    sent, joint = [], ROBOT.part_names.index("RF.femur")
    for k in range(1000):
        up = -1.0 if happens == "it falls" and 420 <= k < 700 else 1.0
        reading = ImuReading(np.diag([1.0, up, up]), (0.0, 0.0, 9.81 * up), (0.0, 0.0, 0.0), None, None)
        control.imu(0.02 * k, reading)
        control.command(0.02 * k, (0.05 * (k < 800 or k > 850), 0.0, 0.0))
        if k == 400:
            control.try_joint(8.0, "RF.femur")
        elif k == 420 and happens == "a leg is lost":
            control.set_morphology(8.4, locked.without("LM"))
        command = control.step(0.02 * k)
        if command is not None and joint in command.joints:
            sent.append(command.positions[command.joints.index(joint)])
    assert sent[0] == pytest.approx(0.4 + OFFSET) and sent[-20:] == [pytest.approx(0.4)] * 20
    control.close()


STAND = np.tile([0.0, 0.6, -0.5], 6)


@pytest.mark.parametrize("missing", [("imu",), ("imu", "commands"), ("following",)], ids=" ".join)
def test_memory_does_not_grow(missing):
    prediction, t = Prediction(ROBOT), 0.0
    level = ImuReading(np.eye(3), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0))
    prediction.set_following("following" not in missing)

    def tick():
        nonlocal t
        t += 0.02
        if "commands" not in missing:
            prediction.command(t, STAND, np.zeros(18))
        for joint in range(18):
            prediction.joint(t, joint, float(STAND[joint]))
        if "imu" not in missing:
            prediction.imu(t, level)
        prediction.advance(t)

    assert least_growth(tick, ticks=100, stretches=3) < 2400  # 24 bytes a tick
