"""Estimates the ratio of the true to the modelled way from the IMU, and from what is identified of the servos.

    way = (1 + c - STUMBLE max(|z| - CALM, 0)) modelled way

z [rad] is the innovation of the yaw without its mean over MEAN: a foot that strikes the ground early, on a bump or
because its horn is off, turns the body for a moment, and its step is shorter; a steady difference, as in a turn, has
no such effect. c of robots whose dead zone b and play p [rad] `identify` has found is SAG (b + p): joints that sag
make longer strides than those of the model. c of other robots is OTHER: a learnt dead band says nothing about it.

OTHER and STUMBLE come from a regression over 160 walks of 40 s, the same 80 truths (servos=real, seeds 6200 to 6239,
6400 to 6439, two gaits, every second ground rough) on MuJoCo and in the built-in physics. The ground of the built-in
physics gives way, as that of the model, and MuJoCo's hardly: the same robot walks 0.8 % (adaptive gait) and 2.2 %
(tripod) further on it. A floor may be either, so c lies between: 1.2 % by the regression, set to 1.5 % after 128 other
truths (5500 to 5563, 5600 to 5663), which drifted by 2.1 % (median) on MuJoCo and 1.7 % in the built-in physics.
Without the same kind of servos in the model (servo_lag.py) c of robots that damp against zero rate would be 1.3 %
less. SAG is of those of 32 walks on MuJoCo (servos=real without payload, known exactly, seeds 6000 to 6031) that feed
the rate forward: a regression gives 2.39.
"""

from __future__ import annotations

import math

SAG, STUMBLE = 2.4, 22.0
OTHER = 0.015
CALM = math.radians(0.1)
MEAN = 2.0  # time constant of the mean of the yaw innovations [s]
# Largest change of the heading that counts: in 21 walks with errors of real servos (truth servos=real, tripod gait,
# seeds 302 to 411) feet at wrong heights turned the body by up to 1.4 degrees in each step, and the steps were not
# shorter.
LARGEST = math.radians(0.4)


class SpeedFactor:
    """Computes `share`, the factor less 1; it is 0 before the first `update`.

    play [rad]: half of the servos' play, as identified; None: neither dead zone nor play is known.
    """

    def __init__(self, play: float | None = None) -> None:
        self._play = play
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
        longer = OTHER if self._play is None else SAG * (band + self._play)
        self.share = longer - STUMBLE * max(min(abs(turned), LARGEST) - CALM, 0.0)
        return self.share
