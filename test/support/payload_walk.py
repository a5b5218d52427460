"""Walks in MuJoCo with a load that is put on and taken off, its estimator and its gait wired as the nodes wire them."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.estimation.payload import Payload, PayloadEstimator
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import MujocoSimulator, Truth
from hexapod_dynamics.simulation.readings import Readings

CHAIN, TICK = 0.014, 0.02  # [s] from a command to the servos' start without the Truth's delay; between two commands
LOAD_HEIGHT = 0.03  # [m] over base_link's origin; the estimator assumes another


class PayloadWalk:
    """One hidden robot; `run(seconds)` goes on. known: the Robot that the software has, by default the catalogue's.

    told: whether the gait is given what the estimator expects. load: (mass [kg], x, y [m]), which may be set at any
    time: a weight on the body. sway [m]: the gait's weighing_sway. worst_tilt [rad] and reflexes since `forget`;
    margins (T,) [m]: how far the centre of pressure is inside the polygon of the feet that carry.
    """

    def __init__(
        self,
        truth: Truth,
        *,
        lost: tuple[str, ...] = (),
        known: Robot | None = None,
        seed: int = 0,
        told: bool = False,
        tare_first: bool = True,
        twist: tuple[float, float, float] = (0.05, 0.0, 0.0),
        sway: float = 0.0,
    ) -> None:
        robot = Robot.jethexa()
        self.robot, self.told, self.load = robot, told, (0.0, 0.0, 0.0)
        self.morphology = Morphology.whole(robot).without(*lost)
        known = robot if known is None else known
        self._zeros = np.array([joint.servo_zero for joint in known.joints])
        self.sim = MujocoSimulator(robot, self.morphology, timestep=1e-3, truth=truth, quantised=True)
        self.gait = AdaptiveGait(weighing_sway=sway).bind(robot, self.morphology)
        self.gait.reset(walking=True)
        self.gait.command(*twist)
        self.sim.reset(joints=self.gait.position + self._zeros - truth.zeros(robot.joint_count))
        self.estimator = PayloadEstimator(known, command_delay=0.016, tare_first=tare_first)
        self._known = Morphology.whole(known)
        self.estimator.set_morphology(self._known.without(*lost))
        self._sensors, self._joint, self._tick = Readings(self.sim, seed=seed), 0, 0
        self._random = np.random.default_rng((31, seed))
        self.worst_tilt, self.reflexes, self.margins = 0.0, 0.0, list[float]()
        self.payload: Payload = self.estimator.estimate()

    def run(self, seconds: float) -> Payload:
        """Walk for so many seconds; return the estimate at their end."""
        for _ in range(round(seconds / TICK)):
            self._step()
        return self.payload

    def damage(self, morphology: Morphology, *, told: bool) -> None:
        """Break the robot; told: and tell its software."""
        self.sim.set_morphology(morphology)
        if told:
            self.gait.set_morphology(morphology)
            self.estimator.set_morphology(self._known.updated(morphology.parameters()))

    def forget(self) -> None:
        """Begin the records again."""
        self.worst_tilt, self.margins = 0.0, []

    def _step(self) -> None:
        sim, estimator = self.sim, self.estimator
        mass, x, y = self.load
        upright = sim.rotation
        force = upright.T @ [0.0, 0.0, -self.robot.gravity * mass]
        sim.push(np.concatenate([force, np.cross([x, y, LOAD_HEIGHT], force)]))
        self.gait.sense(*roll_pitch_yaw(upright))
        targets = self.gait.step(TICK)[0]
        counts = self.robot.servo.resolution
        estimator.command(sim.time - CHAIN, np.round((targets + self._zeros) / counts) * counts - self._zeros)
        sim.command(targets + self._zeros, TICK)
        for _ in range(4):
            sim.step(5)
            if self.sim.morphology.existing_mask[self._joint]:
                reading = self._sensors.joints()[self._joint] - self._zeros[self._joint]
                estimator.measure_joint(sim.time, self._joint, float(reading))
            self._joint = (self._joint + 1) % self.robot.joint_count
        estimator.measure_up(sim.rotation[2] + self._random.normal(0.0, 2e-3, 3))
        estimator.set_period(self.gait.period if self.gait.walking else None)
        if estimator.update():
            self.payload = estimator.estimate()
            if self.told:
                self.gait.set_payload(*self.payload.expected)
        self.worst_tilt = max(self.worst_tilt, float(np.arccos(np.clip(sim.rotation[2, 2], -1.0, 1.0))))
        self.reflexes = max(self.reflexes, self.gait.data.state.reflexes)
        self._tick += 1
        if self._tick % 5 == 0:
            self.margins.append(pressure_margin(sim))


def pressure_margin(sim: MujocoSimulator) -> float:
    """How far [m] the centre of pressure is inside the polygon of the feet that carry; NaN: fewer than three."""
    legs = [leg.name for leg in sim.robot.legs if len(sim.morphology.links(leg.name)) == len(leg.links)]
    feet = np.array([sim.data.site(f"foot_{name}").xpos[:2] for name in legs])
    loads = sim.foot_forces[[sim.robot.leg_names.index(name) for name in legs], 2]
    carrying = loads > 0.3
    if carrying.sum() < 3:
        return float("nan")
    corners, centre = feet[carrying], (loads[:, None] * feet).sum(axis=0) / loads.sum()
    order = np.argsort(np.arctan2(*(corners - corners.mean(axis=0)).T[::-1]))
    ring = corners[order]
    edges = np.roll(ring, -1, axis=0) - ring
    away = centre - ring
    return float(np.min((edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]) / np.linalg.norm(edges, axis=1)))
