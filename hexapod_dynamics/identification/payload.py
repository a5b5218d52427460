"""What the body carries, while it walks: mass and centre, from the sag of the servos and the tilt of the body.

In each time window the feet lift the body with a wrench that follows from the servos' leads (loads.py). What is more
than the empty robot needs is the payload's weight:

    carried - G(phi) = m g (u; c x u) + bias + noise,    u: up in base_link, c: the payload's centre

linear in (m, m cx, m cy) for a known height cz: Gauss-Markov estimate with exponential forgetting over MEMORY, so that
the inertial forces of the steps, which are zero on average over a cycle, cancel. `tare` takes the present estimate as
that of the empty robot (bias). The standard deviations have three parts: the scatter of the windows, the error of the
stiffnesses (of the payload's weight, without tare of the whole weight), and the unknown height of the payload.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.identification.loads import Servos, Statics
from hexapod_dynamics.robot import Morphology, Robot

Array = NDArray[np.float64]
WINDOW = 0.25  # [s] of a time window
MEMORY = 12.0  # [s] time constant of forgetting
LEAST = 8.0  # [s] of windows before anything is said
# Standard deviations of the stiffnesses, all together: of an identified robot file and of a catalogue's; of the height
# of a payload over base_link's origin, HEIGHT +- HEIGHT_ERROR [m].
IDENTIFIED, CATALOGUE, HEIGHT, HEIGHT_ERROR = 0.05, 0.15, 0.05, 0.03
# Priors of mass [kg] and first moments [kg m], wide; noise of a window's wrench [N, N m].
MASS_PRIOR, MOMENT_PRIOR = 2.0, 0.3
FORCE_NOISE, MOMENT_NOISE = 2.0, 0.2
# A mass this many standard deviations below zero, or a centre so far outside of the body's box [m], is no payload.
SIGNIFICANT, OUTSIDE = 3.0, 0.05


@dataclass(frozen=True)
class Payload:
    """mass [kg] and centre x, y [m] in base_link with their standard deviations; tared: relative to the empty robot.

    reason: why it cannot be told, or what speaks against a payload; empty if all is well.
    """

    mass: float
    x: float
    y: float
    mass_deviation: float
    x_deviation: float
    y_deviation: float
    tared: bool
    reason: str = ""

    def wrench(self, up: Array, gravity: float) -> Array:
        """Weight (6,) of the payload on the body, force first [N, N m], at upward direction up (3,), base_link axes."""
        force = -self.mass * gravity * np.asarray(up, float)
        return np.concatenate([force, np.cross([self.x, self.y, HEIGHT], force)])


class PayloadEstimator:
    """Estimates a Payload from joint readings, commands and attitudes of a standing or walking robot.

    Times are seconds on one clock. command_delay [s]: from a command to the servos' start where the robot file has no
    identified latency.
    """

    def __init__(self, robot: Robot, *, command_delay: float = 0.017, command_period: float = 0.02) -> None:
        self.robot, self.model = robot, WholeBodyModel(robot)
        self.servos = Servos.of_robot(robot)
        self.morphology = Morphology.whole(robot)
        identified = bool(robot.joint_servos)
        self.scale_error = IDENTIFIED if identified else CATALOGUE
        n = robot.joint_count
        self._delay = np.array([law.latency for law in robot.joint_servos]) if identified else np.full(n, command_delay)
        self._period = command_period
        self._commands: deque[tuple[float, Array]] = deque(maxlen=64)
        self._bias = np.zeros(3)
        self._bias_covariance = np.zeros((3, 3))
        self.tared = False
        self._up = np.array([0.0, 0.0, 1.0])
        self._begin: float | None = None
        self.restart()

    def restart(self) -> None:
        """Forget all windows; the tare stays."""
        self._information = np.zeros((3, 3))
        self._sums = np.zeros(3)
        self._square = self._weight = self._lasting = 0.0
        self._clear()

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt what is left of the robot; windows of another robot are forgotten."""
        if morphology != self.morphology:
            self.morphology = morphology
            self.restart()

    def command(self, time: float, targets: Array) -> None:
        """Take a command: targets (n,) [rad], sent at `time` [s]; NaN: unchanged."""
        if self._commands:
            targets = np.where(np.isfinite(targets), targets, self._commands[-1][1])
        if np.isfinite(targets[self.morphology.moving_mask]).all():
            self._commands.append((time, np.array(targets, float)))

    def measure_joint(self, time: float, joint: int, angle: float) -> None:
        """Take a reading [rad] of one joint at `time` [s]."""
        commands = self._commands
        if len(commands) < 3:
            return
        if self._begin is None:
            self._begin = time
        if time - self._begin >= WINDOW:
            self._close(time)
        wanted, before = (self._setpoint(time - self._delay[joint] - past, joint) for past in (0.0, self._period))
        sums = self._readings[joint]
        sums += (angle, wanted - angle, (wanted - before) / self._period, 1.0)

    def measure_up(self, up: Array) -> None:
        """Take the upward direction (3,) in base_link: of the orientation filter, not of the accelerometer."""
        self._up = np.asarray(up, float) / np.linalg.norm(up)

    def tare(self) -> bool:
        """Take what is carried now as nothing; return False where there is no estimate yet."""
        if self._lasting < LEAST:
            return False
        value, covariance, _ = self._solve()
        self._bias, self._bias_covariance, self.tared = value, covariance, True
        return True

    def estimate(self) -> Payload:
        """Return the payload as it is known now."""
        unknown = math.inf
        reason = self._unseen()
        if not reason and self._lasting < LEAST:
            reason = f"{self._lasting:.0f} s of measurements, {LEAST:.0f} s needed"
        if reason:
            return Payload(0.0, 0.0, 0.0, unknown, unknown, unknown, self.tared, reason)
        value, covariance, whole = self._solve()
        value, covariance = value - self._bias, covariance + self._bias_covariance
        mass = float(value[0])
        # The stiffnesses' common error scales everything that is lifted beyond the tare; with an empty robot's weight
        # when nobody tared. An error of the height shifts the centre by it times the tilt, which walking averages out.
        scaled = mass if self.tared else whole + mass
        variance = float(covariance[0, 0]) + (self.scale_error * scaled) ** 2
        deviation = math.sqrt(variance)
        x, y = (value[1:] / mass).tolist() if abs(mass) > 1e-6 else (0.0, 0.0)
        least = max(abs(mass), 1e-3)
        tilt = math.hypot(self._up[0], self._up[1])
        spread = []
        for k, centre in ((1, x), (2, y)):
            own = covariance[k, k] - 2.0 * centre * covariance[0, k] + centre**2 * covariance[0, 0]
            spread.append(math.sqrt(max(float(own), 0.0) / least**2 + (HEIGHT_ERROR * tilt) ** 2))
        return Payload(
            mass, x, y, deviation, spread[0], spread[1], self.tared, self._doubt(mass, deviation, x, y, spread)
        )

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _setpoint(self, time: float, joint: int) -> float:
        """Set-point [rad] of a joint: each target is reached one period after its command."""
        here = time - self._period
        later = self._commands[-1]
        for earlier in reversed(self._commands):
            if earlier[0] <= here:
                if later[0] <= earlier[0]:
                    return float(earlier[1][joint])
                part = min((here - earlier[0]) / (later[0] - earlier[0]), 1.0)
                return float(earlier[1][joint] + part * (later[1][joint] - earlier[1][joint]))
            later = earlier
        return float(later[1][joint])

    def _clear(self) -> None:
        self._readings = np.zeros((self.robot.joint_count, 4))
        self._begin = None

    def _close(self, time: float) -> None:
        """End a window and add what it says."""
        readings, moving = self._readings.copy(), self.morphology.moving_mask
        begin = time if self._begin is None else self._begin
        self._clear()
        self._begin = time
        count = readings[:, 3]
        if (count[moving] == 0).any() or time - begin > 2.0 * WINDOW:
            return
        means = readings[:, :3] / np.maximum(count, 1.0)[:, None]
        angles = np.where(moving, means[:, 0], 0.0)
        statics = Statics.of(self.robot, angles[None], self._up[None], self.model, self.morphology)
        if not np.isfinite(statics.A).all():
            return
        torques = self.servos.torques(means[:, 1], means[:, 2]) * moving
        more = (statics.carried(torques[None]) - statics.body)[0]
        g, u = self.robot.gravity, self._up
        H = np.zeros((6, 3))
        H[:3, 0], H[3:, 0] = u, np.cross([0.0, 0.0, HEIGHT], u)
        H[3:, 1], H[3:, 2] = np.cross([1.0, 0.0, 0.0], u), np.cross([0.0, 1.0, 0.0], u)
        H *= g
        # Windows count alike, however the legs stand: only then what the steps add is zero on average over a cycle.
        covariance = np.diag([FORCE_NOISE**2] * 3 + [MOMENT_NOISE**2] * 3)
        weighted = np.linalg.solve(covariance, H).T
        keep = math.exp(-WINDOW / MEMORY)
        residual = more - H @ self._mean()
        self._information = keep * self._information + weighted @ H
        self._sums = keep * self._sums + weighted @ more
        self._square = keep * self._square + float(residual @ np.linalg.solve(covariance, residual)) / 6.0
        self._weight = keep * self._weight + 1.0
        self._lasting += WINDOW

    def _mean(self) -> Array:
        prior = np.diag([MASS_PRIOR**-2.0, MOMENT_PRIOR**-2.0, MOMENT_PRIOR**-2.0])
        return np.asarray(np.linalg.solve(self._information + prior, self._sums), np.float64)

    def _solve(self) -> tuple[Array, Array, float]:
        """Estimate (3,) of (m, m cx, m cy), its covariance from the scatter, and the empty robot's mass [kg]."""
        prior = np.diag([MASS_PRIOR**-2.0, MOMENT_PRIOR**-2.0, MOMENT_PRIOR**-2.0])
        information = self._information + prior
        # Windows of one step cycle resemble one another: half of them count.
        scatter = 2.0 * max(self._square / max(self._weight, 1e-9), 0.25)
        covariance = np.asarray(scatter * np.linalg.inv(information), np.float64)
        return self._mean(), covariance, self.model.total_mass(self.morphology)

    def _unseen(self) -> str:
        """Why the load is not seen in this morphology."""
        legs = [leg for leg in self.robot.legs if self.morphology.has_leg(leg.name)]
        for leg in legs:
            joints = list(self.robot.leg_joints(leg.name))
            stands = all(self.morphology.has_link(leg.name, link.name) for link in leg.links)
            idle = ~(self.morphology.moving_mask & self.morphology.driven_mask)[joints]
            if stands and idle.any():
                name = self.robot.joint_names[joints[int(np.argmax(idle))]]
                return f"{name} gives no torque that is seen, and its leg may stand"
        return "" if len(legs) >= 3 else f"{len(legs)} legs left: the body lies on the ground"

    def _doubt(self, mass: float, deviation: float, x: float, y: float, spread: list[float]) -> str:
        """What speaks against a payload on the body."""
        if mass < -SIGNIFICANT * deviation:
            return "lighter than the empty robot: a part may be lost, or the robot stood on something when it was tared"
        half = 0.5 * np.asarray(self.robot.body.box)[:2] + OUTSIDE
        if mass > SIGNIFICANT * deviation and (
            abs(x) - SIGNIFICANT * spread[0] > half[0] or abs(y) - SIGNIFICANT * spread[1] > half[1]
        ):
            return "its centre is outside of the body: a leg carries more than it should, or one is lost"
        return ""
