"""A robot's model as C for other programs: hexapod_model.h, hexapod_model.c, examples, and a shared library.

Plain C99 without heap and without Python; all memory is one struct that the caller provides. hexapod_model.c is the
core itself (core/*.h) in one file, and the robot's numbers as a constant struct hd_robot.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

from hexapod_dynamics.core._core import Numbers
from hexapod_dynamics.errors import CompilerError
from hexapod_dynamics.robot import Robot

CORE = Path(__file__).parents[1] / "core"
EXAMPLES = ("example.cpp", "main.c", "CMakeLists.txt")
FLAGS = ("-O2", "-std=gnu99", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-march=native")


def write_model(robot: Robot, directory: Path) -> list[Path]:
    """Write the files for a robot and, if there is a compiler, hexapod_model.so; return their paths.

    Raises CompilerError if the compiler fails, OSError if a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    texts = {"hexapod_model.h": _header(robot), "hexapod_model.c": _source(robot)}
    texts |= {name: (CORE / "example" / name).read_text() for name in EXAMPLES}
    written = []
    for name, text in texts.items():
        (directory / name).write_text(text)
        written.append(directory / name)
    program = shutil.which(os.environ.get("CC", "")) or shutil.which("gcc") or shutil.which("cc")
    if program is not None:
        library = directory / "hexapod_model.so"
        command = [program, *FLAGS, "-shared", "-fPIC", str(directory / "hexapod_model.c"), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0]
            raise CompilerError(f"{program} does not compile {directory / 'hexapod_model.c'}: {said}")
        written.append(library)
    return written


def _header(robot: Robot) -> str:
    legs, joints = len(robot.legs), robot.joint_count
    deepest = max(3, *(len(leg.joints) for leg in robot.legs))
    order = "\n * ".join(textwrap.wrap(", ".join(robot.joint_names), 101, break_on_hyphens=False))
    functions = re.findall(r"^(/\*[^/]*\*/\n)(\w[^{};]*\))\n\{", (CORE / "export.h").read_text(), re.MULTILINE)
    declared = "\n".join(f"{comment}{function};\n" for comment, function in functions)
    rows = 82 * deepest + 4 * deepest**2 + 12  # of struct hd_leg and struct hd_scratch
    return f"""\
/* Dynamics of {robot.name}: {legs} legs, {joints} joints. Written by `ros2 run hexapod_dynamics compile --out`.
 *
 * Joints, in the order of all arrays: {order}.
 * Legs: {", ".join(robot.leg_names)}.
 *
 * Positions q are given for all HD_JOINTS joints. Velocities and accelerations have 6 + n entries: the twist of the
 * body in its own axes, linear first, then the n joints that exist and move, in that order; torques have n. R is the
 * rotation world <- body, row by row. Matrices are row by row. Units are SI.
 *
 * Functions return 1, or 0 where R is no rotation or a number is not finite. They work on the memory that they are
 * given and on nothing else: several models may be used at the same time, one model by one thread at a time.
 */
#ifndef HEXAPOD_MODEL_H
#define HEXAPOD_MODEL_H

#include <stdint.h>

#define HD_LEGS {legs}
#define HD_JOINTS {joints}

/* Legs that are computed side by side, by the vector extension of gcc and clang; 1 is plain C99, for every compiler.
 * Everything that includes this header has to agree on it. */
#ifndef HD_LANES
#ifdef __GNUC__
#define HD_LANES {8 if legs > 4 else 4 if legs > 2 else legs}
#else
#define HD_LANES 1
#endif
#endif
#define HD_BLOCKS ((HD_LEGS + HD_LANES - 1) / HD_LANES)
#define HD_ROOM (HD_BLOCKS * ({rows} * HD_LANES + 16) + 8) /* doubles */

#ifdef __cplusplus
extern "C" {{
#endif

#define HD_ONE_ROBOT
enum {{ HD_MOST_JOINTS = {deepest}, HD_MOST_LEGS = HD_LEGS, HD_MOST = HD_JOINTS }};
{_inline_headers("robot.h", set())}
typedef struct hd_model hd_model;

/* All memory of a model. */
typedef struct hd_memory {{
    struct hd_model model;
    double room[HD_ROOM];
}} hd_memory;

/* What a joint does that exists: it moves, it stands at a fixed position, or it moves without a motor's torque. */
enum {{ HD_MOVES, HD_LOCKED, HD_LIMP }};

{declared}
#ifdef __cplusplus
}}
#endif
#endif
"""


def _source(robot: Robot) -> str:
    values, done = Numbers(robot).values(), {"robot.h"}
    values["joint"] = values["joint"][: robot.joint_count]
    values["mount"], values["first"] = values["mount"][: len(robot.legs)], values["first"][: len(robot.legs) + 1]
    core = _inline_headers("points.h", done)
    return f"""\
/* Dynamics of one robot, see hexapod_model.h. */
#include "hexapod_model.h"
#include <stddef.h>
#include <string.h>

{core}
/* ---- the robot ---- */

static const struct hd_robot hd_robot_of_export = {_initialiser(values)};

{_inline_headers("export.h", done)}"""


def _inline_headers(name: str, done: set[str]) -> str:
    """Return a header of the core with those of the core that it includes in their places, each guarded one once."""

    def included(match: re.Match[str]) -> str:
        other = match[1]
        if other in done:
            return ""
        if f"#ifndef HD_{other.removesuffix('.h').upper()}_H" in (CORE / other).read_text():
            done.add(other)
        return _inline_headers(other, done)

    text = re.sub(r"#include <\w+\.h>\n", "", (CORE / name).read_text())
    return re.sub(r'#include "(\w+\.h)"\n', included, text)


def _initialiser(value: object) -> str:
    """Return a struct (dict), an array (list) or a number as an initialiser, exact to the last digit."""
    if isinstance(value, dict):
        return "{" + ",\n".join(f".{name} = {_initialiser(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "{" + ", ".join(map(_initialiser, value)) + "}"
    return repr(value)
