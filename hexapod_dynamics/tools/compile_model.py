"""ros2 run hexapod_dynamics compile: compiles what the nodes use, before the first start of the robot.

The result is kept in HEXAPOD_DYNAMICS_CACHE (by default ~/.cache/hexapod_dynamics), where the nodes find it. Without
this command the nodes compile at their first start, side by side, while the robot waits.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.compile_notice import when_compiling
from hexapod_dynamics.compiled import cache_directory
from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.soft_servo import TorqueRates
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator


def _dynamics(robot: Robot) -> None:
    observer, zero = Observer(robot), np.zeros(robot.joint_count)
    observer.warm_up()
    forward = Feedforward(robot, model=observer.model)
    forward.solve(np.eye(3), 0.12, np.zeros(6), zero, zero, zero, zero)
    TorqueRates(forward).solve(np.eye(3), np.zeros(6), zero, zero, zero)


def _gait(robot: Robot) -> None:
    for gait in (AdaptiveGait().bind(robot), TripodGait().bind(robot)):
        gait.reset(joints=gait.position)
        gait.command(0.05, 0.0, 0.1)
        gait.step(0.02)
        gait.set_morphology(Morphology.whole(robot).without(robot.leg_names[0]))
        gait.step(0.02)


def _simulator(robot: Robot) -> None:
    simulator = Simulator(robot)
    simulator.step(2)
    simulator.set_morphology(Morphology.whole(robot).without(robot.leg_names[0]))
    simulator.step(2)


def _damage_detector(robot: Robot) -> None:
    DamageDetector(robot).warm_up()


PARTS: dict[str, Callable[[Robot], None]] = {
    "dynamics": _dynamics,
    "gait": _gait,
    "simulator": _simulator,
    "damage_detector": _damage_detector,
}


def main(args: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="compile", description="Compile what the nodes use, once.")
    parser.add_argument("--robot", default="", help="the robot's YAML file; by default the JetHexa")
    given = parser.parse_args(args)
    compiled = [0]

    def count() -> None:
        compiled[0] += 1
        if sys.stderr.isatty():
            print(f"\r  {compiled[0]} functions", end="", file=sys.stderr, flush=True)

    when_compiling(count)
    try:
        robot = Robot.load(given.robot) if given.robot else Robot.jethexa()
        for name, part in PARTS.items():
            begin, before = time.monotonic(), compiled[0]
            part(robot)
            if sys.stderr.isatty():
                print("\r", end="", file=sys.stderr, flush=True)
            print(f"{name:16s} {compiled[0] - before:4d} functions {time.monotonic() - begin:6.1f} s", flush=True)
    except HexapodError as error:
        print(f"compile: {error}", file=sys.stderr)
        return 1
    print(f"kept in {cache_directory()}")
    return 0
