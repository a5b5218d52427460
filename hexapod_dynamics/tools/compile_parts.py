"""What the nodes compute, each part as its node does it, through every kind of damage: `compile` runs this once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.bench.devices.simulated_robot import SimulatedRobot
from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.soft_servo import TorqueRates
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator


def kinds_of_damage(robot: Robot) -> dict[str, Morphology]:
    """One morphology for each kind of damage, with the intact robot between two of them."""
    whole, (first, second, third, *_) = Morphology.whole(robot), robot.legs
    inner, outer = f"{first.name}.{first.link_names[0]}", f"{second.name}.{second.link_names[-1]}"
    return {
        "two legs": whole.without(first.name, second.name),
        "restored": whole,
        "a leg": whole.without(first.name),
        "three legs": whole.without(first.name, second.name, third.name),
        "locked": whole.locked(inner, angle=0.0),
        "limp": whole.limp(inner),
        "broken": whole.broken(outer, remaining=0.5),
    }


def _dynamics(robot: Robot) -> None:
    observer, zero = Observer(robot), np.zeros(robot.joint_count)
    observer.warm_up()
    WholeBodyModel(robot).prepare()
    forward, alone = Feedforward(robot, model=observer.model), Feedforward(robot)
    state = np.eye(3), 0.12, np.zeros(6), zero, zero, zero, zero
    rates = TorqueRates(forward)
    for each in (forward, alone):
        each.solve(*state)
    gait = AdaptiveGait().bind(robot)
    gait.reset(walking=True)
    moment = 0.0
    for morphology in kinds_of_damage(robot).values():
        observer.set_morphology(morphology.parameters())
        alone.set_morphology(morphology)
        for each in (forward, alone):
            each.solve(*state)
        rates.solve(np.eye(3), np.zeros(6), zero, zero, zero)
        gait.set_morphology(morphology)
        for _ in range(40):
            moment += 0.02
            position, velocity = gait.step(0.02)
            observer.command(moment, position, velocity)
            observer.measure_joints(moment, np.where(morphology.existing_mask, position, np.nan))
            observer.measure_attitude(moment, np.eye(3))
            observer.advance(moment)
            observer.look_ahead(moment)


def _gait(robot: Robot) -> None:
    for gait in (AdaptiveGait().bind(robot), TripodGait().bind(robot)):
        gait.reset(joints=gait.position)
        gait.command(0.05, 0.0, 0.1)
        gait.step(0.02)
        gait.set_morphology(Morphology.whole(robot).without(robot.leg_names[0]))
        gait.step(0.02)
    gait = AdaptiveGait().bind(robot)

    def walk(roll: float = 0.01) -> None:
        for _ in range(60):
            gait.sense(roll, 0.0, 0.0)
            gait.step(0.02)

    gait.reset(joints=gait.position + 0.01)
    gait.command(0.077, 0.0, 0.0)
    walk()
    for morphology in kinds_of_damage(robot).values():
        gait.set_morphology(morphology)
        walk()
    gait.set_morphology(Morphology.whole(robot))
    lean = np.array([0.01, 0.0, 0.0, 0.05, 0.0, 0.0])
    for act in (lambda: gait.lean(lean), gait.sit, gait.stand, lambda: gait.set_pattern("wave"), lambda: walk(0.3)):
        act()
        walk()


def _simulator(robot: Robot) -> None:
    simulator = Simulator(robot)
    simulator.step(2)
    with tempfile.TemporaryDirectory() as directory:
        simulated = SimulatedRobot(robot, Morphology.whole(robot), directory)
        for morphology in kinds_of_damage(robot).values():
            simulated.set_morphology(morphology)
            simulated.physics.step(20)
            simulator.set_morphology(morphology)
            simulator.step(2)
        simulated.stop()


def _damage_detector(robot: Robot) -> None:
    detector, gait = DamageDetector(robot), AdaptiveGait().bind(robot)
    detector.warm_up()
    gait.reset(walking=True)
    for morphology in kinds_of_damage(robot).values():
        detector.set_morphology(morphology)
        gait.set_morphology(morphology)
        for _ in range(5):
            gait.step(0.02)


PARTS: dict[str, Callable[[Robot], None]] = {
    "dynamics": _dynamics,
    "gait": _gait,
    "simulator": _simulator,
    "damage_detector": _damage_detector,
}
