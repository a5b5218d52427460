"""Model of a bus servo: a set-point that moves uniformly to its target, and a torque from the deviation of the joint.

    tau = clip(k (setpoint - q) + d (d setpoint/dt - qdot), +- torque limit)

A servo without torque (unloaded in its protocol, or limp in the morphology) has tau = 0. The joint still turns the gear
train, whose drag is -d qdot: the motor's share of d is back-EMF and the controller's, but an HTD-35H with open windings
still takes some 0.1 to 0.3 N m to turn by hand, which d = 0.3 N m s/rad matches at the 0.3 to 1 rad/s at which a limp
leg falls. This drag is a force of the mechanics: it is not in the servo's torque. Beyond a joint's limits a stiff
one-sided spring with damping, the joint stop, acts as well.
Treated implicitly like the contact: over a step of length h the torque is the one at the end of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.robot import Morphology

# Numbers of the servo.
STIFFNESS, DAMPING, TORQUE_LIMIT, SPEED_LIMIT, DEAD_BAND, NUMBERS = range(6)
# Columns of a row of `servos`: set-point, its rate now, target, speed towards it, torque, +-1 where the torque
# saturates, 1 where the motor is loaded and 0 where it is not, 1 where it can give torque and 0 where it is limp, the
# joint's limits, +-1 where it is at a stop.
SETPOINT, RATE, TARGET, SPEED, TORQUE, SATURATED, LOADED, DRIVEN, LOWER, UPPER, STOPPED, SERVO = range(12)
# Stiffness and damping of a joint stop, as multiples of those of the servo.
STOP_STIFFNESS, STOP_DAMPING = 20.0, 4.0


def set_driven(servos: np.ndarray, morphology: Morphology, q: np.ndarray) -> None:
    """Take from a Morphology which servos are limp; a repaired one starts from the position of its joint, q (n,)
    [rad].
    """
    driven = morphology.driven_mask | ~morphology.moving_mask
    back = driven & (servos[:, DRIVEN] == 0.0)
    servos[back, SETPOINT] = servos[back, TARGET] = q[back]
    servos[back, SPEED] = 0.0
    servos[:, DRIVEN] = driven


@kernel
def command(servos, numbers, joint, target, duration):
    """Send one servo to the target [rad or m] in the duration [s], uniformly, within its speed limit."""
    distance = abs(target - servos[joint, SETPOINT])
    servos[joint, TARGET] = target
    servos[joint, SPEED] = numbers[SPEED_LIMIT]
    if distance < servos[joint, SPEED] * duration:
        servos[joint, SPEED] = distance / duration


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


@kernel
def move_setpoints(servos, h):
    """Move every set-point on by h seconds."""
    for joint in range(servos.shape[0]):
        left = servos[joint, TARGET] - servos[joint, SETPOINT]
        furthest = servos[joint, SPEED] * h
        # A remainder below a step is added to this step.
        if abs(left) <= furthest * (1.0 + 1e-9):
            servos[joint, RATE] = left / h
            servos[joint, SETPOINT] = servos[joint, TARGET]
        else:
            servos[joint, RATE] = servos[joint, SPEED] if left > 0.0 else -servos[joint, SPEED]
            servos[joint, SETPOINT] += servos[joint, RATE] * h


@kernel
def stretch(lag, band):
    """Return the lag [rad] of a joint behind its set-point, less the servo's dead band."""
    return lag - min(band, max(-band, lag))


@kernel
def add_servos(lanes, joints, moving, rows_block, rows_force, servos, numbers, q, nu, h):
    """Add the servos' torques at the old velocity to the right-hand side and their implicit part to the arrow."""
    damping = numbers[DAMPING]
    for joint in range(servos.shape[0]):
        if moving[joint] == 0.0:
            continue
        block, lane, k = joints[joint, 0], joints[joint, 1], joints[joint, 2]
        if servos[joint, SATURATED] == 0.0:
            rate = nu[6 + joint]
            on = servos[joint, LOADED] * servos[joint, DRIVEN]
            lag = servos[joint, SETPOINT] - q[joint]
            band = numbers[DEAD_BAND]
            stiffness = numbers[STIFFNESS] * on if abs(lag) > band or band == 0.0 else 0.0
            torque = stiffness * (stretch(lag, band) - h * rate) + damping * (on * servos[joint, RATE] - rate)
            lanes[block, rows_block + k * (k + 3) // 2, lane] += h * (damping + h * stiffness)
        else:
            torque = servos[joint, SATURATED] * numbers[TORQUE_LIMIT]
        if servos[joint, STOPPED] != 0.0:
            k_stop, d_stop = STOP_STIFFNESS * numbers[STIFFNESS], STOP_DAMPING * damping
            limit = servos[joint, UPPER] if servos[joint, STOPPED] > 0.0 else servos[joint, LOWER]
            torque += k_stop * (limit - q[joint] - h * nu[6 + joint]) - d_stop * nu[6 + joint]
            lanes[block, rows_block + k * (k + 3) // 2, lane] += h * (d_stop + h * k_stop)
        lanes[block, rows_force + k, lane] += torque


@kernel
def settle_servos(moving, servos, numbers, q, nu, h):
    """Set the torques at the new velocity nu; return whether an assumption about saturation was wrong and was
    corrected.
    """
    limit = numbers[TORQUE_LIMIT]
    wrong = False
    for joint in range(servos.shape[0]):
        if moving[joint] == 0.0:
            servos[joint, TORQUE] = 0.0
            continue
        rate = nu[6 + joint]
        torque = 0.0
        if servos[joint, LOADED] * servos[joint, DRIVEN] != 0.0:
            lag = servos[joint, SETPOINT] - q[joint]
            band = numbers[DEAD_BAND]
            stiffness = numbers[STIFFNESS] if abs(lag) > band or band == 0.0 else 0.0
            torque = stiffness * (stretch(lag, band) - h * rate) + numbers[DAMPING] * (servos[joint, RATE] - rate)
        servos[joint, TORQUE] = min(limit, max(-limit, torque))
        saturated = 0.0
        if torque > limit:
            saturated = 1.0
        elif torque < -limit:
            saturated = -1.0
        if saturated != servos[joint, SATURATED]:
            wrong = True
            servos[joint, SATURATED] = saturated
        at, stopped = q[joint] + h * rate, 0.0
        if at > servos[joint, UPPER]:
            stopped = 1.0
        elif at < servos[joint, LOWER]:
            stopped = -1.0
        if stopped != servos[joint, STOPPED]:
            wrong = True
            servos[joint, STOPPED] = stopped
    return wrong
