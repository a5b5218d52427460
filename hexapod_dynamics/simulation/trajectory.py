"""Log of a simulation run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np

from hexapod_dynamics.errors import HexapodError


@dataclass(frozen=True, eq=False)
class Log:
    """States after each of the T logged steps of a run.

    time (T,) [s]; position (T, 3) [m] and rotation (T, 3, 3) of base_link in the world; euler_zyx (T, 3): yaw, pitch,
    roll [rad]; twist (T, 6): body twist, linear first [m/s, rad/s]; joint_positions, joint_velocities, setpoints,
    joint_torques (T, n): all joints, missing ones keep their last value and have no torque; foot_forces (T, legs,
    3) [N, world]: at the end of each leg's last link; ground_force (T, 3) [N, world]: all contacts, body and knees too.
    """

    time: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    joint_positions: np.ndarray
    twist: np.ndarray
    joint_velocities: np.ndarray
    setpoints: np.ndarray
    joint_torques: np.ndarray
    foot_forces: np.ndarray
    ground_force: np.ndarray

    def __repr__(self) -> str:
        """Tell length and size of the run, not its numbers."""
        steps, joints = self.joint_positions.shape
        span = f"{self.time[0]:.3f} to {self.time[-1]:.3f} s" if steps else "empty"
        return f"Log({span}, {steps} steps, {joints} joints; {', '.join(self.__dataclass_fields__)})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the log to a .npz file, which `load` reads and `ros2 run hexapod_dynamics plot` draws."""
        np.savez_compressed(path, **{name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Log:
        """Read a file of `save`; HexapodError if the file is something else."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(**{name: arrays[name] for name in cls.__dataclass_fields__})
        except (KeyError, ValueError, OSError, EOFError, TypeError, BadZipFile) as error:
            raise HexapodError(f"{path} is no file that Log.save() has written: {error}") from None

    @classmethod
    def join(cls, *logs: Log) -> Log:
        """Join consecutive Logs of one Simulator; HexapodError if they overlap or differ."""
        if not logs:
            raise HexapodError("no log given; at least one is needed")
        times = [log.time for log in logs if log.time.size]
        if any(after[0] <= before[-1] for before, after in zip(times, times[1:], strict=False)):
            raise HexapodError("a log begins before the previous one has ended; give them in the order of their times")
        if len({(log.joint_positions.shape[1], log.foot_forces.shape[1]) for log in logs}) > 1:
            raise HexapodError("the logs are of robots with different joints; give those of one Simulator")
        return cls(**{name: np.concatenate([getattr(log, name) for log in logs]) for name in cls.__dataclass_fields__})

    @property
    def euler_zyx(self) -> np.ndarray:
        """Yaw, pitch and roll (T, 3) [rad]; yaw is unwrapped."""
        yaw = np.unwrap(np.arctan2(self.rotation[:, 1, 0], self.rotation[:, 0, 0]))
        pitch = np.arcsin(np.clip(-self.rotation[:, 2, 0], -1.0, 1.0))
        roll = np.arctan2(self.rotation[:, 2, 1], self.rotation[:, 2, 2])
        return np.stack([yaw, pitch, roll], axis=1)


def split(time: np.ndarray, rows: np.ndarray, joints: int, legs: int) -> Log:
    """Return the Log of rows (T, row_width) of `_core.Simulation.log_state`, as views without copying."""
    sizes = {"position": (3,), "rotation": (3, 3), "joint_positions": (joints,), "twist": (6,)}
    sizes |= {"joint_velocities": (joints,), "foot_forces": (legs, 3), "ground_force": (3,)}
    sizes |= {"setpoints": (joints,), "joint_torques": (joints,)}
    fields, column = {}, 0
    for name, shape in sizes.items():
        width = int(np.prod(shape))
        fields[name] = rows[:, column : column + width].reshape(len(rows), *shape)
        column += width
    return Log(time=time, **fields)
