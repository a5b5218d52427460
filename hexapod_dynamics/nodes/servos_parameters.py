"""The parameters of the node `servos`: declared with their ranges, checked, and grouped by the classes that use
them.
"""

from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.device_paths import SERVO_BUS, device_directory
from hexapod_dynamics.drivers.servos import lx_frames
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.line_direction import AdapterDirection, GpioDirection
from hexapod_dynamics.drivers.servos.servo_bus import BusError, ServoBus
from hexapod_dynamics.drivers.servos.servo_supervisor import SupervisorSettings
from hexapod_dynamics.drivers.simulated_port import proved_device
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.nodes.common import declare
from hexapod_dynamics.nodes.shared_parameters import declare_command_period, declare_guard


@dataclass
class ServosParameters:
    """Settings of the node. rate [1/s]: of joint_states; stale [s]: joints measured longer ago are left out of
    joint_states.
    """

    bus: ServoBus
    chain: ChainSettings
    guard: GuardSettings
    control: SupervisorSettings
    rate: float
    stale: float
    use_feedforward: bool
    release_on_shutdown: bool


def declare_parameters(node, robot) -> ServosParameters:
    """Declare all parameters of the node `servos` for a robot; raises DeviceError for values that cannot be.

    The parameter `session` has been declared (crash_recovery.SessionState).
    """

    def number(name, default, text, low, high):
        return declare(node, name, default, text, low=low, high=high, read_only=True)

    def choice(name, default, text, other):
        value = declare(node, name, default, text, read_only=True)
        if value not in (default, other):
            raise DeviceError(f"parameter {name} is {value!r}: allowed is {default} or {other}")
        return value

    port = declare(node, "port", "", "serial port, best a stable path; empty: the simulator's", read_only=True)
    simulated = not port
    port = port or str(device_directory(node.get_namespace()) / SERVO_BUS)
    baudrate = number("baudrate", lx_frames.DEFAULT_BAUDRATE, "bits a second", 9600, 1000000)
    direction = choice(
        "direction",
        "adapter",
        "what switches between sending and receiving: adapter, or gpio (two pins of a Jetson)",
        "gpio",
    )
    pins = (
        number("transmit_pin", 27, "BCM number of the pin that enables sending", 0, 64),
        number("receive_pin", 17, "BCM number of the pin that enables listening", 0, 64),
    )
    reply_timeout = number("reply_timeout", 0.006, "time to wait for an answer after a request [s]", 0.001, 0.1)
    period = declare_command_period(node)
    command_timeout = number("command_timeout", 0.3, "commands older than this: hold [s]", 0.05, 5.0)
    rate = number("rate", 50.0, "joint_states a second", 1.0, 200.0)
    stale = number("stale_age", 1.0, "a joint measured longer ago is left out of joint_states [s]", 0.1, 10.0)
    on_shutdown = choice("on_shutdown", "hold", "when the node ends: hold the pose, or release (torque off)", "release")
    guard = declare_guard(node, robot)
    use_feedforward = declare(
        node, "use_feedforward", True, "shift set-points by feed-forward torque over stiffness", read_only=True
    )
    chain = ChainSettings(
        position_rate=number("position_rate", 20.0, "position reads a second of each joint, at most", 1.0, 100.0),
        slow_interval=number(
            "slow_interval", 0.2, "between reads of voltage, temperature or load state [s]", 0.02, 10.0
        ),
    )
    supply = SupplyLimits(
        warn=number("warn_voltage", 10.2, "supply below this: warn [V]", 0.0, 14.0),
        sit=number("sit_voltage", 9.6, "supply below this: sit down [V]", 0.0, 14.0),
        release=number("release_voltage", 9.1, "supply below this: torque off [V]", 0.0, 14.0),
    )
    sit_speed = number("sit_speed", 0.6, "speed of the joint with the longest way when sitting down [rad/s]", 0.05, 2.0)
    sit_pose = declare(
        node,
        "sit_pose",
        [0.0, 1.2, -0.45],
        "joint angles of each leg, from the body outward, when the belly is on the ground [rad]; further joints hold",
        read_only=True,
    )
    control = SupervisorSettings(seated_pose(robot, sit_pose), period, command_timeout, sit_speed, supply)
    prove = _proof(port, node.get_parameter("session").value) if simulated else None
    # The pins come last: no hardware is touched before every parameter has been accepted.
    lines = GpioDirection(*pins) if direction == "gpio" else AdapterDirection()
    return ServosParameters(
        ServoBus(port, baudrate, lines, reply_timeout, prove=prove),
        chain,
        guard,
        control,
        rate,
        stale,
        use_feedforward,
        on_shutdown == "release",
    )


def _proof(link, session):
    """The proof that the simulated port is that of this launch's own simulator, see ServoBus."""

    def prove():
        try:
            return proved_device(link, session)
        except DeviceError as error:
            raise BusError(str(error)) from error

    return prove


def seated_pose(robot, leg_pose) -> np.ndarray:
    """Give each leg the same angles [rad] from the body outward; NaN (leave alone) for further joints."""
    pose = []
    for leg in robot.legs:
        for joint, angle in zip(leg.joints, leg_pose, strict=False):
            if not joint.lower <= angle <= joint.upper:
                raise DeviceError(
                    f"parameter sit_pose: {angle} rad is outside {joint.name}'s limits {joint.lower}..{joint.upper}"
                )
            pose.append(angle)
        pose += [float("nan")] * (len(leg.joints) - len(leg_pose))
    return np.array(pose)
