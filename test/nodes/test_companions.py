"""Nodes that share a process: one that is refused takes no other along, and all end cleanly."""

from ros_session import LATCHED, Process, wait_until

from std_msgs.msg import String


def test_a_node_with_a_wrong_parameter_is_named_and_the_others_run(probe):
    description = probe.hear(String, "robot_description", LATCHED)
    process = Process.node("companions", "-p", "damage_detector:declare:=7.0")
    try:
        wait_until(lambda: description, 120, lambda: process.output)
        there = wait_until(
            lambda: {"robot_description", "walk_status", "damage_manager"} <= set(probe.node.get_node_names()),
            30,
            lambda: f"{probe.node.get_node_names()} {process.output}",
        )
        assert there and "damage_detector" not in probe.node.get_node_names()
        assert process.output.count("[damage_detector]") == 1 and "parameter declare" in process.output
        took, code = process.interrupt()
        assert code == 0 and took < 3.0 and "Traceback" not in process.output, process.output
    finally:
        process.end()
