"""Where the simulated devices are found: one directory per user, ROS domain and namespace."""

import os
from pathlib import Path

SERVO_BUS, IMU_BUS = 'servo_bus', 'imu.sock'


def device_directory(namespace: str = '/', domain_id: str | int | None = None) -> Path:
    """Directory of the simulated devices; domain_id defaults to the environment's ROS_DOMAIN_ID (0 without one)."""
    if domain_id is None:
        domain_id = os.environ.get('ROS_DOMAIN_ID') or '0'
    inner = namespace.strip('/').replace('/', '.')
    return Path(f'/tmp/hexapod_dynamics-{os.getuid()}') / (f'{domain_id}.{inner}' if inner else str(domain_id))
