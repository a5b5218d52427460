"""One walk in the arena: a robot of MuJoCo whose servos are not springs, a loss, a method, and the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from recovery import Readings, Recovery
from support.blind_walk import TICK, BlindWalk
from support.recorded_walk import Recorder

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Truth

STEP = 2e-3  # [s] of the physics, and of the loop of the servos
CHAIN = 0.014  # [s] from a command to the servos' start without the Truth's delay
BEFORE = 14.0  # [s] of walking before the loss: detectors learn what healthy is
WINDOW, LAST, ENOUGH = 2.0, 5.0, 0.9  # [s], [s], share of the whole robot's speed that counts as walking
TIPPED = np.cos(np.radians(45.0))
SPEED = 0.077  # [m/s] that is commanded


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


class _Sensed(Recorder):
    """Takes the detector's place in a BlindWalk and keeps the last readings."""

    def __init__(self, joints: int) -> None:
        super().__init__()
        self.now = Readings(0.0, np.full(joints, np.nan), np.zeros(joints, bool), np.eye(3), np.zeros(2))

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Take no notice."""

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Keep the readings."""
        self.now.time, self.now.joints = time, angles

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Keep the attitude."""
        self.now.rotation = rotation

    def bus(self, time: float, *masks: np.ndarray) -> None:
        """Keep which servos are silent."""
        self.now.silent = masks[0].copy()

    def set_morphology(self, morphology: Morphology) -> None:
        """Take no notice."""

    def update(self, time: float) -> list:
        """Find nothing."""
        return []


class _Method:
    """A Recovery in the place of a Gait."""

    doing = "walking"

    def __init__(self, method: Recovery, readings: Readings) -> None:
        self.method, self.readings = method, readings

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> _Method:
        """Begin the walk."""
        self.position = np.array(self.method.reset(robot), float)
        self.velocity, self.twist = np.zeros(robot.joint_count), np.zeros(3)
        return self

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the method's next set-points and their rates."""
        after = np.array(self.method.step(self.readings), float)
        known = self.method.velocity
        rates = (after - self.position) / dt if known is None else known
        self.velocity = np.where(np.isfinite(rates), rates, 0.0)
        self.position = after
        if self.method.twist is not None:
            self.twist = self.method.twist
        return self.position, self.velocity

    def set_morphology(self, morphology: Morphology) -> None:
        """Take no notice: the method knows."""

    def report(self) -> dict[str, object]:
        """Say nothing."""
        return {}


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

    truth: a text for `Truth.parse`, the seed is added. Raises HexapodError where the robot cannot do what it is told.
    """
    physics = MujocoSimulator(robot, timestep=STEP, truth=Truth.parse(f"{truth},seed={seed}".lstrip(",")))
    sensed = _Sensed(robot.joint_count)
    blind = BlindWalk(
        robot,
        physics,
        _Method(method, sensed.now),
        seed=seed,
        detector=sensed,
        as_nodes=True,
        chain=CHAIN,
        dead_band=robot.servo.resolution,
    )
    whole, places, work, fell = Morphology.whole(robot), [], [], False
    broken_at = round((before + np.random.default_rng((33, seed)).uniform(0.0, 1.3)) / TICK)
    for tick in range(broken_at + round(seconds / TICK)):
        if tick == broken_at:
            blind.damage(loss)
            sensed.now.damage = loss if told else None
        sensed.now.position = np.array(physics.position[:2])
        blind.tick()
        if (method.belief or whole) != blind.declared:
            blind.declare(method.belief or whole)
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
