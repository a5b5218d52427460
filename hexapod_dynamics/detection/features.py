"""What the network sees of each leg: measurements against a model of the declared robot under the same commands.

One class, `FeatureExtractor`, for the robot and for the training. Its parts:

- Joints: the latest reading less the model's angle at its time; the same after a regression on the modelled load, a
  constant, the rate and the sign of the load, learnt with a delay of 2 s (servos and zeros of this robot, but not what
  was lost a moment ago); load, rate, age of the reading, change of the set-point.
- Foot: the force that the model's foot carries, as a share of the weight.
- Body: lean against the model's, after a regression of what ground and payload cause; turned toward the leg and across.
- The declared robot: what is left of this leg and of all, its place, how long ago the model started or changed.

Legs on the right side are mirrored, and each joint's sign is that of the foot's motion, so that all legs are alike.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.timing import find_lag
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

STEP = 0.08  # [s] between two vectors of features
JOINTS = 3  # of a leg that the network sees
DEGREE = math.radians(1.0)
LOAD_SIGN = 0.3 * DEGREE  # lead of the set-point over which the sign of a joint's load changes
DELAY = 25  # steps after which a residual is learnt
STILL = 0.015  # [rad] range of the readings of a joint that stands, with play; it should move or moves by more
STARTS = 12  # steps after a start in which nothing is learnt: model and servos approach the commands
OLDEST = 1.5  # [s] age of a reading, above which it is not older
FRESH = 0.1  # [s] age of a new reading

# Name and unit of each feature of a joint, then of a leg and the body; the units make them numbers of the size of 1.
OF_JOINT = {
    "residual": 2.0 * DEGREE,
    "residual along the load": 2.0 * DEGREE,
    "lead of the set-point": 2.0 * DEGREE,
    "rate": 1.0,
    "age of the reading": 1.0,
    "reading less model": 5.0 * DEGREE,
    "change of the set-point": 4.0 * DEGREE,
    "read just now": 1.0,
}
OF_LEG = {
    "load of the foot": 1 / 3,
    "load before": 1 / 3,
    "what is left of the leg": 1.0,
    "what is left of all": 1.0,
    "place along x": 1.0,
    "distance from the middle": 1.0,
    "lean toward the leg": 4.0 * DEGREE,
    "lean across": 4.0 * DEGREE,
    "change of the lean toward": 1.5 * DEGREE,
    "change of the lean across": 1.5 * DEGREE,
    "tilt toward the leg": 6.0 * DEGREE,
    "tilt across": 6.0 * DEGREE,
    "turn": 1.0 * DEGREE,
    "braces": 1.0,
    "time since the start": 10.0,
    "time since a change": 3.0,
    "motion of the set-points": 2.0 * DEGREE,
    "unevenness": 3.0 * DEGREE,
}
COUNT = JOINTS * len(OF_JOINT) + len(OF_LEG)
LARGEST = 6.0  # of a feature, in its unit
_UNITS = np.array([*(list(OF_JOINT.values()) * JOINTS), *OF_LEG.values()])
_LEAN = JOINTS * len(OF_JOINT) + list(OF_LEG).index("lean toward the leg")
_MOTION = JOINTS * len(OF_JOINT) + list(OF_LEG).index("motion of the set-points")


class _Regression:
    """`count` regressions y = c x by forgetting least squares, of pairs that are learnt DELAY steps later.

    prior (p,): standard deviations of c; noise: of y; keep: share of what was learnt that a pair leaves; clip: residual
    above which a pair weighs no more.
    """

    def __init__(self, count: int, prior: tuple[float, ...], noise: float, keep: float, clip: float) -> None:
        p = len(prior)
        self.c = np.zeros((count, p))
        self._prior = np.diag(np.asarray(prior) ** -2.0)
        self._a, self._b = np.zeros((count, p, p)), np.zeros((count, p))
        self._noise, self._keep, self._clip = noise, keep, clip
        self._waiting: deque[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = deque()

    def add(self, step: int, rows: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Add pairs x (m, p), y (m,) of the regressions `rows` (m,), each at most once."""
        self._waiting.append((step, rows, x, y))

    def forget_waiting(self) -> None:
        """Do not learn the latest pairs: the robot has changed before them."""
        self._waiting.clear()

    def learn(self, step: int) -> None:
        """Learn the pairs that are old enough at a step."""
        while self._waiting and self._waiting[0][0] <= step - DELAY:
            _, rows, x, y = self._waiting.popleft()
            expected = (self.c[rows] * x).sum(axis=1)
            y = expected + np.clip(y - expected, -self._clip, self._clip)
            self._a[rows] = self._keep * self._a[rows] + x[:, :, None] * x[:, None, :] / self._noise**2
            self._b[rows] = self._keep * self._b[rows] + x * (y / self._noise**2)[:, None]
            self.c[rows] = np.linalg.solve(self._a[rows] + self._prior, self._b[rows][..., None])[..., 0]


class _Attitude(NamedTuple):
    time: float
    roll: float
    pitch: float
    yaw: float


class FeatureExtractor:
    """Runs the model of the declared robot and computes features; times are seconds on one clock.

    Give `command`, `add_reading` and `add_attitude` as they arrive, then call `step` every STEP. model: RunningModel.
    lean (2,): roll and pitch [rad] beyond the model's and what the ground explains. left (legs,): of the declared
    robot, see `find_remaining`.
    """

    def __init__(self, robot: Robot, settings: DetectorSettings) -> None:
        self.robot, self.model = robot, RunningModel(robot, settings)
        self.morphology = Morphology.whole(robot)
        n, legs = robot.joint_count, len(robot.legs)
        self._weight = robot.gravity * (robot.body.mass + sum(link.mass for leg in robot.legs for link in leg.links))
        hips = np.array([leg.mount_position for leg in robot.legs])
        self._side = np.where(hips[:, 1] >= 0.0, 1.0, -1.0)
        ahead = np.array([leg.mount_rotation[:2, 0] for leg in robot.legs])
        self._ahead = ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
        self._place = hips[:, :2] * np.stack([np.ones(legs), self._side], axis=1)
        self._place /= np.linalg.norm(hips[:, :2], axis=1).max()
        # Joint of each of a leg's places in the network; the number of joints stands for a place that no joint has.
        self.slots = np.full((legs, JOINTS), n)
        for k, leg in enumerate(robot.legs):
            joints = robot.leg_joints(leg.name)
            chosen = find_joint_slots(len(leg.links))
            self.slots[k, : len(chosen)] = [joints[link] for link in chosen]
        self._sign = np.zeros(n + 1)  # of each joint, and 0 for that place
        self._residuals = _Regression(n, (0.3, 2.5 * DEGREE, 0.02, 0.5 * DEGREE), 0.6 * DEGREE, 0.99, 1.2 * DEGREE)
        # A slope in world axes, then what payload and IMU add to roll and pitch.
        self._slope = _Regression(1, (0.06, 0.06, 0.03, 0.03), 1.0 * DEGREE, 0.996, 3.0 * DEGREE)
        self._angle = np.full(n, np.nan)
        self._readings: deque[tuple[float, int, float]] = deque(maxlen=100 * n)
        self._attitudes: deque[_Attitude] = deque(maxlen=400)
        # Latest readings of each joint: time [s], angle, modelled angle [rad].
        self._recent: list[deque[tuple[float, float, float]]] = [deque(maxlen=16) for _ in range(n)]
        self._moving: deque[tuple[int, float, float]] = deque(maxlen=2 * n)  # joint, residual, rate of readings
        self._leans: deque[float] = deque(maxlen=DELAY)  # squares [rad^2] that do not count yet
        self.unevenness = 0.0  # [rad] root mean square of the lean, until DELAY ago: the ground's
        self.left = find_remaining(self.morphology)
        self._changed = self._braced = -math.inf
        self._forget()

    def _forget(self) -> None:
        n = self.robot.joint_count
        self._last = np.zeros((n + 1, 5))  # of the latest reading: residual, reading less model, lead, rate, time
        self._last[:, 4] = -np.inf
        self._body = np.zeros(7)
        self._before: tuple[float, float, float] | None = None
        self.lean = np.zeros(2)
        self._step, self._started = 0, math.inf

    # ---- in ----------------------------------------------------------------------------------------------------------

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Add a command (n,) [rad], NaN: none; torques (n,) [N m]: feed-forward."""
        self.model.command(time, positions, torques)

    def add_reading(self, time: float, joint: int, angle: float) -> None:
        """Add the angle [rad] of a joint, read at a time [s]."""
        self._readings.append((time, joint, angle))
        self._angle[joint] = angle

    def add_attitude(self, time: float, roll: float, pitch: float, yaw: float) -> None:
        """Add the attitude [rad] of base_link."""
        self._attitudes.append(_Attitude(time, roll, pitch, yaw))

    def note_brace(self, time: float) -> None:
        """Note that the robot braces against a push."""
        self._braced = time

    def set_morphology(self, time: float, morphology: Morphology) -> None:
        """Change the declared morphology; the running model continues with it."""
        self.morphology, self._changed = morphology, time
        self.left = find_remaining(morphology)
        self._angle[~morphology.existing_mask] = np.nan
        self._residuals.forget_waiting()
        self._slope.forget_waiting()
        if self.model.started:
            self.model.set_morphology(morphology)

    def restart(self) -> None:
        """Discard the model's state and all measurements; what was learnt about the servos stays."""
        self.model.clear()
        self._readings.clear()
        self._attitudes.clear()
        self._moving.clear()
        self._residuals.forget_waiting()
        self._slope.forget_waiting()
        self._forget()

    # ---- out ---------------------------------------------------------------------------------------------------------

    def step(self, time: float) -> np.ndarray | None:
        """Return the features (legs, COUNT) of all data up to a time [s]; None until the model runs.

        Raises HexapodError if the model is not finite.
        """
        if not self.model.started:
            if self.model.start(time, self._angle, self.morphology):
                self._readings.clear()
                self._attitudes.clear()
                self._started = time
                if not self._sign.any():
                    self._sign = self._signs()
            return None
        self.model.advance(time)
        self._step += 1
        last = float(self.model.time[self.model.row(self.model.tick - 1)])
        self._compare_joints(last)
        self._compare_attitude(last)
        return self._features(time)

    @property
    def lag(self) -> float:
        """By how much [s] all joints are behind the model; NaN: not known."""
        if len(self._moving) < self.robot.joint_count or self._step <= STARTS:
            return math.nan
        joints, residuals, rates = (np.array(values) for values in zip(*self._moving, strict=True))
        return find_lag(joints, residuals, rates)

    def is_still(self, joint: int, since: float) -> bool | None:
        """Whether the readings of a joint stand still since a time [s] while the model moves; None: not known yet."""
        rows = np.array([row for row in self._recent[joint] if row[0] >= since])
        if len(rows) < 2:
            return None
        _, moved, modelled = np.ptp(rows, axis=0)
        if moved > 2.0 * STILL:
            return False
        return True if len(rows) > 2 and moved < STILL and modelled > 4.0 * STILL else None

    def _signs(self) -> np.ndarray:
        """Return the sign of each joint (n + 1,): that of the foot's motion along x, or down if it moves more so."""
        signs, angles = np.zeros(self.robot.joint_count + 1), np.nan_to_num(self._angle)
        model, intact = WholeBodyModel(self.robot), Morphology.whole(self.robot)
        for leg in self.robot.legs:
            joints, link = np.array(self.robot.leg_joints(leg.name)), leg.links[-1]
            foot = model.point_jacobian(f"{leg.name}.{link.name}", (link.length, 0.0, 0.0), angles, intact)
            x, _, z = foot[:, 6 + joints]
            signs[joints] = np.copysign(1.0, np.where(np.abs(x) > np.abs(z), x, -z))
        return signs

    def _compare_joints(self, last: float) -> None:
        """Compare the readings up to a time with the model."""
        model = self.model
        seen: dict[int, tuple[np.ndarray, float]] = {}  # the first reading of each joint
        while self._readings and self._readings[0][0] <= last:
            at, joint, angle = self._readings.popleft()
            place = model.find_tick(at)
            if math.isnan(place):
                continue
            q, rate, lead = model.joint_at(place, joint)
            x = np.array([lead, 1.0, -rate, -lead / math.hypot(lead, LOAD_SIGN)])
            apart = angle - q
            residual = apart - float(self._residuals.c[joint] @ x)
            self._last[joint] = residual, apart, lead, rate, at
            self._moving.append((joint, residual, rate))
            self._recent[joint].append((at, angle, q))
            seen.setdefault(joint, (x, apart))
        if seen and self._step > STARTS:
            loads, residuals = (np.array(values) for values in zip(*seen.values(), strict=True))
            self._residuals.add(self._step, np.array(list(seen)), loads, residuals)
        self._residuals.learn(self._step)

    def _compare_attitude(self, last: float) -> None:
        """Compare the mean of the attitudes up to a time with the model."""
        model, rows = self.model, []
        while self._attitudes and self._attitudes[0].time <= last:
            one = self._attitudes.popleft()
            place = model.find_tick(one.time)
            if not math.isnan(place):
                roll, pitch, yaw = model.tilt[model.row(int(place))]
                rows.append((one.roll - roll, one.pitch - pitch, one.yaw - yaw, one.roll, one.pitch, one.yaw))
        if not rows:
            self._body[2:4] = self._body[6] = 0.0
        else:
            mean = np.mean(rows, axis=0)
            turned, yaw = rows[-1][2], rows[-1][5]
            sin, cos = math.sin(yaw), math.cos(yaw)
            x = np.array([[sin, -cos, 1.0, 0.0], [cos, sin, 0.0, 1.0]])
            self.lean = mean[:2] - x @ self._slope.c[0]
            if len(self._leans) == DELAY:
                square = self.unevenness**2
                self.unevenness = math.sqrt(square + 0.01 * (self._leans[0] - square))  # of the last 8 s
            self._leans.append(float(self.lean @ self.lean))
            before = self._before or (self.lean[0], self.lean[1], turned)
            turn = (turned - before[2] + math.pi) % (2.0 * math.pi) - math.pi
            self._body[:] = *self.lean, self.lean[0] - before[0], self.lean[1] - before[1], mean[3], mean[4], turn
            self._before = float(self.lean[0]), float(self.lean[1]), turned
            if self._step > STARTS:
                for row, angle in zip(x, mean[:2], strict=True):
                    self._slope.add(self._step, np.zeros(1, int), row[None], angle[None])
        self._slope.learn(self._step)

    def _features(self, time: float) -> np.ndarray:
        model, slots, legs = self.model, self.slots, len(self.robot.legs)
        residual, apart, lead, rate, at = self._last.T
        age = np.minimum(time - at, OLDEST)
        now, before = model.row(model.tick - 1), model.row(max(model.tick - 5, 0))
        change = np.append(model.targets[now] - model.targets[before], 0.0)
        along = residual * lead / np.hypot(lead, LOAD_SIGN)
        s = self._sign
        joints = np.stack([s * residual, along, s * lead, s * rate, age, s * apart, s * change, age < FRESH], axis=1)
        joints[-1] = 0.0  # a place that no joint has
        ticks = np.arange(model.tick - 8, model.tick)
        loads = model.loads[model.row(np.maximum(ticks, 0))].reshape(2, 4, legs).mean(axis=1) / self._weight
        roll, pitch, d_roll, d_pitch, tilt_roll, tilt_pitch, turn = self._body
        leans = np.array([[roll, pitch], [d_roll, d_pitch], [tilt_roll, tilt_pitch]])
        # A roll lowers what lies at -y, a pitch what lies at +x.
        x, y = self._ahead.T
        toward = leans @ np.stack([-y, x])
        across = self._side * (leans @ np.stack([-x, -y]))
        alike = np.ones(legs)
        leg = np.stack(
            [loads[1], loads[0], self.left, self.left.mean() * alike, *self._place.T]
            + [toward[0], across[0], toward[1], across[1], toward[2], across[2], self._side * turn]
            + [(time - self._braced < 0.4) * alike]
            + [min(time - self._started, 10.0) * alike, min(time - self._changed, 9.0) * alike]
            + [np.abs(change[:-1]).mean() * alike, self.unevenness * alike],
            axis=1,
        )
        found = np.concatenate([joints[slots].reshape(legs, -1), leg], axis=1) / _UNITS
        return np.clip(found, -LARGEST, LARGEST).astype(np.float32)


def find_joint_slots(links: int) -> tuple[int, ...]:
    """Return which links of a leg the network's three joints are: the first, the last, and the one before it."""
    return (0, links - 2, links - 1) if links >= JOINTS else tuple(range(links))


def find_remaining(morphology: Morphology) -> np.ndarray:
    """Return the smallest remaining share of the links of each leg (legs,), 0 if one of its joints does not work."""
    robot, driven = morphology.robot, morphology.driven_mask
    left = [
        min(morphology.remaining(leg.name, link) for link in leg.link_names)
        * driven[robot.leg_joints(leg.name).start : robot.leg_joints(leg.name).stop].all()
        for leg in robot.legs
    ]
    return np.array(left, float)


def are_setpoints_moving(features: np.ndarray) -> bool:
    """Whether the set-points move: a robot that stands shows nothing new."""
    return bool(features[0, _MOTION] > 0.1)


def evidence(features: np.ndarray, leg: int) -> str:
    """Return in words what the features of a leg say now."""
    one, joints = features[leg] * _UNITS, len(OF_JOINT)
    lean = one[_LEAN] / DEGREE
    apart = max(abs(one[joints * k + list(OF_JOINT).index("residual")]) for k in range(JOINTS)) / DEGREE
    leans = f"the body leans {abs(lean):.1f} degrees {'toward it' if lean >= 0.0 else 'away from it'}"
    return f"{leans}, its joints are up to {apart:.1f} degrees from where loaded ones would be"
