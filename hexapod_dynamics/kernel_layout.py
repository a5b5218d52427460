"""Named fields of the arrays that compiled kernels read: the structs of the .pxd files as numpy types."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def struct(**sizes: int) -> np.dtype:
    """Return the dtype of a struct of float64 fields, each with its number of elements (1: a plain number)."""
    return np.dtype([(name, float) if size == 1 else (name, float, size) for name, size in sizes.items()])


def rows(array: np.ndarray, layout: np.dtype) -> Any:
    """Return the memory of an array as rows with named fields, for kernels that run without being compiled."""
    return array.reshape(-1).view(layout).view(np.recarray)


def columns(layout: np.dtype) -> list[int]:
    """Return the index of the number at which each field begins, and the total count of numbers."""
    fields: Any = layout.fields or {}
    return [fields[name][1] // 8 for name in layout.names or ()] + [layout.itemsize // 8]


def warn_uncompiled() -> None:
    """Warn that the kernels run uncompiled, with correct results but some hundred times slower, and name the
    remedy.
    """
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    others = sorted(path.name for path in Path(__file__).parent.glob("kernel_memory.*.so"))
    state = f"compiled for another Python ({', '.join(others)}), not for {python}" if others else "not compiled"
    warnings.warn(
        f"the kernels of hexapod_dynamics are {state}, and run very slowly: build the package again (colcon build, or "
        "pip install .) with the Python that runs it",
        RuntimeWarning,
        stacklevel=3,
    )
