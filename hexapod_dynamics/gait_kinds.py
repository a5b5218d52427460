"""The kinds of gait, their settings and the bounds of these: for the gaits, the node `gait` and the launch file.

It imports no gait, because the launch only needs the list of choices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from hexapod_dynamics.errors import HexapodError

if TYPE_CHECKING:
    from hexapod_dynamics.gait.interface import Gait

# Key of `Gait.report`, while the body sways for weighing: period of the steps, which the commands no longer show.
SWAY_PERIOD = "period of the steps under the sway for weighing [s]"


class GaitKind(NamedTuple):
    """A kind of gait.

    text: description. module: its `make_gait` returns a Gait from its kind and the values of the node's parameters. It
    is imported when such a gait is made. adaptive: whether it is a pattern of AdaptiveGait: then the settings LIVE and
    the choice among these kinds can change while the robot walks.
    """

    text: str
    module: str
    adaptive: bool = False


class Bounds(NamedTuple):
    """Lowest and highest value of a setting, and its unit."""

    low: float
    high: float
    unit: str


KINDS = {
    "auto": GaitKind("walks with whatever legs are left", "hexapod_dynamics.gait.adaptive", adaptive=True),
    "tripod": GaitKind("textbook gait", "hexapod_dynamics.gait.tripod"),
    "ripple": GaitKind("textbook gait", "hexapod_dynamics.gait.adaptive", adaptive=True),
    "wave": GaitKind("textbook gait", "hexapod_dynamics.gait.adaptive", adaptive=True),
    "optimal": GaitKind(
        "tripod with swings of least effort within the servos' limits", "hexapod_dynamics.papers.optimal_gait"
    ),
}
GAITS = tuple(KINDS)
ADAPTIVE = tuple(name for name, kind in KINDS.items() if kind.adaptive)
BOUNDS = {
    "step_height": Bounds(0.0, 0.06, "m"),
    "body_height": Bounds(0.03, 0.3, "m"),
    "period": Bounds(0.3, 10.0, "s"),
    "acceleration": Bounds(0.01, 5.0, "m/s^2"),
    "turning": Bounds(0.05, 20.0, "rad/s^2"),
    "weighing_sway": Bounds(0.0, 0.005, "m"),
    "tilt_limit": Bounds(0.0, 1.0, "rad"),
    "step_length": Bounds(0.0, 0.2, "m"),
    "step_depth": Bounds(0.0, 0.02, "m"),
    "response_time": Bounds(0.01, 5.0, "s"),
}
GaitValue = bool | float | str  # of a setting
# Settings that can change while the robot walks.
LIVE = ("step_height", "body_height", "period", "yaw_hold", "acceleration", "turning", "weighing_sway")


class SettingValues(TypedDict, total=False):
    """Keywords of `AdaptiveGait`: the fields of AdaptiveSettings."""

    step_height: float
    body_height: float | None
    period: float | None
    acceleration: float
    turning: float
    yaw_hold: bool
    tilt_limit: float
    pattern: str
    weighing_sway: float


@dataclass(frozen=True)
class AdaptiveSettings:
    """Settings of `AdaptiveGait`; HexapodError names a value out of its range.

    step_height [m]: lift of a swinging foot. body_height [m]: height of base_link over the ground; None: that of the
    plan. period [s]: of the cycle; None: the plan's, shorter for fast commands. acceleration [m/s^2] and turning
    [rad/s^2] limit how the twist follows a command. yaw_hold: corrects the heading by the yaw given to `sense`.
    tilt_limit [rad]: a body tilted further sits down without waiting for a diagnosis; 0: never. pattern: "auto", or
    "wave" or "ripple": these gaits on the legs that are left, without a plan and its sway. weighing_sway [m]: sway of
    the walking body while a load is weighed (terrain.py).
    """

    step_height: float = 0.02
    body_height: float | None = None
    period: float | None = None
    acceleration: float = 0.25
    turning: float = 1.0
    yaw_hold: bool = True
    tilt_limit: float = math.radians(8.0)
    pattern: str = "auto"
    weighing_sway: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name not in BOUNDS or (value is None and name in ("body_height", "period")):
                continue
            low, high, unit = BOUNDS[name]
            if not (isinstance(value, (int, float)) and low <= value <= high):
                raise HexapodError(f"{name}: given {value!r}, allowed are {low} to {high} {unit}")
        if self.pattern not in ADAPTIVE:
            raise HexapodError(f"pattern: given {self.pattern!r}, allowed are {', '.join(ADAPTIVE)}")


# Values of the settings by default, as `make_gait` takes them.
DEFAULTS: dict[str, GaitValue] = {name: getattr(AdaptiveSettings, name) for name in LIVE} | {
    "body_height": 0.12,
    "period": 0.0,
    "step_length": 0.05,
    "step_depth": 0.0001,
    "response_time": 0.2,
    "plans": "",
}


def make_gait(kind: str, values: Mapping[str, GaitValue]) -> Gait:
    """Return the gait of a kind with the values of the node's parameters, those of DEFAULTS where there is none.

    HexapodError names an unknown kind, and a value that is none.
    """
    if kind not in tuple(KINDS):
        raise HexapodError(f"parameter gait is {kind!r}: allowed are {', '.join(KINDS)}")
    made: Gait = import_module(KINDS[kind].module).make_gait(kind, DEFAULTS | dict(values))
    return made
