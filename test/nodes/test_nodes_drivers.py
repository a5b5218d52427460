"""imu and servos in their own processes, over the simulated devices: topics, safety, faults, a clean end."""

import contextlib
import math
import os
import pty
import threading
import time

import numpy as np
import pytest
from support.driver_session import NAMES, ROBOT, Robots
from support.ros_session import LATCHED, NEWEST, Process, parameters_of, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TransformStamped
from hexapod_dynamics.devices.serial_device import BusFaults
from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.runtime_directory import IMU_BUS, SERVO_BUS, device_directory
from rcl_interfaces.msg import ParameterEvent
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from sensor_msgs.msg import BatteryState, Imu, JointState, Temperature
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

COUNT = math.radians(0.24)
PATIENCE = 30.0


def ended_cleanly(process):
    took, code = process.interrupt()
    assert code == 0 and took < 3.0 and "Traceback" not in process.output, process.output
    process.end()


@pytest.fixture(scope="module")
def servos(probe, robot):
    process = Process.node("servos")
    yield process
    ended_cleanly(process)


@pytest.fixture(scope="module")
def imu(probe, robot):
    process = Process.node("imu")
    yield process
    ended_cleanly(process)


@pytest.fixture(scope="module")
def topics(probe):
    """Start to hear what both nodes say."""
    return {
        "joint_states": probe.hear(JointState, "joint_states", keep=200),
        "measurements": probe.hear(JointState, "servos/measurements", keep=200),
        "battery": probe.hear(BatteryState, "battery_state", keep=5),
        "statuses": probe.statuses,
        "raw": probe.hear(Imu, "imu/data_raw", keep=500),
        "data": probe.hear(Imu, "imu/data", NEWEST, keep=500),
        "temperature": probe.hear(Temperature, "imu/temperature", keep=5),
        "tf_static": probe.hear(TFMessage, "/tf_static", LATCHED, keep=5),
    }


@pytest.fixture
def ready(robot, servos, topics, commands):
    """The servos node measures, nothing is commanded, nothing is wrong."""
    commands.pose = None
    robot.bus.faults = BusFaults()
    robot.servos.present[:] = True
    robot.bus.plug_in()
    topics["joint_states"].clear()
    wait_until(
        lambda: topics["joint_states"] and len(topics["joint_states"][-1][1].name) == 18,
        PATIENCE,
        lambda: f"joint_states of 18 joints\n{servos.output}",
    )
    return topics


def last(heard):
    return heard[-1][1]


def counted(topics, key):
    """A count of the servos node's diagnostics."""
    return int(topics["statuses"].value("servos", key) or 0)


def moved_to(robot, commands, pose, timeout=PATIENCE):
    commands.pose = np.asarray(pose, float)
    wait_until(lambda: np.allclose(robot.pose, pose, atol=COUNT), timeout, lambda: f"{robot.pose} reaches {pose}")


def test_joint_states_are_measured_not_commanded(robot, ready, commands):
    moved_to(robot, commands, np.full(18, 0.1))
    robot.sag[:] = np.linspace(-0.05, 0.05, 18)  # loaded servos stay away from where they are told to be
    expected = 0.1 + robot.sag
    wait_until(lambda: np.allclose(last(ready["joint_states"]).position, expected, atol=COUNT), 10, "the measured pose")
    robot.sag[:] = 0.0
    message = last(ready["joint_states"])
    assert message.name == NAMES and len(message.velocity) == 18 and len(message.effort) == 0
    assert abs(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec - time.time()) < 2.0


def test_measurements_carry_each_joint_when_it_was_read(ready):
    ready["measurements"].clear()
    wait_until(lambda: len(ready["measurements"]) > 60, 20, "measurements")
    messages = [message for _t, message in ready["measurements"]]
    assert {name for message in messages for name in message.name} == set(NAMES)
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in messages]
    assert all(b > a for a, b in zip(stamps, stamps[1:], strict=False))
    times = [
        (stamp - age, name)
        for stamp, m in zip(stamps, messages, strict=True)
        for name, age in zip(m.name, m.effort, strict=True)
    ]
    for m in messages:
        assert len(m.name) == len(m.position) == len(m.velocity) == len(m.effort) and min(m.effort) == 0.0
        assert len(set(m.effort)) == len(m.effort) and max(m.effort) < 0.2  # the bus reads one joint at a time
    for name in NAMES:  # each reading is in one message only
        own = [at for at, joint in times if joint == name]
        assert np.diff(own).min() > 0.005


def test_nonsense_moves_nothing(robot, ready, commands, probe):
    moved_to(robot, commands, np.full(18, 0.1))
    commands.pose = None
    publisher = probe.publisher(JointState, "joint_commands")
    for bad in (
        JointState(name=["coxa_joint_XX"], position=[0.5]),
        JointState(name=NAMES, position=[math.nan] * 18),
        JointState(name=NAMES[:2], position=[1e308, 0.2]),
    ):
        for _ in range(5):
            publisher.publish(bad)
            time.sleep(0.02)
    for kind in (
        "commands refused, unknown joints",
        "commands refused, beyond what joints can do",
    ):
        wait_until(lambda kind=kind: counted(ready, kind) > 0, 10, f"counted: {kind}")
    assert np.allclose(robot.pose, 0.1, atol=COUNT)
    probe.node.destroy_publisher(publisher)


def test_feedforward_torque_shifts_the_setpoint(robot, ready, commands, probe):
    moved_to(robot, commands, np.full(18, 0.1))
    torque = JointState(name=[NAMES[4]], effort=[1.5])
    expected = np.full(18, 0.1)
    expected[4] += 1.5 / 30.0
    with probe.publishing("feedforward_torques", lambda: torque, 0.02):
        wait_until(lambda: np.allclose(robot.pose, expected, atol=COUNT), 10, lambda: f"{robot.pose[4]} is shifted")
    wait_until(lambda: np.allclose(robot.pose, 0.1, atol=COUNT), 5, "old torque is forgotten")


def test_a_leg_known_to_be_gone_is_no_error(robot, ready, probe):
    publisher = probe.node.create_publisher(ParameterEvent, "morphology", LATCHED)
    gone = [i for i, name in enumerate(NAMES) if name.endswith("_LM")]

    def tell(morphology):
        publisher.publish(ParameterEvent(new_parameters=parameters_of(morphology.parameters())))

    robot.servos.present[gone] = False
    tell(Morphology.whole(ROBOT).without("LM"))
    wait_until(lambda: len(last(ready["joint_states"]).name) == 15, 10, "LM is left out")
    ready["statuses"].heard.clear()
    ready["statuses"].says("servos", "", level=DiagnosticStatus.OK)
    robot.servos.present[gone] = True
    tell(Morphology.whole(ROBOT))
    wait_until(lambda: len(last(ready["joint_states"]).name) == 18, 10, "LM is back")
    probe.node.destroy_publisher(publisher)


def test_battery_voltage_is_the_servos(robot, ready):
    wait_until(lambda: ready["battery"], 20, "battery_state")
    message = last(ready["battery"])
    assert message.voltage == pytest.approx(11.8, abs=0.01) and math.isnan(message.percentage)
    assert message.power_supply_technology == BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO


def test_sigkill_holds_and_the_next_start_does_not_jump(probe, robot, servos, ready, commands, topics):
    moved_to(robot, commands, np.full(18, 0.3))
    servos.kill()
    time.sleep(0.1)  # the last motion ends
    pose = robot.pose.copy()
    time.sleep(0.2)
    assert np.allclose(pose, 0.3, atol=2 * COUNT) and np.allclose(robot.pose, pose) and robot.servos.are_holding().all()
    topics["joint_states"].clear()
    furthest = 0.0
    servos.start()
    commands.pose = pose
    end = time.monotonic() + PATIENCE
    while not topics["joint_states"] or len(topics["joint_states"]) < 50:
        furthest = max(furthest, float(np.abs(robot.pose - pose).max()))
        assert time.monotonic() < end, servos.output
        time.sleep(0.01)
    assert furthest < 2 * COUNT
    moved_to(robot, commands, pose - 0.1)
    commands.pose = None


# imu -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def measuring(robot, imu, topics):
    robot.rate[:] = 0.0
    topics["data"].clear()
    wait_until(lambda: len(topics["data"]) > 20, PATIENCE, lambda: f"imu/data\n{imu.output}")
    return topics


def test_a_single_command_is_received_reliably_and_imu_data_has_sensor_qos(probe, servos, measuring):
    def subscriptions():
        found = probe.node.get_subscriptions_info_by_topic("joint_commands")
        return [each for each in found if each.node_name == "servos"]  # a test before may have had a subscription, too

    for each in wait_until(subscriptions, PATIENCE, lambda: servos.output):
        assert each.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    (publisher,) = probe.node.get_publishers_info_by_topic("imu/data")
    assert publisher.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert publisher.qos_profile.durability == DurabilityPolicy.VOLATILE


def test_imu_topics_are_those_of_rep_145(measuring):
    wait_until(lambda: last(measuring["data"]).orientation_covariance[0] > 0.0, 10, "calibrated by itself, at rest")
    raw, data = last(measuring["raw"]), last(measuring["data"])
    assert raw.header.frame_id == data.header.frame_id == "imu_link"
    assert raw.orientation_covariance[0] == -1.0 and data.orientation_covariance[0] > 0.0
    assert raw.linear_acceleration.z == pytest.approx(STANDARD_GRAVITY, abs=0.5)
    assert raw.angular_velocity_covariance[0] > 0.0 and raw.linear_acceleration_covariance[8] > 0.0
    wait_until(lambda: measuring["temperature"], 10, "imu/temperature")
    assert last(measuring["temperature"]).temperature == pytest.approx(31.0, abs=0.1)


def test_the_mounting_turn_is_in_tf(measuring):
    wait_until(lambda: measuring["tf_static"], 10, "tf_static")
    transform = last(measuring["tf_static"]).transforms[0]
    assert isinstance(transform, TransformStamped)
    assert (transform.header.frame_id, transform.child_frame_id) == ("base_link", "imu_link")
    turn = transform.transform.rotation
    assert (turn.x, turn.y, turn.z, turn.w) == pytest.approx((0, 0, math.sqrt(0.5), math.sqrt(0.5)))
    assert transform.transform.translation.z == pytest.approx(0.04)


@contextlib.contextmanager
def shaken(robot):
    """Turn the robot to and fro, so that no calibration takes it to be at rest."""
    ended = threading.Event()

    def shake():
        k = 0
        while not ended.wait(0.01):
            k += 1
            robot.rate[:] = 0.3 * math.sin(0.5 * k)
        robot.rate[:] = 0.0

    thread = threading.Thread(target=shake)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_calibration_takes_the_offsets_away_and_is_refused_while_moving(probe, robot, measuring):
    response = probe.call(Trigger, "imu/calibrate", Trigger.Request())
    assert response.success, response.message
    time.sleep(0.3)
    data, raw = last(measuring["data"]), last(measuring["raw"])
    assert raw.angular_velocity.y == pytest.approx(robot.chip.gyro_bias[1], abs=0.01)
    rates = [data.angular_velocity.x, data.angular_velocity.y, data.angular_velocity.z]
    assert np.allclose(rates, 0.0, atol=0.005)  # 7 sigma of the noise
    forces = [data.linear_acceleration.x, data.linear_acceleration.y, data.linear_acceleration.z - STANDARD_GRAVITY]
    assert np.allclose(forces, 0.0, atol=0.2)

    with shaken(robot):
        time.sleep(0.2)
        response = probe.call(Trigger, "imu/calibrate", Trigger.Request())
    assert not response.success and "not at rest" in response.message


def test_a_calibration_that_gets_no_samples_keeps_no_tick_waiting(probe, robot, measuring):
    def calibrate():
        return probe.begin_call(Trigger, "imu/calibrate", Trigger.Request())

    wait_until(calibrate().done, 20, "requests that were repeated are answered")
    asked, answer = time.monotonic(), calibrate()
    time.sleep(0.3)  # it has begun, and needs a second of samples
    robot.i2c.faults.error_rate = 1.0
    try:
        wait_until(answer.done, 20, "it is answered")
    finally:
        robot.i2c.faults.error_rate = 0.0
    answered = time.monotonic()
    assert not answer.result().success and "too few samples" in answer.result().message
    said = [at for at, array in list(probe.statuses.heard) for status in array.status if status.name == "imu"]
    during = [at for at in said if asked < at < answered - 0.1]
    assert len(during) >= 2, "the diagnostics come once a second, and at each change"


def test_a_restarted_imu_keeps_its_offsets_though_it_does_not_rest(probe, robot, imu, measuring):
    wait_until(lambda: last(measuring["data"]).orientation_covariance[0] > 0.0, 10, "calibrated")
    imu.kill()
    measuring["data"].clear()
    with shaken(robot):
        imu.start()
        wait_until(lambda: len(measuring["data"]) > 150, PATIENCE, lambda: imu.output)
        for _, message in list(measuring["data"]):
            assert message.orientation_covariance[0] > 0.0


def test_no_hardware_is_opened_before_all_parameters_are_checked(probe):
    master, slave = pty.openpty()
    os.set_blocking(master, False)

    def sent():
        try:
            return os.read(master, 1000)
        except BlockingIOError:
            return b""

    arguments = ("-p", f"port:={os.ttyname(slave)}", "-r", "__ns:=/pty")
    with Process.node("servos", *arguments, "-p", "sit_pose:=[9.0, 9.0, 9.0]") as refused:
        assert refused.popen.wait(PATIENCE) == 1
        assert "sit_pose" in refused.output and not sent(), refused.output
    accepted = Process.node("servos", *arguments)
    try:
        wait_until(sent, PATIENCE, "with right parameters it asks the servos")
    finally:
        accepted.end()
        os.close(master)
        os.close(slave)


def test_no_simulated_device_stays_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(tmp_path))  # nothing that another launch has left
    robot = Robots()
    directory = device_directory()
    assert sorted(os.listdir(directory)) == [IMU_BUS, SERVO_BUS, f"{SERVO_BUS}.owner"]
    robot.close()
    assert os.listdir(directory) == []
