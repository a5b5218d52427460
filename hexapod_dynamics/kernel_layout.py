"""Named fields of the arrays that compiled kernels read: the structs of the .pxd files, as numpy sees them."""

from __future__ import annotations

from typing import Any

import numpy as np


def struct(**sizes: int) -> np.dtype:
    """Return the dtype of a struct of float64 fields, each of so many numbers (1: a plain number)."""
    return np.dtype([(name, float) if size == 1 else (name, float, size) for name, size in sizes.items()])


def rows(array: np.ndarray, layout: np.dtype) -> Any:
    """Return the memory of an array as rows with named fields, for kernels that run without being compiled."""
    return array.reshape(-1).view(layout).view(np.recarray)


def columns(layout: np.dtype) -> list[int]:
    """Return where each field begins, counted in numbers, and how many numbers there are in all."""
    fields: Any = layout.fields or {}
    return [fields[name][1] // 8 for name in layout.names or ()] + [layout.itemsize // 8]
