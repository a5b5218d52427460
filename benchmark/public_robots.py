"""Robots of others: each URDF read by Robot.from_urdf and by Pinocchio, and what both compute of it.

    ./with_ros2 python3 benchmark/public_robots.py FILE.urdf [FOLDER ...]

Of a folder, all .urdf files below it. Compared at three random states: mass matrix, gravity, forward dynamics; the
difference is that of the largest entries. Without files: those of the PyPI package example-robot-data, if it is there
(pip install example-robot-data). A file that is refused is printed with the reason.
"""

import sys
from pathlib import Path

from support.urdf_agreement import compare_with_pinocchio

from hexapod_dynamics.errors import RobotError


def files(arguments):
    """All .urdf files that are named, or lie in what is named."""
    if not arguments:
        found = [Path(entry) / "cmeel.prefix/share/example-robot-data/robots" for entry in sys.path]
        arguments = [path for path in found if path.is_dir()][:1] or sys.exit(__doc__)
    for argument in map(Path, arguments):
        yield from sorted(argument.rglob("*.urdf")) if argument.is_dir() else [argument]


def main():
    """Print the table."""
    print(f"{'file':44}{'legs':>5}{'joints':>26}{'mass matrix':>13}{'gravity':>10}{'forward':>10}")
    for path in files(sys.argv[1:]):
        name = str(Path(*path.parts[-3:]))[-43:]
        try:
            robot, worst = compare_with_pinocchio(path)
        except RobotError as refusal:
            print(f"{name:44} refused: {refusal}", flush=True)
            continue
        counts = ", ".join(str(len(leg.joints)) for leg in robot.legs)
        numbers = "".join(f"{value:10.1e}" for value in worst)
        print(f"{name:44}{len(robot.legs):5}{counts:>26}   {numbers}", flush=True)


if __name__ == "__main__":
    main()
