"""Simulated walks of random robots, with and without damage: what the damage detector is trained on.

The whole program of the robot (`Onboard`) walks in the built-in physics or in MuJoCo. Everything is drawn from the seed
of the walk:

| what | range | why |
|---|---|---|
| servos, masses, zeros, IMU | the ideal model; up to 1.2 times `draw_real_servos`; 0.8 to 2.2 times | LX, others |
| feed-forward torques; requests of the bus | with and without; 90 to 180 a second | users' parameters, USB adapters |
| friction; stiffness; masses (wide) | 0.25 to 1.1; 0.65 to 1.3; 0.82 to 1.2 | wet floor, low battery, other robots |
| lag; play | up to 40 ms; up to 2 degrees | slow buses, worn gears |
| ground | level, rough to 20 mm, blocks to 45 mm, steps to 50 mm, slopes to 15 degrees | docs/results/ground.md |
| healthy walks | 13 to 20 s; 60 to 150 s on blocks and steps, where alarms are likeliest | a day of use |
| commands | any direction, 0.4 to 1.1 of the usual speed, stands of up to 10 s | a person with a stick |
| pushes; a bag | 3 to 11 N s; 0.2 to 0.6 kg for 3 to 8 s | a person with hands |
| gaits | auto, tripod, ripple, wave | all gaits that users choose |
| declared before the walk | nothing, one or two legs missing or without feet | a robot that is damaged already |
| damage, from the third second on | last link of one or two legs, a torn leg, a limp or locked joint | what to find |
| after it | nobody notices, or it is declared after 0.3 to 2.5 s, and another follows within 4.5 s | a closed loop |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hexapod_dynamics.detection import DamageDetector
from hexapod_dynamics.detection.detector import STUMP
from hexapod_dynamics.detection.features import find_joint_slots
from hexapod_dynamics.detection.network import LIMP, LOCKED, LOST
from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.onboard.prediction import PredictionSettings
from hexapod_dynamics.onboard.simulation import REST_TIME, OnboardSimulation
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Truth
from hexapod_dynamics.simulation.ground import BLOCK, EDGE, Ground
from hexapod_dynamics.simulation.truth import draw_real_servos

KINDS = {"healthy": 0.13, "foot": 0.19, "last": 0.17, "pair": 0.22, "torn": 0.03, "limp": 0.15, "locked": 0.11}
GAITS = {"auto": 0.64, "tripod": 0.18, "ripple": 0.09, "wave": 0.09}


class Change(NamedTuple):
    """What a leg has lost beyond what is declared, from the time t [s] on: a class of the network for each leg."""

    t: float
    classes: np.ndarray


class DamageWalk:
    """One random walk; `simulate` simulates it. changes: what is lost and not declared, for the network's labels.

    Args:
        robot: Robot; its legs may have any number of joints.
        seed: of everything that is random.
        physics: built_in or mujoco.
        detector: what Onboard's detector is for this walk.

    """

    def __init__(self, robot: Robot, seed: int, physics: str, detector: DamageDetector) -> None:
        self.robot, self.seed = robot, seed
        self.random = random = np.random.default_rng((4242, seed))
        self.kind = str(random.choice(list(KINDS), p=list(KINDS.values())))
        self.gait = str(random.choice(list(GAITS), p=list(GAITS.values())))
        truth, self.obstacles = self._draw_truth()
        self.before = self._draw_declared() if self.gait == "auto" else Morphology.whole(robot)
        feedforward = random.random() < (0.9 if truth.servo_friction else 0.5)
        onboard = Onboard(
            robot,
            gait=self.gait,
            morphology=None if self.before == Morphology.whole(robot) else self.before,
            detector=detector,
            prediction=PredictionSettings(feedforward=feedforward),
            reads_a_second=150.0 if random.random() < 0.7 else random.uniform(90.0, 180.0),
        )
        self.walk = OnboardSimulation(onboard, physics, truth, seed, ground=self.obstacles)
        self.broken = self.before
        self.changes = [Change(0.0, self._classes())]
        self.begin = math.inf  # [s] of the damage

    # ---- what is drawn -----------------------------------------------------------------------------------------------

    def _draw_truth(self) -> tuple[Truth, Ground | None]:
        random, u = self.random, self.random.random()
        wide = u >= 0.78
        if u < 0.18:
            values: dict[str, Any] = {}
        elif u < 0.26:
            values = draw_real_servos(self.seed, 0.0)
        else:
            share = random.uniform(0.8, 2.2) if wide else random.choice([1.2, random.uniform(0.0, 1.2)])
            values = draw_real_servos(self.seed, float(share))
        if wide:
            values |= {
                "friction": random.uniform(0.25, 1.1),
                "stiffness": random.uniform(0.65, 1.3),
                "mass": random.uniform(0.82, 1.2),
                "payload": min(values["payload"], 0.7),
                "link_masses": min(values["link_masses"], 0.4),
            }
            if random.random() < 0.3:
                values["delay"] = random.uniform(0.0, 0.04)
            if random.random() < 0.3:
                values["hysteresis"] = random.uniform(0.0, 2.0)
        values["seed"] = self.seed
        u = random.random()
        if u < 0.28:
            return Truth(**values), self._draw_obstacles(values.get("friction", 0.6))
        if u < 0.62:
            values["rough"] = random.uniform(0.0, 0.008)
        elif u < 0.7:
            values["rough"] = random.uniform(0.008, 0.02)
        if random.random() < 0.4:
            values["slope"] = random.uniform(0.0, 8.0) if random.random() < 0.7 else random.uniform(8.0, 15.0)
            values["slope_yaw"] = random.uniform(-180.0, 180.0)
        return Truth(**values), None

    def _draw_obstacles(self, friction: float) -> Ground:
        """Return blocks, or steps up and down across the way, of 20 to 50 mm."""
        random, height = self.random, self.random.uniform(0.02, 0.05)
        if random.random() < 0.55:
            return Ground(friction=friction, seed=self.seed, rough=min(height, 0.045), cell=BLOCK, edge=EDGE)
        # Up and down; a healthy walk has four times as many steps.
        up = random.choice([1.0, -1.0]) * np.tile([1.0, -1.0, 1.0, 1.0, -1.0, -1.0], 4 if self.kind == "healthy" else 1)
        places = np.cumsum(random.uniform(0.2, 0.6, len(up)))
        return Ground(friction=friction, steps=tuple(zip(places.tolist(), (height * up).tolist(), strict=True)))

    def _draw_declared(self) -> Morphology:
        random, robot = self.random, self.robot
        morphology = Morphology.whole(robot)
        if random.random() > 0.3:
            return morphology
        count = 1 if random.random() < 0.65 or len(robot.legs) < 5 else 2
        for k in random.choice(len(robot.legs), count, replace=False):
            leg = robot.legs[k]
            if random.random() < 0.7:
                morphology = morphology.without(leg.name)
            else:
                morphology = morphology.broken(f"{leg.name}.{leg.link_names[-1]}", float(random.uniform(0.02, 0.6)))
        return morphology

    def _draw_twist(self) -> np.ndarray:
        random = self.random
        if random.random() < 0.06:
            return np.zeros(3)
        angle = random.uniform(-np.pi, np.pi) if random.random() < 0.4 and not self.obstacles else 0.0
        way = np.array([np.cos(angle), np.sin(angle), random.uniform(-1.0, 1.0) * (random.random() < 0.6)])
        return np.array([0.07, 0.05, 0.2]) * way * random.uniform(0.4, 1.1)  # [m/s, m/s, rad/s] of the usual commands

    def _draw_damage(self, morphology: Morphology, kind: str) -> Morphology:
        """Return the morphology with one more damage of a kind."""
        random, robot = self.random, self.robot
        damaged = (morphology.table != Morphology.whole(robot).table).any(axis=0)
        intact = [k for k, leg in enumerate(robot.legs) if not damaged[list(robot.leg_joints(leg.name))].any()]
        if not intact:
            return morphology
        leg = robot.legs[int(random.choice(intact))]
        if kind in ("foot", "pair"):
            left = float(random.choice([0.02, 0.05, 0.5, random.uniform(0.02, 0.75)]))
            found = morphology.broken(f"{leg.name}.{leg.link_names[-1]}", left)
            return self._draw_damage(found, "foot") if kind == "pair" else found
        if kind == "last":
            return morphology.broken(f"{leg.name}.{leg.link_names[-1]}", float(random.uniform(0.75, 0.87)))
        if kind == "torn":
            return morphology.without(leg.name if random.random() < 0.6 else f"{leg.name}.{leg.link_names[1]}")
        link = int(random.integers(len(leg.links)))
        part = f"{leg.name}.{leg.link_names[link]}"
        if kind == "limp":
            return morphology.limp(part)
        return morphology.locked(part, float(self.walk.physics.q[robot.leg_joints(leg.name)[link]]))

    # ---- what happens ------------------------------------------------------------------------------------------------

    def simulate(self) -> Iterator[float]:
        """Simulate the walk, 20 ms for each time [s] that is yielded."""
        random, walk = self.random, self.walk
        healthy = self.kind == "healthy"
        duration = random.uniform(*(10.0, 14.0) if not healthy else (60.0, 150.0) if self.obstacles else (13.0, 20.0))
        starts = random.uniform(3.0, 9.0) if random.random() < 0.08 else REST_TIME
        happens = math.inf if healthy else max(3.0, random.uniform(3.0, duration - 3.6), starts + 0.5)
        declares = second = math.inf
        next_change, push_ends, bag_ends = starts + random.uniform(2.0, 5.0), 0.0, 0.0
        wrench = walk.wrench
        while walk.time < duration:
            t = walk.time
            if t >= starts and not walk.twist.any() and starts < math.inf:
                walk.twist, starts = self._draw_twist(), math.inf
            if t >= happens:
                happens, self.begin = math.inf, min(self.begin, t)
                self._break(self.kind if second == math.inf else str(random.choice(["foot", "last", "limp", "locked"])))
                if self.kind == "torn" or random.random() < 0.6:
                    declares = t + (0.6 if self.kind == "torn" else random.uniform(0.3, 2.5))
            if t >= declares:
                declares = math.inf
                walk.onboard.declare(self._declared())
                self.changes.append(Change(t, self._classes()))
                if second == math.inf and random.random() < 0.6:
                    second = happens = t + random.choice([random.uniform(0.0, 1.2), random.uniform(0.0, 4.5)])
                    duration = max(duration, happens + 3.6)
            if t >= next_change:
                next_change = t + random.uniform(2.0, 5.0)
                if random.random() < 0.6 and starts == math.inf:
                    walk.twist = self._draw_twist()
                if random.random() < 0.05:
                    walk.twist, starts = np.zeros(3), t + random.uniform(2.0, 10.0)
                if random.random() < 0.4:
                    push_ends = t + self._push(wrench)
                if random.random() < 0.12 and not bag_ends:
                    force, (x, y) = 9.81 * random.uniform(0.2, 0.6), random.uniform(-0.04, 0.04, 2)
                    wrench[2:5], bag_ends = (-force, -force * y, force * x), t + random.uniform(3.0, 8.0)
            if push_ends and t >= push_ends:
                wrench[:2], push_ends = 0.0, 0.0
            if bag_ends and t >= bag_ends:
                wrench[2:5], bag_ends = 0.0, 0.0
            walk.step()
            yield walk.time

    def _push(self, wrench: np.ndarray) -> float:
        """Push from a random side; return for how long [s]."""
        random = self.random
        angle = random.uniform(-np.pi, np.pi)
        if random.random() < 0.4:
            lasts = float(random.choice([0.1, 0.2, 0.3, 0.6]))
            force = random.uniform(3.0, 11.0) / lasts
        else:
            lasts, force = random.uniform(0.1, 0.5), random.uniform(3.0, 9.0)
        wrench[:2] = force * np.cos(angle), force * np.sin(angle)
        return lasts

    def _break(self, kind: str) -> None:
        self.broken = self._draw_damage(self.broken, kind)
        self.walk.break_parts(self.broken)
        self.changes.append(Change(self.walk.time, self._classes()))

    def _declared(self) -> Morphology:
        """Return what a detector would declare of what is broken: of a pair perhaps one foot; STUMP of a last link."""
        declared, found = self.walk.onboard.morphology, self.broken
        new = [leg for leg in self.robot.legs if 0.0 < found.remaining(leg.name, leg.link_names[-1]) < 1.0]
        new = [leg for leg in new if declared.remaining(leg.name, leg.link_names[-1]) == 1.0]
        kept = self.random.integers(len(new)) if len(new) > 1 and self.random.random() < 0.5 else None
        for k, leg in enumerate(new):
            left = STUMP if kept is None or k == kept else 1.0
            found = found.updated({f"remaining.{leg.name}.{leg.link_names[-1]}": left})
        return found

    def _classes(self) -> np.ndarray:
        """Return the network's class of each leg (legs,), by what is broken and not declared."""
        declared, broken = self.walk.onboard.morphology, self.broken
        found = np.zeros(len(self.robot.legs), np.int8)
        for k, leg in enumerate(self.robot.legs):
            for slot, link in enumerate(find_joint_slots(len(leg.links))):
                part = leg.name, leg.link_names[link]
                if broken.is_limp(*part) and not declared.is_limp(*part):
                    found[k] = LIMP + slot
                if broken.locked_angle(*part) is not None and declared.locked_angle(*part) is None:
                    found[k] = LOCKED + slot
            if any(broken.remaining(leg.name, n) < declared.remaining(leg.name, n) == 1.0 for n in leg.link_names):
                found[k] = LOST
        return found
