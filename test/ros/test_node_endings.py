"""What nodes keep, and who goes on, when one of them fails at work or is told to end; what `ros.running` does for every
node. `ros2 bag record -a` of ros2_tools beside topics of packages that are not installed here.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.machine_load import on_a_free_machine
from support.programs import python
from support.ros_session import NEWEST, Process, wait_until

from hexapod_dynamics.ros.start import LAUNCH_VARIABLE
from std_msgs.msg import String

SCRIPT = str(Path(__file__).with_name("failing_nodes.py"))


@pytest.fixture
def begin(tmp_path):
    """A function that starts nodes of failing_nodes.py in one session; they are ended after the test."""
    processes = []

    def start(*names, **environment):
        session = ("--ros-args", "-p", "session:=endings")
        runtime = {"HEXAPOD_DYNAMICS_RUNTIME": str(tmp_path / "run")}
        processes.append(Process(sys.executable, SCRIPT, *names, *session, **runtime, **environment))
        return processes[-1]

    yield start
    for process in processes:
        process.end()


def stored(tmp_path):
    """Names of the files that hold the state of a node."""
    return sorted(path.name for path in (tmp_path / "run" / "sessions").glob("*"))


def test_a_node_that_fails_at_work_keeps_its_state_for_its_respawn(begin, tmp_path):
    process = begin("failing")
    assert process.popen.wait(30) == 1 and "a defect of this node" in process.output
    assert stored(tmp_path) == ["endings:failing.json"]
    process = begin("failing")
    wait_until(lambda: "found {'stopped': True}" in process.output, 30, lambda: process.output)


@pytest.mark.parametrize("launched, kept", [(True, ["endings:storing.json"]), (False, [])])
def test_a_signal_to_one_node_deletes_its_state_only_where_nothing_starts_it_again(begin, tmp_path, launched, kept):
    process = begin("storing", **({LAUNCH_VARIABLE: str(os.getpid())} if launched else {}))
    wait_until(lambda: "works" in process.output, 30, lambda: process.output)
    assert stored(tmp_path) == ["endings:storing.json"]
    process.popen.send_signal(signal.SIGTERM)
    assert process.popen.wait(10) == 0, process.output
    assert stored(tmp_path) == kept


def test_a_node_ends_cleanly_beside_one_that_was_killed(begin):
    process, other = begin("storing"), begin("steady")
    wait_until(lambda: "works" in process.output, 30, lambda: process.output)
    time.sleep(2.0)  # both have found each other
    other.kill()
    assert process.interrupt()[1] == 0, process.output


def test_a_middleware_that_never_ends_does_not_keep_the_process(begin, tmp_path):
    process = begin("hanging", **{LAUNCH_VARIABLE: str(os.getpid())})
    wait_until(lambda: "works" in process.output, 30, lambda: process.output)
    began = time.monotonic()
    process.popen.send_signal(signal.SIGINT)
    assert process.popen.wait(10) == 1
    assert time.monotonic() - began < 5.0  # destroying it takes 60 s
    assert "destroy_node" in process.output and stored(tmp_path) == ["endings:storing.json"]


@pytest.mark.parametrize("others", [(), ("steady",)], ids=["alone", "one of several"])
def test_a_failed_node_whose_middleware_never_ends_names_its_defect_and_ends_the_process(begin, others):
    process = begin(*others, "failing_hanging")
    wait_until(lambda: "a defect of this node" in process.output, 30, lambda: process.output)
    began = time.monotonic()
    assert process.popen.wait(10) == 1
    assert time.monotonic() - began < 5.0
    assert process.output.index("a defect of this node") < process.output.index("in destroy_node")


def test_a_device_that_cannot_be_closed_keeps_no_other_one_open(begin, tmp_path):
    process = begin("unclosable", "steady")
    wait_until(lambda: "works" in process.output, 30, lambda: process.output)
    assert process.interrupt()[1] == 1 and "ZeroDivisionError" in process.output
    assert "its other device is closed" in process.output and "steady is closed" in process.output
    assert stored(tmp_path) == []  # its state is forgotten, too: it will not be restarted


def test_what_a_node_has_started_is_ended_where_its_constructor_fails(begin, tmp_path):
    process = begin("steady", "unfinished")
    assert process.popen.wait(30) == 1 and "a defect of the constructor" in process.output
    assert "steady is closed" in process.output and not list(tmp_path.rglob("*.sock"))


def test_of_several_nodes_one_that_fails_is_made_anew_and_the_others_go_on(begin, probe):
    ticks, defect = probe.hear(String, "ticks", NEWEST), "node failed, restarting"
    process = begin("steady", "failing")
    wait_until(lambda: process.output.count(defect) >= 2 and ticks, 30, lambda: process.output)
    assert "found None" in process.output and "found {'stopped': True}" in process.output

    def attempt():
        """While it is made anew, after a pause of a second, the ticks go on."""
        failures, first = process.output.count(defect), len(ticks)
        wait_until(lambda: process.output.count(defect) > failures and len(ticks) > first + 15, 30, "it fails again")
        times = [at for at, _ in ticks[first:]]
        assert max(b - a for a, b in zip(times, times[1:], strict=False)) < 1.0

    on_a_free_machine(attempt)
    numbers = [int(message.data) for _, message in list(ticks)]
    assert numbers == sorted(numbers)  # steady was not started again
    assert process.interrupt()[1] == 0


INVERSE = """
import sys, types
from hexapod_dynamics.ros import start

def measure():
    import os
    import numpy as np
    np.linalg.inv(np.eye(300) + 0.01)
    print(len(os.listdir('/proc/self/task')), flush=True)
    os._exit(0)

sys.modules['hexapod_dynamics.nodes.probe'] = types.SimpleNamespace(Probe=None)
sys.modules['hexapod_dynamics.ros.running'] = types.SimpleNamespace(run_together=lambda classes, args: measure())
start.NODES['probe'] = 'Probe'
start._make_entry('probe', ['probe'])()
"""


def threads_of_an_inverse(**environment):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    ended = python("-c", INVERSE, check=True, env=clean | environment)
    return int(ended.stdout)


def test_the_matrix_library_of_a_node_has_no_threads_of_its_own():
    if threads_of_an_inverse(OPENBLAS_NUM_THREADS="2", MKL_NUM_THREADS="2", OMP_NUM_THREADS="2") == 1:
        pytest.skip("this numpy's matrix library has no threads")
    assert threads_of_an_inverse() == 1


def test_a_topic_whose_type_is_not_installed_does_not_end_the_recording_of_all(monkeypatch, capsys):
    bag = pytest.importorskip("ros2_tools.cli.bag")
    topics = [("/odd", ["no_such_package/msg/Odd"]), ("/text", ["std_msgs/msg/String"])]
    monkeypatch.setattr(bag, "found_names", lambda *_, **__: topics)
    monkeypatch.setattr(bag, "fitting_profile", lambda _: SimpleNamespace(depth=1))
    monkeypatch.setattr(bag, "_stored", lambda _: None)
    begun = []
    node = SimpleNamespace(
        get_publishers_info_by_topic=lambda topic: [topic],
        create_subscription=lambda kind, topic, *_, **__: begun.append(topic),
    )
    recorder = bag.Recorder(node, SimpleNamespace(add_connection=lambda *_, **__: None), None)
    recorder.look()
    recorder.look()
    assert begun == ["/text"] and capsys.readouterr().err.count("no_such_package/msg/Odd is not installed") == 1
