"""One walk in the arena: a robot of MuJoCo whose servos are not springs, a loss, a method, and the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from methods import Ours
from recovery import SPEED, Readings, Recovery

from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.onboard.simulation import REST_TIME, TICK, OnboardSimulation
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import rotation_rpy
from hexapod_dynamics.simulation import Truth

STEP = 2e-3  # [s] of the physics, and of the loop of the servos
BEFORE = 14.0  # [s] of walking before the loss: detectors learn what healthy is
WINDOW, LAST, ENOUGH = 2.0, 5.0, 0.9  # [s], [s], share of the whole robot's speed that counts as walking
TIPPED = np.cos(np.radians(45.0))


@dataclass(frozen=True)
class Outcome:
    """Score of one walk.

    before [m/s]: speed of the whole robot with this method. walks_after [s]: from the loss until the moment from which
    it moves at ENOUGH of that speed over WINDOW and every longer time, to the end, and never tips; None: never. share:
    speed of the last LAST seconds over `before`; speed [m/s]: that speed. energy [J/m]: of the servos in these seconds.
    fell: it tipped by more than 45 degrees. trials: gaits that it tried on the broken robot.
    """

    before: float
    walks_after: float | None
    share: float
    energy: float
    fell: bool
    trials: int
    speed: float = 0.0


class _MethodGait(Gait):
    """A Recovery in the place of a gait of the robot's program; it stands until the robot `walks`."""

    def __init__(self, method: Recovery, walk: Callable[[], OnboardSimulation]) -> None:
        self.method, self._walk, self.walks = method, walk, False
        self._rotation = np.eye(3)

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> Gait:
        """Begin the walk."""
        self.robot, n = robot, robot.joint_count
        self.data = SimpleNamespace(position=np.array(self.method.reset(robot), float), velocity=np.zeros(n))
        self.now = Readings(0.0, np.full(n, np.nan), np.zeros(n, bool), np.eye(3), np.zeros(2))
        return self

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Keep the attitude."""
        self._rotation = rotation_rpy(roll, pitch, yaw)

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the method's next set-points and their rates."""
        if self.walks:
            walk, now = self._walk(), self.now
            bus = walk.onboard.parts.servos.bus.state
            now.joints = np.where(bus.stamp > now.time, bus.angle, np.nan)
            now.time, now.silent, now.rotation = walk.time, bus.silent.copy(), self._rotation
            now.position = np.array(walk.physics.position[:2])
            after = np.array(self.method.step(now), float)
            known = self.method.velocity
            rates = (after - self.position) / dt if known is None else known
            self.data = SimpleNamespace(position=after, velocity=np.where(np.isfinite(rates), rates, 0.0))
        return self.position, self.velocity

    @property
    def twist(self) -> np.ndarray:
        """The twist that the method follows, if it is known."""
        return np.zeros(3) if self.method.twist is None else self.method.twist

    @property
    def commanded(self) -> bool:
        """Whether the robot walks."""
        return self.walks

    @property
    def walking(self) -> bool:
        """Whether the robot walks."""
        return self.walks

    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Take no notice: the method knows its speed."""
        return self.twist

    def limit_command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Take no notice."""
        return self.twist

    def walk(self) -> np.ndarray:
        """Walk."""
        self.walks = True
        return self.twist

    def set_morphology(self, morphology: Morphology | None) -> None:
        """Take no notice: the method knows."""

    def reset(self, **_: object) -> None:
        """Take no notice."""

    def copy(self) -> Gait:
        """There is one."""
        return self


def run(
    method: Recovery,
    robot: Robot,
    loss: Morphology,
    seed: int,
    *,
    told: bool,
    seconds: float,
    before: float = BEFORE,
    truth: str = "servos=real",
) -> Outcome:
    """Walk, break what `loss` says after `before` seconds, walk on for `seconds`, and score the walk.

    The robot rests first until its gyroscope is calibrated. truth: a text for `Truth.parse`, the seed is added. Raises
    HexapodError where the robot cannot do what it is told.
    """
    whole, places, work, fell = Morphology.whole(robot), [], [], False
    if isinstance(method, Ours):
        method.reset(robot)
        onboard, other = Onboard(robot, "off" if told else "declare", "asked", gait=method.gait), None
    else:
        other = _MethodGait(method, lambda: walk)
        onboard = Onboard(robot, "off", "asked", gait=other)
    drawn = Truth.parse(f"{truth},seed={seed}".lstrip(","))
    walk = OnboardSimulation(onboard, "mujoco", drawn, seed, timestep=STEP)
    walk.run(REST_TIME)
    walk.twist[0] = SPEED
    if other is not None:
        other.walk()
    physics, broken_at = walk.physics, round((before + np.random.default_rng((33, seed)).uniform(0.0, 1.3)) / TICK)
    for tick in range(broken_at + round(seconds / TICK)):
        if tick == broken_at:
            walk.break_parts(loss)
            if told and other is None:
                onboard.declare(loss)
            elif told:
                other.now.damage = loss
        walk.step()
        if other is not None and (method.belief or whole) != walk.declared:
            onboard.declare(method.belief or whole)
        places.append(np.array(physics.position[:2]))
        rates = physics.nu[6:]
        work.append(TICK * float(np.abs(physics.joint_torques[: len(rates)] * rates).sum()))
        fell = fell or bool(physics.rotation[2, 2] < TIPPED)
        if fell:
            break
    return _scored(np.array(places), np.array(work), broken_at, fell, method.trials)


def _scored(places: np.ndarray, work: np.ndarray, broken_at: int, fell: bool, trials: int) -> Outcome:
    last, window = round(LAST / TICK), round(WINDOW / TICK)
    healthy = places[broken_at - last : broken_at]
    before = float(np.linalg.norm(healthy[-1] - healthy[0])) / LAST
    if fell or before < 1e-3:
        return Outcome(before, None, 0.0, np.nan, fell, trials)
    way = float(np.linalg.norm(places[-1] - places[-last]))
    walks = _walks_from(places[broken_at:], window, ENOUGH * before) if way / LAST >= ENOUGH * before else None
    energy = float(work[-last:].sum()) / way if way > 0.02 else np.nan
    return Outcome(before, walks, way / LAST / before, energy, False, trials, way / LAST)


def _walks_from(places: np.ndarray, window: int, speed: float) -> float | None:
    """Return the time [s] of the first place from which every later one, `window` ticks on or more, is far enough."""
    for k in range(len(places) - window):
        ways = np.linalg.norm(places[k + window :] - places[k], axis=1)
        if (ways >= speed * TICK * np.arange(window, window + len(ways))).all():
            return k * TICK
    return None
