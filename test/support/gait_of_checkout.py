"""The AdaptiveGait of another checkout of this project, to be compared with that of this one in the same world."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import numpy as np

SERVER = Path(__file__).with_name("gait_server.py")
MADE_IN = 120.0  # [s] until its environment is made and its kernels are compiled


class GaitOfCheckout:
    """Has what BlindWalk and benchmark/ground.py ask of a gait; its checkout's Python computes it in a process beside.

    Readings and commands are sent with the next step or change of morphology, in their order.
    """

    def __init__(self, tree: Path, **settings: Any) -> None:
        self._tree, self._settings = tree, settings
        self._folder = tempfile.TemporaryDirectory()
        self._calls: list[tuple[str, list[Any]]] = []
        self._now: dict[str, Any] = {}

    def bind(self, robot: Any) -> GaitOfCheckout:
        """Start the process; the robot is a JetHexa."""
        if robot.name != "jethexa":
            raise ValueError(f"robot {robot.name}: the other checkout walks a JetHexa")
        address = f"{self._folder.name}/gait"
        with Listener(address) as listener:
            self._process = subprocess.Popen(
                [self._tree / "with_ros2", "python", SERVER, address],
                cwd=self._tree,
                env={**os.environ, "HEXAPOD_DYNAMICS_CACHE": str(self._tree / "build" / "compiled")},
                stdout=subprocess.DEVNULL,
            )
            listener._listener._socket.settimeout(MADE_IN)
            self._connection = listener.accept()
        self._connection.send_bytes(json.dumps(self._settings).encode())
        self._receive()
        return self

    def _receive(self) -> None:
        self._now = json.loads(self._connection.recv_bytes())

    def _exchange(self) -> None:
        self._connection.send_bytes(json.dumps(self._calls).encode())
        self._calls.clear()
        self._receive()

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.wait(20.0)
        self._folder.cleanup()

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """As `Gait.step`."""
        self._calls.append(("step", [dt]))
        self._exchange()
        return self.position, self.velocity

    def set_morphology(self, morphology: Any) -> None:
        """As `Gait.set_morphology`."""
        whole = type(morphology).whole(morphology.robot).parameters()
        changed = {name: value for name, value in morphology.parameters().items() if value != whole[name]}
        self._calls.append(("set_morphology", [changed]))
        self._exchange()

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
