"""Parameters of the node `servos`."""

from __future__ import annotations

from hexapod_dynamics.control.posture import SIT_POSE, SupplyLimits
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.interface import DEFAULT_PROTOCOL, PROTOCOLS, PortSettings
from hexapod_dynamics.drivers.servos.supervisor import SupervisorSettings
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD, GUARD
from hexapod_dynamics.parameters.spec import ParameterSpec, in_file, make_specs

_MODELS = (
    "model of the servos, where the protocol has several (dynamixel: ax12, mx_protocol1, mx, xm, xl330; feetech: "
    "sts3215); empty: the first"
)
_INTERFACES = (
    "with protocol topics: what the driver of the joints takes: joint_commands (JointState), commands "
    "(Float64MultiArray, in the robot's order of joints), joint_trajectory (JointTrajectory)"
)
_DIRECTION = "what switches between sending and receiving: adapter, or gpio (two pins of a Jetson)"
PORT_PARAMETERS = (
    ParameterSpec("port", "", "serial port, best a stable path; empty: the simulator's"),
    ParameterSpec("protocol", DEFAULT_PROTOCOL, "what the servos speak", choices=tuple(PROTOCOLS)),
    ParameterSpec("servo_model", PortSettings.model, _MODELS),
    ParameterSpec(
        "command_interface", "joint_commands", _INTERFACES, choices=("joint_commands", "commands", "joint_trajectory")
    ),
    *make_specs(PortSettings, baudrate=("bits a second", 9600, 4500000)),
    ParameterSpec("direction", PortSettings.direction, _DIRECTION, choices=("adapter", "gpio")),
    *make_specs(
        PortSettings,
        transmit_pin=("BCM number of the pin that enables sending", 0, 64),
        receive_pin=("BCM number of the pin that enables listening", 0, 64),
    ),
    in_file(
        "reply_timeout",
        PortSettings.reply_timeout,
        "time to wait for an answer after a request [s]",
        0.001,
        0.1,
        file_value=0.015,
        file_reason="simulated servos may answer late, real ones within 6 ms",
    ),
)
_SHUTDOWN = "when the node ends: hold the pose, or release (torque off)"
CONTROL_PARAMETERS = (
    *make_specs(SupervisorSettings, in_file, command_timeout=("commands older than this: hold [s]", 0.05, 5.0)),
    ParameterSpec("rate", 50.0, "joint_states a second", 1.0, 200.0),
    ParameterSpec("stale_age", 1.0, "a joint measured longer ago is left out of joint_states [s]", 0.1, 10.0),
    in_file("on_shutdown", "hold", _SHUTDOWN, choices=("hold", "release")),
    ParameterSpec("use_feedforward", True, "shift set-points by feed-forward torque over stiffness"),
    *make_specs(
        ChainSettings,
        position_rate=("position reads a second of each joint, at most", 1.0, 100.0),
        slow_interval=("between reads of voltage, temperature or load state [s]", 0.02, 10.0),
    ),
)
_LOW = f"supply voltage below which, after {SupplyLimits.patience:g} s,"
_RELEASE = "torque is switched off [V]; below 9 V LX servos switch it off themselves"
_SIT_POSE = (
    "joint angles of each leg, from the body outward, when the belly is on the ground [rad]; further joints hold"
)
POSTURE_PARAMETERS = (
    in_file("warn_voltage", SupplyLimits.warn, f"{_LOW} the node warns [V]", 0.0, 14.0),
    in_file("sit_voltage", SupplyLimits.sit, f"{_LOW} the robot sits down, then torque is switched off [V]", 0.0, 14.0),
    in_file("release_voltage", SupplyLimits.release, f"{_LOW} {_RELEASE}", 0.0, 14.0),
    *make_specs(
        SupervisorSettings, sit_speed=("speed of the joint with the longest way when sitting down [rad/s]", 0.05, 2.0)
    ),
    in_file("sit_pose", list(SIT_POSE), _SIT_POSE),
)
_PAD = "index of the game pad's button, in `buttons` of the topic joy, that is an emergency stop; -1: none"
_PIN = "BCM number of the Jetson's pin with a button that is an emergency stop; -1: none"
_KEY = "number of the key of an STM32 board (protocol board) that is an emergency stop; -1: none"
STOP_PARAMETERS = (
    ParameterSpec("stop_joy_button", 1, _PAD, -1, 63),
    ParameterSpec("stop_button_pin", -1, _PIN, -1, 64),
    ParameterSpec("stop_board_button", 1, _KEY, -1, 8),
    ParameterSpec("stop_button_level", "low", "level of that pin while the button is pressed", choices=("low", "high")),
)
PARAMETERS = (COMMAND_PERIOD, *GUARD, *PORT_PARAMETERS, *CONTROL_PARAMETERS, *POSTURE_PARAMETERS, *STOP_PARAMETERS)
