"""Estimates the ratio of the true to the modelled way from the kind of the servos, their sag and the IMU.

    way = (1 + c - STUMBLE max(|z| - CALM, 0)) modelled way

z [rad] is the innovation of the yaw without its mean over MEAN: a foot that strikes the ground early, on a bump or
because its horn is off, turns the body for a moment, and its step is shorter; a steady difference, as in a turn, has
no such effect. c of robots whose dead zone b and play p [rad] `identify` has found is S (b + p): joints that sag
make longer strides than those of the model. S is FED of servos that feed the set-point's rate forward, and DAMPED of
those that damp against zero rate, which brake a joint within its dead zone. c of other robots is OTHER_FED or
OTHER_DAMPED: a learnt dead band says nothing more about their way. Between the two kinds (servo_lag.py) it is linear.

OTHER_FED, OTHER_DAMPED and STUMBLE come from a regression over 208 walks of 40 s, the same truths on MuJoCo and in
the built-in physics: 80 of servos=real (seeds 6200 to 6239, 6400 to 6439) and 24 of servos that are springs (8400 to
8423), two gaits, every second ground rough. The ground of the built-in physics gives way, as that of the model, and
MuJoCo's hardly: the same robot walks 0.8 % (adaptive gait) and 2.2 % (tripod) further on it, and a floor may be
either. The rule lies between. FED and DAMPED are of 32 walks on MuJoCo of robots that are known exactly
(servos=real without payload, seeds 6000 to 6031, both gaits), where a regression gives 2.39 and 1.33.
"""

from __future__ import annotations

import math

FED, DAMPED, STUMBLE = 2.4, 1.3, 26.0
OTHER_FED, OTHER_DAMPED = 0.008, -0.006
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

    def update(self, band: float, yaw_innovation: float, dt: float, feed_forward: float = 1.0) -> float:
        """Return the share [1] of the modelled way that is to be added to the way.

        band [rad]: dead band. yaw_innovation [rad]: measured less modelled heading. dt [s]: since the last call.
        feed_forward, 0 to 1: share of the set-point's rate that the servos feed forward.
        """
        turned = yaw_innovation - self._mean
        self._mean -= turned * math.expm1(-dt / MEAN)
        if self._play is None:
            longer = OTHER_DAMPED + feed_forward * (OTHER_FED - OTHER_DAMPED)
        else:
            longer = (DAMPED + feed_forward * (FED - DAMPED)) * (band + self._play)
        self.share = longer - STUMBLE * max(min(abs(turned), LARGEST) - CALM, 0.0)
        return self.share
