"""A damage detector whose posterior is learnt from simulated walks: a network in place of bank and rules.

`LearnedDetector` takes the place of a DamageDetector in `Onboard(robot, detector=LearnedDetector(robot))`. It is tried
beside the rules of detection/ (docs/damage.md has both), which the nodes run; no node loads it.
"""

from hexapod_dynamics.learning.detector.learned_detector import LearnedDetector

__all__ = ["LearnedDetector"]
