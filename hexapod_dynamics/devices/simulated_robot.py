"""The simulated robot in real time: physics between a servo bus on a pty and an MPU6050 on a socket.

One thread steps the physics in chunks, never ahead of the clock. After a stall it runs after the clock, boundedly; what
is beyond the bound is time that never was for the robot, and counted.
"""

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hexapod_dynamics.devices.mpu6050_device import I2cBusDevice, VirtualMpu6050
from hexapod_dynamics.devices.paths import IMU_BUS, SERVO_BUS
from hexapod_dynamics.devices.servo_bus_device import ServoBusDevice
from hexapod_dynamics.devices.timing import set_timer_slack
from hexapod_dynamics.devices.virtual_servos import VirtualServos
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.simulation import Simulator

_log = logging.getLogger(__name__)


@dataclass
class Truth:
    """A copy of the state: monotonic time [s], position (3,), rotation (3, 3), joints (n,), nu (6 + n,), torques (n,).

    Units and frames are the Simulator's.
    """

    time: float
    position: np.ndarray
    rotation: np.ndarray
    joints: np.ndarray
    nu: np.ndarray
    torques: np.ndarray


class SimulatedRobot:
    """A Simulator with devices, stepped by a thread of its own.

    Args:
        robot: Robot, each joint with a servo id.
        morphology: what it begins with.
        directory: where the devices appear, see devices.paths.
        timestep: of the physics [s]; chunk: what is stepped at once [s]; longest_catch_up: bound of a stall [s].

    The robot begins standing as its gait stands, its servos holding, as somebody left it.
    """

    def __init__(self, robot, morphology, directory, *, timestep=1e-3, chunk=4e-3, longest_catch_up=0.5):
        self.robot, self.chunk, self.longest_catch_up = robot, chunk, longest_catch_up
        self.lock = threading.RLock()                       # guards the physics
        joints = [joint for leg in robot.legs for joint in leg.joints]
        unmanned = [joint.name for joint in joints if joint.servo_id is None]
        if unmanned:
            raise HexapodError(f'joint {unmanned[0]} has no servo_id in the robot file: the simulated bus needs one '
                               'for each joint')
        standing = TripodGait().bind(robot, morphology).position
        self.servos = VirtualServos([joint.servo_id for joint in joints], [joint.servo_direction for joint in joints],
                                    standing, speed_limit=robot.servo.speed_limit, loaded=True)
        self.sensor = VirtualMpu6050()
        self.servo_bus = ServoBusDevice(self.servos, Path(directory) / SERVO_BUS)
        self.imu_bus = I2cBusDevice(self.sensor, Path(directory) / IMU_BUS)
        # The devices are there before the physics, which may have to be compiled first: drivers need not wait for it.
        self.servo_bus.start()
        self.imu_bus.start()
        self._chip = np.asarray(robot.imu.rotation)
        self.steps = max(1, round(chunk / timestep))
        self.physics = Simulator(robot, morphology, timestep=timestep)
        self.physics.reset(joints=standing)
        self.physics.step(self.steps)
        self.physics.reset(joints=standing)
        self.set_morphology(morphology)
        self.time = None                                    # monotonic [s] of the physics
        self.late = self.skipped = 0.0                      # worst lateness since `lateness()`, time left out [s]
        self._failure = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name='physics', daemon=True)

    def start(self):
        """Let time run."""
        self._thread.start()

    def stop(self):
        """Stop time and take the devices away."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(2.0)
        self.servo_bus.stop()
        self.imu_bus.stop()

    def set_morphology(self, morphology):
        """Break or mend the robot between two steps; a servo that is off is off the bus, too."""
        with self.lock:
            self.physics.set_morphology(morphology)
            with self.servos.lock:
                self.servos.present[:] = morphology.existing_mask
                self.servos.set_angles(self.physics.q)

    def update(self, values):
        """Change named values of the morphology, all or none; a joint locks where it stands. Returns the Morphology."""
        with self.lock:
            angles = dict(zip(self.robot.joint_names, self.physics.q.tolist(), strict=True))
            morphology = self.physics.morphology.updated(values, angles)
            self.set_morphology(morphology)
            return morphology

    def truth(self):
        """Copy the state."""
        with self.lock:
            physics = self.physics
            return Truth(time.monotonic() if self.time is None else self.time, physics.position.copy(),
                         physics.rotation.copy(), physics.q.copy(), physics.nu.copy(), physics.joint_torques.copy())

    def lateness(self):
        """Return the worst lateness of the physics since the last call [s]; raises what ended the physics."""
        if self._failure is not None:
            raise self._failure
        worst, self.late = self.late, 0.0
        return worst

    def advance(self, now):
        """Step the physics to `now`, monotonic [s], in whole chunks."""
        if self.time is None:
            self.time = now
        behind = now - self.time
        self.late = max(self.late, behind - self.chunk)
        if behind > self.longest_catch_up:
            self.skipped += behind - self.longest_catch_up
            self.time = now - self.longest_catch_up
        while now - self.time >= self.chunk:
            with self.lock:
                physics = self.physics
                physics.drive(*self.servos.motion(self.time), self.servos.holding())
                physics.step(self.steps)
                self.time += self.steps * physics.timestep
                self.servos.set_angles(physics.q)
                self.sensor.set_motion(physics.specific_force @ self._chip, physics.angular_velocity @ self._chip,
                                       self.time)

    def _run(self):
        set_timer_slack()
        self.time = time.monotonic()
        try:
            while not self._stopping.is_set():
                self.advance(time.monotonic())
                pause = self.time + self.chunk - time.monotonic()
                if pause > 0.0:
                    time.sleep(pause)
        except Exception as error:
            # The thread has nobody above it: whoever asks for the lateness next is told.
            _log.exception('the physics has stopped')
            self._failure = error
