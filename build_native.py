"""How setup.py builds the C parts: the extension _model and JetHexa's libraries. Nothing is compiled at launch.

Nothing here runs when setup.py is merely read, as colcon does. What is compiled with the package lies in
hexapod_dynamics/native/built/, one folder for each target: this processor, and, for an image or a wheel that is made
for others, the family that the environment variable HEXAPOD_DYNAMICS_PROCESSOR names (x86-64-v3, cortex-a57, ...).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
MODEL = Extension("hexapod_dynamics.native._model", ["hexapod_dynamics/native/_model.c"])


class BuildNative(build_ext):
    """Checks that a compiler and the headers are here, compiles the extensions, then JetHexa's libraries."""

    def run(self) -> None:
        """Build everything, or say in one line what to install."""
        self._look()
        super().run()
        place = ROOT if self.inplace else Path(self.build_lib).resolve()
        built = place / "hexapod_dynamics" / "native" / "built"
        # In a process of its own: this one may have another hexapod_dynamics imported, or an old one installed.
        command = [sys.executable, "-m", "hexapod_dynamics.dynamics.build_libraries", str(built)]
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode != 0:
            raise SystemExit("hexapod_dynamics: JetHexa's libraries could not be compiled, see above")

    def build_extension(self, ext: Extension) -> None:
        """Compile an extension with numpy's headers, and the digest of its sources where it checks that."""
        import numpy

        ext.include_dirs = [*ext.include_dirs, numpy.get_include(), str(ROOT / "hexapod_dynamics" / "native")]
        if ext.name == MODEL.name:
            ext.define_macros = self._macros()
        super().build_extension(ext)

    @staticmethod
    def _macros() -> list[tuple[str, str]]:
        sys.path.insert(0, str(ROOT))
        try:
            from hexapod_dynamics.native.extension import macros

            return list(macros())
        finally:
            sys.path.remove(str(ROOT))

    @staticmethod
    def _look() -> None:
        """Say what is missing before anything else begins."""
        missing = []
        if not any(map(shutil.which, ("gcc", "cc", "clang"))):
            missing.append("gcc")
        if not Path(sysconfig.get_paths()["include"], "Python.h").is_file():
            missing.append("python3-dev")
        try:
            import numpy  # noqa: F401
        except ImportError:
            missing.append("python3-numpy")
        if missing:
            raise SystemExit(
                f"hexapod_dynamics: a C compiler and headers are needed: sudo apt install {' '.join(missing)}"
            )
