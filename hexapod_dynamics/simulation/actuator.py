"""Model of a bus servo: a set-point that moves uniformly to its target, and a torque that depends on the deviation
of the joint.

    tau = clip(k (setpoint - q) + d (d setpoint/dt - qdot), +- torque limit)

A servo without torque (unloaded in its protocol, or limp in the morphology) has tau = 0. The joint still turns the gear
train, whose drag is -d qdot: the motor's share of d is back-EMF and the controller's, but an HTD-35H with open windings
still takes some 0.1 to 0.3 N m to turn by hand, which d = 0.3 N m s/rad matches at the 0.3 to 1 rad/s at which a limp
leg falls. This drag is a mechanical force: it is not part of the servo's torque. Beyond a joint's limits a stiff
one-sided spring with damping, the joint stop, acts as well. The torque is treated implicitly, like the contact:
for a step of length h, the torque at its end is used (servo_torques.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.simulation.servo_kernel import DRIVEN, LOADED, SETPOINT, SPEED, TARGET


def set_driven(servos: np.ndarray, morphology: Morphology, q: np.ndarray) -> None:
    """Adopt from a Morphology which servos are limp; a repaired servo starts from the position of its joint, q
    (n,) [rad].
    """
    driven = morphology.driven_mask | ~morphology.moving_mask
    back = driven & (servos[:, DRIVEN] == 0.0)
    servos[back, SETPOINT] = servos[back, TARGET] = q[back]
    servos[back, SPEED] = 0.0
    servos[:, DRIVEN] = driven


def take_over(
    servos: np.ndarray, numbers: Any, setpoints: np.ndarray, targets: np.ndarray, speeds: np.ndarray, loaded: np.ndarray
) -> None:
    """Set set-points, targets (n,) [rad], speeds towards them (n,) [rad/s] and which servos are loaded (n,) bool."""
    servos[:, SETPOINT], servos[:, TARGET], servos[:, SPEED] = setpoints, targets, speeds
    servos[:, LOADED] = loaded


class DelayLine:
    """Delays commands to the servos by a constant time [s]."""

    def __init__(self, delay: Any) -> None:
        self.delay = delay
        self._waiting: deque[tuple] = deque()

    def clear(self) -> None:
        """Discard the delayed commands."""
        self._waiting.clear()

    def put(self, time: float, function: Callable[..., Any], *arguments: Any) -> None:
        """Add a command at `time` [s]: function(servos, numbers, *arguments)."""
        self._waiting.append((time + self.delay, function, arguments))

    def execute(self, time: float, servos: np.ndarray, numbers: Any) -> None:
        """Execute the commands that are due at `time` [s]; they change the rows of `servos`."""
        while self._waiting and self._waiting[0][0] <= time + 1e-9:
            _, function, arguments = self._waiting.popleft()
            function(servos, numbers, *arguments)
