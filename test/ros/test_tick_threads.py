"""What may take long is not done in a thread that ticks: files, and a calibration that waits for samples."""

import sys
import time

from support.driver_session import Robots
from support.ros_session import Process, wait_until

from diagnostic_msgs.msg import DiagnosticArray
from std_srvs.srv import Trigger

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


def test_a_calibration_that_gets_no_samples_keeps_no_tick_waiting(probe):
    with Robots() as robot, Process.node("imu") as imu:
        said = probe.hear(DiagnosticArray, "/diagnostics", keep=500)

        def own():
            return [at for at, array in list(said) for status in array.status if status.name == "imu"]

        wait_until(lambda: any(s.message == "measuring" for _, a in list(said) for s in a.status), 60, imu.output)
        client = probe.node.create_client(Trigger, "imu/calibrate")
        assert client.wait_for_service(10)
        said.clear()
        asked = time.monotonic()
        answer = client.call_async(Trigger.Request())
        wait_until(lambda: time.monotonic() - asked > 0.3, 5, "the calibration has begun; it needs a second of samples")
        robot.i2c.faults.error_rate = 1.0
        wait_until(answer.done, 20, "it is answered")
        answered = time.monotonic()
        assert not answer.result().success and "too few samples" in answer.result().message
        during = [at for at in own() if at < answered - 0.1]
        assert len(during) >= 2, "the diagnostics come once a second, and at each change"
