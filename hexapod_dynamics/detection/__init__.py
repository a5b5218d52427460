"""Damage detection: `DamageDetector` is the public class, the other modules are its parts."""

from hexapod_dynamics.detection.detector import DamageDetector
from hexapod_dynamics.detection.settings import DetectorSettings

__all__ = ["DamageDetector", "DetectorSettings"]
