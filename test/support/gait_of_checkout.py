"""The AdaptiveGait of another checkout of this project, to be compared with that of this one in the same world."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SERVER = Path(__file__).with_name("gait_server.py")


class GaitOfCheckout:
    """Has what BlindWalk and benchmark/ground.py ask of a gait; its checkout's Python computes it in a process beside.

    tree: the checkout; python: what runs its Python, by default its ./with_ros2. Readings and commands are sent with
    the next step or change of morphology, in their order.
    """

    def __init__(self, tree: Path, python: Sequence[str | Path] = (), **settings: Any) -> None:
        self._tree, self._python, self._settings = tree, python or (tree / "with_ros2", "python"), settings
        self._calls: list[tuple[str, list[Any]]] = []
        self._now: dict[str, Any] = {}

    def bind(self, robot: Any) -> GaitOfCheckout:
        """Start the process; the robot is a JetHexa."""
        if robot.name != "jethexa":
            raise ValueError(f"robot {robot.name}: the other checkout walks a JetHexa")
        self._process = subprocess.Popen(
            [*self._python, SERVER],
            cwd=self._tree,
            env={**os.environ, "HEXAPOD_DYNAMICS_CACHE": str(self._tree / "build" / "compiled")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._exchange(self._settings)
        return self

    def _exchange(self, request: Any) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the gait of {self._tree} has ended; its reason is on stderr")
        self._now = json.loads(answer)

    def _send_calls(self) -> None:
        self._exchange(self._calls)
        self._calls.clear()

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=20.0)

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """As `Gait.step`."""
        self._calls.append(("step", [dt]))
        self._send_calls()
        return self.position, self.velocity

    def set_morphology(self, morphology: Any) -> None:
        """As `Gait.set_morphology`."""
        whole = type(morphology).whole(morphology.robot).parameters()
        changed = {name: value for name, value in morphology.parameters().items() if value != whole[name]}
        self._calls.append(("set_morphology", [changed]))
        self._send_calls()

    def command(self, vx: float, vy: float, wz: float) -> None:
        """As `Gait.command`, but returns nothing."""
        self._calls.append(("command", [vx, vy, wz]))

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """As `Gait.sense`."""
        self._calls.append(("sense", [float(roll), float(pitch), float(yaw)]))

    def sense_force(self, *_force: float) -> None:
        """The gait of then feels no force."""

    def press(self, _leg: str) -> bool:
        """Who knows what is lost presses no foot."""
        return False

    def report(self) -> dict[str, Any]:
        """Why it does not walk, if so."""
        return {"why": self._now["why"]} if self._now["why"] else {}

    @property
    def position(self) -> np.ndarray:
        """Set-points (n,) [rad]."""
        return np.array(self._now["position"])

    @property
    def velocity(self) -> np.ndarray:
        """Rates (n,) [rad/s] of the set-points."""
        return np.array(self._now["velocity"])

    @property
    def twist(self) -> np.ndarray:
        """Twist (3,) [m/s, rad/s] that the feet follow."""
        return np.array(self._now["twist"])

    @property
    def walking(self) -> bool:
        """Whether the legs step."""
        return bool(self._now["walking"])

    @property
    def doing(self) -> str:
        """What it does, in a word."""
        return str(self._now["doing"])
