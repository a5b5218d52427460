"""The parameters of the node `servos`: declared (`parameters.servos`), checked, and grouped by the classes that use
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.device_paths import SERVO_BUS, device_directory
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings, ServoInterface, make_servos
from hexapod_dynamics.drivers.servos.supervisor import SupervisorSettings
from hexapod_dynamics.drivers.simulated_port import proved_device
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.nodes.shared_parameters import declare_guard
from hexapod_dynamics.onboard.servos import seated_pose
from hexapod_dynamics.parameters import servos
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.ros.node_functions import declare, declare_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from hexapod_dynamics.parameters.spec import Value
    from hexapod_dynamics.robot import Robot
    from rclpy.node import Node


@dataclass
class ServosParameters:
    """Settings of the node, grouped by the classes that use them; values: all of them, by the parameters' names."""

    values: dict[str, Value]
    servos: ServoInterface
    servo_map: ServoMap
    chain: ChainSettings
    guard: GuardSettings
    control: SupervisorSettings


def declare_parameters(node: Node, robot: Robot) -> ServosParameters:
    """Declare all parameters of the node `servos` for a robot.

    The parameter `session` has been declared (crash_recovery.SessionState). Raises ParameterError for a value that
    the list of parameters refuses, DeviceError for one that is impossible with this robot or this machine.
    """
    values = declare_all(node, servos.PARAMETERS)
    period = declare(node, COMMAND_PERIOD)
    guard = declare_guard(node, robot)
    topics = values["protocol"] == "topics"
    simulated = not (values["port"] or topics)
    port = "joint_states" if topics else values["port"] or str(device_directory(node.get_namespace()) / SERVO_BUS)
    chain = ChainSettings(position_rate=values["position_rate"], slow_interval=values["slow_interval"])
    supply = SupplyLimits(warn=values["warn_voltage"], sit=values["sit_voltage"], release=values["release_voltage"])
    control = SupervisorSettings(
        seated_pose(robot, values["sit_pose"]), period, values["command_timeout"], values["sit_speed"], supply
    )
    prove = _proof(port, node.get_parameter("session").value) if simulated else None
    lines = {name: values[name] for name in ("baudrate", "direction", "transmit_pin", "receive_pin", "reply_timeout")}
    servo_map = ServoMap.of_joints(robot.joint_names) if topics else ServoMap.from_robot(robot)
    # The servos are last: no hardware is accessed before every parameter has been accepted.
    settings = PortSettings(port, **lines, prove=prove, model=values["servo_model"])
    bus = make_servos(settings, servo_map.ids, values["protocol"])
    return ServosParameters(values, bus, servo_map, chain, guard, control)


def _proof(link: str, session: str) -> Callable[[], str]:
    """The proof that the simulated port is that of this launch's own simulator, see PortSettings."""

    def prove() -> str:
        try:
            return proved_device(link, session)
        except DeviceError as error:
            raise BusError(str(error)) from error

    return prove
