"""C code of a robot: printed from its traced programs, compiled by the system's compiler, and kept.

`library` returns an open shared library, `builtins` the functions of it that Python can call.
"""

from hexapod_dynamics.native.extension import builtins
from hexapod_dynamics.native.library import LibrarySource
from hexapod_dynamics.native.library import opened as library

__all__ = ["LibrarySource", "builtins", "library"]
