"""Builds the compiled kernels of hexapod_dynamics, for setup.py: Python files with a .pxd beside them, by Cython and C.

Nothing here runs while setup.py is merely read. The C files and the objects stay inside the build directory. Any Cython
from 0.29.28 (Ubuntu 22.04) on will do; where there is none, pip fetches one into the build directory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension
from setuptools.command.build_ext import build_ext

PACKAGE = "hexapod_dynamics"
# Modules that are compiled. A .pxd without its module here declares a struct only.
KERNELS = (
    "kernel_memory",
    "kinematics.three_joint_leg",
    "gait.leg_motion",
    "gait.cycle",
    "gait.gait_memory",
    "gait.adaptive_press",
    "gait.adaptive_return",
    "gait.adaptive_feet",
    "gait.adaptive_kernel",
    "gait.tripod_kernel",
    "gait.first_cycle",
    "gait.planning.evaluation",
    "gait.planning.cost",
)
OLDEST_CYTHON = (0, 29, 28)
NEEDED = "cython>=3,<4"
# No checks at each number, division as in C (a remainder has the sign of its dividend).
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "boundscheck": False,
    "cdivision": True,
    "infer_types": True,
    "wraparound": False,
}
# Nobody reads errno or the floating point flags. Never -ffast-math: it sets flush-to-zero for the whole process.
FLAGS = ["-O2", "-g0", "-fno-math-errno", "-fno-trapping-math"]


def kernel_extensions() -> list[Extension]:
    """Return the extensions; `build` gives them their sources, so that whoever reads setup.py needs no Cython."""
    return [Extension(f"{PACKAGE}.{name}", [], extra_compile_args=FLAGS) for name in KERNELS]


def missing_tools() -> str:
    """Return what is missing to compile and what to install, in one line; empty if nothing is."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    header = Path(sysconfig.get_path("include"), "Python.h")
    missing = [] if shutil.which(compiler) else [f"the C compiler {compiler} (sudo apt install build-essential)"]
    if not header.is_file():
        missing.append(f"{header} (sudo apt install python3-dev)")
    return " and ".join(missing)


def write_c(extensions: list[Extension], directory: Path) -> None:
    """Write the C file of each kernel among the extensions into the directory, if it is out of date, and name it as its
    source.
    """
    directory.mkdir(parents=True, exist_ok=True)
    kernels = [extension for extension in extensions if _is_kernel(extension)]
    sources = {extension.name: extension.name.replace(".", "/") for extension in kernels}
    results = {name: directory / f"{source}.c" for name, source in sources.items()}
    declarations = max(path.stat().st_mtime for path in Path(PACKAGE).rglob("*.pxd"))
    for name, result in results.items():
        newest = max(declarations, Path(f"{sources[name]}.py").stat().st_mtime)
        if result.is_file() and result.stat().st_mtime < newest:
            result.unlink()
    if not all(result.is_file() for result in results.values()):
        _find_cython(directory)
        import Cython
        from Cython.Build import cythonize

        directives = dict(DIRECTIVES)
        if _numbers(Cython.__version__) >= (3,):
            directives["legacy_implicit_noexcept"] = True  # as before 3.0; kernels raise nothing
        missing = [Extension(name, [f"{source}.py"]) for name, source in sources.items() if not results[name].is_file()]
        cythonize(missing, compiler_directives=directives, build_dir=str(directory), force=True, quiet=True)
    for extension in kernels:
        extension.sources = [str(results[extension.name])]


def _is_kernel(extension: Extension) -> bool:
    return extension.name.removeprefix(f"{PACKAGE}.") in KERNELS


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _find_cython(directory: Path) -> None:
    """Make Cython importable; fetch it into the directory where it is missing or too old."""
    found = _cython_version()
    if found >= OLDEST_CYTHON:
        return
    place = directory / "cython"
    if not place.is_dir():
        had = ".".join(map(str, found)) or "none"
        print(f"{PACKAGE}: fetching {NEEDED} by pip into {place}, because Cython here is {had}", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), NEEDED]
        if subprocess.run(command, check=False).returncode != 0:
            shutil.rmtree(place, ignore_errors=True)
            raise SystemExit(
                f"{PACKAGE}: Cython is missing: sudo apt install cython3, or python3 -m pip install cython"
            )
    for name in [name for name in sys.modules if name.partition(".")[0] in ("Cython", "cython", "pyximport")]:
        del sys.modules[name]
    sys.path.insert(0, str(place))


def _cython_version() -> tuple[int, ...]:
    try:
        import Cython
    except ImportError:
        return ()
    return _numbers(Cython.__version__)


class BuildKernels(build_ext):
    """build_ext that makes the sources of the kernels before it compiles them."""

    def run(self) -> None:
        """Check the tools, write the C files, compile."""
        missing = missing_tools()
        if missing:
            raise SystemExit(f"{PACKAGE} cannot be compiled: missing is {missing}")
        write_c(self.extensions, Path(self.build_temp))
        self.parallel = self.parallel or os.cpu_count()
        super().run()
