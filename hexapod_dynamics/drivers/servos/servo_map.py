"""Maps joints to servos: joint angles (n,) <-> counts (n,), frames of a whole pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.drivers.servos.lx import frames as lx_frames
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot


@dataclass(frozen=True)
class ServoMap:
    """Joint names (n) in robot order with servo ids and directions (+1 or -1: sign of counts over joint angle).

    count = 500 + direction * angle * 1000 / 240 deg, rounded to the nearest (1000 counts: 240 degrees).
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
        counts = self._slope * angles
        counts += lx.CENTRE_COUNT
        counts += 0.5
        np.floor(counts, out=counts)
        np.maximum(counts, 0.0, out=counts)
        return np.minimum(counts, lx.MAX_COUNT, out=counts).astype(np.int64)

    def angles(self, counts: np.ndarray) -> np.ndarray:
        """Joint angles (n,) [rad] of counts (n,), which may lie outside 0..1000 when they were measured."""
        return (np.asarray(counts) - lx.CENTRE_COUNT) / self._slope

    def angle(self, index: int, servo_angle: float) -> float:
        """Joint angle [rad] of one servo's angle from its centre [rad]."""
        return servo_angle * self.directions[index]


class PoseFrames:
    """Builds one latched move per chosen servo and the common start."""

    def __init__(self, servo_map: ServoMap) -> None:
        # A first move of each servo as `lx_protocol` writes it: header, id, length and command stay, the rest changes.
        moves = [lx.move_time_wait(servo_id, 0.0, 0.0) for servo_id in servo_map.ids]
        self._header, self._begins = lx_frames.HEADER, [move[2:5] for move in moves]
        self._start = lx.move_start()

    def build(self, counts: Sequence[int], durations: Sequence[float], chosen: Sequence[bool]) -> bytes:
        """Frames for counts (n,) in 0..1000 over `durations` (n,) [s] for the servos that are `chosen` (n,)."""
        frames: list[bytes] = []
        for begin, count, duration, wanted in zip(self._begins, counts, durations, chosen, strict=True):
            if wanted:
                milliseconds = int(min(duration * 1000.0 + 0.5, 30000.0))
                body = begin + bytes((count & 0xFF, count >> 8, milliseconds & 0xFF, milliseconds >> 8))
                frames += (self._header, body, bytes((lx_frames.checksum(body),)))
        frames.append(self._start)
        return b"".join(frames)
