"""ros2 run hexapod_dynamics plot BAG_OR_LOG: draws a walk as one figure, as PNG or in a window."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.simulation.trajectory import Log
from hexapod_dynamics.tools.command_line import ROBOT_FILE, check_folder, load_robot, make_parser, run_command
from hexapod_dynamics.view.plot import draw
from hexapod_dynamics.view.record import from_bag, from_log


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = make_parser("plot", __doc__)
    parser.add_argument("source", type=Path, help="folder of a bag (ros2 bag record -a), or a file of Log.save()")
    parser.add_argument("--output", type=Path, help="PNG file to write (default: SOURCE.png)")
    parser.add_argument("--window", action="store_true", help="open a window instead of writing a file")
    parser.add_argument("--robot", help=f"the robot's YAML file (default: {ROBOT_FILE} in the bag, else the JetHexa)")
    return run_command(parser, _plot, args)


def _plot(given: argparse.Namespace) -> int:
    check_folder("--output", given.output, "picture")
    source, robot = given.source, load_robot(given.robot, given.source)
    if source.is_dir():
        record = from_bag(source, robot)
    elif source.suffix == ".npz":
        record = from_log(Log.load(source), robot)
    else:
        raise HexapodError(f"{source}: give the folder of a bag, or a .npz file that Log.save() has written")
    figure = draw(record, source.name)
    if given.window:
        import matplotlib.pyplot as plt

        manager = plt.figure().canvas.manager
        if manager is None:
            raise HexapodError("matplotlib has no window here; leave --window out to get a PNG file")
        manager.canvas.figure = figure
        figure.set_canvas(manager.canvas)
        plt.show()
        return 0
    source = source if source.name.strip(".") else source.resolve()
    output = given.output or source.with_name(f"{source.name.removesuffix('.npz')}.png")
    figure.savefig(output, dpi=110)
    print(f"written: {output}")
    return 0
