"""What a node cannot start with (parameters of a wrong type or range, a missing package) is named in one line, once."""

import pytest
from support.ros_session import Process, separate, wait_until


@pytest.fixture(scope="module", autouse=True)
def domain():
    separate()


@pytest.mark.parametrize(
    "node, given, words",
    [
        ("gait", "rate:=50", ("parameter rate", "from 10.0 to 100.0", "decimal point")),
        ("gait", "gait:=gallop", ("parameter gait is 'gallop'", "tripod")),
        ("damage_manager", "use_sim_time:=true", ("use_sim_time is true", "leave it false")),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_of_the_node(node, given, words):
    process = Process.node(node, "-p", given, "-r", "__ns:=/left")
    try:
        wait_until(lambda: not process.running(), 60, lambda: process.output)
        (line,) = [line for line in process.output.splitlines() if "FATAL" in line]
        assert f"[left.{node}]" in line
        assert all(word in line for word in words), line
        assert "Traceback" not in process.output and process.popen.returncode == 1
    finally:
        process.end()
