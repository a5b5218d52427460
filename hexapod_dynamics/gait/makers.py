"""Makes gaits from the parameters of the node `gait`; gait_kinds.py names these functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hexapod_dynamics.gait import AdaptiveGait, Gait, TripodGait
from hexapod_dynamics.gait_kinds import GaitValue

TRIPOD_PERIOD = 1.3


def adaptive(kind: str, values: Mapping[str, GaitValue]) -> Gait:
    """Return the AdaptiveGait, with `kind` as its pattern."""
    from hexapod_dynamics.gait.planning.background import BackgroundPlanner, PlanWorker

    return AdaptiveGait(
        step_height=float(values["step_height"]),
        body_height=float(values["body_height"]),
        period=float(values["period"]) or None,
        acceleration=float(values["acceleration"]),
        turning=float(values["turning"]),
        weighing_sway=float(values["weighing_sway"]),
        yaw_hold=bool(values["yaw_hold"]),
        plans=str(values["plans"]) or None,
        pattern=kind,
        planner=BackgroundPlanner(),
        worker=PlanWorker(),
    )


def tripod(kind: str, values: Mapping[str, GaitValue]) -> Gait:
    """Return the TripodGait."""
    return TripodGait(**_tripod_arguments(values))


def optimal(kind: str, values: Mapping[str, GaitValue]) -> Gait:
    """Return the OptimalGait, whose swings are planned in a background process."""
    from hexapod_dynamics.gait.optimal import BackgroundSwingPlanner, OptimalGait

    return OptimalGait(planner=BackgroundSwingPlanner(), **_tripod_arguments(values))


def _tripod_arguments(values: Mapping[str, GaitValue]) -> dict[str, Any]:
    names = ("step_length", "step_height", "step_depth", "body_height", "response_time")
    return {name: float(values[name]) for name in names} | {"period": float(values["period"]) or TRIPOD_PERIOD}
