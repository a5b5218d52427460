"""A walk without declared damage: physics, a servo bus and an IMU with their faults, a gait and a detector.

Commands pass the guard of drivers/servos, which approaches slowly what jumps. The bus reads joints one after another,
loses answers as lost bytes make it, and asks silent servos seldom, as drivers/servos does; the IMU is an MPU6050's
noise through the package's attitude filter (vqf). All in simulated time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from support.gyroscope_error import GyroscopeError
from vqf import VQF

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.joint_trial import JointTrial
from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.brace import Brace
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion

TICK = 0.02  # [s] between two commands
SETTLED = 2.0  # [s] after the start
READS = 2  # readings a tick: 18 joints at 5.6 Hz
_BYTES = 14  # of a request and its answer
_GYRO, _ACCELEROMETER = 7.3e-4, 0.033  # noise [rad/s], [m/s^2]
UPDATE_TICKS = 2  # ticks between two updates of the detector, as in its node
# Failures after which a servo is silent; [s] between two questions to any silent one, to one of them; [s] since its
# last answer in which it is newly silent, and asked [s] after any silent one. As the driver's ChainSettings.
_SILENT_AFTER, _PACE, _SELDOM, _NEWLY, _NEW_PACE = 3, 0.15, 0.5, 1.0, 0.07


def servo_zeros(robot: Robot) -> np.ndarray:
    """Return what each servo reads (n,) [rad] at its joint's zero."""
    return np.array([joint.servo_zero for leg in robot.legs for joint in leg.joints])


class BlindWalk:
    """Runs a simulator, a Gait and a DamageDetector in a closed loop.

    lost_bytes: share of bytes lost on the bus. dead_band [rad]: play of every servo's reading. obey: decisions are
    declared to gait and detector, and feet that it suspects are pressed down; else they are only stored. detector:
    instead of a DamageDetector with these settings. as_nodes: the detector is updated 25 times a second, set-points
    have the feed-forward torques of the node `dynamics`, the robot braces against pushes, and the gyroscope errs as a
    recorded MPU6050 after its calibration. chain [s]: from a command to the servos' start without the Truth's delay; by
    default what the detector assumes. known: the Robot that the software has, with the servo zeros and the mounting of
    the IMU that were identified; by default `robot`. decisions: (time [s], Decision) so far; pressed: (time [s], leg).
    """

    def __init__(
        self,
        robot: Robot,
        physics: Any,
        gait: Any,
        *,
        seed: int = 0,
        settings: Any = None,
        lost_bytes: float = 0.005,
        dead_band: float = 0.0,
        obey: bool = True,
        detector: Any = None,
        as_nodes: bool = True,
        chain: float | None = None,
        known: Robot | None = None,
    ) -> None:
        # What the servos read at a joint's zero, and the IMU's axes, by the catalogue and by what is known.
        hidden, robot = robot, known or robot
        self._zeros = servo_zeros(robot) - servo_zeros(hidden)
        self._mounting = hidden.imu.rotation @ robot.imu.rotation.T
        self.robot, self.physics, self.obey, self.dead_band = robot, physics, obey, dead_band
        self.gait, self.trial = gait.bind(robot), JointTrial(robot)
        self.detector = detector or DamageDetector(robot, settings)
        self._chain = self.detector.settings.command_delay if chain is None else chain
        self._as_nodes = as_nodes
        self.declared = Morphology.whole(robot)
        self.time = 0.0
        self.decisions: list[Any] = []
        self.pressed: list[tuple[float, str]] = []
        self.unplugged = np.zeros(robot.joint_count, bool)
        self.push = np.zeros(6)
        self.frozen = False  # emergency stop: the joints hold whatever is commanded
        n = robot.joint_count
        self._random = np.random.default_rng(seed)
        self._loss = 1.0 - (1.0 - lost_bytes) ** _BYTES
        self._attitude = VQF(TICK)
        self._turn = self._tick = 0
        self._failures, self._silent = np.zeros(n, int), np.zeros(n, bool)
        self._asked, self._answered, self._probed = np.full(n, -np.inf), np.zeros(n), 0.0  # times [s]
        self._steps = round(TICK / physics.timestep)
        physics.reset(joints=self.gait.position + self._zeros)
        self._forward = Feedforward(robot) if as_nodes else None
        self._height = 0.0
        self._gyroscope = GyroscopeError(seed, TICK) if as_nodes else None
        self.brace = Brace(robot) if as_nodes else None
        self._shake = np.random.default_rng((3, seed))  # noise of the accelerometer that the brace senses
        joints = [joint for leg in robot.legs for joint in leg.joints]
        self._guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], robot.servo.stiffness)
        self._met = np.zeros(n, np.int64)
        self._guard.synchronise_setpoint(self._met, self.gait.position.copy(), np.ones(n, bool))

    def damage(self, morphology: Morphology, unplugged: Any = ()) -> None:
        """Break (or mend) the physical robot; unplugged: joints (indices) whose servos have no power and no answer."""
        self.unplugged[:] = False
        self.unplugged[list(unplugged)] = True
        parts = [f"{leg.name}.{link.name}" for leg in self.robot.legs for link in leg.links]
        for joint in unplugged:
            morphology = morphology.limp(parts[joint])
        self.physics.set_morphology(morphology)

    def run(self, seconds: float, until: Any = None) -> bool:
        """Walk for so many seconds, or until `until(self)`; return whether it came to that."""
        for _ in range(round(seconds / TICK)):
            self.tick()
            if until is not None and until(self):
                return True
        return False

    def tick(self) -> None:
        """Make one command, 20 ms of physics, the sensor readings and one update of the detector."""
        brace = self.brace if self.brace is not None and self.brace.needed else None
        command = (self.gait.step(TICK)[0] if brace is None else brace.step(TICK, self.gait.position)).copy()
        command[~self.declared.moving_mask] = np.nan
        tried = self.trial.setpoint(self.time)
        if tried is not None:
            command[self.trial.joint] = tried
        torques = self._torques(command, self.gait.velocity if brace is None else np.zeros(len(command)))
        self.detector.command(self.time, command, torques)
        sent = self._guard.update(command, torques, TICK)
        sent[self.unplugged | ~self.physics.morphology.existing_mask] = np.nan
        physics = self.physics
        physics.push(self.push)
        if not self.frozen:
            physics.command(sent + self._zeros, TICK)
        self._step()
        now = self.time + self._chain + TICK
        self._measure(now)
        if round(self.time / TICK) % 15 == 0:
            self.detector.bus(self.time, self._silent, np.zeros(len(sent), bool), self._probe_gone())
        self._tick += 1
        if not self._as_nodes or self._tick % UPDATE_TICKS == 0:
            self._update()
        self.time += TICK

    def _step(self) -> None:
        """Step the physics by a tick, in which a brace senses two samples of the IMU."""
        physics, parts = self.physics, 1 if self.brace is None else 2
        self._force, self._rate = np.zeros(3), np.zeros(3)
        for _ in range(parts):
            physics.step(self._steps // parts)
            self._force += physics.specific_force / parts
            self._rate += physics.mean_angular_velocity / parts
            if self.brace is not None:
                force = self._mounting.T @ physics.specific_force + self._shake.normal(0.0, _ACCELEROMETER, 3)
                rate = self._mounting.T @ physics.mean_angular_velocity
                self.brace.sense(TICK / parts, force.tolist(), rate.tolist(), self.gait.doing == "walking")

    def _update(self) -> None:
        if self.brace is not None and self.brace.active:
            self.detector.braces(self.time)
        for decision in self.detector.update(self.time + TICK):
            self.decisions.append((self.time, decision))
            if self.obey and decision.action != "suspect":
                self.declare(self.declared.updated(decision.values))
        leg = self.detector.probe(self.time + TICK) if self.obey else None
        if leg is not None and self.gait.contact_probe(leg):
            self.pressed.append((self.time, leg))
        joint = self.detector.retest(self.time + TICK) if self.obey else None
        if joint is not None:
            self.trial.begin(self.time + TICK, joint)

    def _torques(self, command: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return the feed-forward torques (n,) [N m] of a command (n,) [rad], NaN: none, and its rates [rad/s]."""
        if self._forward is None:
            return np.zeros(len(command))
        joints = np.where(np.isfinite(command), command, 0.0)
        rates = np.where(np.isfinite(command), velocity, 0.0)
        twist = np.zeros(6)
        twist[[0, 1, 5]] = self.gait.twist
        torques = self._forward.solve(np.eye(3), self._height, twist, joints, rates, np.zeros(len(joints)), joints)
        tips = self._forward.tips[self.declared.existing_mask.reshape(len(self.robot.legs), -1).all(axis=1)]
        self._height = -float(tips[:, 2].min(initial=0.0))
        return torques.copy()

    def _gyro(self) -> np.ndarray:
        """Return what the gyroscope reads (3,) [rad/s]: instantaneous and with noise, or as a recorded MPU6050."""
        if self._gyroscope is not None:
            return self._rate + self._gyroscope.sample()
        return self.physics.angular_velocity + self._random.normal(0.0, _GYRO, 3)

    def declare(self, morphology: Morphology) -> None:
        """Declare the morphology to gait and detector."""
        back = morphology.existing_mask & ~self.declared.existing_mask
        self._silent[back], self._failures[back] = False, 0
        self._met[back] += 1
        self._guard.synchronise_setpoint(self._met, self.physics.q - self._zeros, np.ones(len(back), bool))
        self.declared = morphology
        self.gait.set_morphology(morphology)
        self.trial.set_morphology(morphology)
        if self._forward is not None:
            self._forward.set_morphology(morphology)
        if self.brace is not None:
            self.brace.set_morphology(morphology)
        self.detector.set_morphology(morphology)

    def _mute(self) -> np.ndarray:
        return self.unplugged | ~self.physics.morphology.existing_mask

    def _probe_gone(self) -> np.ndarray:
        return ~self.declared.existing_mask & ~self._mute()

    def _measure(self, now: Any) -> None:
        random, physics = self._random, self.physics
        gyro = self._gyro()
        force = self._force + random.normal(0.0, _ACCELEROMETER, 3)
        self._attitude.update(np.ascontiguousarray(gyro), np.ascontiguousarray(force))
        w, x, y, z = self._attitude.getQuat6D()
        rotation = rotation_from_quaternion((x, y, z, w)) @ self._mounting
        self.detector.measure_attitude(now, rotation)
        # Tilt reflex and heading, as in the node, once the filter has settled from the fall onto the feet at the start.
        if isinstance(self.gait, AdaptiveGait) and self.time > SETTLED:
            yaw, pitch, roll = euler_zyx(rotation)
            self.gait.sense(roll, pitch, yaw)
            self.gait.sense_force(*(self._mounting.T @ force))
        resolution, n, mute = self.robot.servo.resolution, len(physics.q), self._mute()
        angles = np.full(n, np.nan)
        for _ in range(READS):
            joint = self._next()
            if joint is None:
                break
            self._asked[joint] = self.time
            if mute[joint] or random.random() < self._loss:
                self._failures[joint] += 1
                if self._failures[joint] < _SILENT_AFTER:
                    self._turn -= 1  # asked again at once
                else:
                    self._silent[joint] = True
                continue
            self._failures[joint], self._silent[joint], self._answered[joint] = 0, False, self.time
            reading = physics.readings[joint] - self._zeros[joint] + self.dead_band * random.uniform(-0.5, 0.5)
            angles[joint] = np.floor(reading / resolution + 0.5) * resolution
        self.detector.measure_joints(now, angles)

    def _next(self) -> int | None:
        exist = self.declared.existing_mask
        if self.time - self._probed >= _NEW_PACE:
            for joint in np.flatnonzero(exist & self._silent).tolist():
                new = self.time - self._answered[joint] < _NEWLY
                pace, patience = (_NEW_PACE, _NEW_PACE) if new else (_PACE, _SELDOM)
                if self.time - self._probed >= pace and self.time - self._asked[joint] >= patience:
                    self._probed = self.time
                    return joint
        for _ in range(len(exist)):
            joint = self._turn % len(exist)
            self._turn += 1
            if exist[joint] and not self._silent[joint]:
                return joint
        return None
