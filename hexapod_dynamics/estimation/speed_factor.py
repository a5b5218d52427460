"""Estimates the ratio of the true to the modelled way from the servos' sag and the IMU.

    way = (1 + SAG (b + p) - STUMBLE max(|z| - CALM, 0)) modelled way

b [rad] is the dead band of the servos: joints that sag by b make longer strides than those of the model. So does
their play p [rad], which no reading shows: it is UNSEEN where `identify` has not found it. z [rad] is the innovation
of the yaw without its mean over MEAN: a foot that strikes the ground early, on a bump or because its horn is off,
turns the body for a moment, and its step is shorter; a steady difference, as in a turn, has no such effect.

SAG is of walks on MuJoCo of robots that are known exactly and feed the set-point's rate forward (32 truths
servos=real without payload, seeds 6000 to 6031): a regression gives 2.39. The model's servos have the kind of the
robot's (servo_lag.py), so it holds for both kinds. STUMBLE comes from 91 walks of 60 s on MuJoCo with random truths
(benchmark/prediction.py; adaptive gait: seeds 2000, 3000 and 5100; tripod gait: 2500 and 5000), UNSEEN from 40 walks
of servos=real (2000 to 2039) and 24 of servos that are springs (8300 to 8323).

The ground of the built-in physics gives way, as that of the model, and MuJoCo's hardly: the same robot walks 0.8 %
(adaptive gait) and 2.2 % (tripod) further on it. A floor may be either. A regression over the same 80 truths
(servos=real, seeds 6200 to 6239, 6400 to 6439) in both physics gives 1.2 % instead of SAG (b + p), which is 1.3 to
1.7 % of them, and finds nothing else that tells floors or robots apart (docs/results/servos.md).
"""

from __future__ import annotations

import math

SAG, STUMBLE = 2.4, 22.0
CALM, UNSEEN = math.radians(0.1), math.radians(0.1)
MEAN = 2.0  # time constant of the mean of the yaw innovations [s]
# Largest change of the heading that counts: in 21 walks with errors of real servos (truth servos=real, tripod gait,
# seeds 302 to 411) feet at wrong heights turned the body by up to 1.4 degrees in each step, and the steps were not
# shorter.
LARGEST = math.radians(0.4)


class SpeedFactor:
    """Computes `share`, the factor less 1; it is 0 before the first `update`.

    play [rad]: half of the servos' play, as identified; None: it is not known.
    """

    def __init__(self, play: float | None = None) -> None:
        self._play = UNSEEN if play is None else play
        self.clear()

    def clear(self) -> None:
        """Reset the mean."""
        self.share = self._mean = 0.0

    def update(self, band: float, yaw_innovation: float, dt: float) -> float:
        """Return the share [1] of the modelled way that is to be added to the way.

        band [rad]: dead band. yaw_innovation [rad]: measured less modelled heading. dt [s]: since the last call.
        """
        turned = yaw_innovation - self._mean
        self._mean -= turned * math.expm1(-dt / MEAN)
        stumbles = STUMBLE * max(min(abs(turned), LARGEST) - CALM, 0.0)
        self.share = SAG * (band + self._play) - stumbles
        return self.share
