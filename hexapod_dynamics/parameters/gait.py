"""Parameters of the node `gait`."""

from __future__ import annotations

from hexapod_dynamics.gait_kinds import ADAPTIVE, BOUNDS, DEFAULTS, GAITS, LIVE
from hexapod_dynamics.onboard.gait_control import GaitControlSettings
from hexapod_dynamics.onboard.getting_up import AUTOMATIC
from hexapod_dynamics.parameters.spec import ParameterSpec, in_file, make_specs

_OF_ADAPTIVE = f"gaits {', '.join(ADAPTIVE)}"


def _make_setting(name: str, description: str, low: float | None = None) -> ParameterSpec:
    """Return the parameter of a setting with the bounds of BOUNDS; low: a lower bound instead, a value with which
    the gait chooses.
    """
    lowest, highest, unit = BOUNDS.get(name, (None, None, ""))
    text = f"{description} [{unit}]" if unit else description
    return in_file(name, DEFAULTS[name], text, lowest if low is None else low, highest, read_only=False)


_PLANS = "gait auto: library of plans; empty: plans_NAME.yaml beside the robot's file, else that of the package"
GAIT = ParameterSpec("gait", "auto", f"gait: {', '.join(GAITS)}", choices=GAITS, read_only=False)
SETTINGS = (
    _make_setting("step_height", "lift of the swinging foot"),
    _make_setting("body_height", "height of the hips over the feet"),
    _make_setting("period", "time of a whole cycle, from 0.3; 0: as the gait chooses", 0.0),
    _make_setting("yaw_hold", f"keeps the heading by IMU, {_OF_ADAPTIVE}"),
    _make_setting("acceleration", f"limit of the body's acceleration, {_OF_ADAPTIVE}"),
    _make_setting("turning", f"limit of the body's angular acceleration, {_OF_ADAPTIVE}"),
    _make_setting("weighing_sway", f"sway of the body while a load is weighed (docs/identify.md), {_OF_ADAPTIVE}"),
    _make_setting("step_length", "gaits tripod and optimal: stroke of a foot at the nominal speed"),
    _make_setting("step_depth", "gaits tripod and optimal: how far standing feet push into the ground"),
    _make_setting("response_time", "gaits tripod and optimal: how softly speed follows a command"),
    ParameterSpec("plans", "", _PLANS),
)
_WAIT_FOR = (
    "topics that must have a publisher before the walk with `velocity` starts, so that the prediction starts with the "
    "robot at rest"
)
_OLDEST = "a cmd_vel older than this stops the walk [s]"
COMMANDS = (
    *make_specs(GaitControlSettings, in_file, cmd_vel_timeout=(_OLDEST, 0.1, 60.0)),
    *make_specs(GaitControlSettings, velocity=("forward speed [m/s] until the first cmd_vel", -1.0, 1.0)),
    in_file(
        "wait_for",
        [""],
        _WAIT_FOR,
        file_value=["joint_states", "predicted_state"],
        file_reason="a launch starts `servos` and `dynamics`, too",
    ),
)
_BRACE = "a walking robot that is pushed lies down at once, legs wide, then walks on"
BRACE = ParameterSpec("brace", GaitControlSettings.brace, _BRACE)
_GET_UP = "after a fall: asked (service get_up) or automatic (2 s after it lies still)"
GET_UP = (
    ParameterSpec("get_up", GaitControlSettings.get_up, _GET_UP, choices=("asked", AUTOMATIC)),
    *make_specs(
        GaitControlSettings,
        in_file,
        get_up_speed=("largest speed of a joint while the robot gets up [rad/s]", 0.5, 5.0),
    ),
)
PARAMETERS = (GAIT, *SETTINGS, *COMMANDS, *GET_UP, BRACE)
NOTE = (
    f"While `gait` is {', '.join(ADAPTIVE[:-1])} or {ADAPTIVE[-1]}, {', '.join(LIVE)} and the choice among these gaits "
    "can change at any time, also while the robot walks; the others are set at the start. Every other change needs a "
    "robot that stands."
)
