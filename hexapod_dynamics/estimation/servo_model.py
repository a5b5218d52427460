"""What is learnt of the servos while walking: their dead band and the kind of their damping.

DeadBandFilter estimates the servos' dead band from the distance of loaded joints from their set-points.

A servo with a dead band exerts torque only for the part of the deviation that exceeds the band: under load the
joint stands at the band's edge. With the stretch x of the servo's spring that the model predicts (torque over
stiffness, [rad]),

    setpoint - measured = c x + b sign(x) + o,    |x| > LOADED

c is the ratio of the true to the modelled load over stiffness, b the dead band [rad], the same for all servos, and o a
trim of each joint. Recursive least squares with priors and exponential forgetting finds them together: b follows
from loads that change sign between swing and stance and, as far as trims are small, from joints that are always
loaded in one direction. Small loads are not used: standing feet can push against each other, and then the sign of the
model's load may be wrong. Where `identify` has found the dead zone, it is the prior of b.

ServoLag estimates by how much the joints follow later than those of the model, and from that the kind of the servos.

    measured - modelled = -tau rate

tau [s] is one lag for all joints: least squares with a prior and exponential forgetting. A servo that damps against
zero rate follows d / k (damping over stiffness) later than one that feeds the set-point's rate forward; a late bus
and late servos add to both. With d / k = 10 ms and delays up to 16 ms, in 40 walks on MuJoCo (servos=real, seeds 2000
to 2039), tau of 19 servos of the one kind was -2 to 12 ms, of 21 of the other 11 to 33 ms.

The model adopts the kind once it is learnt. If its servos damp, its own joints follow by d / k later. This lag is
added to the one that the readings show, so tau stays the lag beyond a model that feeds the rate forward.
"""

from __future__ import annotations

from statistics import mean

import numpy as np

from hexapod_dynamics.robot import Robot

# Stretch [rad] beyond which a joint is used.
LOADED = 7e-3
# Time constant of the memory [s].
MEMORY = 30.0


def compute_weight(rate: float) -> float:
    """Return the weight [1/rad^2] of a reading while the joint turns at a rate [rad/s]."""
    variance = 4e-3**2 + (0.01 * rate) ** 2  # of a reading [rad], and by that of its time [s]
    return 1.0 / (10.0 * variance)  # the errors of successive readings are correlated: ten count as one


class DeadBandFilter:
    """Estimates the dead band of a robot's servos; count: of joints; largest [rad]: bound of the estimate; identified
    [rad]: the dead zone, if it was identified.
    """

    def __init__(self, count: int, largest: float, identified: float | None = None) -> None:
        self.count, self.largest = count, largest
        # Standard deviations before anything is known of c, b (docs/results/identify.md) and o of each joint.
        deviations = np.array([0.1, 6e-3 if identified is None else 1e-3, *[1.5e-3] * count])
        self._prior = deviations**-2
        self._prior_sums = self._prior * np.array([1.0, identified or 0.0, *[0.0] * count])  # c is about 1
        self._diagonal = np.diag_indices(2 + count)
        self._information, self._sums = np.diag(self._prior), self._prior_sums.copy()

    @classmethod
    def from_robot(cls, robot: Robot) -> DeadBandFilter:
        """Return the filter of a Robot, with the dead zone of its servos if it has been identified."""
        identified = mean(servo.dead_zone for servo in robot.joint_servos) if robot.joint_servos else None
        return cls(robot.joint_count, 4.0 * robot.servo.resolution, identified)

    @property
    def certain_band(self) -> float:
        """The certain part of the dead band [rad]: the estimate less its standard deviation."""
        covariance = np.linalg.inv(self._information)
        least = covariance[1] @ self._sums - np.sqrt(covariance[1, 1])
        return float(np.clip(least, 0.0, self.largest))

    def measure(self, joint: int, lag: float, stretch: float, rate: float) -> None:
        """Process a reading of a joint.

        lag [rad]: set-point (without learnt offsets) less reading. stretch [rad]: of the model's servo spring.
        rate [rad/s]: of the modelled joint.
        """
        if abs(stretch) < LOADED:
            return
        weight, sign = compute_weight(rate), 1.0 if stretch > 0.0 else -1.0
        equation = ((0, stretch), (1, sign), (2 + joint, 1.0))
        for i, here in equation:
            self._sums[i] += weight * lag * here
            for k, there in equation:
                self._information[i, k] += weight * here * there

    def forget(self, seconds: float) -> None:
        """Advance by a time: the weight of the data decays towards the prior."""
        share = 1.0 - float(np.exp(-seconds / MEMORY))
        self._information *= 1.0 - share
        self._sums *= 1.0 - share
        self._information[self._diagonal] += share * self._prior
        self._sums += share * self._prior_sums


LARGEST = 0.05  # the residual is limited to it [rad]
FIRST, RANGE = 1.0, 0.4  # beyond FIRST d / k some damp against zero rate, beyond FIRST + RANGE all do


class ServoLag:
    """Learns tau from the readings of all joints.

    damping_time [s]: d / k of the model's servos. identified: the kind that `identify` has found, 0 to 1; None: it is
    not known.
    """

    def __init__(self, damping_time: float, identified: float | None = None) -> None:
        self._damping_time, self._identified = damping_time, identified
        self._modelled = 1.0  # share of the set-point's rate that the model's servos feed forward
        self._information = self._sum = 0.0

    @classmethod
    def from_robot(cls, robot: Robot) -> ServoLag:
        """Return the ServoLag of a Robot, with the damping of its servos that `identify` has found, if any."""
        servos = robot.joint_servos
        identified = mean(each.feed_forward for each in servos) if servos else None
        return cls(robot.servo.damping / robot.servo.stiffness, identified)

    def adopt_feed_forward(self) -> float:
        """Adopt the present `feed_forward` as that of the model's servos, and return it."""
        self._modelled = self.feed_forward
        return self._modelled

    def measure(self, residual: float, rate: float) -> None:
        """Learn from one reading; residual: measured less modelled angle [rad]; rate: of the modelled joint [rad/s]."""
        residual = self.refer_to_feed_forward(residual, rate)
        weight = rate * compute_weight(rate)
        self._information += weight * rate
        self._sum -= weight * min(max(residual, -LARGEST), LARGEST)

    def refer_to_feed_forward(self, residual: float, rate: float) -> float:
        """Return `residual` [rad] as it would be if the model's servos fed the rate [rad/s] forward."""
        return residual - (1.0 - self._modelled) * self._damping_time * rate

    def forget(self, seconds: float) -> None:
        """Advance by a time: the weight of the data decays."""
        share = 1.0 - min(seconds / MEMORY, 1.0)
        self._information *= share
        self._sum *= share

    @property
    def seconds(self) -> float:
        """The lag tau [s] beyond that of a model that feeds the rate forward; 0 before the first reading."""
        return self._sum / (self._information + 0.01**-2)  # [s] its standard deviation before anything is known

    @property
    def feed_forward(self) -> float:
        """1 if the servos feed the set-point's rate forward, 0 if they damp against zero rate; between: unsure."""
        if self._identified is not None:
            return self._identified
        if self._damping_time <= 0.0:
            return 1.0
        return 1.0 - min(max((self.seconds / self._damping_time - FIRST) / RANGE, 0.0), 1.0)
