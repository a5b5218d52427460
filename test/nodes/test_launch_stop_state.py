"""A whole launch whose stored state is deleted before its nodes crash: a stopped robot stays stopped."""

import shutil
import threading
import time

import psutil
import pytest
from support.ros_session import NEWEST, Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from std_srvs.srv import SetBool, Trigger

COMMAND = ("ros2", "launch", "hexapod_dynamics", "walk.launch.py", "detect:=off", "status:=false")


@pytest.fixture(scope="module", autouse=True)
def domain():
    separate()


@pytest.fixture
def probe():
    probe = Probe()
    yield probe
    probe.close()


class Said:
    """The newest status of each node in /diagnostics."""

    def __init__(self, probe):
        self._heard = probe.hear(DiagnosticArray, "/diagnostics", keep=200)

    def __call__(self, name):
        found = [s for _, array in list(self._heard) for s in array.status if s.name == name]
        return found[-1] if found else DiagnosticStatus(level=DiagnosticStatus.STALE)

    def forget(self):
        self._heard.clear()


def crash_without_file(launch, name, sessions):
    """Stop the process of a node, delete all that is stored, then kill it."""
    nodes = psutil.Process(launch.pid).children(recursive=True)
    (node,) = [each for each in nodes if any(word.endswith(f"/{name}") for word in each.cmdline())]
    node.suspend()
    # The other nodes go on and may write into the folder while it is deleted.
    wait_until(lambda: shutil.rmtree(sessions, ignore_errors=True) or not sessions.exists(), 5, lambda: str(sessions))
    node.kill()


def test_a_stopped_robot_whose_state_is_deleted_before_its_nodes_crash_does_not_start_by_itself(probe, tmp_path):
    sessions = tmp_path / "run" / "sessions"
    truth, said = probe.hear(Odometry, "simulator/odom", NEWEST), Said(probe)
    velocity = probe.node.create_publisher(Twist, "cmd_vel", 10)

    def moved(seconds):
        begin = time.monotonic()
        time.sleep(seconds)
        x = [message.pose.pose.position.x for at, message in list(truth) if at > begin]
        return abs(x[-1] - x[0])

    launch = Process(*COMMAND, HEXAPOD_DYNAMICS_RUNTIME=str(tmp_path / "run"))
    try:
        wait_until(lambda: truth and moved(1.0) > 0.04, 180, lambda: launch.output[-3000:])  # it walks by itself
        assert probe.call(SetBool, "emergency_stop", SetBool.Request(data=True)).success
        crash_without_file(launch, "servos", sessions)
        Process.killed_at = time.monotonic()
        wait_until(lambda: "was deleted while this launch was running" in launch.output, 60, lambda: launch.output)
        said.forget()
        wait_until(lambda: "emergency stop" in said("servos").message, 30, lambda: said("servos"))
        ending, go = threading.Event(), Twist()
        go.linear.x = 0.05

        def drive():
            while not ending.wait(0.1):
                velocity.publish(Twist())
                velocity.publish(go)

        driver = threading.Thread(target=drive, daemon=True)
        driver.start()
        assert moved(3.0) < 0.005, "whatever is commanded"
        ending.set()
        driver.join()
        # The gait loses its permit: it stands until a new command.
        crash_without_file(launch, "gait", sessions)
        wait_until(lambda: list(sessions.glob("*servos.json")), 10, "the others write their files again")
        said.forget()
        wait_until(lambda: said("gait").level != DiagnosticStatus.STALE, 60, lambda: launch.output[-3000:])
        assert probe.call(SetBool, "emergency_stop", SetBool.Request(data=False)).success
        assert probe.call(Trigger, "servos/follow", Trigger.Request()).success
        # The new gait commands its stance: the body shifts by 12 to 18 mm within half a second, then rests.
        assert moved(1.0) < 0.03, "less than the 0.05 m of walking"
        assert moved(3.0) < 0.01
        velocity.publish(Twist())
        time.sleep(1.5)

        def walks():
            velocity.publish(go)
            return moved(0.3) > 0.008

        wait_until(walks, 30, "a new command starts it")
        assert "Traceback" not in launch.output, launch.output
    finally:
        launch.end()
