"""Estimates by how much the joints follow later than those of the model, and from that the kind of the servos.

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

from hexapod_dynamics.robot import Robot

# Time constant of the memory [s]; standard deviation of tau before anything is known [s].
MEMORY, UNKNOWN = 30.0, 0.01
# Standard deviations of a reading [rad] and of its time [s]. The errors of successive readings are correlated: this
# number of readings counts as one.
NOISE, TIMING, ALIKE = 4e-3, 0.01, 10.0
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
        self.clear()

    @classmethod
    def of_robot(cls, robot: Robot) -> ServoLag:
        """Return the ServoLag of a Robot, with the kind of its servos if it has been identified."""
        servos = robot.joint_servos
        identified = mean(each.feed_forward for each in servos) if servos else None
        return cls(robot.servo.damping / robot.servo.stiffness, identified)

    def adopt(self) -> float:
        """Return the present `feed_forward`, with which the model's servos go on from now."""
        self._modelled = self.feed_forward
        return self._modelled

    def clear(self) -> None:
        """Forget all readings."""
        self._information, self._sum = 0.0, 0.0

    def measure(self, residual: float, rate: float) -> None:
        """Process a reading: measured less modelled angle [rad], rate of the modelled joint [rad/s]."""
        residual = self.behind_feed_forward(residual, rate)
        weight = rate / (ALIKE * (NOISE**2 + (TIMING * rate) ** 2))
        self._information += weight * rate
        self._sum -= weight * min(max(residual, -LARGEST), LARGEST)

    def behind_feed_forward(self, residual: float, rate: float) -> float:
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
        return self._sum / (self._information + UNKNOWN**-2)

    @property
    def feed_forward(self) -> float:
        """1 if the servos feed the set-point's rate forward, 0 if they damp against zero rate; between: unsure."""
        if self._identified is not None:
            return self._identified
        if self._damping_time <= 0.0:
            return 1.0
        return 1.0 - min(max((self.seconds / self._damping_time - FIRST) / RANGE, 0.0), 1.0)
