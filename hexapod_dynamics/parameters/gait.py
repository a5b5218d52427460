"""Parameters of the node `gait`."""

from __future__ import annotations

from hexapod_dynamics.gait.adaptive_settings import LIVE, RANGES
from hexapod_dynamics.parameters.kinds import GAITS
from hexapod_dynamics.parameters.spec import ParameterSpec, Value

ADAPTIVE = ("auto", "ripple", "wave")
_RANGES = {name: (low, high) for name, (low, high, _) in RANGES.items()}


def _setting(
    name: str, default: Value, description: str, low: float | None = None, high: float | None = None
) -> ParameterSpec:
    return ParameterSpec(name, default, description, low, high, read_only=False, in_file=True)


GAIT = ParameterSpec("gait", "auto", f"gait: {', '.join(GAITS)}", choices=GAITS, read_only=False)
SETTINGS = (
    _setting("step_height", 0.02, "lift of the swinging foot [m]", *_RANGES["step_height"]),
    _setting("body_height", 0.12, "height of the hips over the feet [m]", *_RANGES["body_height"]),
    _setting("period", 0.0, "time of a whole cycle [s]; 0: as the gait chooses", 0.0, 10.0),
    _setting("yaw_hold", True, "gait auto: keeps the heading by the IMU's yaw"),
    _setting("acceleration", 0.25, "limit of the body's acceleration, gaits auto, ripple, wave [m/s^2]", 0.01, 5.0),
    _setting(
        "turning", 1.0, "limit of the body's angular acceleration, gaits auto, ripple, wave [rad/s^2]", 0.05, 20.0
    ),
    _setting("step_length", 0.05, "gaits tripod and optimal: stroke of a foot at the nominal speed [m]", 0.0, 0.2),
    _setting(
        "step_depth", 0.0001, "gaits tripod and optimal: how far standing feet push into the ground [m]", 0.0, 0.02
    ),
    _setting("response_time", 0.2, "gaits tripod and optimal: how softly speed follows a command [s]", 0.01, 5.0),
    ParameterSpec("plans", "", "gait auto: library of plans; empty: that of the package"),
)
COMMANDS = (
    ParameterSpec(
        "cmd_vel_timeout", 1.0, "a cmd_vel older than this stops the walk [s]", low=0.1, high=60.0, in_file=True
    ),
    ParameterSpec("velocity", 0.0, "forward speed [m/s] until the first cmd_vel", low=-1.0, high=1.0),
    ParameterSpec(
        "wait_for",
        [""],
        "topics that must have a publisher before the walk with `velocity` starts, "
        "so that the prediction starts with the robot at rest",
        in_file=True,
        file_value=["joint_states", "predicted_state"],
        file_reason="a launch starts `servos` and `dynamics`, too",
    ),
)
GET_UP = (
    ParameterSpec(
        "get_up",
        "asked",
        "after a fall: asked (service get_up) or automatic (2 s after it lies still)",
        choices=("asked", "automatic"),
    ),
    ParameterSpec(
        "get_up_speed", 2.0, "largest speed of a joint while the robot gets up [rad/s]", low=0.5, high=5.0, in_file=True
    ),
)
PARAMETERS = (GAIT, *SETTINGS, *COMMANDS, *GET_UP)
NOTE = (
    f"While `gait` is {', '.join(ADAPTIVE[:-1])} or {ADAPTIVE[-1]}, {', '.join(LIVE)} and the choice among these gaits "
    "can change at any time, also while the robot walks; the others are set at the start. Every other change needs a "
    "robot that stands."
)
