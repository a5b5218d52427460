"""Corrects the length of the modelled way along the ground, and advances the covariance of the pose accordingly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean

from hexapod_dynamics.estimation.pose_uncertainty import PoseUncertainty, Spread
from hexapod_dynamics.estimation.speed_factor import SpeedFactor
from hexapod_dynamics.robot import JointServo
from hexapod_dynamics.simulation import Predictor


class TravelledWay:
    """The way of a model's body since the last call; `uncertainty` holds the covariance of the pose.

    Args:
        model: the model whose position is corrected.
        spread: standard deviations from which the covariance is computed.
        identified: the servos as identified, none if they are not.
    """

    def __init__(self, model: Predictor, spread: Spread | None = None, identified: Sequence[JointServo] = ()) -> None:
        self._model = model
        play = mean(each.play for each in identified) if identified else None
        self.speed_factor, self.uncertainty = SpeedFactor(play), PoseUncertainty(spread)
        self._before: tuple[list[float], float] = ([0.0, 0.0], 0.0)  # position and time of the last covariance

    def begin(self, time: float) -> None:
        """Start a way at the present position."""
        self._before = (self._model.position[:2].tolist(), time)

    def lengthen(self, time: float, band: float, turned: float, trusted: bool) -> None:
        """Correct the position along the ground by the speed factor's share of the modelled way.

        Args:
            time: [s].
            band: learnt dead band of the servos [rad].
            turned: measured less modelled heading [rad].
            trusted: False if the model's loads are not reliable: then nothing is corrected.
        """
        (x, y), then = self._before
        share = self.speed_factor.update(band, turned, time - then)
        if not trusted:
            return
        position, slope = self._model.position, self._model.slope
        dx, dy = share * (position.item(0) - x), share * (position.item(1) - y)
        position[0] += dx
        position[1] += dy
        position[2] += slope.item(0) * dx + slope.item(1) * dy

    def advance(self, time: float, yaw: float, inconsistent: bool, innovation: list[float]) -> None:
        """Advance the covariance; innovation (3,): of the attitude, about world axes [rad]."""
        (x, y), then = self._before
        position = self._model.position
        dx, dy = float(position[0]) - x, float(position[1]) - y
        cos, sin = math.cos(yaw), math.sin(yaw)
        roll, pitch, turn = innovation
        step = (cos * dx + sin * dy, cos * dy - sin * dx, time - then)
        self.uncertainty.advance(step, yaw, inconsistent, math.hypot(roll, pitch), turn)
        self.begin(time)
