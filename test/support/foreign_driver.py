"""A robot whose driver is not of this project: simulated joints with their own joint_states and imu/data_raw.

`python foreign_driver.py [joint_commands|commands|joint_trajectory] [echo] [keep]`: takes set-points in that form.
echo: it publishes the commands as joint_states, as many drivers do; keep: lost joints keep their last position, as in
the joint_states of ros2_control. The topic `torn` (std_msgs/String: legs) breaks it.
"""

import sys
import tempfile
import time

import numpy as np

import rclpy
from hexapod_dynamics.devices.simulated_robot import SimulatedRobot
from hexapod_dynamics.drivers.imu import mpu6050 as chip
from hexapod_dynamics.robot import Morphology, Robot
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory


class ForeignDriver(Node):
    """Publishes what is measured 100 times a second; moves each joint in 20 ms, or in the time of a trajectory."""

    def __init__(self, interface, echo, keep):
        super().__init__("foreign_driver")
        self.keep, self.last = keep, None
        self.robot, self.echo = Robot.jethexa(), echo
        self.names = list(self.robot.joint_names)
        self.simulated = SimulatedRobot(self.robot, Morphology.whole(self.robot), tempfile.mkdtemp())
        sensor = self.simulated.sensor
        for register, value in chip.Mpu6050Settings().registers.items():
            sensor.write(register, value)
        self.commanded = None
        self.joints = self.create_publisher(JointState, "joint_states", 10)
        self.imu = self.create_publisher(Imu, "imu/data_raw", 10)
        kind = {"joint_commands": JointState, "commands": Float64MultiArray, "joint_trajectory": JointTrajectory}
        self.create_subscription(kind[interface], interface, getattr(self, f"on_{interface}"), 10)
        self.create_subscription(String, "torn", self.on_torn, 10)
        self.simulated.start()
        self.create_timer(0.01, self.tick)

    def move(self, names, positions, duration=0.02):
        servos, now = self.simulated.servos, time.monotonic()
        if self.commanded is None:
            self.commanded = self.simulated.physics.readings.copy()
        for name, position in zip(names, positions, strict=True):
            index = self.names.index(name)
            self.commanded[index] = position
            servos.move(index, position * np.sign(servos.slope[index]), duration, now)

    def on_joint_commands(self, message):
        self.move(message.name, message.position)

    def on_commands(self, message):
        self.move(self.names, message.data)

    def on_joint_trajectory(self, message):
        took = message.points[0].time_from_start
        self.move(message.joint_names, message.points[0].positions, took.sec + 1e-9 * took.nanosec)

    def on_torn(self, message):
        self.simulated.set_morphology(self.simulated.physics.morphology.without(*message.data.split()))

    def tick(self):
        stamp = self.get_clock().now().to_msg()
        with self.simulated.lock:
            readings = self.simulated.physics.readings.copy()
            there = self.simulated.physics.morphology.existing_mask
        if self.echo and self.commanded is not None:
            readings = self.commanded
        if self.keep:
            self.last = readings if self.last is None else np.where(there, readings, self.last)
            readings, there = self.last, np.ones(len(there), bool)
        message = JointState(name=[name for name, is_ in zip(self.names, there, strict=True) if is_])
        message.position = [float(angle) for angle, is_ in zip(readings, there, strict=True) if is_]
        message.header.stamp = stamp
        self.joints.publish(message)
        raw = self.simulated.sensor.read(chip.ACCEL_XOUT_H, chip.BURST.size, time.monotonic())
        ax, ay, az, _, gx, gy, gz = chip.BURST.unpack(raw)
        a, g = chip.STANDARD_GRAVITY / chip.ACCEL_RANGES[4], np.radians(1.0) / chip.GYRO_RANGES[500]
        imu = Imu()
        imu.header.stamp, imu.header.frame_id = stamp, "imu_link"
        force, rate = imu.linear_acceleration, imu.angular_velocity
        force.x, force.y, force.z = ax * a, ay * a, az * a
        rate.x, rate.y, rate.z = float(gx * g), float(gy * g), float(gz * g)
        self.imu.publish(imu)


def main():
    rclpy.init()
    node = ForeignDriver(sys.argv[1] if len(sys.argv) > 1 else "joint_commands", "echo" in sys.argv, "keep" in sys.argv)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.simulated.stop()


if __name__ == "__main__":
    main()
