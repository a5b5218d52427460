"""Estimates the ratio of the true to the modelled way from how the strides differ from the model's.

    way = (1 + share) modelled way
    share = SURGE (1 - surge) + DEFLECTION deflection - PITCHING max(pitching - CALM, 0)
            - STUMBLE max(|z| - EVEN, 0) + PLAY p

surge, deflection and pitching: stride_measures.py. z [rad] is the innovation of the yaw without its mean over MEAN: a
foot that strikes a bump turns the body for a moment, and its step is shorter; a steady difference, as in a turn, has
no such effect. p [rad] is the servos' play, which no reading shows; 0 where `identify` has not found it. The share of
a robot that walks as its model is 0.

SURGE, DEFLECTION, PITCHING and CALM: least squares of 800 walks of 30 s in both physics: 320 truths servos=real (seeds
6240 to 6399, 6440 to 6599; 640 walks) and 80 whose servos are springs (`random_truth`, seed 8600; 160 walks), half of
them of each gait, half on rough ground. They leave 1.8 % (standard deviation) of 2.5 %, each tenth of the robots
predicted from the others. STUMBLE: of 91 walks of 60 s of random truths on MuJoCo (benchmark/prediction.py; adaptive
gait: seeds 2000, 3000 and 5100; tripod gait: 2500 and 5000); EVEN and LARGEST are set so that it acts only where feet
stumble more than in nearly all of the 800. PLAY: of 22 walks of identified robots (servos=real, 6800 on).
"""

from __future__ import annotations

import math

from hexapod_dynamics.estimation.stride_measures import StrideMeasures

SURGE, DEFLECTION = 0.0353, 20.6  # [1], [1/rad]
PITCHING, CALM = 1.99, 0.0218  # [s/rad], [rad/s]
STUMBLE, PLAY = 22.0, 3.0  # [1/rad]
# Changes of the heading that count, and the largest of them [rad]; time constant of their mean [s].
EVEN, LARGEST, MEAN = math.radians(0.3), math.radians(0.8), 2.0
# Bounds of `surge` and of each other share: they are beyond what any of these walks has.
MOST_SURGE, MOST = 2.0, 0.1


class SpeedFactor:
    """Computes `share`; it is 0 before the first `update`.

    play [rad]: half of the servos' play, as identified; 0: it is not known.
    """

    def __init__(self, play: float = 0.0) -> None:
        self._play = play
        self.clear()

    def clear(self) -> None:
        """Reset the mean."""
        self.share = self._mean = 0.0

    def update(self, strides: StrideMeasures, yaw_innovation: float, dt: float) -> float:
        """Return the share [1] of the modelled way that is to be added to the way.

        yaw_innovation [rad]: measured less modelled heading. dt [s]: since the last call.
        """
        turned = yaw_innovation - self._mean
        self._mean -= turned * math.expm1(-dt / MEAN)
        surge = SURGE * (1.0 - min(max(strides.surge, 0.0), MOST_SURGE))
        deflected = min(max(DEFLECTION * strides.deflection, -MOST), MOST)
        pitched = min(PITCHING * max(strides.pitching - CALM, 0.0), MOST)
        stumbled = STUMBLE * max(min(abs(turned), LARGEST) - EVEN, 0.0)
        self.share = surge + deflected - pitched - stumbled + PLAY * self._play
        return self.share
