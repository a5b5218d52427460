"""Latency, damping, dead zone, play and friction of each servo from a suspended exercise (output error).

For one joint with set-point s, latency D, angle q and angle y of the encoder, all torques over the stiffness k [rad]:

    J/k qddot = dz(s(t - D) - y) + T (f sdot - qdot) - c qdot / |qdot| - g gravity(s)/k0,  dz(e) = e - clip(e, -z, z)
    y follows q with play of +-p;    measured: y

T = d/k: lag; f: kind of the damping, 1 if the set-point's rate is fed forward, 0 if it damps against zero rate; g:
gravity load of the joint over its stiffness, relative to the robot file; J: the file's and a rotor's, which contains
the file's error, so that quick steps do not outvote the sag on the weight g. Stiffness and masses are identified only
as g here: from angles alone every torque has the same unknown scale (masses.py finds it from the weight). Gauss-Newton
with priors on all joints at once, derivatives by differences, each joint with one column of lanes; then again with the
mean of all joints as prior, because a robot's servos are of one kind.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.identification.robust import CLIP, inflation
from hexapod_dynamics.robot import Robot

Array = NDArray[np.float64]


class Quantity(NamedTuple):
    """What is known of a value of a servo before anything is measured.

    prior, width: mean and standard deviation; low, high: bounds; spread: standard deviation from joint to joint of one
    robot; error: standard deviation that no amount of data reduces, of what the law above leaves out (the loop's own
    period, friction that grows with the load, couplings between joints); step: of the derivative by differences.
    """

    prior: float
    width: float
    low: float
    high: float
    spread: float
    error: float
    step: float


# Latency and lag in s, angles in rad, the rotor's inertia over the stiffness in s^2. The error of the latency was
# fitted to those of ten simulated robots (benchmark/identify.py, seeds 1000 to 1009); a kind that is taken for 0 or 1
# has none, the weight one over the joint's mean sag. Of a real servo none of them is known.
QUANTITIES = {
    "latency": Quantity(0.02, 0.02, 0.0, 0.2, 1.5e-3, 0.6e-3, 1e-3),
    "lag": Quantity(0.012, 0.010, 5e-4, 0.08, 1.5e-3, 1.5e-3, 1e-3),
    "kind": Quantity(0.5, 0.7, 0.0, 1.0, 0.1, 0.1, 0.05),
    "weight": Quantity(1.0, 0.4, 0.1, 4.0, 0.4, 0.0, 0.05),
    "zone": Quantity(*np.radians([0.3, 0.4, 0.0, 5.0, 0.08, 0.03, 0.03])),
    "play": Quantity(*np.radians([0.2, 0.4, 0.0, 5.0, 0.10, 0.05, 0.03])),
    "friction": Quantity(*np.radians([0.05, 0.10, 0.0, 3.0, 0.04, 0.05, 0.02])),
    "rotor": Quantity(1e-4, 1e-4, -3e-5, 1e-3, 1.5e-5, 1.5e-5, 1e-5),
}
LATENCY, LAG, KIND, WEIGHT, ZONE, PLAY, FRICTION, ROTOR = range(len(QUANTITIES))
PRIOR, WIDTH, LOW, HIGH, SPREAD, MODEL_ERROR, STEPS = np.array(list(QUANTITIES.values())).T
STEP = 2e-3  # [s] of the simulation


@dataclass(frozen=True, eq=False)
class ServoResponse:
    """What a suspended exercise tells of each servo.

    values, deviations (n, 8): estimates and standard deviations in the order and units of QUANTITIES. moved (n,):
    whether the joint moved. noise (n,) [rad]: root mean square of the residuals; before (n,) [rad]: with the servos of
    the robot file. weight_by_zone (n,) [1/rad]: derivative of the weight with respect to the dead zone, to correct the
    weight when the zone is estimated again.
    """

    values: Array
    deviations: Array
    moved: NDArray[np.bool_]
    noise: Array
    before: Array
    weight_by_zone: Array


def servo_values_of_robot(robot: Robot) -> Array:
    """Values (n, 8) of the servos in the robot file; of servos without identified laws those that the nodes reckon
    with: 17 ms of latency, the rate fed forward, and neither dead zone nor play nor friction.
    """
    values = np.tile(PRIOR, (robot.joint_count, 1))
    for row, law in zip(values, robot.servo_laws, strict=True):
        row[[LATENCY, LAG, KIND]] = law.latency if robot.joint_servos else 0.017, law.lag, law.feed_forward
        row[[ZONE, PLAY, FRICTION]] = law.dead_zone, law.play, law.coulomb / law.stiffness
    return values


def identify_servos(robot: Robot, recording: Recording) -> ServoResponse:
    """Identify the servos from a suspended exercise. Raises IdentificationError if no joint moves or if it is too
    short.
    """
    recording.check(robot, "suspended exercise")
    lanes = _Lanes(robot, recording)
    n = robot.joint_count
    before = _rms(lanes.residuals(servo_values_of_robot(robot)[None])[0], lanes.joint, n)
    values, information = _better_kind(lanes)
    moved = lanes.moved
    own = np.diagonal(np.linalg.inv(information), axis1=1, axis2=2)
    share = 1.0 / (own[moved] + SPREAD**2)
    mean = np.sum(share * values[moved], axis=0) / share.sum(axis=0)
    of_mean = 1.0 / share.sum(axis=0)
    width = SPREAD.copy()
    mean[WEIGHT], width[WEIGHT] = PRIOR[WEIGHT], WIDTH[WEIGHT]
    left_out = MODEL_ERROR.copy()
    if abs(mean[KIND] - round(mean[KIND])) < 0.35:  # a firmware either feeds the rate forward or does not
        mean[KIND], width[KIND], left_out[KIND] = round(mean[KIND]), 0.02, 0.0
    starts = np.stack([values, np.where(moved[:, None], mean, values)])
    best = np.argmin(lanes.sum_squares(starts), axis=0)
    values, information, noise = lanes.fit(starts[best, np.arange(n)], mean, width, 5)
    covariance = np.linalg.inv(information)
    variance = np.diagonal(covariance, axis1=1, axis2=2).copy()
    of_mean[[WEIGHT, KIND]] = 0.0, of_mean[KIND] if left_out[KIND] else 0.0
    variance += (variance / width**2) ** 2 * of_mean + left_out**2
    variance[:, WEIGHT] += (math.radians(0.012) / np.maximum(lanes.sag, 1e-6)) ** 2
    by_zone = covariance[:, WEIGHT, ZONE] / covariance[:, ZONE, ZONE]
    return ServoResponse(values, np.sqrt(variance), moved, noise, before, by_zone)


def _better_kind(lanes: _Lanes) -> tuple[Array, Array]:
    """Values (n, 8) and information (n, 8, 8) of the better of two fits for each joint, started at the two kinds.

    Each starts from those of a grid of latencies and lags that leave the least residuals in all joints: latency and lag
    have similar effects, and a joint that overshoots its dead zone comes to rest elsewhere, so that a fit which starts
    with wrong values does not leave them.
    """
    grid = np.array(list(itertools.product((0.01, 0.016, 0.022, 0.03, 0.04), (0.006, 0.011, 0.016, 0.022))))
    values = np.tile(PRIOR, (len(grid), len(lanes.moved), 1))
    values[..., [LATENCY, LAG]] = grid[:, None]
    fits = []
    for kind in (0.05, 0.95):
        values[..., KIND] = kind
        best = values[np.argmin(lanes.sum_squares(values).sum(axis=1))]
        fits.append(lanes.fit(best, PRIOR, WIDTH, 6))
    (first, information, least), (other, of_other, noise) = fits
    better = noise < least
    return np.where(better[:, None], other, first), np.where(better[:, None, None], of_other, information)


class _Lanes:
    """Simulations of all joints, each over its own motion, side by side."""

    def __init__(self, robot: Robot, recording: Recording) -> None:
        n = robot.joint_count
        commands, period = recording.commands, recording.command_period
        model = WholeBodyModel(robot)
        attitude = recording.mean_attitude()
        gravity = np.array([model.gravity_force(attitude, row)[6:] for row in commands]) / robot.servo.stiffness
        self.inertia = np.diag(model.mass_matrix(commands.mean(axis=0)))[6:] / robot.servo.stiffness
        motions = [recording.find_own_motion(robot, joint) for joint in range(n)]
        self.moved = np.array([len(k) > 0 and np.ptp(commands[k, j]) > 0.05 for j, k in enumerate(motions)])
        if not self.moved.any():
            raise IdentificationError("suspended exercise: no joint's command moves; let each joint move by 0.3 rad")
        starts, lengths = np.zeros(n), np.zeros(n)
        for joint in np.flatnonzero(self.moved):
            moves = motions[joint]  # with 0.5 s of rest before and 0.6 s after it
            starts[joint] = recording.command_time[moves[0]] - 0.5
            lengths[joint] = recording.command_time[moves[-1] + 1] + 0.6 - starts[joint]
        length = float(min(lengths.max(), 24.0))  # [s] longer motions teach nothing new
        self.steps = int(length / STEP) + 1
        self._time = starts[:, None] + STEP * np.arange(self.steps)  # (n, steps)
        self._sent, self._commands = recording.command_time + period, commands
        weights = [np.interp(t, recording.command_time, row) for t, row in zip(self._time, gravity.T, strict=True)]
        self.weight = np.array(weights)
        self.sag = np.sqrt(np.mean(self.weight**2, axis=1))  # (n,) [rad]
        local = recording.reading_time - starts[recording.reading_joint]
        inside = self.moved[recording.reading_joint] & (local >= 0.0) & (local < length - STEP)
        self.joint = recording.reading_joint[inside]
        self.measured, self._place = recording.readings[inside], local[inside] / STEP
        noise = np.hypot(1.5e-3, robot.servo.resolution / np.sqrt(12.0))  # [rad] of a reading, and its rounding
        self.sigma = noise * np.sqrt(count_repeats(self.joint, self.measured))
        few = [robot.joint_names[j] for j in np.flatnonzero(self.moved) if np.sum(self.joint == j) < 50]
        if few:
            raise IdentificationError(
                f"suspended exercise: fewer than 50 readings of {', '.join(few)} while it moves; record "
                "servos/measurements or joint_states, too"
            )

    def residuals(self, values: Array) -> Array:
        """Measured less simulated angles (V, M) of V sets of values (V, n, 8)."""
        simulated = self._simulate(values)
        floor = self._place.astype(int)
        part = self._place - floor
        low = simulated[:, floor, self.joint]
        return self.measured - (low + part * (simulated[:, floor + 1, self.joint] - low))

    def sum_squares(self, values: Array) -> Array:
        """Return the sums of squared residuals of each joint (V, n) for V sets of values (V, n, 8)."""
        squares = np.clip(self.residuals(values) / self.sigma, -CLIP, CLIP) ** 2
        count = len(self.moved)
        return np.array([np.bincount(self.joint, row, count) for row in squares])

    def _simulate(self, values: Array) -> Array:
        """Angles (V, steps, n) of the encoders."""
        V, n = values.shape[:2]
        setpoint = np.empty((self.steps, V, n))
        for v in range(V):
            for joint in range(n):
                times = self._time[joint] - values[v, joint, LATENCY]
                setpoint[:, v, joint] = np.interp(times, self._sent, self._commands[:, joint])
        rate = np.gradient(setpoint, STEP, axis=0)
        _, lag, kind, weight, zone, play, friction, rotor = np.moveaxis(values, -1, 0)
        gain = STEP / np.maximum(self.inertia + rotor, 5e-6)
        fed, sag = lag * kind, weight[None] * self.weight.T[:, None]
        drive = fed * rate - sag
        encoder = setpoint[0] - sag[0]
        q, speed = encoder.copy(), np.zeros((V, n))
        out = np.empty((V, self.steps, n))
        below, above = -zone, zone
        damped = 1.0 + gain * lag
        rubbing = gain * friction
        for k in range(self.steps):
            error = setpoint[k] - encoder
            pull = error - np.minimum(np.maximum(error, below), above) + drive[k]
            # Below 0.01 rad/s friction is viscous.
            speed = (speed + gain * pull) / (damped + rubbing / (np.abs(speed) + 0.01))
            q = q + STEP * speed
            out[:, k] = encoder
            encoder = np.minimum(np.maximum(encoder, q - play), q + play)
        return out

    def fit(self, values: Array, prior: Array, width: Array, rounds: int) -> tuple[Array, Array, Array]:
        """Values (n, 8), their information (n, 8, 8) and the residuals' root mean square (n,) [rad]: steps of
        Levenberg and Marquardt from `values`, each joint with a damping of its own.
        """
        n, P = values.shape
        best = trial = values
        damping, cost, noise = np.full(n, 1e-2), np.full(n, np.inf), np.zeros(n)
        information, gradient = np.empty((n, P, P)), np.empty((n, P))
        for k in range(rounds + 1):
            if k:
                A = information + damping[:, None, None] * information * np.eye(P)
                trial = np.clip(best - np.linalg.solve(A, gradient[..., None])[..., 0], LOW, HIGH)
            steps = np.where(trial + STEPS > HIGH, -STEPS, STEPS)
            residuals = self.residuals(trial + np.concatenate([np.zeros((1, n, P)), np.eye(P)[:, None] * steps]))
            slopes = (residuals[1:] - residuals[0]) / steps.T[:, self.joint] / self.sigma
            limited = np.clip(residuals[0] / self.sigma, -CLIP, CLIP)
            pull = (trial - prior) / width
            here = np.bincount(self.joint, limited**2, n) + np.sum(pull**2, axis=1)
            better = here <= cost
            damping *= np.where(better, 0.3, 10.0)  # else back to the best values, with smaller steps
            cost, best = np.where(better, here, cost), np.where(better[:, None], trial, best)
            noise = np.where(better, _rms(residuals[0], self.joint, n), noise)
            for joint in np.flatnonzero(better):
                mine = self.joint == joint
                J, r = slopes[:, mine], limited[mine]
                scale = inflation(r, max(1, len(r) - P), 0.9)
                information[joint] = J @ J.T / scale + np.diag(width**-2.0)
                gradient[joint] = J @ r / scale + pull[joint] / width
        return best, information, noise


def count_repeats(joint: NDArray[np.intp], readings: Array) -> Array:
    """How often each reading (M,) of a joint (M,) is repeated before or after it without another one between.

    A joint at rest is read with one and the same rounding error: such readings count as one.
    """
    times = np.ones(len(readings))
    for one in np.unique(joint):
        mine = np.flatnonzero(joint == one)
        for run in np.split(mine, np.flatnonzero(np.diff(readings[mine])) + 1):
            times[run] = len(run)
    return times


def _rms(residuals: Array, joint: NDArray[np.intp], n: int) -> Array:
    count = np.maximum(np.bincount(joint, minlength=n), 1)
    return np.asarray(np.sqrt(np.bincount(joint, residuals**2, minlength=n) / count), np.float64)
