"""`ros2 run hexapod_dynamics plot BAG_OR_LOG`: one figure of a walk, as PNG or in a window."""

import argparse
import sys
from pathlib import Path

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot


def main(args=None):
    """Draw the walk; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="plot",
        description="Draw a walk: path over ground, tilt, joint errors, gait diagram, foot forces, events of damage.",
    )
    parser.add_argument("source", type=Path, help="folder of a bag (ros2 bag record -a), or a file of Log.save()")
    parser.add_argument("--output", type=Path, help="PNG file to write (default: SOURCE.png)")
    parser.add_argument("--window", action="store_true", help="open a window instead of writing a file")
    parser.add_argument("--robot", help="the robot's YAML file (default: the JetHexa)")
    options = parser.parse_args(args)
    try:
        robot = Robot.load(options.robot) if options.robot else Robot.jethexa()
        record = _read(options.source, robot)
        from hexapod_dynamics.view.figure import draw

        figure = draw(record, robot, options.source.name)
        if options.window:
            _show(figure)
        else:
            output = options.output or options.source.with_suffix(".png")
            from matplotlib.backends.backend_agg import FigureCanvasAgg

            FigureCanvasAgg(figure)
            figure.savefig(output, dpi=110)
            print(f"written: {output}")
    except (HexapodError, OSError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    return 0


def _read(source, robot):
    from hexapod_dynamics.view import record

    if source.is_dir():
        return record.from_bag(source, robot)
    if source.suffix == ".npz":
        from hexapod_dynamics.simulation.trajectory import Log

        return record.from_log(Log.load(source), robot)
    raise HexapodError(f"{source}: give the folder of a bag, or a .npz file that Log.save() has written")


def _show(figure):
    import matplotlib.pyplot as plt

    manager = plt.figure().canvas.manager
    if manager is None:
        raise HexapodError("matplotlib has no window here; leave --window out to get a PNG file")
    manager.canvas.figure = figure
    figure.set_canvas(manager.canvas)
    plt.show()


if __name__ == "__main__":
    sys.exit(main())
