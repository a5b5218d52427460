"""Simulated time is refused in one line while a node runs, and nothing else of the request is done."""

import pytest
from support.ros_session import Probe, Process, separate, wait_until

from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter


@pytest.fixture(scope="module", autouse=True)
def alone():
    separate()


def test_simulated_time_is_refused_while_a_node_runs_and_nothing_else_of_the_request_is_done():
    process, probe = Process.node("damage_manager"), Probe()
    service = "damage_manager/set_parameters_atomically"
    try:
        request = SetParametersAtomically.Request()
        request.parameters = [
            Parameter(key, value=value).to_parameter_msg()
            for key, value in (("use_sim_time", True), ("legs.RM", False))
        ]
        result = probe.call(SetParametersAtomically, service, request, 60).result
        assert not result.successful and "use_sim_time" in result.reason and "\n" not in result.reason
        request.parameters = [Parameter("use_sim_time", value=False).to_parameter_msg()]
        probe.call(SetParametersAtomically, service, request)
        assert probe.set("set_morphology", {"legs.LM": False})[0]
        heard = probe.morphology()
        wait_until(lambda: heard() and heard()["legs.LM"] is False, 10, lambda: process.output)
        assert heard()["legs.RM"] is True
        assert process.running() and "Traceback" not in process.output, process.output
    finally:
        process.end()
        probe.close()
