"""ros2 run hexapod_dynamics compile --out DIR: writes a robot's model as C, for C, C++ and microcontrollers.

The package itself compiles nothing for a robot.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hexapod_dynamics.dynamics.c_export import write_model
from hexapod_dynamics.tools.command_line import load_robot, make_parser, run_command


def main(args: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = make_parser("compile", __doc__)
    parser.add_argument("--robot", default="", help="the robot's YAML file; by default the JetHexa")
    parser.add_argument("--out", required=True, help="directory for hexapod_model.h, hexapod_model.c and examples")
    return run_command(parser, _compile, args)


def _compile(given: argparse.Namespace) -> int:
    written = write_model(load_robot(given.robot), Path(given.out))
    print(*written, sep="\n")
    if not any(file.suffix == ".so" for file in written):
        print("compile: no hexapod_model.so without a compiler: sudo apt install gcc", file=sys.stderr)
    return 0
