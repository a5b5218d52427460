"""A simulated robot that has fallen, with the bus and the IMU for `GetUp`, and the load and heat of its servos.

MuJoCo with collisions of all links. As on the robot: 50 set-points a second through the PoseGuard, two of 18 servos
read a tick in whole counts, the IMU's noise, 100 samples a second, through the attitude filter of the node `imu`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.drivers.imu.attitude import OrientationFilter
from hexapod_dynamics.gait.recovery.get_up import GetUp
from hexapod_dynamics.gait.recovery.motion import Measured
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import rotation_from_quaternion
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Truth
from hexapod_dynamics.simulation.readings import Readings

TIMESTEP, TICK, IMU_PERIOD = 2e-3, 0.02, 0.01  # [s]


class FallenRobot:
    """A robot in MuJoCo that is dropped; `get_up` acts on its measurements.

    truth: how it differs from the model. actual: its Morphology; declared: the Morphology known to the software,
    by default the same. Attributes: saturated (n,) [s]: longest uninterrupted time of each servo at its torque
    limit; heat (n,) [K]; time [s] since it lay still; before_tick: called with the FallenRobot at each tick.
    """

    def __init__(
        self,
        robot: Robot,
        get_up: GetUp,
        *,
        truth: Truth,
        ground: Ground | None = None,
        actual: Morphology | None = None,
        seed: int = 0,
    ) -> None:
        self.robot, self.get_up = robot, get_up
        self.physics = MujocoSimulator(robot, actual, timestep=TIMESTEP, truth=truth, ground=ground)
        self.readings = Readings(self.physics, seed=seed)
        n = robot.joint_count
        self._guard = PoseGuard.from_robot(robot)
        self._attitude = OrientationFilter(1.0 / IMU_PERIOD)
        self._sensed = Measured(np.full(n, np.nan), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        self._saturated_for, self.saturated, self.heat = np.zeros(n), np.zeros(n), np.zeros(n)
        self.time = 0.0
        self.before_tick: Callable[[FallenRobot], None] | None = None

    def drop(self, height: float, rotation: np.ndarray, joints: np.ndarray) -> None:
        """Let the robot fall with the attitude (3, 3) and joints (n,) [rad] until it lies; height [m]: of base_link, at
        first, or as much more as its lowest link needs to be 2 cm over the ground: within a height field it may stay.
        """
        physics = self.physics
        physics.reset(rotation=rotation, joints=joints)  # the lowest link touches the ground
        height = max(height, float(physics.position[2]) + 0.02)
        physics.reset(position=[0.0, 0.0, height], rotation=rotation, joints=joints)
        physics.step(round(1.5 / TIMESTEP))  # [s] until it lies still
        measured = self._sensed.joints
        measured[:] = self.readings.joints()
        self._guard.synchronise_setpoint(np.zeros(len(measured), np.int64), measured, np.isfinite(measured))
        self._attitude = OrientationFilter(1.0 / IMU_PERIOD)
        for _ in range(round(0.5 / IMU_PERIOD)):
            self._sense()

    def run(self, seconds: float) -> bool:
        """Run until `get_up` has ended, at most for `seconds`; return whether it has ended."""
        for _ in range(round(seconds / TICK)):
            self.tick()
            if not self.get_up.active:
                return True
        return False

    def tick(self) -> None:
        """Run for 20 ms."""
        if self.before_tick is not None:
            self.before_tick(self)
        setpoints = self.get_up.step(TICK, self._sensed)
        if setpoints is None:
            self._guard.pause()
        else:
            sent = self._guard.update(setpoints, np.zeros(len(setpoints)), TICK)
            sent[~self.physics.morphology.existing_mask] = np.nan
            self.physics.command(sent, TICK)
        for _ in range(round(TICK / IMU_PERIOD)):
            self._sense()
        self._sensed.joints[:] = self.readings.poll(2)
        self.time += TICK

    def _sense(self) -> None:
        """Step the physics until the next sample of the IMU, and evaluate the servos' torques at its time.

        Heating of a servo: 11.1 V and 3 A at stall are copper losses of 33 W, as the square of the torque. The winding,
        rotor and case of the motor (30 g of copper and steel, 0.4 J/(g K): 12 J/K) warm uniformly and lose no heat.
        """
        self.physics.step(round(IMU_PERIOD / TIMESTEP))
        force, rate = self.readings.imu()
        rotation = rotation_from_quaternion(self._attitude.update(force, rate, self.physics.time))
        sensed = self._sensed
        sensed.up, sensed.rate, sensed.force = rotation[2].tolist(), rate.tolist(), force.tolist()
        shares = self.physics.joint_torques / self.robot.servo.torque_limit
        self.heat += 33.0 * np.square(shares) * IMU_PERIOD / 12.0
        self._saturated_for = np.where(np.abs(shares) >= 0.99, self._saturated_for + IMU_PERIOD, 0.0)
        np.maximum(self.saturated, self._saturated_for, out=self.saturated)


def draw_rotation(random: np.random.Generator) -> np.ndarray:
    """Return a rotation (3, 3), all equally likely."""
    quaternion = random.normal(size=4)
    return rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))


def draw_truth(random: np.random.Generator, seed: int, **others: object) -> Truth:
    """Return a Truth with real servos, friction 0.5 to 0.9, masses +-10 %; others: values that replace the drawn
    ones.
    """
    values = {"friction": random.uniform(0.5, 0.9), "mass": random.uniform(0.9, 1.1), **others}
    text = ",".join(f"{name}={value}" for name, value in values.items())
    return Truth.parse(f"servos=real,seed={seed},{text}")


def draw_joints(stance: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return joint angles (n,) [rad] near a stance (n,)."""
    return stance + random.uniform(-0.3, 0.3, len(stance))
