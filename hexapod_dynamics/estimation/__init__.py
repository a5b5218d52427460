"""State estimation: the observer that the dynamics node runs, its filters, and the damage detector."""

from hexapod_dynamics.estimation.damage import DamageDetector, DetectorSettings

__all__ = ["DamageDetector", "DetectorSettings"]
