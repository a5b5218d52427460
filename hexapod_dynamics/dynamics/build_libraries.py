"""Compiles JetHexa's libraries when the package is built: python -m hexapod_dynamics.dynamics.build_libraries PLACE.

A model looks for the same libraries by name, and the name contains a digest: a library is used only if it was
built from the same sources.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hexapod_dynamics.dynamics.leg_code import MATRIX_KERNELS, batch_source, leg_source, matrix_source, model_source
from hexapod_dynamics.dynamics.robot_kernels import lane_count, legs_of_type
from hexapod_dynamics.dynamics.workspace import Rows
from hexapod_dynamics.errors import CompilerError
from hexapod_dynamics.native import processor
from hexapod_dynamics.native.library import LibrarySource, compile_library, compiler
from hexapod_dynamics.robot import Robot

VARIABLE = "HEXAPOD_DYNAMICS_PROCESSOR"


def sources_of(robot: Robot, lanes: int) -> list[LibrarySource]:
    """Return the sources of all libraries that a robot's model may load; lanes: doubles in a vector register."""
    rows = Rows.of(max(len(leg.joints) for leg in robot.legs))
    legs = legs_of_type(robot)
    width = lane_count(legs, lanes)
    found = [model_source(rows, width)]
    for each in legs:
        found += [leg_source(each, rows, width), batch_source(each, rows, lanes)]
        found += [matrix_source(name, each, rows, width) for name in MATRIX_KERNELS]
    return found


def build(robot: Robot, target: processor.Target, directory: Path) -> int:
    """Compile the missing libraries of a robot; return their number. Raises CompilerError."""
    program = compiler()
    if program is None:
        raise CompilerError("a C compiler is needed: sudo apt install gcc")
    directory.mkdir(parents=True, exist_ok=True)
    wanted = {directory / f"{source.name}.so": source for source in sources_of(robot, target.lanes)}
    for old in directory.glob("*.so"):
        if old not in wanted:
            old.unlink()
    missing = [path for path in wanted if not path.is_file()]

    def make(path: Path) -> None:
        unfinished = path.with_suffix(".part")
        compile_library(program, target, wanted[path].text(), unfinished, wanted[path].flags)
        os.replace(unfinished, path)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(make, missing))
    described = {"name": target.name, "flags": target.flags, "lanes": target.lanes, "needs": target.needs}
    text = json.dumps(described | {"machine": platform.machine()})
    (directory / processor.TARGET).write_text(text + "\n")
    return len(missing)


def main(arguments: list[str]) -> int:
    """Build for this processor, or the family that HEXAPOD_DYNAMICS_PROCESSOR names."""
    named = os.environ.get(VARIABLE, "")
    if named and named not in processor.FAMILIES:
        print(f"{VARIABLE}: {named!r} given, one of {', '.join(processor.FAMILIES)} needed", file=sys.stderr)
        return 1
    target = processor.FAMILIES[named] if named else processor.native()
    robot = Robot.load(Path(__file__).resolve().parents[2] / "config" / "jethexa.yaml")
    try:
        count = build(robot, target, Path(arguments[0]) / target.name)
    except CompilerError as error:
        print(f"hexapod_dynamics: {error}", file=sys.stderr)
        return 1
    print(f"hexapod_dynamics: {count} libraries compiled for {target.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
