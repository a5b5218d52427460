"""How the robot is stopped and stays stopped, over the real bus thread, a pty and simulated servos (docs/safety.md)."""

import signal
import sys
import time
import uuid

import numpy as np
import pytest
from support.driver_session import HERE, MAP, NAMES, Servos, waving
from support.machine_load import busy
from support.programs import python
from support.ros_session import LATCHED, Process, wait_until
from support.waiting import request_stop

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.devices.serial_device import BusFaults
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import Bool

COUNT = 0.0042  # [rad]
SESSION = uuid.uuid4().hex


@pytest.fixture(scope="module")
def node(probe, robot):
    node = Servos(probe, SESSION)
    yield node
    node.process.interrupt()
    assert "Traceback" not in node.process.output, node.process.output
    node.process.end()


@pytest.fixture
def servos(robot, node, commands):
    """The node follows commands, stands at HERE, nothing is wrong."""
    commands.pose, commands.interval = None, 0.02
    robot.bus.faults = BusFaults()
    assert node.ask("emergency_stop", False).success
    assert node.ask("servos/torque", True).success
    wait_until(lambda: robot.servos.are_holding().all(), 10, "all hold")
    assert node.ask("servos/follow").success
    commands.pose = HERE
    wait_until(lambda: np.allclose(robot.pose, HERE, atol=COUNT), 10, lambda: f"{robot.pose} reaches {HERE}")
    node.says(DiagnosticStatus.OK, "following commands")
    return node


def test_the_emergency_stop_freezes_at_once_survives_a_kill_and_lasts_until_it_is_ended(robot, servos, commands):
    commands.pose = waving
    wait_until(lambda: robot.fastest(time.monotonic() - 0.3) > 0.5, 10, "it moves")
    answer = servos.ask("emergency_stop", True)
    asked, answered = servos.asked, servos.answered
    assert answer.success and "frozen" in answer.message
    assert robot.stays()
    # 20 ms from its arrival on an idle machine; a busy CI machine takes longer to bring the request there.
    print(f"frozen {1e3 * (robot.last_motion(asked) - asked):.1f} ms after the call, answer {answered - asked:.3f} s")
    assert robot.last_motion(asked) - asked < 0.2
    servos.says(DiagnosticStatus.ERROR, "emergency stop")
    assert not servos.ask("servos/torque", False).success, "sitting down is a motion"
    servos.kill()
    servos.start()
    assert robot.stays() and robot.servos.are_holding().all()
    servos.says(DiagnosticStatus.ERROR, "emergency stop")
    assert request_stop("", 10.0)[0], "the node that came back has taken over the socket"
    begin = time.monotonic()
    done = python("-m", "hexapod_dynamics.tools.stop", "--resume")
    assert done.returncode == 0 and "joint_commands move the robot again" in done.stdout, done
    wait_until(lambda: robot.fastest(begin) > 0.5, 10, "commands move it again")


def test_the_local_socket_freezes_the_pose_without_ros_and_cannot_end_the_stop(robot, servos, commands):
    commands.pose = waving
    wait_until(lambda: robot.fastest(time.monotonic() - 0.3) > 0.5, 10, "it moves")
    asked = time.monotonic()
    success, message = request_stop("", 10.0)
    assert success and "frozen" in message
    assert robot.stays()
    print(f"frozen {1e3 * (robot.last_motion(asked) - asked):.1f} ms after the request")
    assert robot.last_motion(asked) - asked < 0.2
    servos.says(DiagnosticStatus.ERROR, "emergency stop")
    assert request_stop("", 10.0)[0] and robot.stays(0.3)


def test_a_joint_that_moves_after_an_emergency_stop_is_named(robot, servos):
    assert servos.ask("emergency_stop", True).success
    begin, named = time.monotonic(), f"{NAMES[4]} still moves although the pose is frozen"
    push = lambda: robot.sag.__setitem__(4, 0.7 * (time.monotonic() - begin))  # noqa: E731
    wait_until(lambda: push() or named in servos.status.message, 5, lambda: servos.status)
    robot.sag[:] = 0.0
    wait_until(lambda: named not in servos.status.message, 5, lambda: servos.status)


@pytest.mark.timed
def test_under_load_the_emergency_stop_freezes_within_20_ms(robot, servos, commands):
    """The median of five stops, from the call to the end of the first MOVE_STOP on the wire.

    On the way are the caller, the node and the simulated wire; with two processes that keep both cores busy, each of
    them may have to wait for a core for some milliseconds now and then, which the node cannot change. What the driver
    itself needs has its own bound (test_servo_bus.py), in nine of ten.
    """
    commands.pose = waving
    took, late, answers = [], [], []
    with busy(2):
        for _ in range(5):
            wait_until(lambda: robot.fastest(time.monotonic() - 0.3) > 0.5, 20, "it moves")
            answer = servos.ask("emergency_stop", True)
            assert answer.success, (answer, servos.process.output)
            time.sleep(0.3)
            took.append(next(t for t in robot.stops if t > servos.asked) - servos.asked)
            late.append(robot.last_motion(servos.asked) - servos.asked)
            answers.append(servos.answered - servos.asked)
            assert servos.ask("emergency_stop", False).success
    for name, values in (("first stop out", took), ("last motion", late), ("answered", answers)):
        print(f"{name} after [ms]", np.sort(np.round(1e3 * np.array(values), 1)))
    assert np.median(took) < 0.02


def test_who_was_released_on_a_bad_line_lets_go_whole_and_stays_so_over_a_kill(robot, servos, commands):
    robot.bus.faults.drop_rate = 0.1
    assert servos.ask("servos/release").success
    wait_until(lambda: not robot.servos.are_holding().any(), 20, lambda: f"{robot.servos.are_holding()} all let go")
    robot.bus.faults.drop_rate = 0.0

    def off():
        said = servos.status
        yet = any(words in said.message for words in ("although torque is off", "has not confirmed"))
        return said if "torque is off" in said.message and not yet else None

    said = wait_until(off, 10, lambda: servos.status)
    assert said.level == DiagnosticStatus.WARN
    assert {each.key: each.value for each in said.values}["torque not confirmed"] == ""
    servos.kill()
    robot.servos.loaded[4] = True  # as by a stray frame while nobody watched
    commands.pose = waving
    servos.start()
    wait_until(lambda: not robot.servos.are_holding().any(), 10, "it is told again")
    time.sleep(1.0)
    assert not robot.servos.are_holding().any()
    answer = servos.ask("servos/torque", True)
    assert "holding where it stands" in answer.message
    wait_until(lambda: robot.servos.are_holding().all(), 10, "all hold")
    assert robot.stays(), "it holds, whatever commands come"


def test_a_servo_that_does_not_let_go_is_named(robot, servos):
    deaf = NAMES.index("tibia_joint_LM")
    robot.bus.faults.silent = {MAP.ids[deaf]}
    assert servos.ask("servos/release").success
    servos.says(DiagnosticStatus.ERROR, "tibia_joint_LM has not confirmed that its torque is off")
    # The others are named too, until each has been read; it alone stays.
    wait_until(lambda: servos.value("torque not confirmed") == "tibia_joint_LM", 5, lambda: servos.status)
    assert robot.servos.are_holding()[deaf]
    robot.bus.faults.silent = set()
    wait_until(lambda: not robot.servos.are_holding().any(), 10, "it lets go as soon as it hears")
    wait_until(lambda: "tibia" not in servos.status.message, 10, "it is not named any more")


def test_who_sat_down_stays_seated_over_a_kill_on_the_way(robot, servos, commands):
    wait_until(lambda: "sitting down" in servos.ask("servos/torque", False).message, 10, "all joints are measured")
    commands.pose = waving
    time.sleep(0.5)
    servos.kill()
    servos.start()
    wait_until(lambda: not robot.servos.are_holding().any(), 20, "it goes on sitting down, then lets go")
    assert np.allclose(robot.pose.reshape(6, 3), [0.0, 1.2, -0.45], atol=0.03)
    time.sleep(0.5)
    assert not robot.servos.are_holding().any()


def test_commands_that_waited_while_the_process_was_stopped_are_not_followed(robot, servos, commands):
    """The queue holds commands to stay, then commands to go: the first must not make the others look close."""
    servos.process.popen.send_signal(signal.SIGSTOP)
    commands.interval = 0.005
    time.sleep(1.0)
    commands.pose = HERE + 0.45
    time.sleep(0.05)
    begin = time.monotonic()
    servos.process.popen.send_signal(signal.SIGCONT)
    wait_until(lambda: np.allclose(robot.pose, HERE + 0.45, atol=COUNT), 20, "it gets there")
    assert robot.fastest(begin) < 1.6


def test_a_second_publisher_is_named_and_nobody_moves_the_robot(probe, robot, servos, commands):
    other, following = probe.node.__class__("stranger"), probe.hear(Bool, "servos/following", LATCHED)
    publisher = other.create_publisher(JointState, "joint_commands", 10)
    servos.says(DiagnosticStatus.ERROR, "2 publishers, /probe, /stranger: one moves the robot")
    commands.pose = HERE + 0.3
    assert robot.stays(0.5)
    assert not following[-1][1].data, "models that move on would take the joints for blocked"
    other.destroy_publisher(publisher)
    other.destroy_node()
    wait_until(lambda: np.allclose(robot.pose, HERE + 0.3, atol=COUNT), 20, "one is left, and is followed")
    assert following[-1][1].data


def test_a_second_source_with_a_name_is_refused_while_the_first_goes_on(probe, robot, servos, commands):
    commands.message.header.frame_id = "gait 1"
    time.sleep(0.6)
    publisher = probe.node.create_publisher(JointState, "joint_commands", 10)
    try:
        message = JointState(name=NAMES, position=(HERE + 0.4).tolist())
        message.header.frame_id = "gait 2"
        for _ in range(20):
            publisher.publish(message)
            time.sleep(0.02)
        servos.says(DiagnosticStatus.ERROR, "'gait 2' is not followed, 'gait 1' is")
        assert np.allclose(robot.pose, HERE, atol=COUNT)
    finally:
        commands.message.header.frame_id = ""
        probe.node.destroy_publisher(publisher)


def test_many_clamps_raise_the_level(servos, commands):
    commands.pose = np.full(18, 1.6)
    servos.says(DiagnosticStatus.WARN, "commands are clamped, a second: angle")


def test_the_button_of_a_game_pad_stops_and_its_loss_is_reported(probe, robot, servos, commands):
    pad, release = probe.node.create_publisher(Joy, "joy", 10), Joy(axes=[0.0], buttons=[1, 0, 1])
    commands.pose = waving
    try:
        for _ in range(10):  # other buttons
            pad.publish(release)
            time.sleep(0.05)
        assert servos.value("emergency stop") == "False"
        asked = time.monotonic()
        pad.publish(Joy(axes=[0.0], buttons=[0, 1, 0]))
        wait_until(lambda: any(t > asked for t in robot.stops), 10, "a MOVE_STOP on the wire")
        assert robot.stays()
        servos.says(DiagnosticStatus.ERROR, "game pad lost: no joy message")
        assert "emergency stop" in servos.status.message
        pad.publish(release)
        assert servos.ask("emergency_stop", False).success
        pad.publish(Joy(buttons=[0]))
        servos.says(DiagnosticStatus.WARN, "the game pad has 1 buttons, none of index 1")
    finally:
        probe.node.destroy_publisher(pad)


def test_a_node_alone_says_once_what_is_wrong(probe):
    with Process(sys.executable, "-m", "hexapod_dynamics.nodes", "servos", ROS_DOMAIN_ID="101") as alone:
        wait_until(lambda: "no simulator is up" in alone.output, 30, lambda: alone.output)
        time.sleep(1.0)
        assert alone.output.count("does not exist") == 1, alone.output
