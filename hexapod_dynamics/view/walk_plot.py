"""One picture of a walk of several parts, such as before and after damage."""

from __future__ import annotations

import os

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation.trajectory import Log
from hexapod_dynamics.view.record import from_log


def plot_walk(path: str | os.PathLike[str], robot: Robot, parts: dict[str, Log]) -> Log:
    """Draw the Logs of one Simulator as one walk to a PNG file, with a mark where each part begins; return the
    Logs joined.

    parts: {text of the mark: Log}, in the order of time.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from hexapod_dynamics.view.figure import draw

    log = Log.join(*parts.values())
    record = from_log(log, robot)
    record.events = [(float(part.time[0]), text) for text, part in parts.items()][1:]
    figure = draw(record, robot, ", ".join(parts))
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=110)
    return log
