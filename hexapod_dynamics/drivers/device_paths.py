"""Paths of the simulated devices, by user, ROS domain and namespace, and of the stored IMU offsets."""

from __future__ import annotations

from hexapod_dynamics.runtime_directory import checked_domain, private_path, ros_domain, ros_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

SERVO_BUS, IMU_BUS = "servo_bus", "imu.sock"


def device_directory(namespace: str = "/", domain_id: str | int | None = None) -> Path:
    """Directory of the simulated devices; it is created if missing, and no other user can write to it.

    domain_id defaults to the environment's ROS_DOMAIN_ID (0 without one). Raises UnsafePathError if domain_id is
    not a domain number, or if another user could have put the devices there.
    """
    from pathlib import Path

    return Path(device_path(namespace, domain_id))


def device_path(namespace: str = "/", domain_id: str | int | None = None) -> str:
    """Return `device_directory` as text, without importing anything."""
    number = ros_domain() if domain_id is None else checked_domain(domain_id)
    inner = namespace.strip("/").replace("/", ".")
    return private_path(f"{number}.{inner}" if inner else str(number))


def calibration_file(bus: str, address: int) -> Path:
    """Return the file of an IMU's offsets below $ROS_HOME (~/.ros), one a bus and address; it need not exist."""
    return ros_home() / "hexapod_dynamics" / f"imu_offsets.{bus.strip('/').replace('/', '.')}.0x{address:02x}.json"
