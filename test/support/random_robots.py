"""Random robots and random damage: missing legs, missing links, locked joints, broken links."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.robot import Body, Contact, Imu, Joint, Leg, Link, Morphology, Robot, Servo
from hexapod_dynamics.se3 import exp

# Families of leg types: joint kinds from the body outward; a robot has legs of one family. r, p, h: revolute,
# prismatic, helical about a random axis; x, y, z: revolute about that axis of the leg.
FAMILIES = (("zyy",), ("r", "rp", "zyh"), ("yrh", "p"), ("zyyp", "rhr"), ("rprhz", "xy"), ("zyyzyx", "hr"))
LONG_LEGS = 4  # families from here on have legs of 5 and 6 joints, whose code takes longest to compile
KINDS = {"p": "prismatic", "h": "helical"}
AXES = {"x": [1, 0, 0], "y": [0, -1, 0], "z": [0, 0, 1]}


def rotation(rng: np.random.Generator) -> np.ndarray:
    """Random rotation (3, 3)."""
    return np.ascontiguousarray(exp(np.concatenate([np.zeros(3), rng.normal(size=3) * 1.5]))[:3, :3])


def inertia(rng: np.random.Generator, mass: float, size: float) -> np.ndarray:
    """Random inertia (3, 3) that a body of that mass and size can have."""
    spread = rng.uniform(0.05, 1.0, size=3) * mass * size**2
    turn = rotation(rng)
    return turn @ np.diag([spread[1] + spread[2], spread[0] + spread[2], spread[0] + spread[1]]) @ turn.T


def leg_type_axes(family: int) -> list[list[np.ndarray]]:
    """Joint axes of a family's leg types, the same in every robot: they are compiled in."""
    rng = np.random.default_rng(1000 + family)
    return [[np.array(AXES.get(kind, rng.normal(size=3))) for kind in kinds] for kinds in FAMILIES[family]]


def leg_count_of(family: int, choice: int) -> int:
    """4, 6 or 8 legs, so that vector registers are filled differently; always 4 of the long ones."""
    return (4, 6, 8)[choice % 3] if family < LONG_LEGS else 4


def random_robot(rng: np.random.Generator, family: int, leg_count: int) -> Robot:
    """Robot of random masses, lengths and mounts with legs of a family; every second family has motors with rotors."""
    legs = []
    own = np.random.default_rng([family, leg_count])  # of what came later: the others' numbers stay what they were
    for index in range(leg_count):
        choice = index % len(FAMILIES[family])
        kinds, axes = FAMILIES[family][choice], leg_type_axes(family)[choice]
        joints, links, end = [], [], np.zeros(3)
        for k, (kind, axis) in enumerate(zip(kinds, axes, strict=True)):
            length, mass = rng.uniform(0.05, 0.2), rng.uniform(0.02, 0.3)
            origin = end + rng.normal(size=3) * 0.02
            name = KINDS.get(kind, "revolute")
            pitch = 0.02 if name == "helical" else 0.0
            rotor = own.uniform(1e-4, 5e-3) if family % 2 else 0.0
            joints.append(Joint(f"j{k}_L{index}", name, axis, origin, -3.0, 3.0, pitch=pitch, rotor_inertia=rotor))
            link = Link(f"l{k}", mass, length, rng.normal(size=3) * 0.03, inertia(rng, mass, length), rotation(rng))
            links.append(link)
            end = origin + link.tip
        legs.append(
            Leg(f"L{index}", rotation(rng), rng.normal(size=3) * 0.15, tuple(joints), tuple(links), 1 + index % 2, "m")
        )
    return Robot(
        name="random",
        gravity=9.81,
        body=Body(1.5, inertia(rng, 1.5, 0.2), np.array([0.2, 0.2, 0.1]), own.normal(size=3) * 0.03),
        legs=tuple(legs),
        servo=Servo(30.0, 0.3, 3.43, 5.82, 0.004),
        contact=Contact(1e4, 150.0, 50.0),
        imu=Imu(np.zeros(3), np.eye(3)),
    )


def random_damage(rng: np.random.Generator, robot: Robot) -> Morphology:
    """Damage of all five kinds, as far as the robot has legs for it."""
    morphology = Morphology.whole(robot)
    order = list(rng.permutation(robot.leg_names))
    links = {leg.name: leg.link_names for leg in robot.legs}
    for kind in ("without leg", "without link", "locked", "broken", "locked", "broken"):
        if not order:
            break
        leg = order.pop()
        link = f"{leg}.{rng.choice(links[leg])}"
        if kind == "without leg":
            morphology = morphology.without(leg)
        elif kind == "without link":
            morphology = morphology.without(link)
        elif kind == "locked":
            morphology = morphology.locked(link, angle=rng.uniform(-1, 1))
        else:
            morphology = morphology.broken(link, remaining=rng.uniform(0.05, 0.95))
    # two kinds on one leg
    survivors = [name for name in robot.leg_names if morphology.has_leg(name)]
    if survivors:
        leg = rng.choice(survivors)
        last = [name for name in links[leg] if morphology.has_link(leg, name)][-1]
        morphology = morphology.locked(f"{leg}.{links[leg][0]}", rng.uniform(-1, 1))
        morphology = morphology.broken(f"{leg}.{last}", morphology.remaining(leg, last) * rng.uniform(0.5, 1))
    moving = [
        f"{leg.name}.{link}"
        for leg in robot.legs
        for link in leg.link_names
        if morphology.has_link(leg.name, link) and morphology.locked_angle(leg.name, link) is None
    ]
    return morphology.limp(rng.choice(moving)) if moving else morphology
