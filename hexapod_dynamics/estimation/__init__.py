"""State estimation: the observer that the dynamics node runs, and its filters.

`DamageDetector` and `DetectorSettings` of `hexapod_dynamics.detection` can be imported from here, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics import load_on_first_use

if TYPE_CHECKING:
    from hexapod_dynamics.detection import DamageDetector, DetectorSettings

__all__ = ["DamageDetector", "DetectorSettings"]

__getattr__ = load_on_first_use(__name__, dict.fromkeys(__all__, "hexapod_dynamics.detection"))
