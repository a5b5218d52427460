"""Parameters of the node `imu`."""

from __future__ import annotations

from collections.abc import Iterable

from hexapod_dynamics.drivers.imu.mpu6050 import ACCEL_RANGES, GYRO_RANGES, Mpu6050Settings
from hexapod_dynamics.parameters.spec import ParameterSpec, in_file, make_specs


def _list_choices(values: Iterable[int]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}"


_ACCEL = f"full scale [g]: {_list_choices(ACCEL_RANGES)}; foot impacts exceed 2"
_GYRO = f"full scale [deg/s]: {_list_choices(GYRO_RANGES)}"
_CHIP = (
    *make_specs(Mpu6050Settings, address=("I2C address: 104 (0x68) or 105 (0x69)", 0x68, 0x69)),
    *make_specs(
        Mpu6050Settings,
        in_file,
        rate=("samples a second; up to 200 is safe on a bus of 100 kHz", 10.0, 250.0),
        accel_range=(_ACCEL, min(ACCEL_RANGES), max(ACCEL_RANGES)),
        gyro_range=(_GYRO, min(GYRO_RANGES), max(GYRO_RANGES)),
        dlpf=("low-pass filter 0..6; 4: 20 Hz", 0, 6),
    ),
)
SOURCES = ("mpu6050", "board", "topic")
_SOURCE = (
    "where the samples come from: mpu6050 on an I2C bus, board: the STM32 board whose port `servos` owns, "
    "topic: imu/data_raw of another driver"
)
_CORRECTION = "time constant of the correction of the inclination by the accelerometer [s]"
PARAMETERS = (
    ParameterSpec("source", SOURCES[0], _SOURCE, choices=SOURCES),
    ParameterSpec("bus", "", "I2C bus number, as '1', or the path of a socket; empty: the simulated bus"),
    ParameterSpec("frame_id", "imu_link", "frame of the chip's axes, below the namespace"),
    ParameterSpec("parent_frame_id", "base_link", "frame the chip is mounted on"),
    ParameterSpec("publish_tf", True, "publish the mounting of the chip on /tf_static"),
    ParameterSpec("publish_data", True, "publish imu/data; false if another node computes it from imu/data_raw"),
    *_CHIP,
    ParameterSpec("linear_acceleration_stddev", 0.0, "noise [m/s^2]; 0: value of the datasheet", 0.0, 50.0),
    ParameterSpec("angular_velocity_stddev", 0.0, "noise [rad/s]; 0: value of the datasheet", 0.0, 10.0),
    ParameterSpec("orientation_stddev", 0.01, "of roll and pitch [rad]", 0.0001, 3.0),
    ParameterSpec("accel_time_constant", 3.0, _CORRECTION, 0.1, 60.0),
    in_file("calibrate_level", True, "the body is level at calibration: compute the offset of the accelerometer too"),
)
