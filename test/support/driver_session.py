"""The simulated devices of one robot without dynamics, and somebody who commands it: for tests of driver nodes."""

import threading
import time
from collections import deque

import numpy as np
from support.ros_session import Process, ask, wait_until

from hexapod_dynamics.devices.hardware import RobotHardware
from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.runtime_directory import device_directory
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

ROBOT = Robot.jethexa()
MAP = ServoMap.from_robot(ROBOT)
NAMES = list(ROBOT.joint_names)
HERE = np.full(18, 0.1)  # [rad]


def waving(t):
    return HERE + 0.2 * np.sin(6.0 * t + np.arange(18))


class Robots(RobotHardware):
    """The devices of a robot without dynamics: shafts follow their set-points, the chip rests."""

    def __init__(self, angle=0.1):
        super().__init__("robot", ROBOT, np.full(18, angle), device_directory())
        self.bus, self.chip = self.servo_bus, self.sensor
        self.bus.on_frame = self._heard
        self.stops = deque(maxlen=1000)  # monotonic time at which each MOVE_STOP was complete on the wire
        self.rate, self.sag = np.zeros(3), np.zeros(18)  # [rad] shafts stand so far from their set-points
        self.path = deque(maxlen=4000)  # (monotonic time, set-points), every 5 ms
        self.start_devices()
        self.start()

    def _heard(self, frame, t):
        if frame.command == Command.MOVE_STOP:
            self.stops.append(t)

    def _run(self):
        while not self._stopping:
            self._wake.wait(0.005)
            now = time.monotonic()
            angles = self.servos.setpoints(now)
            self.path.append((now, angles))
            self.servos.set_angles(angles + self.sag)
            self.chip.set_motion((0, 0, STANDARD_GRAVITY), self.rate, now)

    @property
    def pose(self):
        return self.servos.setpoints(time.monotonic())

    def fastest(self, since, window=0.1):
        """Largest speed of any set-point [rad/s] since a monotonic time, over pieces of `window` [s]."""
        path = [(t, angles) for t, angles in list(self.path) if t >= since]
        times = np.array([t for t, _ in path])
        later = np.searchsorted(times, times + window)
        pairs = [(k, j) for k, j in enumerate(later) if j < len(path)]
        return max(
            (float(np.abs(path[j][1] - path[k][1]).max()) / (times[j] - times[k]) for k, j in pairs), default=0.0
        )

    def last_motion(self, since):
        """Monotonic time at which a set-point last changed, `since` where none has."""
        path = [(t, angles) for t, angles in list(self.path) if t >= since]
        moved = [t for (_, a), (t, b) in zip(path, path[1:], strict=False) if np.abs(a - b).max() > 1e-9]
        return max(moved, default=since)

    def stays(self, seconds=0.5):
        """Whether nothing moves for some seconds, what was on its way apart."""
        time.sleep(0.3)
        begin = time.monotonic()
        time.sleep(seconds)
        return self.last_motion(begin) == begin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    close = RobotHardware.stop


class Commands:
    """Publishes a pose as joint_commands, 50 times a second where `interval` is left alone, while `pose` is set.

    pose: (18,), or a function of the monotonic time that gives it.
    """

    def __init__(self, probe):
        self.pose, self.interval = None, 0.02
        self._publisher = probe.node.create_publisher(JointState, "joint_commands", 10)
        self.message = JointState(name=NAMES)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.wait(self.interval):
            pose = self.pose
            if pose is not None:
                self.message.position = [float(v) for v in (pose(time.monotonic()) if callable(pose) else pose)]
                self._publisher.publish(self.message)

    def close(self):
        self._stop.set()
        self._thread.join()


class Servos:
    """The node `servos` of one session, killed and started again as a launch does."""

    def __init__(self, probe, session, environment=None, *arguments):
        self._probe, self._session = probe, session
        self._environment, self._arguments = environment or {}, arguments
        self.joints = probe.hear(JointState, "joint_states", keep=50)
        self.measured = probe.hear(JointState, "servos/measurements", keep=400)
        self.process = None
        self.start()

    def _begin(self):
        """Start the process."""
        session = ("-p", f"session:={self._session}") if self._session else ()
        return Process.node("servos", *session, *self._arguments, environment=self._environment)

    def start(self):
        self.process = self._begin()
        self.joints.clear()
        self._probe.statuses.heard.clear()
        wait_until(lambda: self.joints and len(self.joints[-1][1].name) == 18, 30, lambda: self.process.output)

    def kill(self):
        self.process.kill()

    @property
    def status(self):
        return self._probe.statuses("servos")

    def says(self, level, words, timeout=10.0):
        self._probe.statuses.says("servos", words, timeout, level)

    def value(self, key):
        return self._probe.statuses.value("servos", key)

    def ask(self, name, on=None):
        kind, request = (Trigger, Trigger.Request()) if on is None else (SetBool, SetBool.Request(data=on))
        client = self._probe.client(kind, name)
        assert client.wait_for_service(10)
        self.asked = time.monotonic()
        response = ask(client, request, pause=0.001)
        self.answered = time.monotonic()
        return response
