"""What walks their robot: the whole robot's tripod, then a plan for the legs that are left; told, or by the joints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from house.robot import House
from house.table_walk import TableWalk

from hexapod_dynamics.gait.planning.plan import GaitPlan, mirror_partners, tripod_plan
from hexapod_dynamics.robot.checked_yaml import Section, load_yaml

COMMANDED = 0.25  # [m/s], theirs
PLANS = Path(__file__).parent / "plans.yaml"
# Their whole robot's tripod: period [s], height [m] of the body, share of the cycle in which a leg stands, lift [m].
WHOLE = {"period": 0.8, "height": 0.125, "duty": 0.55, "lift": 0.03}
# A joint of their soft servos is astray beyond this residual [rad], its usual one taken off; a leg is lost where so
# many of its joints are. Usual: the largest of the whole robot's walk from BEGIN to END [s].
ASTRAY, LOST = 0.2, 2
BEGIN, END, READINGS = 1.0, 3.5, 3
# Ticks for which a leg is astray before it is declared: at first, and once others are declared and the robot changes
# its gait.
CONFIRM, CONFIRM_LATER = 6, 40


@dataclass(frozen=True)
class Walk:
    """A plan with the speed [m/s] at which it is walked and the phase at which it starts."""

    plan: GaitPlan
    speed: float
    start: float


def load_walks(house: House, path: Path = PLANS) -> dict[tuple[int, ...], Walk]:
    """Return the walks by the numbers of the legs that are lost, those of the mirror images included."""
    walks, partners = {}, mirror_partners(house.robot)
    for k, entry in enumerate(load_yaml(path)):
        section = Section(entry, f"walks[{k}]")
        speed, start = section.number("speed", above=0.0), section.number("start", low=0.0)
        walk = Walk(GaitPlan.read(house.robot, section), speed, start)
        for plan in (walk.plan.mirrored(partners), walk.plan):
            lost = tuple(i for i, name in enumerate(house.legs) if name not in plan.legs)
            walks[lost] = replace(walk, plan=plan)
    return walks


def entry_of(walk: Walk) -> dict[str, Any]:
    """Return what the file has of a walk."""
    return {"speed": round(walk.speed, 4), "start": round(walk.start, 4), **walk.plan.written()}


class JointDetector:
    """Tells which legs do not follow, from their joint readings and our set-points."""

    def __init__(self, joints: int) -> None:
        self._residuals = np.zeros((0, joints))
        self._usual, self._astray_for = np.zeros(joints), np.zeros(joints // 3, int)
        self._known: set[int] = set()

    def update(self, time: float, measured: np.ndarray, wanted: np.ndarray) -> tuple[int, ...]:
        """Take readings and set-points (n,) [rad]; return the numbers of the legs that are lost."""
        residuals = measured - wanted
        if time <= END:
            if time >= BEGIN:
                self._usual = np.maximum(self._usual, np.abs(residuals))
            return ()
        beyond = np.sign(residuals) * np.maximum(np.abs(residuals) - self._usual, 0.0)
        self._residuals = np.vstack([self._residuals, beyond])[-READINGS:]
        astray = np.sqrt(np.mean(self._residuals**2, axis=0)) > ASTRAY
        legs = astray.reshape(-1, 3).sum(axis=1) >= LOST
        self._astray_for = np.where(legs, self._astray_for + 1, 0)
        if self._astray_for.max() >= (CONFIRM_LATER if self._known else CONFIRM):
            self._known |= {int(i) for i in np.flatnonzero(legs)}
        return tuple(sorted(self._known))


class Recovery:
    """A controller for their harness: `reset()`, `act(env)`, and what their scorer asks of one that detects."""

    def __init__(self, house: House, walks: dict[tuple[int, ...], Walk], *, told: bool) -> None:
        self.house, self.walks, self.told = house, walks, told
        self.name = "told" if told else "untold"
        servo = house.robot.servo
        self._lag = servo.damping / servo.stiffness
        self._tripod = replace(tripod_plan(house.robot), **WHOLE)
        self.reset()

    def reset(self) -> None:
        """Begin a walk of the whole robot."""
        house = self.house
        self._walk = TableWalk(house.robot)
        self._last = house.joints.to_gait(np.tile(house.env.HexapodParams().nominal, len(house.legs)))
        self._walk.begin(self._tripod, COMMANDED, 0.0, self._last, house.limp(()))
        self.lost: tuple[int, ...] = ()
        self.t_detect: float | None = None
        self._detector = JointDetector(house.robot.joint_count)
        self.most_torque = self.most_rate = 0.0
        self._early = False

    def act(self, env: Any) -> np.ndarray:
        """Return their action, 18 numbers from -1 to 1, by their joints' readings and their IMU's attitude."""
        lost = self._lost(env)
        if lost != self.lost:
            self.lost = lost
            self._early = self._early or not env.active_faults
            self.t_detect = env.t if self.t_detect is None else self.t_detect
            walk = self.walks.get(lost)
            if walk is not None:
                self._walk.begin(walk.plan, walk.speed, walk.start, self._last, self.house.limp(lost))
        position, velocity = self._walk.step(env.dt, -env.euler()[2])
        self._last = position
        self.most_torque = max(self.most_torque, float(np.abs(env.data.actuator_force).max()))
        self.most_rate = max(self.most_rate, float(np.abs(velocity).max()))
        # Their servo damps against zero rate, so the set-point leads by its lag.
        return env.q_to_action(self.house.joints.to_file(position + self._lag * velocity))

    def _lost(self, env: Any) -> tuple[int, ...]:
        if self.told:
            return tuple(sorted(fault.leg for fault in env.active_faults))
        measured = self.house.joints.to_gait(env.last_sensed_q)
        return self._detector.update(env.t, measured, self._last)

    def summary(self) -> dict[str, Any]:
        """Return what their scorer writes down of a detecting controller."""
        return {"diag": list(self.lost), "false_alarm": self._early}
