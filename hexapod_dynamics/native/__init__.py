"""C code of a robot: printed from its traced programs, compiled by the system's compiler, and kept.

`library` is what the rest of the package uses: it returns an open shared library.
"""

from hexapod_dynamics.native.library import opened as library

__all__ = ["library"]
