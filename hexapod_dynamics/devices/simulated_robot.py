"""The simulated robot in real time: physics between a servo bus on a pty and an MPU6050 on a socket.

One thread steps the physics in chunks, never ahead of the clock. After a stall it catches up, but by no more than a
bound; time beyond the bound is skipped and counted.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.devices.hardware import RobotHardware
from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050
from hexapod_dynamics.devices.serial_device import set_timer_slack
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.simulation import MujocoSimulator, Simulator, Truth
from hexapod_dynamics.simulation.mujoco_simulator import import_mujoco

_log = logging.getLogger(__name__)
PHYSICS: dict[str, type[Simulator] | type[MujocoSimulator]] = {"built_in": Simulator, "mujoco": MujocoSimulator}
NO_WRENCH = np.zeros(6)


@dataclass
class State:
    """A copy of the state: monotonic time [s], position (3,), rotation (3, 3), joints (n,), nu (6 + n,), torques (n,).

    Units and frames are the Simulator's.
    """

    time: float
    position: np.ndarray
    rotation: np.ndarray
    joints: np.ndarray
    nu: np.ndarray
    torques: np.ndarray


class SimulatedRobot(RobotHardware):
    """A Simulator with devices, stepped by its own thread.

    Args:
        robot: Robot, each joint with a servo id.
        morphology: at the start.
        directory: folder of the device files, see `runtime_directory`.
        timestep: of the physics [s].
        bus: which virtual servo hardware, one of `hardware.BUSES`.
        physics: "built_in" or "mujoco". truth: how the simulated robot differs from `robot`.

    The robot starts in the standing pose of its gait, its servos switched on.
    """

    def __init__(
        self,
        robot: Robot,
        morphology: Morphology,
        directory: str | Path,
        *,
        timestep: float = 1e-3,
        session: str = "",
        bus: str = "lx",
        physics: str = "built_in",
        truth: Truth | None = None,
    ) -> None:
        if physics not in PHYSICS:
            raise HexapodError(f"physics: {physics!r} given, allowed are {', '.join(PHYSICS)}")
        if physics == "mujoco":
            import_mujoco()
        PHYSICS[physics].check_truth(truth or Truth())
        standing = TripodGait().bind(robot, morphology).position
        sensor = VirtualMpu6050(gyro_bias=truth.chip_bias()) if truth and truth.gyro_bias else VirtualMpu6050()
        limit = robot.servo.speed_limit
        super().__init__(
            "physics", robot, standing, directory, bus=bus, sensor=sensor, speed_limit=limit, session=session
        )
        self.lock = threading.RLock()  # guards the physics
        self._zeros = np.array(ServoMap.from_robot(robot).zeros)  # what the servos read at the joints' zeros
        self._steps = max(1, round(4e-3 / timestep))  # that are made at once
        self._chunk = self._steps * timestep  # [s] their duration
        # The devices start before the physics, so that drivers need not wait for it.
        self.start_devices()
        try:
            self.physics = PHYSICS[physics](robot, morphology, timestep=timestep, truth=truth)
            self.physics.reset(joints=standing)
            self.set_morphology(morphology)
        except BaseException:
            self.stop()  # else drivers would find devices without a simulated robot
            raise
        self._chip = np.asarray(robot.imu.rotation)
        self._push, self._push_ends = NO_WRENCH, math.inf  # [s] monotonic time at which a push ends
        self._carried = np.zeros(4)  # mass [kg], x, y, z [m] of a load that was put on
        self.time = math.nan  # [s] monotonic time of the physics, NaN before the first step
        self.late = self.skipped = 0.0  # [s] largest delay since `pop_lateness()`, skipped time
        self._failure: Exception | None = None

    def set_morphology(self, morphology: Morphology) -> None:
        """Break or repair the robot between two steps; the servo of a missing joint is off the bus, too."""
        with self.lock:
            self.physics.set_morphology(morphology)
            with self.servos.lock:
                self.servos.present[:] = morphology.existing_mask
                self.servos.set_angles(self.physics.readings + self._zeros)

    def update(self, values: Mapping[str, bool | float]) -> Morphology:
        """Change named values of the morphology, all or none; a joint locks at its position. Return the Morphology."""
        with self.lock:
            angles = dict(zip(self.robot.joint_names, self.physics.q.tolist(), strict=True))
            morphology = self.physics.morphology.updated(values, angles)
            self.set_morphology(morphology)
            return morphology

    def place_at_rest(self, rotation: np.ndarray) -> None:
        """Put the robot at rest where it is, with attitude `rotation` (3, 3) world <- base_link and its joints."""
        with self.lock:
            physics, place = self.physics, self.physics.position[:2].copy()
            joints = physics.q.copy()
            physics.reset(rotation=rotation, joints=joints)
            physics.reset(position=[*place, physics.position[2]], rotation=rotation, joints=joints)

    def truth(self) -> State:
        """Copy the state."""
        with self.lock:
            physics = self.physics
            return State(
                time.monotonic() if math.isnan(self.time) else self.time,
                physics.position.copy(),
                physics.rotation.copy(),
                physics.q.copy(),
                physics.nu.copy(),
                physics.joint_torques.copy(),
            )

    def push(self, wrench: Sequence[float], duration: float) -> None:
        """Let an outside wrench (6,) [N, N m], force first, in base_link, act on the body for a duration [s]."""
        with self.lock:
            self._push = as_array("wrench", wrench, (6,))
            self._push_ends = (time.monotonic() if math.isnan(self.time) else self.time) + duration

    def set_payload(self, mass: float, place: Sequence[float]) -> None:
        """Put a load on the body in place of the previous one: mass [kg], place (3,) [m] in base_link.

        Only its weight acts, not its inertia; for a load that is fixed from the start see Truth.
        """
        with self.lock:
            self._carried[:] = as_array("load", [mass, *place], (4,))

    def _weight(self) -> np.ndarray:
        """Weight (6,) of the load, force first, in base_link [N, N m]."""
        mass = self._carried[0]
        if mass == 0.0:
            return NO_WRENCH
        force = -mass * self.robot.gravity * self.physics.rotation[2]
        return np.concatenate([force, np.cross(self._carried[1:], force)])

    def pop_lateness(self) -> float:
        """Return the largest delay [s] of the physics since the last call; raise the error that ended the physics."""
        if self._failure is not None:
            raise self._failure
        worst, self.late = self.late, 0.0
        return worst

    def advance(self, now: float) -> None:
        """Step the physics to `now`, monotonic [s], in whole chunks."""
        if math.isnan(self.time):
            self.time = now
        behind = now - self.time
        self.late = max(self.late, behind - self._chunk)
        longest = 0.5  # [s] delay up to which the physics catches up with the clock
        if behind > longest:
            self.skipped += behind - longest
            self.time = now - longest
        while now - self.time >= self._chunk:
            with self.lock:
                physics = self.physics
                if self.time > self._push_ends:
                    self._push, self._push_ends = NO_WRENCH, math.inf
                physics.push(self._push + self._weight())
                setpoints, targets, left = self.servos.motion(self.time)
                physics.set_servos(setpoints - self._zeros, targets - self._zeros, left, self.servos.are_holding())
                physics.step(self._steps)
                self.time += self._chunk
                self.servos.set_angles(physics.readings + self._zeros)
                self.sensor.set_motion(
                    physics.specific_force @ self._chip, physics.mean_angular_velocity @ self._chip, self.time
                )

    def _run(self) -> None:
        set_timer_slack()
        self.time = time.monotonic()
        try:
            while not self._stopping:
                self.advance(time.monotonic())
                pause = self.time + self._chunk - time.monotonic()
                if pause > 0.0:
                    time.sleep(pause)
        except Exception as error:
            # An exception would only end this thread, unnoticed: the next call of `pop_lateness` raises it.
            _log.exception("the physics has stopped")
            self._failure = error
