"""Bus servos: a set-point that moves uniformly to its target, and a torque by the deviation of the joint.

    tau = clip(k (setpoint - q) + d (d setpoint/dt - qdot), +- torque limit)

A servo without torque (unloaded in its protocol, or limp in the morphology) has tau = 0. The joint still turns the gear
train, whose drag is -d qdot: the motor's share of d is back-EMF and the controller's, but an HTD-35H with open windings
still takes some 0.1 to 0.3 N m to turn by hand, which d = 0.3 N m s/rad matches at the 0.3 to 1 rad/s at which a limp
leg falls. This drag is a mechanical force: it is not part of the servo's torque. Beyond a joint's limits a stiff
one-sided spring with damping, the joint stop, acts as well. The torque is treated implicitly, like the contact:
for a step of length h, the torque at its end is used (core/simulation.h). Servos that are not springs: servo_law.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.core._core import DRIVE, SERVO
from hexapod_dynamics.robot import Morphology, Robot


def make_servos(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers (1,) of a Robot's servos and their states (n,), loaded, at zero; fields: core/servo.h."""
    drive, servos = np.zeros(1, DRIVE), np.zeros(robot.joint_count, SERVO)
    for name in ("stiffness", "damping", "torque_limit", "speed_limit"):
        drive[name] = getattr(robot.servo, name)
    drive["feed_forward"] = 1.0
    servos["loaded"] = servos["driven"] = 1.0
    servos["lower"] = [joint.lower for joint in robot.joints]
    servos["upper"] = [joint.upper for joint in robot.joints]
    return drive, servos


def set_driven(servos: np.ndarray, morphology: Morphology, q: np.ndarray) -> None:
    """Adopt from a Morphology which servos are limp; a repaired servo starts from the position of its joint, q
    (n,) [rad].
    """
    driven = morphology.driven_mask | ~morphology.moving_mask
    back = driven & (servos["driven"] == 0.0)
    servos["setpoint"][back] = servos["target"][back] = q[back]
    servos["speed"][back] = 0.0
    servos["driven"] = driven


def set_targets(
    servos: np.ndarray,
    drive: np.ndarray,
    setpoints: np.ndarray,
    targets: np.ndarray,
    speeds: np.ndarray,
    loaded: np.ndarray,
) -> None:
    """Set set-points, targets (n,) [rad], speeds towards them (n,) [rad/s] and which servos are loaded (n,) bool."""
    servos["setpoint"], servos["target"], servos["speed"] = setpoints, targets, speeds
    servos["loaded"] = loaded


class DelayLine:
    """Delays commands to the servos by a constant time [s]."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self._waiting: deque[tuple[float, Callable[..., None], tuple[object, ...]]] = deque()

    def clear(self) -> None:
        """Discard the delayed commands."""
        self._waiting.clear()

    def put(self, time: float, function: Callable[..., None], *arguments: object) -> None:
        """Add a command at `time` [s]: function(servos, drive, *arguments)."""
        self._waiting.append((time + self.delay, function, arguments))

    def execute(self, time: float, servos: np.ndarray, drive: np.ndarray) -> None:
        """Execute the commands that are due at `time` [s]; they change the rows of `servos`."""
        while self._waiting and self._waiting[0][0] <= time + 1e-9:
            _, function, arguments = self._waiting.popleft()
            function(servos, drive, *arguments)
