"""What may take long is not done in a thread that ticks: files; a calibration: test_nodes_drivers.py."""

import sys

from support.driver_session import Robots
from support.ros_session import Process, wait_until

# The node in a process that writes down which thread renames a file (as every write of a state does).
AUDITED = """
import sys, threading
record, name = sys.argv[1:3]
def hook(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith("audited.dynamics.json"):
        with open(record, "a") as file:
            file.write(f"{threading.current_thread() is threading.main_thread()}\\n")
sys.addaudithook(hook)
sys.argv[1:] = sys.argv[3:]
from hexapod_dynamics.ros import start
getattr(start, name)()
"""


def test_the_position_is_not_stored_in_the_thread_that_predicts(probe, tmp_path):
    robot, record = Robots(), tmp_path / "record"
    place = {"HEXAPOD_DYNAMICS_RUNTIME": str(tmp_path / "run")}
    arguments = ("--ros-args", "-p", "session:=audited")
    servos, imu = Process.node("servos"), Process.node("imu")
    dynamics = Process(sys.executable, "-c", AUDITED, record, "dynamics", *arguments, **place)
    try:
        wait_until(lambda: record.exists() and len(record.read_text().splitlines()) > 2, 180, lambda: dynamics.output)
        assert set(record.read_text().splitlines()) == {"False"}, "the main thread ticks 100 times a second"
    finally:
        for process in (servos, imu, dynamics):
            process.end()
        robot.close()
