"""Builds hexapod_dynamics.core._core, for setup.py: Cython writes its C file, the C compiler the rest.

Nothing here runs while setup.py is merely read, as colcon does. Where Cython 3 is missing, pip fetches it into the
build directory.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path
from typing import Any

from setuptools import Extension
from setuptools.command.build_ext import build_ext

DIRECTORY = "hexapod_dynamics/core"
SOURCE = f"{DIRECTORY}/_core.pyx"
NEEDED = "cython>=3,<4"
# Headers whose structs, enumerations, numbers and functions Cython knows, in this order.
DECLARED = "robot world foot_forces xyz gait adaptive_gait adaptive_modes tripod_gait plan_evaluation".split()
# Nobody reads errno or the floating point flags. Never -ffast-math: it sets flush-to-zero for the whole process. What
# more the model's kernels may assume stands in unit.h, where inputs and results are checked by their bits.
FLAGS = ["-O2", "-g0", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
# _core.pyx is no source: where Cython 0.29 is installed (Ubuntu 22.04), setuptools would translate it by that one.
CORE = Extension(
    "hexapod_dynamics.core._core",
    sorted(glob(f"{DIRECTORY}/*.c")),
    depends=[SOURCE, *sorted(glob(f"{DIRECTORY}/*.h") + glob(f"{DIRECTORY}/*.pxi"))],
    include_dirs=[DIRECTORY],
    extra_compile_args=FLAGS,
)


class BuildCore(build_ext):
    """build_ext that translates _core.pyx before it compiles, and compiles the sources side by side."""

    def build_extension(self, ext: Extension) -> None:
        """Translate the core's .pyx into the build directory, then compile."""
        if ext.name == CORE.name:
            import numpy

            ext.include_dirs = [*ext.include_dirs, numpy.get_include()]
            ext.sources = [self._translated(), *ext.sources]
            compile_all = self.compiler.compile

            def compile_one(source: str, options: dict[str, Any]) -> list[str]:
                # Cython's own code; what computes in it has its own options, which clang does not know: scalar.h.
                if source.endswith("_core.c") and "clang" not in " ".join(self.compiler.compiler_so):
                    options = options | {"extra_postargs": [*options["extra_postargs"], "-O1"]}
                return compile_all([source], **options)

            def compile_side_by_side(sources: list[str], **options: Any) -> list[str]:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    objects = pool.map(lambda source: compile_one(source, options), sources)
                    return [name for names in objects for name in names]

            self.compiler.compile = compile_side_by_side
        super().build_extension(ext)

    def _translated(self) -> str:
        result = Path(self.build_temp, "_core.c")
        newest = max(Path(name).stat().st_mtime for name in CORE.depends)
        if not result.is_file() or result.stat().st_mtime < newest:
            result.parent.mkdir(parents=True, exist_ok=True)
            environment = self._cython(result.parent / "cython")
            Path(result.parent, "headers.pxi").write_text(declarations())
            command = [sys.executable, "-m", "cython", "-3", "-I", str(result.parent), SOURCE, "-o", str(result)]
            if subprocess.run(command, env=environment, check=False).returncode != 0:
                raise SystemExit(f"hexapod_dynamics: {SOURCE} could not be translated, see above")
        return str(result)

    @staticmethod
    def _cython(place: Path) -> dict[str, str]:
        """Return an environment in which `python -m cython` is Cython 3; fetch it into `place` if there is none."""
        environment = dict(os.environ)
        look = [sys.executable, "-c", "import Cython; raise SystemExit(int(Cython.__version__.split('.')[0]) < 3)"]
        if subprocess.run(look, env=environment, capture_output=True, check=False).returncode == 0:
            return environment
        environment["PYTHONPATH"] = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
        if subprocess.run(look, env=environment, capture_output=True, check=False).returncode != 0:
            print(f"hexapod_dynamics: fetching {NEEDED} by pip into {place}", file=sys.stderr)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), NEEDED]
            if subprocess.run(pip, check=False).returncode != 0:
                raise SystemExit("hexapod_dynamics: Cython 3 is missing: python3 -m pip install 'cython>=3,<4'")
        return environment


def declarations() -> str:
    """Return the DECLARED headers as declarations for Cython, which reads no C: each struct is written once, there.

    It knows of C what stands in these headers: constants, enumerations, structs, inline functions and HD_FUNCTIONS; and
    numpy's dtype of each struct of numbers and of such structs, in DTYPES.
    """
    sizes: dict[str, int] = {}  # members of the enumerations so far, which are sizes of arrays, too
    fields: dict[str, list[tuple[str, str, int]]] = {}  # of each struct: name, type and size, 0: no array
    found = "".join(_declarations_of(f"{name}.h", sizes, fields) for name in DECLARED)
    dtype = "np.dtype([(field, DTYPES.get(kind, kind), size or ()) for field, kind, size in fields])"
    return f"{found}DTYPES = {{}}\nfor name, fields in {fields}.items():\n    DTYPES[name] = {dtype}\n"


def _declarations_of(header: str, sizes: dict[str, int], fields: dict[str, list[tuple[str, str, int]]]) -> str:
    text = re.sub(r"/\*.*?\*/", "", Path(DIRECTORY, header).read_text().replace("\\\n", ""), flags=re.DOTALL)
    text = re.sub(r"\b(struct|enum) (?=hd_\w+[ *]+[^{ ])", "", text)  # in C++ and Cython, the name alone is the type
    functions = re.findall(r"^static inline (\w+) (hd_\w+)\(([^)]*)\)\s*\{", text, re.MULTILINE)
    entries = re.findall(r"\bF\((\w+), (\w+), \((.*?)\)\)", text)
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    out = [f'cdef extern from "{header}" nogil:', "    pass"]
    for names in re.findall(r"^static const double ([^;]*);", text, re.MULTILINE):
        out.append("    const double " + ", ".join(re.findall(r"(\w+) =", names)))
    for name, body in re.findall(r"^enum ?(\w*) \{(.*?)\};", text, re.MULTILINE | re.DOTALL):
        members = [member.partition("=") for member in body.split(",")]
        for place, (member, _, value) in enumerate(members):
            sizes[member.strip()] = eval(value, {}, sizes) if value else place
        out.append(f"    enum {name}:".replace(" :", ":") + " " + ", ".join(member.strip() for member, _, _ in members))
    for name, body in re.findall(r"^struct (\w+)(?:;| \{(.*?)\};)", text, re.MULTILINE | re.DOTALL):
        out.append(f"    struct {name}" + (":" if body else ""))
        body = re.sub(r"\[(.*?)\]", lambda size: f"[{eval(size[1], {}, sizes)}]", body)
        members = []
        for several in re.sub(r"HD_FUNCTIONS.*", "", body).split(";")[:-1]:
            first, *others = " ".join(several.split()).split(", ")
            kind, _, first = first.rpartition(" ")
            members += [f"{kind} {member}" for member in (first, *others)]
        out += [f"        {member}" for member in members]
        kinds = {"double": "f8", "int64_t": "i8"} | {known: known for known in fields}
        found = [re.fullmatch(r"(\w+) (\w+)(?:\[(\d+)\])?", member) for member in members]
        if found and all(field and field[1] in kinds for field in found):
            fields[name] = [(field[2], kinds[field[1]], int(field[3] or 0)) for field in found if field]
        if "HD_FUNCTIONS" in body:
            out += [f"        {kind} (*{entry})({_types(given)}) noexcept nogil" for kind, entry, given in entries]
    out += [f"    {kind} {name}({_types(given)})" for kind, name, given in functions]
    return "\n".join(out) + "\n"


def _types(arguments: str) -> str:
    """Return the types of arguments without their names, of which some are words of Python."""
    found = []
    for argument in arguments.split(","):
        kind, star, name = argument.strip().rpartition("*")
        plain = kind + star if star else name.rpartition(" ")[0] or name
        found.append(plain + " *" if "[" in argument else plain)
    return ", ".join(found)
