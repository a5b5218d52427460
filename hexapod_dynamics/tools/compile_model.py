"""ros2 run hexapod_dynamics compile: compiles the model of a robot, before its first start.

With --out DIR it writes the robot's model as C source instead, for programs in C and C++ and for microcontrollers.

The JetHexa's model is compiled when the package is built. That of another robot is compiled once, by the C compiler,
and kept in HEXAPOD_DYNAMICS_CACHE (by default ~/.cache/hexapod_dynamics), where the nodes find it; without this
command they compile it at their first start, which takes some seconds for each.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from hexapod_dynamics.code_cache import cache_directory
from hexapod_dynamics.dynamics.build_libraries import sources_of
from hexapod_dynamics.dynamics.c_export import write_model
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.native import library, processor
from hexapod_dynamics.robot import Robot


def main(args: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="compile", description="Compile the model of a robot, once.")
    parser.add_argument("--robot", default="", help="the robot's YAML file; by default the JetHexa")
    parser.add_argument("--out", default="", help="write the robot's model as C to this directory, and nothing else")
    given = parser.parse_args(args)
    try:
        robot = Robot.load(given.robot) if given.robot else Robot.jethexa()
        if given.out:
            write_c(robot, Path(given.out))
        else:
            compile_libraries(robot)
    except (HexapodError, OSError) as error:
        print(f"compile: {error}", file=sys.stderr)
        return 1
    return 0


def write_c(robot: Robot, directory: Path) -> None:
    """Write the model of a robot as C."""
    written = write_model(robot, directory)
    for file in written:
        print(file)
    if not any(file.suffix == ".so" for file in written):
        print("compile: no hexapod_model.so without a compiler: sudo apt install gcc", file=sys.stderr)


def compile_libraries(robot: Robot) -> None:
    """Compile all libraries of a robot's model that are neither in the package nor in the cache."""
    for source in sources_of(robot, processor.native_lanes()):
        begin = time.monotonic()
        path = library(source).path
        print(f"{source.kind:10s} {time.monotonic() - begin:5.1f} s  {path}", flush=True)
    print(f"kept in {cache_directory()}, or built with the package")
