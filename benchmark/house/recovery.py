"""What walks their robot: the whole robot's tripod, then a plan for the legs that are left; told, or by the joints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from house.robot import House
from house.table_walk import TableWalk

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.detection.features import find_remaining
from hexapod_dynamics.estimation import DetectorSettings
from hexapod_dynamics.gait.planning.plan import GaitPlan, mirror_partners, plan_tripod
from hexapod_dynamics.onboard.damage_detection import DamageDetection
from hexapod_dynamics.onboard.declarations import Declarations
from hexapod_dynamics.onboard.inputs import ImuReading
from hexapod_dynamics.onboard.onboard import PERIODS
from hexapod_dynamics.onboard.servos import ReadingsBus
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.checked_yaml import Section
from hexapod_dynamics.robot.yaml_text import load_yaml
from hexapod_dynamics.se3 import rotation_from_quaternion

COMMANDED = 0.25  # [m/s], theirs
PLANS = Path(__file__).parent / "plans.yaml"
# Their whole robot's tripod: period [s], height [m] of the body, share of the cycle in which a leg stands, lift [m].
WHOLE = {"period": 0.8, "height": 0.125, "duty": 0.55, "lift": 0.03}
# Their servos start at once, and have no guard that bounds commands.
SETTINGS = DetectorSettings(
    command_delay=0.0, guard=GuardSettings(speed_limit=100.0, approach_speed=100.0, step_limit=10.0)
)


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
        for plan in (walk.plan.mirror(partners), walk.plan):
            lost = tuple(i for i, name in enumerate(house.legs) if name not in plan.legs)
            walks[lost] = replace(walk, plan=plan)
    return walks


def entry_of(walk: Walk) -> dict[str, Any]:
    """Return what the file has of a walk."""
    return {"speed": round(walk.speed, 4), "start": round(walk.start, 4), **walk.plan.to_dict()}


class Detection:
    """Finds damage as the nodes `servos`, `damage_detector` and `damage_manager` do: the bus asks some joints, the
    detector decides, and what it declares is adopted.
    """

    def __init__(self, robot: Robot) -> None:
        self._bus, self._declarations = ReadingsBus(robot), Declarations(robot)
        self._detection = DamageDetection(robot, settings=SETTINGS)
        self._due = 0.0

    def command(self, t: float, positions: np.ndarray) -> None:
        """Process the set-points (n,) [rad] that are commanded at the time t [s]."""
        self._detection.command(t, positions)

    def update(self, t: float, angles: np.ndarray, rotation: np.ndarray) -> tuple[int, ...]:
        """Take joint angles (n,) [rad] and the attitude (3, 3) of the time t [s]; return the numbers of the legs that
        are declared damaged.
        """
        detection = self._detection
        for joint in self._bus.reads(t):
            if self._bus.process_answer(t, joint, float(angles[joint])):
                detection.joint(t, joint, float(angles[joint]))
        detection.imu(t, ImuReading(rotation, None, None, None, None))
        if t > self._due - 1e-6:
            self._due += PERIODS["detection"]
            for decision in detection.update(t).declare:
                detection.set_morphology(self._declarations.change(t, decision.values))
        return tuple(np.flatnonzero(find_remaining(self._declarations.morphology) < 1.0).tolist())


class Recovery:
    """A controller for their harness: `reset()`, `act(env)`, and what their scorer asks of one that detects."""

    def __init__(self, house: House, walks: dict[tuple[int, ...], Walk], *, told: bool) -> None:
        self.house, self.walks, self.told = house, walks, told
        self.name = "told" if told else "untold"
        servo = house.robot.servo
        self._lag = servo.damping / servo.stiffness
        self._tripod = replace(plan_tripod(house.robot), **WHOLE)
        self.reset()

    def reset(self) -> None:
        """Begin a walk of the whole robot."""
        house = self.house
        self._walk = TableWalk(house.robot)
        self._last = house.joints.to_gait(np.tile(house.env.HexapodParams().nominal, len(house.legs)))
        self._walk.begin(self._tripod, COMMANDED, 0.0, self._last, house.limp(()))
        self.lost: tuple[int, ...] = ()
        self.t_detect: float | None = None
        self._detection = None if self.told else Detection(house.robot)
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
        if self._detection is not None:
            self._detection.command(env.t, position)
        self.most_torque = max(self.most_torque, float(np.abs(env.data.actuator_force).max()))
        self.most_rate = max(self.most_rate, float(np.abs(velocity).max()))
        # Their servo damps against zero rate, so the set-point leads by its lag.
        return env.q_to_action(self.house.joints.to_file(position + self._lag * velocity))

    def _lost(self, env: Any) -> tuple[int, ...]:
        if self._detection is None:
            return tuple(sorted(fault.leg for fault in env.active_faults))
        angles = self.house.joints.to_gait(env.last_sensed_q)
        return self._detection.update(env.t, angles, rotation_from_quaternion(np.roll(env.data.qpos[3:7], -1)))

    def summary(self) -> dict[str, Any]:
        """Return what their scorer writes down of a detecting controller."""
        return {"diag": list(self.lost), "false_alarm": self._early}
