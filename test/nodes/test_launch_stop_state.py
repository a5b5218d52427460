"""A stopped robot stays stopped, whether its launch is killed or nodes crash whose stored state was deleted."""

import itertools
import os
import shutil
import signal
import time

import psutil
import pytest
from support.launched_robot import Launched, runs
from support.ros_session import Process, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Twist
from hexapod_dynamics.ros.start import LAUNCH_VARIABLE
from hexapod_dynamics.ros.state_file import make_memory
from std_srvs.srv import SetBool, Trigger


def crash_without_file(launch, name, sessions):
    """Stop the process of a node, delete all that is stored, then kill it."""
    nodes = psutil.Process(launch.pid).children(recursive=True)
    (node,) = [each for each in nodes if any(word.endswith(f"/{name}") for word in each.cmdline())]
    node.suspend()
    # The other nodes go on and may write into the folder while it is deleted.
    wait_until(lambda: shutil.rmtree(sessions, ignore_errors=True) or not sessions.exists(), 5, lambda: str(sessions))
    node.kill()


def stands_whatever_is_commanded(robot):
    """Whether the body stays where it is for two seconds while zero and forward speeds are commanded in turn."""
    with robot.probe.publishing("left/cmd_vel", itertools.cycle([Twist(), forward()]).__next__, 0.05):
        return robot.moved(2.0) < 0.005


def forward():
    twist = Twist()
    twist.linear.x = 0.05
    return twist


def test_an_emergency_stop_outlasts_a_killed_launch_and_crashes_of_nodes_whose_state_is_deleted(probe, tmp_path):
    sessions = tmp_path / "run" / "sessions"
    kept = {"HEXAPOD_DYNAMICS_SESSION": "robot", "HEXAPOD_DYNAMICS_RUNTIME": str(tmp_path / "run")}
    given = ("detect:=off", "namespace:=left")
    robot, said = Launched(probe, *given, namespace="left/", **kept), probe.statuses
    try:
        robot.wait(lambda: robot.truth and robot.moved(1.0) > 0.04, 180, "it walks by itself")
        assert probe.call(SetBool, "left/emergency_stop", SetBool.Request(data=True)).success
        nodes = psutil.Process(robot.launch.pid).children(recursive=True)
        robot.launch.popen.kill()
        Process.killed_at = time.monotonic()
        assert len(nodes) >= 6
        # The launch process (on the real ROS 2 SIGTERM is enough) cannot end them.
        wait_until(lambda: not any(map(runs, nodes)), 5, lambda: [node for node in nodes if runs(node)])
        assert "Traceback" not in robot.launch.output
        robot.launch.end()
        robot.begin(*given, **kept)
        robot.truth.clear()
        ends = "`stop --resume --namespace left`"
        robot.wait(lambda: f"emergency stop: {ends}" in robot.launch.output and robot.truth, 60, "it knows of the stop")
        assert robot.moved(2.0) < 0.005
        assert list(sessions.glob("robot:*"))
        launch = robot.launch
        crash_without_file(launch, "servos", sessions)
        Process.killed_at = time.monotonic()
        wait_until(lambda: "was deleted while this launch was running" in launch.output, 60, lambda: launch.output)
        said.heard.clear()
        wait_until(lambda: ends in said("left/servos").message, 30, lambda: said("left/servos"))
        assert stands_whatever_is_commanded(robot)
        # The gait loses its permit: it stands until a new command.
        crash_without_file(launch, "gait", sessions)
        wait_until(lambda: list(sessions.glob("*servos.json")), 10, "the others write their files again")
        said.heard.clear()
        robot.wait(lambda: said("left/gait").level != DiagnosticStatus.STALE, 60, "gait is back")
        assert probe.call(SetBool, "left/emergency_stop", SetBool.Request(data=False)).success
        assert probe.call(Trigger, "left/servos/follow", Trigger.Request()).success
        # The new gait commands its stance: the body shifts by 12 to 18 mm within half a second, then rests.
        assert robot.moved(1.0) < 0.03, "less than the 0.05 m of walking"
        assert robot.moved(1.5) < 0.01
        robot.drive(0.0)
        time.sleep(0.3)
        robot.drive(None)
        time.sleep(1.2)
        robot.drive(0.05)
        robot.wait(lambda: robot.moved(0.3) > 0.008, 30, "a new command starts it")
        assert "Traceback" not in launch.output, launch.output
        assert launch.interrupt()[0] < 4.0
        assert not list(sessions.iterdir()), launch.output
    finally:
        robot.close()


def test_in_a_state_directory_stop_and_damage_outlast_the_launch(probe, tmp_path):
    place, given = tmp_path / "kept", ("detect:=off", "velocity:=0.0")
    given = (*given, f"state_directory:={place}")
    robot, said, morphology = Launched(probe, *given), probe.statuses, probe.morphology()
    try:
        robot.wait(lambda: said("servos").level == DiagnosticStatus.OK and morphology(), 180, "it stands")
        assert probe.set("set_morphology", {"legs.RM": False}) == (True, "")
        assert probe.call(SetBool, "emergency_stop", SetBool.Request(data=True)).success
        robot.wait((place / "gait.json").exists, 60, "gait has begun")
        robot.launch.interrupt()
        robot.launch.end()
        assert {file.name for file in place.iterdir()} == {"damage_manager.json", "gait.json", "servos.json"}
        for heard in (said.heard, robot.truth, probe.messages["morphology"]):
            heard.clear()
        robot.begin(*given)
        robot.wait(lambda: "emergency stop" in said("servos").message and morphology(), 60, "it is stopped")
        assert morphology()["legs.RM"] is False
        assert robot.moved(2.0) < 0.005
    finally:
        robot.close()


@pytest.mark.parametrize("launched", [True, False], ids=["in a launch", "alone"])
def test_declared_damage_whose_file_is_deleted_or_unreadable(probe, tmp_path, launched):
    environment = {"HEXAPOD_DYNAMICS_RUNTIME": str(tmp_path / "run")}
    if launched:
        environment |= {LAUNCH_VARIABLE: str(os.getpid()), **make_memory()}
    (session,), said = (("-p", "session:=damage"),), probe.statuses
    morphology = probe.morphology()
    probe.messages["morphology"].clear()
    process = Process.node("damage_manager", *session, environment=environment)
    try:
        wait_until(morphology, 60, lambda: process.output)
        assert probe.set("set_morphology", {"legs.RM": False}) == (True, "")
        file = tmp_path / "run" / "sessions" / "damage:damage_manager.json"
        wait_until(file.exists, 10, "it is stored")
        if launched:
            file.unlink()
            wait_until(file.exists, 5, "it is written again")
            wait_until(lambda: "deleted or changed" in said("damage_manager").message, 5, said("damage_manager"))
        process.popen.send_signal(signal.SIGSTOP)
        if launched:
            file.unlink()
        else:
            file.write_text('{"legs.RM": []}')
        process.kill()
        process.end()
        for heard in (said.heard, probe.messages["morphology"]):
            heard.clear()
        process.start()
        if launched:
            wait_until(lambda: morphology() and morphology()["legs.RM"] is False, 60, lambda: process.output)
            wait_until(file.exists, 10, "it is stored again")
            said.heard.clear()
            wait_until(lambda: said("damage_manager").level == DiagnosticStatus.WARN, 10, "it says what is missing")
        else:
            wait_until(lambda: said("damage_manager").level == DiagnosticStatus.ERROR, 60, lambda: process.output)
            assert "declare the damage again" in said("damage_manager").message
            assert probe.set("set_morphology", {"legs.RM": False}) == (True, "")
            wait_until(lambda: said("damage_manager").level == DiagnosticStatus.WARN, 10, "somebody has")
        assert "Traceback" not in process.output, process.output
    finally:
        process.end()


def test_a_gait_that_cannot_read_its_permit_stands_and_says_so(probe, tmp_path):
    sessions = tmp_path / "run" / "sessions"
    sessions.mkdir(parents=True)
    for path in (sessions, sessions.parent):
        path.chmod(0o700)
    (sessions / "permit:gait.json").write_text("[[[[")
    said = probe.statuses
    with Process.node(
        "gait", "-p", "session:=permit", environment={"HEXAPOD_DYNAMICS_RUNTIME": str(tmp_path / "run")}
    ) as process:
        wait_until(lambda: "is not known" in said("gait").message, 120, lambda: process.output)
        status = said("gait")
        assert {pair.key: pair.value for pair in status.values}["walking"] == "False"
        assert "Traceback" not in process.output, process.output
