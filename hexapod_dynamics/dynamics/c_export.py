"""A robot's model as C for other programs: hexapod_model.h, hexapod_model.c, examples, and a shared library.

Plain C99 without heap and without Python. All memory is one struct that the caller provides. The files contain
what the package itself compiles: the printed leg kernels and the headers of native/include, in one file.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from hexapod_dynamics.dynamics.leg_code import leg_traces
from hexapod_dynamics.dynamics.leg_kernels import trace_solve_head
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.workspace import COLUMNS, CUT_SIZE, KERNELS, LINK_SIZE, Rows
from hexapod_dynamics.native import processor
from hexapod_dynamics.native.c_printer import LEG, SHARED, print_kernel
from hexapod_dynamics.native.library import HERE, INCLUDE, compile_library, compiler
from hexapod_dynamics.robot import Robot

# Sorted so that each file precedes the files that include it; hd_model.h goes into the header.
PARTS = ("lanes", "dynamics", "rotation", "state", "forces", "matrices", "points", "morphology")
EXAMPLES = ("example.cpp", "main.c", "CMakeLists.txt")


def write_model(robot: Robot, directory: Path) -> list[Path]:
    """Write the files for a robot and, if there is a compiler, hexapod_model.so; return their paths.

    Raises CompilerError if the compiler fails, OSError if a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    kernels = RobotKernels(robot)
    texts = {"hexapod_model.h": _header(kernels), "hexapod_model.c": _source(kernels)}
    texts |= {name: (HERE / "example" / name).read_text() for name in EXAMPLES}
    written = []
    for name, text in texts.items():
        (directory / name).write_text(text)
        written.append(directory / name)
    program = compiler()
    if program is not None:
        library = directory / "hexapod_model.so"
        compile_library(program, processor.native(), texts["hexapod_model.c"], library, (f"-I{directory}",))
        written.append(library)
    return written


def _header(kernels: RobotKernels) -> str:
    robot, rows, types = kernels.robot, kernels.rows, kernels.legs_of_type
    legs, joints = len(robot.legs), robot.joint_count
    blocks = [f"(({len(indices)} + HD_LANES - 1) / HD_LANES)" for indices in types.values()]
    widest = max(len(indices) for indices in types.values())
    default = 8 if widest > 4 else 4 if widest > 2 else widest
    order = "\n * ".join(textwrap.wrap(", ".join(robot.joint_names), 101, break_on_hyphens=False))
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
#define HD_TYPES {len(types)} /* types of legs */

/* Legs that are computed side by side, by the vector extension of gcc and clang; 1 is plain C99, for every compiler.
 * Everything that includes this header has to agree on it. */
#ifndef HD_LANES
#ifdef __GNUC__
#define HD_LANES {default}
#else
#define HD_LANES 1
#endif
#endif
#define HD_BLOCKS ({" + ".join(blocks)})

{_enumeration(rows)}
#define HD_FIXED_ROWS
#define HD_PUBLIC

#ifdef __cplusplus
extern "C" {{
#endif

{_body((INCLUDE / "hd_model.h").read_text())}

typedef struct hd_model hd_model;

/* All memory of a model. */
typedef struct hd_memory {{
    struct hd_model model;
    double lanes[HD_BLOCKS * HD_ROW_size * HD_LANES];
    double shared[HD_SHARED_SIZE];
    double moving[HD_JOINTS], locked[HD_JOINTS];
    struct hd_free free[HD_JOINTS];
    struct hd_leg legs[HD_LEGS];
    struct hd_joint joints[HD_JOINTS];
    hd_leg_kernel code[HD_BLOCKS * HD_KERNELS];
}} hd_memory;

/* What a joint does that exists: it moves, it stands at a fixed position, or it moves without a motor's torque. */
enum {{ HD_MOVES, HD_LOCKED, HD_LIMP }};

/* Set the memory up for the whole robot, once; the model is a part of it. */
hd_model *hd_init(hd_memory *memory);

/* Another morphology: for every joint, how much of its link's length remains (0: missing, 1: whole), what the joint
 * does, and where a locked one stands [rad or m]. 0 in place of an array: whole, HD_MOVES, position 0. Returns n, the
 * number of joints that move; -1, and nothing changes, where a number is impossible or a link has lost the one that it
 * hangs on. */
int hd_set_morphology(hd_model *m, const double *remaining, const int *state, const double *locked);

/* Accelerations (6 + n) under joint torques tau (n). */
int hd_forward_dynamics(hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                        double *acceleration);

/* The same under forces (3) in world axes at the tips, an array of HD_LEGS pointers, 0 where there is none. */
int hd_forward_under(hd_model *m, const double *R, const double *q, const double *nu, const double *tau,
                     const double *const *forces, double *acceleration);

/* Wrench on the body and joint torques (6 + n) that accelerations (6 + n) need. */
int hd_inverse_dynamics(hd_model *m, const double *R, const double *q, const double *nu, const double *acceleration,
                        double *tau);

/* Mass matrix (6 + n, 6 + n). */
int hd_mass_matrix(hd_model *m, const double *q, double *M);

/* Gravity (6 + n) on the left-hand side. */
int hd_gravity_force(hd_model *m, const double *R, const double *q, double *g);

/* Jacobian (6, 6 + n) of a leg's tip, in the axes of its last link; 0 also where the leg is missing. */
int hd_tip_jacobian(hd_model *m, const double *q, int64_t leg, double *J);

#ifdef __cplusplus
}}
#endif
#endif
"""


def _source(kernels: RobotKernels) -> str:
    robot, rows, types = kernels.robot, kernels.rows, kernels.legs_of_type
    names = list(types)
    parts = ['/* Dynamics of one robot, see hexapod_model.h. */\n#include "hexapod_model.h"\n\n#include <string.h>\n']
    parts += [_body((INCLUDE / f"hd_{part}.h").read_text()) for part in PARTS[:1]]
    for index, leg_type in enumerate(names):
        legs = ", ".join(robot.legs[leg].name for leg in types[leg_type])
        parts.append(f"/* ---- kernels of the legs {legs} ---- */\n")
        for name, trace in leg_traces(leg_type, rows).items():
            if name not in ("center", "poses"):
                parts.append(print_kernel(f"hd_{name}_{index}", trace, LEG, "static "))
    parts.append(print_kernel("hd_solve_head_of_robot_", trace_solve_head(), SHARED, "static "))
    parts.append("static const hd_leg_kernel hd_solve_head_of_robot = hd_solve_head_of_robot_;\n")
    parts += [_body((INCLUDE / f"hd_{part}.h").read_text()) for part in PARTS[1:]]
    parts.append("/* ---- the robot ---- */\n")
    code = []
    for index in range(len(names)):
        row = {column: f"hd_{name}_{index}" for column, name in COLUMNS.items() if name not in ("center", "poses")}
        code.append("{" + ", ".join(row.get(column, "0") for column in range(KERNELS)) + "}")
    parts.append(f"static const hd_leg_kernel hd_code[HD_TYPES][HD_KERNELS] = {{{', '.join(code)}}};")
    starts = ["0"]
    for leg_type in names[:-1]:
        starts.append(f"{starts[-1]} + ({len(types[leg_type])} + HD_LANES - 1) / HD_LANES")
    parts.append(f"static const int hd_first_blocks[HD_TYPES] = {{{', '.join(starts)}}};")
    kinds = [names.index(LegType.of(leg)) for leg in robot.legs]
    parts.append(f"static const int hd_types[HD_LEGS] = {{{', '.join(map(str, kinds))}}};")
    parts.append(f"static const int hd_counts[HD_LEGS] = {{{', '.join(str(len(leg.joints)) for leg in robot.legs)}}};")
    parts.append(f"static const struct hd_rows hd_rows_of_robot = {{{', '.join(map(str, rows))}}};")
    shared = kernels.whole_shared()
    parts.append(f"static const double hd_shared[HD_SHARED_SIZE] = {_numbers(shared)};")
    mounts = [np.concatenate([leg.mount_rotation.ravel(), leg.mount_position]) for leg in robot.legs]
    parts.append(_table("hd_mounts[HD_LEGS][12]", mounts))
    parts.append(_table(f"hd_links[HD_JOINTS][{LINK_SIZE}]", kernels.links))
    parts.append(_table(f"hd_cuts[HD_JOINTS][{CUT_SIZE}]", kernels.cut))
    parts.append(_table("hd_axes[HD_JOINTS][9]", [link.rotation.ravel() for leg in robot.legs for link in leg.links]))
    parts.append("\n" + _body((INCLUDE / "hd_export.inc").read_text()))
    return "\n".join(parts)


def _body(header: str) -> str:
    """Return a header without its guard and without includes of the package's own headers."""
    header = re.sub(r'#include ["<](hd_\w+\.h|stdint\.h|string\.h)[">]\n', "", header)
    header = re.sub(r"#ifndef (HD_\w+_H)\n#define \1\n", "", header)
    header = re.sub(r"#ifndef HD_PUBLIC\n.*?#endif\n", "", header, flags=re.DOTALL)
    return header.strip().removesuffix("#endif").strip() + "\n" if "_H\n" not in header else header


def _enumeration(rows: Rows) -> str:
    """Return the rows of the sections as constants."""
    entries = [f"    HD_ROW_{name} = {place}" for name, place in rows._asdict().items()]
    return "/* First row of each section of a lane. */\nenum {\n" + ",\n".join(entries) + "\n};"


def _numbers(values: Iterable[float]) -> str:
    """Return numbers as an initialiser, exact to the last digit."""
    return "{" + ", ".join(repr(float(value)) for value in values) + "}"


def _table(name: str, rows: Iterable[np.ndarray]) -> str:
    lines = ",\n".join(f"    {_numbers(row)}" for row in rows)
    return f"static const double {name} = {{\n{lines}\n}};"
