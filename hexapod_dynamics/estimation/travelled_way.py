"""Corrects the length of the modelled way along the ground, and advances the covariance of the pose accordingly."""

from __future__ import annotations

import math
from statistics import mean

from hexapod_dynamics.estimation.pose_uncertainty import PoseUncertainty, Spread
from hexapod_dynamics.estimation.speed_factor import SpeedFactor
from hexapod_dynamics.estimation.stride_measures import StrideMeasures
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import Predictor


class TravelledWay:
    """The way of a model's body since the last call; `uncertainty` holds the covariance of the pose, `strides` how
    the strides differ from the model's.

    Args:
        model: the model whose position is corrected.
        robot: Robot; the play of its servos is used if it has been identified.
        spread: standard deviations from which the covariance is computed.
    """

    def __init__(self, model: Predictor, robot: Robot, spread: Spread | None = None) -> None:
        self._model = model
        self.speed_factor = SpeedFactor(mean(each.play for each in robot.joint_servos) if robot.joint_servos else 0.0)
        self.strides, self.uncertainty = StrideMeasures(robot.gravity), PoseUncertainty(spread)
        self._before: tuple[list[float], float] = ([0.0, 0.0], 0.0)  # position and time of the last covariance

    def begin(self, time: float) -> None:
        """Start a way at the present position."""
        self._before = (self._model.position[:2].tolist(), time)

    def clear(self) -> None:
        """Forget what is learnt of the strides."""
        self.speed_factor.clear()
        self.strides.clear()

    def lengthen(self, time: float, turned: float, trusted: bool) -> None:
        """Correct the position along the ground by the speed factor's share of the modelled way.

        Args:
            time: [s].
            turned: measured less modelled heading [rad].
            trusted: False if the model's loads are not reliable: then nothing is corrected.
        """
        (x, y), then = self._before
        share = self.speed_factor.update(self.strides, turned, time - then)
        if not trusted:
            self.speed_factor.share = 0.0
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
