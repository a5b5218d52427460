"""Maps joints to servos: joint angles (n,) <-> counts (n,), frames of a whole pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.drivers.servos import lx_frames
from hexapod_dynamics.drivers.servos import lx_protocol as lx
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot


@dataclass(frozen=True)
class ServoMap:
    """Joint names (n) in robot order with servo ids and directions (+1 or -1: sign of counts over joint angle).

    count = 500 + direction * angle * 1000 / 240 deg, rounded to the nearest (hardware.md, section 1).
    """

    joint_names: tuple[str, ...]
    ids: tuple[int, ...]
    directions: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.joint_names) == len(self.ids) == len(self.directions):
            raise DeviceError(
                f"{len(self.joint_names)} joints, {len(self.ids)} servo ids and {len(self.directions)} "
                "directions: one of each per joint is needed"
            )
        for name, servo_id, direction in zip(self.joint_names, self.ids, self.directions, strict=True):
            if not 0 <= servo_id < lx_frames.BROADCAST_ID:
                raise DeviceError(f"servo id {servo_id} of {name} is outside 0..253")
            if self.ids.count(servo_id) > 1:
                raise DeviceError(f"servo id {servo_id} of {name} is given to another joint as well")
            if direction not in (-1, 1):
                raise DeviceError(f"servo direction {direction} of {name}: allowed is 1 or -1")
        object.__setattr__(self, "_slope", np.array(self.directions, float) * lx.COUNTS_PER_RADIAN)

    @classmethod
    def from_robot(cls, robot: Robot) -> ServoMap:
        """Take joint names, ids and directions of a `hexapod_dynamics.robot.Robot`."""
        joints = [joint for leg in robot.legs for joint in leg.joints]
        missing = [joint.name for joint in joints if joint.servo_id is None]
        if missing:
            raise DeviceError(
                f"joint {missing[0]} has no servo id: give it `servo_id` and `servo_direction` in the robot file"
            )
        return cls(
            tuple(joint.name for joint in joints),
            tuple(joint.servo_id for joint in joints if joint.servo_id is not None),
            tuple(joint.servo_direction for joint in joints if joint.servo_direction is not None),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def slope(self) -> np.ndarray:
        """Signed counts per radian (n,)."""
        return self._slope

    def counts(self, angles: np.ndarray) -> np.ndarray:
        """Nearest commandable counts (n,) int of joint angles (n,) [rad], clamped to the servo's 0..1000."""
        return np.clip(np.floor(lx.CENTRE_COUNT + self._slope * angles + 0.5), 0, lx.MAX_COUNT).astype(np.int64)

    def angles(self, counts: np.ndarray) -> np.ndarray:
        """Joint angles (n,) [rad] of counts (n,), which may lie outside 0..1000 when they were measured."""
        return (np.asarray(counts) - lx.CENTRE_COUNT) / self._slope

    def angle(self, index: int, servo_angle: float) -> float:
        """Joint angle [rad] of one servo's angle from its centre [rad]."""
        return servo_angle * self.directions[index]


class PoseFrames:
    """Builds one latched move per chosen servo and the common start, without a Python loop over the servos."""

    def __init__(self, servo_map: ServoMap) -> None:
        # A first move of each servo as `lx_protocol` writes it: id, length and command stay, position and time change.
        moves = [np.frombuffer(lx.move_time_wait(servo_id, 0.0, 0.0), np.uint8) for servo_id in servo_map.ids]
        self._bodies = np.array([move[2:-1] for move in moves], np.uint8).reshape(len(moves), -1)
        self._start = lx.move_start()

    def build(self, counts: np.ndarray, duration: np.ndarray, chosen: np.ndarray) -> bytes:
        """Frames for counts (n,) int in 0..1000 over `duration` (n,) [s] for the servos of the mask `chosen` (n,)."""
        milliseconds = np.minimum(duration * 1000.0 + 0.5, 30000.0).astype(np.int64)
        bodies = self._bodies
        bodies[:, 3] = counts & 0xFF
        bodies[:, 4] = counts >> 8
        bodies[:, 5] = milliseconds & 0xFF
        bodies[:, 6] = milliseconds >> 8
        return lx_frames.encode(bodies[chosen]).tobytes() + self._start
