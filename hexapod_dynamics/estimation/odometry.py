"""The way along the ground: how the strides differ from the model's, what that says of its length, and its covariance.

StrideMeasures compares the strides of the walking robot with those of its model, by accelerometer, gyroscope and
coxa readings.

    surge      = sum a m / sum m^2               fore-and-aft acceleration: measured a, modelled m, 0.5 to 2 Hz
    deflection = - mean(tanh(x / LOADED) e)      [rad] coxae: measured less modelled angle e, stretch x of the spring
    pitching   = rms of the pitch rate           [rad/s] measured, 0.5 to 2 Hz

A body on another ground, with other servos, surges less or more than the model's; coxae with play and a dead zone yield
to the forces between the feet; feet that strike the ground early pitch the body. "Fore and aft" is along the modelled
velocity.
a and m are specific forces, so the bands contain the tilting of gravity. The sums have a memory of MEMORY and begin
with PRIOR seconds of a robot that walks as its model; only walking counts.

SpeedFactor estimates the ratio of the true to the modelled way from how the strides differ from the model's.

    way = (1 + share) modelled way
    share = SURGE (1 - surge) + DEFLECTION deflection - PITCHING max(pitching - CALM, 0)
            - STUMBLE max(|z| - EVEN, 0) + PLAY p

surge, deflection and pitching: see above. z [rad] is the innovation of the yaw without its mean over 2 s: a
foot that strikes a bump turns the body for a moment, and its step is shorter; a steady difference, as in a turn, has
no such effect. p [rad] is the servos' play, which no reading shows; 0 where `identify` has not found it. The share of
a robot that walks as its model is 0.

SURGE, DEFLECTION, PITCHING and CALM: least squares of 800 walks of 30 s in both physics: 320 truths servos=real (seeds
6240 to 6399, 6440 to 6599; 640 walks) and 80 whose servos are springs (`draw_truth`, seed 8600; 160 walks), half of
them of each gait, half on rough ground. They leave 1.8 % (standard deviation) of 2.5 %, each tenth of the robots
predicted from the others. STUMBLE: of 91 walks of 60 s of random truths on MuJoCo (benchmark/prediction.py; adaptive
gait: seeds 2000, 3000 and 5100; tripod gait: 2500 and 5000); EVEN and LARGEST are set so that it acts only where feet
stumble more than in nearly all of the 800. PLAY: of 22 walks of identified robots (servos=real, 6800 on).

OdometryCorrection corrects the length of the modelled way along the ground, and advances the covariance of the pose
accordingly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean

import numpy as np

from hexapod_dynamics.estimation.filters import TimedBuffer
from hexapod_dynamics.estimation.pose_uncertainty import PoseDrift, PoseUncertainty
from hexapod_dynamics.estimation.servo_model import LOADED, MEMORY
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import Predictor

PRIOR, SLOW = 3.0, 0.02  # weight of the prior [s of walking]; the slowest modelled speed [m/s] that is walking
USUAL_SQUARE = 0.0044  # mean square of m [m^2/s^4], of 80 walks
READING_RATE = 67.0  # of coxae a second


class BandPass:
    """The difference of two low-pass filters of first order: passes a cycle and its first harmonics, 0.5 to 2 Hz."""

    def __init__(self) -> None:
        self._low, self._high = (-2.0 * math.pi * corner for corner in (0.5, 2.0))
        self._slow = self._fast = 0.0

    def start(self, value: float) -> None:
        """Start as if the value had been the same for ever."""
        self._slow = self._fast = value

    def step(self, value: float, dt: float) -> float:
        """Process a value dt [s] after the last one; returns the filtered one."""
        self._slow -= (value - self._slow) * math.expm1(self._low * dt)
        self._fast -= (value - self._fast) * math.expm1(self._high * dt)
        return self._fast - self._slow


class StrideMeasures:
    """`surge` [1], `deflection` [rad] and `pitching` [rad/s]; surge 1 and deflection 0: the robot walks as its model.

    gravity [m/s^2].
    """

    def __init__(self, gravity: float) -> None:
        self._gravity = gravity
        self._modelled = TimedBuffer((2,))
        self._bands = [BandPass() for _ in range(6)]  # x and y of a, m, and the angular velocity
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._modelled.clear()
        self._felt = -math.inf  # time of the last sample of the IMU
        self._along = self._across = 0.0  # modelled velocity, low-pass filtered [m/s]
        self._product, self._square = PRIOR * USUAL_SQUARE, PRIOR * USUAL_SQUARE
        self._pitched, self._walked = 0.0, PRIOR
        self._deflected, self._readings = 0.0, PRIOR * READING_RATE

    @property
    def surge(self) -> float:
        """Ratio [1] of the measured to the modelled fore-and-aft acceleration."""
        return self._product / self._square

    @property
    def deflection(self) -> float:
        """Angle [rad] by which the coxae yield to their loads more than the model's."""
        return -self._deflected / self._readings

    @property
    def pitching(self) -> float:
        """Root mean square of the body's pitch rate [rad/s]."""
        return math.sqrt(self._pitched / self._walked)

    def note_model(self, time: float, before: Sequence[float], nu: np.ndarray, up: np.ndarray, dt: float) -> None:
        """Store the model's acceleration.

        Args:
            time: [s].
            before: its velocity (2,) along x and y of the body dt [s] ago [m/s].
            nu: its velocities, of which the first six are the body's twist: (v, omega) [m/s, rad/s].
            up: the world's z axis (3,) in axes of the body.
            dt: time since `before` [s].
        """
        if dt <= 0.0:
            return
        vx, vy, vz, wx, wy, wz = nu[:6].tolist()
        ax = (vx - before[0]) / dt + wy * vz - wz * vy + self._gravity * up.item(0)
        ay = (vy - before[1]) / dt + wz * vx - wx * vz + self._gravity * up.item(1)
        self._modelled.add(time - 0.5 * dt, (ax, ay))
        share = -math.expm1(-dt)  # the direction of travel has a time constant of 1 s
        self._along += share * (vx - self._along)
        self._across += share * (vy - self._across)

    def add_acceleration(self, time: float, acceleration: Sequence[float], rate: Sequence[float], learns: bool) -> None:
        """Process a sample of the IMU at `time` [s].

        acceleration (3,): specific force [m/s^2], rate (3,): angular velocity [rad/s], in axes of the body. learns:
        whether robot and model are consistent; else nothing is learnt.
        """
        dt = time - self._felt
        if dt <= 0.0:
            return
        self._felt = time
        values = (acceleration[0], acceleration[1], *self._modelled.interpolate(time).tolist(), rate[0], rate[1])
        if dt > 0.03:
            # The filters begin again: at 25 samples a second the shocks of the feet are aliased into the band, and
            # surge was 0.2 instead of 0.9 (8 walks).
            for band, value in zip(self._bands, values, strict=True):
                band.start(value)
            return
        ax, ay, mx, my, wx, wy = [band.step(value, dt) for band, value in zip(self._bands, values, strict=True)]
        speed = math.hypot(self._along, self._across)
        if not learns or speed < SLOW:
            return
        ux, uy = self._along / speed, self._across / speed
        a, m, pitch_rate = ux * ax + uy * ay, ux * mx + uy * my, ux * wy - uy * wx
        kept, prior = 1.0 - dt / MEMORY, PRIOR * dt / MEMORY  # the weight of the data decays towards the prior
        self._product = kept * self._product + prior * USUAL_SQUARE + a * m * dt
        self._square = kept * self._square + prior * USUAL_SQUARE + m * m * dt
        self._pitched = kept * self._pitched + pitch_rate * pitch_rate * dt
        self._walked = kept * self._walked + prior + dt
        self._deflected *= kept
        self._readings = kept * self._readings + prior * READING_RATE

    def read_coxa(self, residual: float, stretch: float) -> None:
        """Process a coxa's reading: measured less modelled angle, stretch of the model's servo spring [rad]."""
        if math.hypot(self._along, self._across) < SLOW:
            return
        self._deflected += math.tanh(stretch / LOADED) * residual
        self._readings += 1.0


SURGE, DEFLECTION = 0.0353, 20.6  # [1], [1/rad]
PITCHING, CALM = 1.99, 0.0218  # [s/rad], [rad/s]
STUMBLE, PLAY = 22.0, 3.0  # [1/rad]
EVEN, LARGEST = math.radians(0.3), math.radians(0.8)  # changes of the heading that count, and the largest of them [rad]
MAX_SHARE = 0.1  # bound of each share: it is beyond what any of these walks has, as that of `surge`


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
        self._mean -= turned * math.expm1(-dt / 2.0)
        surge = SURGE * (1.0 - min(max(strides.surge, 0.0), 2.0))
        deflected = min(max(DEFLECTION * strides.deflection, -MAX_SHARE), MAX_SHARE)
        pitched = min(PITCHING * max(strides.pitching - CALM, 0.0), MAX_SHARE)
        stumbled = STUMBLE * max(min(abs(turned), LARGEST) - EVEN, 0.0)
        self.share = surge + deflected - pitched - stumbled + PLAY * self._play
        return self.share


class OdometryCorrection:
    """The way of a model's body since the last call; `uncertainty` holds the covariance of the pose, `strides` how
    the strides differ from the model's.

    Args:
        model: the model whose position is corrected.
        robot: Robot; the play of its servos is used if it has been identified.
        spread: standard deviations from which the covariance is computed.
    """

    def __init__(self, model: Predictor, robot: Robot, spread: PoseDrift | None = None) -> None:
        self._model = model
        self.speed_factor = SpeedFactor(mean(law.play for law in robot.servo_laws))
        self.strides, self.uncertainty = StrideMeasures(robot.gravity), PoseUncertainty(spread)
        self._before: tuple[list[float], float] = ([0.0, 0.0], 0.0)  # position and time of the last covariance

    def begin(self, time: float) -> None:
        """Start a way at the present position."""
        self._before = (self._model.position[:2].tolist(), time)

    def clear(self) -> None:
        """Forget what is learnt of the strides."""
        self.speed_factor.clear()
        self.strides.clear()

    def correct_length(self, time: float, turned: float, trusted: bool) -> None:
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
