"""An IMU of another driver: each sample is taken, so that turns are summed up whole."""

import math
import time

import numpy as np
import pytest
from support.ros_session import Process, wait_until

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu

RATE = 100.0  # samples a second
QOS = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)


@pytest.fixture(scope="module")
def imu(probe):
    with Process.node("imu", "-p", "source:=topic", "-p", "calibrate_level:=false") as process:
        yield process
    assert "Traceback" not in process.output, process.output


def test_jerks_of_an_imu_of_another_driver_are_summed_up_whole(probe, imu):
    """Each 50 ms one sample of 3 rad/s, to one side and back: a sample that is lost leaves 1.7 degrees for seconds."""
    publisher = probe.node.create_publisher(Imu, "imu/data_raw", QOS)
    heard = probe.hear(Imu, "imu/data", QOS, keep=1000)
    due, rolls = time.monotonic(), []
    behind = time.time() - due  # stamps are the times of the samples, however late this process is

    def sample(rate, force=9.80665):
        nonlocal due
        due += 1.0 / RATE
        time.sleep(max(due - time.monotonic(), 0.0))
        message = Imu()
        stamp = round((due + behind) * 1e9)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        message.linear_acceleration.z = force
        message.angular_velocity.x = rate
        publisher.publish(message)

    def calibrated():
        for _ in range(10):
            sample(0.0)
        return heard and heard[-1][1].orientation_covariance[0] > 0.0

    wait_until(calibrated, 30, "the gyro is calibrated")
    heard.clear()
    for k in range(round(4.0 * RATE)):
        sample((3.0 if (k // 5) % 2 else -3.0) if k % 5 == 0 else 0.0)
        if heard:
            turn = heard[-1][1].orientation
            rolls.append(math.degrees(2.0 * math.atan2(turn.x, turn.w)))
    wait_until(lambda: len(heard) > 0.95 * 4.0 * RATE, 10, lambda: f"the samples have come: {len(heard)}")
    # Between -1.7 and 0 degrees, with what the correction by the accelerometer takes off; a lost sample adds 1.7.
    assert np.ptp(rolls) < 2.6
    # In g, or without an acceleration, it is refused with the reason.
    for force, words in ((1.0, "REP-145 wants m/s^2 with gravity"), (math.nan, "that is not finite")):
        told = lambda words=words: words in probe.statuses("imu").message  # noqa: E731
        wait_until(
            lambda force=force, told=told: sample(0.0, force) or told(), 20, lambda: probe.statuses("imu"), every=0.0
        )  # samples that are late would be refused for their age
