"""ros2 run hexapod_dynamics compile: compiles what the nodes use, before the first start of the robot.

With --out DIR it writes the robot's model as C instead: for programs in C and C++, and for microcontrollers.

The result is kept in HEXAPOD_DYNAMICS_CACHE (by default ~/.cache/hexapod_dynamics), where the nodes find it. Without
this command the nodes compile at their first start, side by side, while the robot waits, and each loads the compiler
(60 MiB) at every start: this command alone links a library that needs none.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import time
from pathlib import Path

from hexapod_dynamics import compiled, shared_library
from hexapod_dynamics.code_cache import PACKAGE, cache_directory
from hexapod_dynamics.compile_notice import when_compiling
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot

LIBRARY = "library"  # the last part, which links what the others have called
# This installation, not one in the working directory, which Python would look into first.
SCRIPT = """
import sys
sys.path[0] = sys.argv[1]
from hexapod_dynamics.tools.compile_model import compile_and_link
sys.exit(compile_and_link(sys.argv[2]))
"""


def main(args: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="compile", description="Compile what the nodes use, once.")
    parser.add_argument("--robot", default="", help="the robot's YAML file; by default the JetHexa")
    parser.add_argument("--out", default="", help="write the robot's model as C to this directory, and nothing else")
    given = parser.parse_args(args)
    if given.out:
        return write_c(given.robot, Path(given.out))
    # In a process that has imported none of the compiled functions yet: how they are called is noted from there on.
    command = [sys.executable, "-c", SCRIPT, str(PACKAGE.parent), given.robot]
    return subprocess.run(command, check=False).returncode


def write_c(path: str, directory: Path) -> int:
    """Write the model of the robot of a file (empty: the JetHexa) as C; return the exit status."""
    from hexapod_dynamics.dynamics.c_export import write_model

    try:
        written = write_model(Robot.load(path) if path else Robot.jethexa(), directory)
    except (HexapodError, OSError) as error:
        print(f"compile: {error}", file=sys.stderr)
        return 1
    for file in written:
        print(file)
    if not any(file.suffix == ".so" for file in written):
        print("compile: no hexapod_model.so without a compiler: sudo apt install gcc", file=sys.stderr)
    return 0


def compile_and_link(path: str) -> int:
    """Run all parts for the robot of a file (empty: the JetHexa), link what they called; return the exit status."""
    counted = [0]

    def count() -> None:
        counted[0] += 1
        if sys.stderr.isatty():
            print(f"\r  {counted[0]} functions", end="", file=sys.stderr, flush=True)

    def told(name: str, functions: int, begin: float) -> None:
        if sys.stderr.isatty():
            print("\r", end="", file=sys.stderr, flush=True)
        print(f"{name:16s} {functions:4d} functions {time.monotonic() - begin:6.1f} s", flush=True)

    when_compiling(count)
    recorded = compiled.record()
    try:
        robot = Robot.load(path) if path else Robot.jethexa()
        for name, part in importlib.import_module("hexapod_dynamics.tools.compile_parts").PARTS.items():
            begin, before = time.monotonic(), counted[0]
            part(robot)
            told(name, counted[0] - before, begin)
    except HexapodError as error:
        print(f"compile: {error}", file=sys.stderr)
        return 1
    if shared_library.linker() is None:
        print("compile: there is no linker (sudo apt install binutils): every node will load the compiler, 60 MiB each")
    else:
        begin = time.monotonic()
        told(LIBRARY, importlib.import_module("hexapod_dynamics.kernel_linking").link(recorded), begin)
    print(f"kept in {cache_directory()}")
    return 0
