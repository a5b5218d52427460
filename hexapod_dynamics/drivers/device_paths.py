"""Paths of the simulated devices, by user, ROS domain and namespace, and of the stored IMU offsets."""

import os
from pathlib import Path

from hexapod_dynamics.runtime_directory import private_directory, ros_home

SERVO_BUS, IMU_BUS = "servo_bus", "imu.sock"


def device_directory(namespace: str = "/", domain_id: str | int | None = None) -> Path:
    """Directory of the simulated devices; it is created if missing, and no other user can write to it.

    domain_id defaults to the environment's ROS_DOMAIN_ID (0 without one). Raises UnsafePathError where another user
    could have put the devices there.
    """
    if domain_id is None:
        domain_id = os.environ.get("ROS_DOMAIN_ID") or "0"
    inner = namespace.strip("/").replace("/", ".")
    return private_directory(f"{domain_id}.{inner}" if inner else str(domain_id))


def calibration_file(bus: str, address: int) -> Path:
    """File of an IMU's offsets, below $ROS_HOME (~/.ros): one for each bus and address; it need not exist."""
    return ros_home() / "hexapod_dynamics" / f"imu_offsets.{bus.strip('/').replace('/', '.')}.0x{address:02x}.json"
