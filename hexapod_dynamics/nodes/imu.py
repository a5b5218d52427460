"""Publishes the MPU6050, or the IMU of the STM32 board: imu/data_raw and imu/data (REP-145), in the chip's axes.

The frame of these axes is on /tf_static. imu/data_raw has the values of the device; in imu/data the offsets are
subtracted, and it has the attitude. Yaw starts at zero for base_link and drifts: there is no magnetometer.
"""

from __future__ import annotations

import math
import time

import numpy as np

from hexapod_dynamics.drivers.imu.attitude import CalibratedImu, VqfFilter
from hexapod_dynamics.drivers.imu.mpu6050 import MPU6050, Chip, Mpu6050Settings, Sample
from hexapod_dynamics.drivers.imu.reader import ImuReader, ImuSource, RelayedImu
from hexapod_dynamics.drivers.servos.board.protocol import SOCKET
from hexapod_dynamics.nodes.messages import StampConverter, fill_transform, transform
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.onboard.inputs import Vector
from hexapod_dynamics.parameters.imu import PARAMETERS
from hexapod_dynamics.parameters.spec import make_settings
from hexapod_dynamics.ros.node_functions import Diagnostics, OnDemand, call_in_thread, make_frame_name
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.runtime_directory import IMU_BUS, calibration_file, device_directory
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import Imu, Temperature
from std_srvs.srv import Trigger
from tf2_ros import StaticTransformBroadcaster


class ImuNode(RobotNode):
    """Publishes the IMU; see the module. The thread of the reader publishes."""

    reader: ImuSource

    def __init__(self) -> None:
        super().__init__("imu", PARAMETERS, "imu/data_raw")
        values, mounting = self.values, self.robot.imu
        self.source = values.read("source", str)
        self.bus = values.read("bus", str) or str(device_directory(self.get_namespace()) / IMU_BUS)
        self.frame = make_frame_name(self, values.read("frame_id", str))
        settings = make_settings(Mpu6050Settings, values)
        self.imu = CalibratedImu(
            settings.rate,
            mounting.rotation,
            values.read("accel_time_constant", float),
            values.read("calibrate_level", bool),
            calibration_file(self.bus, settings.address),
            self.get_logger().warning,
        )
        if self.imu.filter_name != VqfFilter.name:
            self.get_logger().warning(
                f"attitude filter: {self.imu.filter_name} (python3 -m pip install vqf; docs/jetson.md, Other boards)"
            )
        self._stamps = StampConverter()
        self._settings, self._orientation_variance = settings, values.read("orientation_stddev", float) ** 2
        self._set_noise(MPU6050)
        self._temperature = Temperature(variance=0.0)
        self._temperature.header.frame_id = self.frame
        self._next_temperature = 0.0
        self._raw_topic = self._data_topic = None
        if self.source != "topic":
            self._raw_topic = OnDemand(self.create_publisher(Imu, "imu/data_raw", 10))
        if values.read("publish_data", bool):
            self._data_topic = OnDemand(self.create_publisher(Imu, "imu/data", qos_profile_sensor_data))
        self._temperature_publisher = self.create_publisher(Temperature, "imu/temperature", 10)
        # The service has its own group: a calibration delays only the next calibration.
        group = MutuallyExclusiveCallbackGroup()
        self.create_service(Trigger, "~/calibrate", self._on_calibrate, callback_group=group)
        if values["publish_tf"]:
            chip = transform(make_frame_name(self, values.read("parent_frame_id", str)), self.frame)
            stamp = self.get_clock().now().to_msg()
            fill_transform(chip, np.asarray(mounting.position), np.asarray(mounting.rotation), stamp)
            self._broadcaster = StaticTransformBroadcaster(self)
            self._broadcaster.sendTransform(chip)
        self._level: str | None = None
        if self.source == "topic":
            remedy = ": is the driver of the IMU up, is its topic remapped?"
            what = "IMU of another driver"
            self.reader = ImuSource(self._on_sample, what, "message on imu/data_raw", remedy)
            # No sample may be lost, because the attitude is the integral of the rates: the queue holds the samples of
            # half a second, in case the computer is busy.
            self.loop = TickLoop(self, 1.0 / settings.rate)
            self.loop.call_every(0.1, self._report_changes)
            all_samples = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
            self.loop.subscribe(Imu, "imu/data_raw", self._on_foreign, all_samples)
        else:
            if self.source == "board":
                self.reader = RelayedImu(device_directory(self.get_namespace()) / SOCKET, self._on_sample)
            else:
                self.reader = ImuReader(self.bus, settings, self._on_sample)
            self.loop = TickLoop(self, 0.1, self._report_changes)
        self.loop.call_every(60.0, self.imu.keep)
        self.diagnostics = Diagnostics(self, self.reader.what, self._diagnose)
        self.ending.callback(self.reader.stop)
        self.reader.start()

    def _set_noise(self, chip: Chip) -> None:
        """Set covariances and delay to those of the chip that was found."""
        self._chip, level = chip, self._orientation_variance
        known = np.diag([level, level, 10.0 * level]).ravel()
        self._orientation_covariances = np.array([-1.0, *known[1:]]), known  # REP-145: -1 means no orientation
        self._sample_delay = chip.delay(self._settings.dlpf) if self.source == "mpu6050" else 0.0
        self._raw, self._data = self._message(), self._message()
        self._raw.orientation_covariance[0] = -1.0

    def _message(self) -> Imu:
        message, chip, dlpf = Imu(), self._chip, self._settings.dlpf
        message.header.frame_id = self.frame
        gyro, accel = (
            self.values.read(f"{what}_stddev", float) for what in ("angular_velocity", "linear_acceleration")
        )
        message.angular_velocity_covariance = np.diag([gyro**2 or chip.gyro_variance(dlpf)] * 3).ravel()
        message.linear_acceleration_covariance = np.diag([accel**2 or chip.accel_variance(dlpf)] * 3).ravel()
        return message

    def _on_foreign(self, message: Imu) -> None:
        now = time.monotonic()
        at, reading = self.read_imu(message, now, 1.0)
        if reading.chip_force is None or reading.chip_rate is None:
            missing = "imu/data_raw has no acceleration or no angular velocity"
            self.reader.health.count_error("refused", next(iter(self.faults.list_recent(now)), missing))
        else:
            self.reader.deliver(Sample(reading.chip_force, reading.chip_rate, math.nan, False, b""), at)

    # In the reader's thread ------------------------------------------------------------------------------------------

    def _on_sample(self, sample: Sample, now: float) -> None:
        try:
            self._add_sample(sample, now)
        except Exception:
            if self.context.ok():  # else the node is ending, and its publishers no longer exist
                raise

    def _add_sample(self, sample: Sample, now: float) -> None:
        if self.reader.health.chip is not self._chip:
            self._set_noise(self.reader.health.chip)
        at = now - self._sample_delay
        if self._raw_topic is not None and self._raw_topic.has_subscribers(now):
            self._fill(self._raw, at, sample.angular_velocity, sample.acceleration)
            self._raw_topic.publish(self._raw)
        accel, gyro, quaternion = self.imu.accept(sample.acceleration, sample.angular_velocity, now)
        if self._data_topic is not None and self._data_topic.has_subscribers(now):
            # Without the gyro offsets the orientation is not usable.
            self._data.orientation_covariance = self._orientation_covariances[self.imu.calibrated]
            turn = self._data.orientation
            turn.x, turn.y, turn.z, turn.w = quaternion
            self._fill(self._data, at, gyro, accel)
            self._data_topic.publish(self._data)
        if now >= self._next_temperature and not math.isnan(sample.temperature):
            self._next_temperature = now + 1.0
            self._stamps.write(self._temperature.header.stamp, at)
            self._temperature.temperature = sample.temperature
            self._temperature_publisher.publish(self._temperature)

    def _fill(self, message: Imu, at: float, rate: Vector, force: Vector) -> None:
        """Write monotonic time [s], angular velocity (3,) [rad/s] and specific force (3,) [m/s^2] to a message."""
        self._stamps.write(message.header.stamp, at)
        w, a = message.angular_velocity, message.linear_acceleration
        (w.x, w.y, w.z), (a.x, a.y, a.z) = rate, force

    # Services and diagnostics ----------------------------------------------------------------------------------------

    async def _on_calibrate(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Calibrate, which takes up to 3 s; meanwhile this node works."""
        if not self.reader.health.connected:
            response.success, response.message = False, f"no IMU: {self.reader.health.last_error}"
            return response
        refusal, offsets = await call_in_thread(self, self.imu.calibrate), self.imu.offsets
        response.success = not refusal
        response.message = refusal or (
            f"gyro offset {np.round(offsets.gyro, 5).tolist()} rad/s, "
            f"accelerometer offset {np.round(offsets.accel, 4).tolist()} m/s^2"
        )
        return response

    def _assess(self) -> tuple[str, str]:
        level, words = self.reader.assess()
        if self.reader.health.connected and not self.imu.calibrated:
            level = "warn"
            words.append(f"gyro not calibrated: {self.imu.calibration_error or 'waiting for samples'}")
        return level, "; ".join(words) or "measuring"

    def _report_changes(self) -> None:
        self.reader.check_timeout(time.monotonic())
        if self._assess()[0] != self._level:
            self.diagnostics.publish()

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        values = self.reader.figures() | self.imu.figures()
        self._level, message = self._assess()
        return self._level, message, values
