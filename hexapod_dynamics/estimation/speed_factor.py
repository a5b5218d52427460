"""Estimates the ratio of the true to the modelled way from the servos' sag and the IMU.

    way = (1 + S (b + p) - STUMBLE max(|z| - CALM, 0)) modelled way

b [rad] is the dead band of the servos: joints that sag by b make longer strides than those of the model. So does
their play p [rad], which no reading shows: it is UNSEEN where `identify` has not found it. S of servos that damp
against zero rate, which brake a joint within its dead zone, is DAMPED. S of those that feed the set-point's rate
forward is FED where dead zone and play are identified, and SAG where only a part of them is seen. The kind is
identified, or learnt from the lag of the joints (servo_lag.py). z [rad] is the innovation of the yaw without its
mean over MEAN: a foot that strikes the ground early, on a bump, turns the body for a moment, and its step is
shorter; a steady difference, as in a turn, has no such effect.

SAG and STUMBLE come from a regression over 91 walks of 60 s on MuJoCo with random truths (benchmark/prediction.py;
adaptive gait: seeds 2000, 3000 and 5100; tripod gait: 2500 and 5000). DAMPED and FED are of 32 walks of robots
that are known exactly (servos=real without payload, seeds 6000 to 6031, both gaits), where a regression gives 1.33
and 2.39. UNSEEN was chosen with 40 walks of servos=real (2000 to 2039) and 24 of servos that are springs (8300 to
8323), both gaits: it takes a mean error along the way of 0.5 % from the first (-0.5 to -0.1 %) and of 0.6 % from
the second (-0.7 to -0.1 %).
"""

from __future__ import annotations

import math

SAG, FED, DAMPED, STUMBLE = 3.5, 2.4, 1.3, 22.0
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
        self._play, self._fed = (UNSEEN, SAG) if play is None else (play, FED)
        self.clear()

    def clear(self) -> None:
        """Reset the mean."""
        self.share = self._mean = 0.0

    def update(self, band: float, yaw_innovation: float, dt: float, feed_forward: float = 1.0) -> float:
        """Return the share [1] of the modelled way that is to be added to the way.

        band [rad]: learnt dead band. yaw_innovation [rad]: measured less modelled heading. dt [s]: since the last call.
        feed_forward, 0 to 1: share of the set-point's rate that the servos feed forward.
        """
        turned = yaw_innovation - self._mean
        self._mean -= turned * math.expm1(-dt / MEAN)
        sag = DAMPED + feed_forward * (self._fed - DAMPED)
        self.share = sag * (band + self._play) - STUMBLE * max(min(abs(turned), LARGEST) - CALM, 0.0)
        return self.share
