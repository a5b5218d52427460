"""Two arrays are equal up to rounding: what is computed twice is compared by its largest entry."""

import numpy as np
from numpy.typing import ArrayLike


def assert_close(given: ArrayLike, expected: ArrayLike, tolerance: float = 1e-9) -> None:
    """Assert equal shapes, and that the largest error is at most `tolerance` of the largest expected entry."""
    given, expected = np.asarray(given), np.asarray(expected)
    assert given.shape == expected.shape
    assert np.max(np.abs(given - expected), initial=0.0) <= tolerance * np.max(np.abs(expected), initial=1e-300)
