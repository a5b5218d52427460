"""Nodes that share a process: one that is refused takes no other along, and all end cleanly."""

from support.ros_session import LATCHED, Process, wait_until

from std_msgs.msg import String


def test_a_node_with_a_wrong_parameter_is_named_and_the_others_run(probe):
    description = probe.hear(String, "robot_description", LATCHED)
    with Process.node("companions", "-p", "damage_detector:declare:=7.0") as process:
        wait_until(lambda: description, 120, lambda: process.output)
        wait_until(lambda: "| missing: nothing" in process.output, 30, lambda: process.output)  # the status line
        names = probe.node.get_node_names()
        assert "damage_manager" in names and "damage_detector" not in names
        assert process.output.count("[damage_detector]") == 1 and "parameter declare" in process.output
        took, code = process.interrupt()
        assert code == 0 and took < 3.0 and "Traceback" not in process.output, process.output
