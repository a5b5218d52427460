"""The kinds of gait, and the bounds of their settings: for the gaits, the node `gait` and the launch file.

It imports no gait, because the launch only needs the list of choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from hexapod_dynamics.errors import HexapodError

if TYPE_CHECKING:
    from hexapod_dynamics.gait.interface import Gait

# Key of `Gait.report`, while the body sways for weighing: period of the steps, which the commands no longer show.
SWAYS = "period of the steps under the sway for weighing [s]"


class GaitKind(NamedTuple):
    """A kind of gait.

    text: description. maker: "module:function" that returns a Gait from its kind and the values of the node's
    parameters. adaptive: whether it is a pattern of AdaptiveGait: then the settings LIVE and the choice among
    these kinds can change while the robot walks.
    """

    text: str
    maker: str
    adaptive: bool = False


class Bounds(NamedTuple):
    """Lowest and highest value of a setting, and its unit."""

    low: float
    high: float
    unit: str


KINDS = {
    "auto": GaitKind("walks with whatever legs are left", "hexapod_dynamics.gait.adaptive:make", adaptive=True),
    "tripod": GaitKind("textbook gait", "hexapod_dynamics.gait.tripod:make"),
    "ripple": GaitKind("textbook gait", "hexapod_dynamics.gait.adaptive:make", adaptive=True),
    "wave": GaitKind("textbook gait", "hexapod_dynamics.gait.adaptive:make", adaptive=True),
    "optimal": GaitKind(
        "tripod with swings of least effort within the servos' limits", "hexapod_dynamics.papers.optimal_gait:make"
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
# Values of the settings by default, as `make` takes them.
DEFAULTS: dict[str, GaitValue] = {
    "step_height": 0.02,
    "body_height": 0.12,
    "period": 0.0,
    "yaw_hold": True,
    "acceleration": 0.25,
    "turning": 1.0,
    "weighing_sway": 0.0,
    "step_length": 0.05,
    "step_depth": 0.0001,
    "response_time": 0.2,
    "plans": "",
}


def make(kind: str, values: Mapping[str, GaitValue]) -> Gait:
    """Return the gait of a kind with the values of the node's parameters; HexapodError names an unknown kind."""
    if kind not in KINDS:
        raise HexapodError(f"parameter gait is {kind!r}: allowed are {', '.join(KINDS)}")
    module, _, function = KINDS[kind].maker.partition(":")
    maker: Callable[[str, Mapping[str, GaitValue]], Gait] = getattr(import_module(module), function)
    return maker(kind, values)
