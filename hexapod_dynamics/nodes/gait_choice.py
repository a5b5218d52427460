"""The gaits that the node `gait` can walk with, and how it changes between them."""

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.gait.adaptive_settings import LIVE
from hexapod_dynamics.parameters.gait import ADAPTIVE
from hexapod_dynamics.parameters.kinds import GAITS

TRIPOD_PERIOD = 1.3


def make(kind, values):
    """Return the gait of a kind with the values of the node's parameters; HexapodError names a kind that is unknown."""
    if kind not in GAITS:
        raise HexapodError(f"parameter gait is {kind!r}: allowed are {', '.join(GAITS)}")
    period = values["period"] or None
    if kind in ADAPTIVE:
        from hexapod_dynamics.gait.plan_worker import PlanWorker
        from hexapod_dynamics.gait.planning.background_planner import BackgroundPlanner

        return AdaptiveGait(
            step_height=values["step_height"],
            body_height=values["body_height"],
            period=period,
            acceleration=values["acceleration"],
            turning=values["turning"],
            yaw_hold=values["yaw_hold"],
            plans=values["plans"] or None,
            pattern=kind,
            planner=BackgroundPlanner(),
            worker=PlanWorker(),
        )
    plain = {name: values[name] for name in ("step_length", "step_height", "step_depth", "body_height")}
    plain |= {"period": period or TRIPOD_PERIOD, "response_time": values["response_time"]}
    if kind == "optimal":
        from hexapod_dynamics.gait.optimal import BackgroundSwingPlanner, OptimalGait

        return OptimalGait(planner=BackgroundSwingPlanner(), **plain)
    return TripodGait(**plain)


def change(gait, kind, new_kind, values, new_values):
    """Return the gait to go on with: the same one with new settings, or another led on from where the joints are.

    Raises HexapodError, and nothing has changed then, where settings are impossible or cannot change while it walks.
    """
    if kind in ADAPTIVE and new_kind in ADAPTIVE:
        fixed = [name for name in values if name not in LIVE and values[name] != new_values[name]]
        if fixed:
            raise HexapodError(f"{fixed[0]}: set at start; while gait is {kind} you can set {', '.join(LIVE)}")
        changed = {name: new_values[name] for name in LIVE if values[name] != new_values[name]}
        if changed:
            gait.adjust(**changed)
        if kind != new_kind:
            gait.set_pattern(new_kind)
        return gait
    if gait.walking:
        raise HexapodError("the gait walks: send cmd_vel zero and wait until it stands, then change it")
    other = make(new_kind, new_values).bind(gait.robot, gait.morphology)
    other.reset(joints=gait.position)
    gait.close()
    return other
