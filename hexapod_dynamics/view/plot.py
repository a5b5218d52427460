"""One figure of a walk: path, tilt, joint errors, gait diagram, foot forces, and the events of damage.

`ros2 run hexapod_dynamics plot BAG_OR_LOG` draws it; `plot_walk` draws Logs from a script.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.control.support import support_polygon
from hexapod_dynamics.core._core import SAMPLES, cycle_foot
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation.trajectory import Log
from hexapod_dynamics.view.record import Record, Track, from_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hexapod_dynamics.gait.planning.plan import GaitPlan

TRUE, PREDICTED, STANCE = "#d1495b", "#0b6e99", "#3d405b"
BROKEN, DECLARED = "#000000", "#2f9e44"


def plot_walk(path: str | os.PathLike[str], robot: Robot, parts: dict[str, Log]) -> Log:
    """Draw the Logs of one Simulator as one walk to a PNG file, with a mark where each part begins; return the
    Logs joined.

    parts: {text of the mark: Log}, in the order of time.
    """
    log = Log.join(*parts.values())
    record = from_log(log, robot)
    record.events = [(float(part.time[0]), text) for text, part in parts.items()][1:]
    draw(record, ", ".join(parts)).savefig(path, dpi=110)
    return log


def draw(record: Record, title: str = "") -> Figure:
    """Draw a record; a panel without data names what was not recorded."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 8.5), layout="constrained")
    figure.suptitle(title)
    axes: dict[str, Axes] = figure.subplot_mosaic([["path", "tilt"], ["gait", "errors"], ["forces", "errors"]])
    panels = {"path": _path, "tilt": _tilt, "gait": _gait, "errors": _errors, "forces": _forces}
    for name, draw_panel in panels.items():
        axis = axes[name]
        if missing := draw_panel(axis, record):
            absent = f"{missing} was not recorded"
            axis.text(0.5, 0.5, absent, ha="center", va="center", transform=axis.transAxes, color="0.5")
        if name == "path":
            continue
        axis.set_xlabel("t [s]")
        for k, (t, text) in enumerate(record.events):
            axis.axvline(t, color=_colour(text), linewidth=1.0, linestyle=":")
            # Of several events of one kind within half a second only the last one is shown.
            soon = any(u - t < 0.5 and other.split()[0] == text.split()[0] for u, other in record.events[k + 1 :])
            if name == "tilt" and not soon:
                axis.annotate(
                    f" {text}",
                    (t, 0.98),
                    xycoords=("data", "axes fraction"),
                    rotation=90,
                    va="top",
                    fontsize=7,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5},
                )
    return figure


def _colour(event: str) -> str:
    return BROKEN if event.startswith("broken") else DECLARED


def _tracks(record: Record) -> list[tuple[Track, str, str]]:
    """Return the recorded motions with their colours and labels."""
    tracks = (record.true, TRUE, "true"), (record.predicted, PREDICTED, "predicted")
    return [(track, colour, label) for track, colour, label in tracks if track is not None]


# Each draws one panel, and returns what it needs and was not recorded, or an empty text.


def _path(axis: Axes, record: Record) -> str:
    axis.set_title("path over ground")
    for track, colour, label in _tracks(record):
        axis.plot(track.position[:, 0], track.position[:, 1], color=colour, label=label)
        axis.plot(*track.position[0, :2], "o", color=colour, markersize=4)
    shown = record.true or record.predicted
    if shown is None:
        return "predicted_state"
    for what in dict.fromkeys(text.split(":")[0] for _, text in record.events):
        times = [t for t, text in record.events if text.startswith(what)]
        place = [np.interp(times, shown.time, shown.position[:, column]) for column in (0, 1)]
        axis.plot(*place, "|", color=_colour(what), markersize=16, markeredgewidth=2.0, label=what)
    axis.set(xlabel="x [m]", ylabel="y [m]")
    axis.axis("equal")
    axis.legend(fontsize=8, ncol=4, loc="upper left")
    return ""


def _tilt(axis: Axes, record: Record) -> str:
    axis.set(title="tilt", ylabel="tilt [deg]")
    for track, colour, label in _tracks(record):
        axis.plot(track.time, track.tilt, color=colour, label=label, linewidth=1.0)
    return ""


def _gait(axis: Axes, record: Record) -> str:
    axis.set_title("gait diagram (dark: the foot stands)")
    feet = record.find_standing()
    if feet is None:
        return "joint_states"
    time, standing = feet
    for row, stands in enumerate(standing.T):
        axis.fill_between(time, row - 0.35, row + 0.35, where=stands, color=STANCE, linewidth=0, step="mid")
    axis.set_yticks(range(standing.shape[1]), record.robot.leg_names)
    axis.invert_yaxis()
    return ""


def _errors(axis: Axes, record: Record) -> str:
    axis.set_title("joint error: measured - commanded")
    measured, commanded = record.measured, record.commanded
    if measured is None or commanded is None:
        return "joint_commands"
    rows, names = [], []
    for name, angles, sent in zip(record.robot.joint_names, measured.values.T, commanded.values.T, strict=True):
        known = np.isfinite(sent)
        if known.any() and np.isfinite(angles).any():
            rows.append(np.degrees(angles - np.interp(measured.time, commanded.time[known], sent[known])))
            names.append(name.replace("_joint", ""))
    if not rows:
        return "a joint both measured and commanded"
    bound = max(1.0, float(np.nanpercentile(np.abs(rows), 99)))
    mesh = axis.pcolormesh(measured.time, np.arange(len(rows)), np.array(rows), cmap="RdBu", vmin=-bound, vmax=bound)
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.invert_yaxis()
    axis.figure.colorbar(mesh, ax=axis, label="[deg]")
    return ""


def _forces(axis: Axes, record: Record) -> str:
    axis.set_title("vertical foot forces" + (" of the prediction" if record.forces_predicted else ""))
    if record.foot_forces is None:
        return "support"
    time, forces = record.foot_forces
    lines = axis.plot(time, forces, linewidth=0.8)
    axis.set(ylabel="[N]", ylim=(None, 1.2 * float(np.nan_to_num(forces).max(initial=1.0))))  # room for the legend
    axis.legend(lines, record.robot.leg_names, fontsize=7, ncol=6, loc="upper center")
    return ""


# ---- a plan ----------------------------------------------------------------------------------------------------------


def draw_plan(robot: Robot, plan: GaitPlan, path: str | os.PathLike[str]) -> None:
    """Draw a GaitPlan of a Robot that walks forward and write the picture to a file: gait diagram, footholds with
    support polygons and sway, margin over the cycle.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    from hexapod_dynamics.gait.planning.plan import PlanEvaluator

    velocity = 0.077, 0.0, 0.0  # [m/s, m/s, rad/s]
    lost = [name for name in robot.leg_names if name not in plan.legs]
    evaluator = PlanEvaluator(robot, Morphology.whole(robot).without(*lost) if lost else None)
    evaluator.accept(plan)
    rows = np.flatnonzero(evaluator.table["used"]).tolist()
    phases = np.arange(SAMPLES) / SAMPLES
    evaluator.findings(np.array(velocity))
    course = evaluator.course
    figure = Figure(figsize=(14, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)

    for k, i in enumerate(rows):
        begin = -evaluator.table["phase"][i] % 1.0
        for start in (begin - 1.0, begin):
            left.barh(k, plan.duty, left=start, height=0.6, color="tab:blue")
    left.set(xlim=(0, 1), yticks=range(len(rows)), yticklabels=plan.legs, xlabel="phase of the cycle")
    left.invert_yaxis()
    left.set_title(f"{plan.kind}: standing (blue) and swinging, period {plan.period:.2f} s")

    numbers = plan.numbers()
    colours = colormaps["viridis"]
    for phase in phases[::6]:
        standing = []
        for i in rows:
            x, y, _, stands = cycle_foot(numbers, evaluator.table, i, phase, *velocity)
            if stands:
                standing.append((x, y, 0.0))
        polygon = support_polygon(np.array(standing), np.array([(0.0, 0.0, 1.0)] * len(standing)))
        middle.fill(-polygon[:, 1], polygon[:, 0], fill=False, edgecolor=colours(phase), linewidth=0.8)
    for i, name in zip(rows, plan.legs, strict=True):
        path_of_foot = np.array([cycle_foot(numbers, evaluator.table, i, p, *velocity)[:2] for p in phases])
        middle.plot(-path_of_foot[:, 1], path_of_foot[:, 0], color="tab:gray", linewidth=2)
        x, y = plan.footholds[plan.legs.index(name)]
        middle.text(-y, x, name, ha="center", va="center", fontsize=9)
    middle.plot(-course[:, 1], course[:, 0], color="tab:red", linewidth=1.5)
    middle.set(aspect="equal", xlabel="right [m]", ylabel="forward [m]")
    middle.set_title("feet, support polygons, zero-moment point (red)")

    right.plot(phases, 1e3 * course[:, 2])
    right.axhline(0.0, color="black", linewidth=0.8)
    right.set(xlabel="phase of the cycle", ylabel="margin [mm]", xlim=(0, 1))
    right.set_title(f"margin of the zero-moment point, least {1e3 * course[:, 2].min():.1f} mm")
    figure.suptitle(f"{robot.name} without {' '.join(lost) or 'nothing'} at {velocity[0]} m/s")
    figure.savefig(path, dpi=110)
