"""The node gait without a plan for the legs that are left: it sits, says that one is being made, then walks by it."""

import os
from pathlib import Path

import numpy as np
from support.ros_session import LATCHED, Process, parameters_of, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.robot import Morphology, Robot
from rcl_interfaces.msg import ParameterEvent
from sensor_msgs.msg import JointState

FILE = Path(__file__).parents[1] / "robots" / "quadruped.yaml"


def test_it_sits_while_the_plan_is_made_and_then_walks_at_its_velocity(probe):
    states = probe.hear(DiagnosticStatus, "gait_state", LATCHED)
    commands = probe.hear(JointState, "joint_commands", keep=500)
    given = {"robot": FILE, "velocity": 0.04, "session": f"missing_plan{os.getpid()}"}
    with Process.node("gait", *(word for name, value in given.items() for word in ("-p", f"{name}:={value}"))) as gait:
        wait_until(lambda: any("made in the background" in m.message for _, m in states), 120, lambda: gait.output)
        assert states[-1][1].message.startswith("sitting: no plan for the robot")
        # On three legs it rows; that plan is made in seconds.
        lost = Morphology.whole(Robot.load(FILE)).without("FL").parameters()
        event = ParameterEvent(node="/test", new_parameters=parameters_of(lost))
        publisher = probe.node.create_publisher(ParameterEvent, "morphology", LATCHED)
        publisher.publish(event)
        wait_until(lambda: any("without FL" in m.message for _, m in states), 20, lambda: str(states[-1]))
        wait_until(lambda: states[-1][1].message.startswith("walking"), 120, lambda: str(states[-1]) + gait.output)
        wait_until(lambda: np.abs(commands[-1][1].velocity).max() > 0.1, 10, "legs move")
        assert len(commands[-1][1].name) == 9 and "Traceback" not in gait.output
        forward = {v.key: v.value for v in states[-1][1].values}["followed"]
        assert forward.startswith("0.040"), forward
