"""Logs of other people's hexapods that are public, as Recordings.

- `read_sysid_csv`: lukas/hexapod, `sysid_*.csv` of a robot with 18 STS3215: t_s, t_send_s, t_recv_s, q0_deg to
  q17_deg (readings), cmd0_deg to cmd17_deg and more, ten rows a second; no IMU.
- `read_jethexa_npz`: Mgineer117/jethexa_ws, `hexapod_data/*.npz`, ten rows a second: states (T, 40): quaternion x, y,
  z, w, 18 joint positions [rad], 18 joint rates; controls (T, 18): commanded joints [rad].

Both count joints instead of naming them: their order is `order` (joint names), by default the order of the robot
file.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hexapod_dynamics.errors import HexapodError, IdentificationError
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_from_quaternion
from hexapod_dynamics.text_numbers import parse_number

JOINTS, PERIOD = 18, 0.1  # joints of both robots; [s] of the npz's rows


def read_sysid_csv(path: Path, robot: Robot, order: Sequence[str] | None = None) -> Recording:
    """Read a `sysid_*.csv`; raises IdentificationError for a file of another shape."""
    joints = _columns(robot, order)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise IdentificationError(f"{path}: {error}") from None
    columns = ["t_send_s", "t_recv_s", *(f"{kind}{k}_deg" for kind in ("q", "cmd") for k in range(JOINTS))]
    missing = [name for name in columns if not rows or name not in rows[0]]
    if missing:
        raise IdentificationError(f"{path}: no column {missing[0]}; a sysid_*.csv of lukas/hexapod is needed")
    try:
        values = np.array([[parse_number(row[name]) for name in columns] for row in rows])
    except (TypeError, ValueError) as error:
        raise IdentificationError(f"{path}: {error}") from None
    read, commands = (np.radians(part)[:, joints] for part in np.split(values[:, 2:], 2, axis=1))
    return _recording(values[:, 0], commands, values[:, 1], read)


def read_jethexa_npz(path: Path, robot: Robot, order: Sequence[str] | None = None) -> Recording:
    """Read a `hexapod_data/*.npz`; raises IdentificationError for a file of another shape."""
    columns = _columns(robot, order)
    try:
        with np.load(path, allow_pickle=False) as archive:
            states, controls = (np.asarray(archive[name], float) for name in ("states", "controls"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise IdentificationError(f"{path}: {error}; states and controls of jethexa_ws are needed") from None
    width = 4 + 2 * JOINTS
    if states.ndim != 2 or states.shape[1] != width or controls.shape != (len(states), JOINTS):
        raise IdentificationError(
            f"{path}: states {states.shape}, controls {controls.shape}; (T, {width}) and (T, {JOINTS}), commanded "
            "joints, are needed"
        )
    times = np.asarray(PERIOD * np.arange(len(states)), np.float64)
    try:
        attitudes = np.array([rotation_from_quaternion(row) for row in states[:, :4]])
    except HexapodError as error:
        raise IdentificationError(f"{path}: {error}") from None
    recording = _recording(times, controls[:, columns], times, states[:, 4 : 4 + JOINTS][:, columns])
    return replace(recording, attitude_time=times, attitude=attitudes)


def _columns(robot: Robot, order: Sequence[str] | None) -> list[int]:
    """Which number of a file each joint of the robot has."""
    names = list(robot.joint_names if order is None else order)
    if sorted(names) != sorted(robot.joint_names) or len(names) != JOINTS:
        raise IdentificationError(
            f"joints: {len(names)} names given, the {JOINTS} of {robot.name} in the order of the file are needed"
        )
    return [names.index(name) for name in robot.joint_names]


def _recording(sent: np.ndarray, commands: np.ndarray, times: np.ndarray, read: np.ndarray) -> Recording:
    """Return the Recording of commands (T, n) and readings (T, n) of all joints; readings that are NaN are left out."""
    count, n = read.shape
    joint, at, angles = np.tile(np.arange(n), count), np.repeat(times, n), read.ravel()
    good = np.isfinite(angles)
    period = float(np.median(np.diff(sent))) if len(sent) > 2 else PERIOD
    no_imu = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))
    return Recording(sent, commands, at[good], joint[good], angles[good], *no_imu, period)
