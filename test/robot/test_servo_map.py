"""Which servo moves which joint, in which direction."""

import numpy as np
import pytest

from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import BUS_SERVO, ServoMap

MAP = ServoMap.from_robot(Robot.jethexa())


def test_the_map_is_the_robots():
    names = dict(zip(MAP.joint_names, zip(MAP.ids, MAP.directions, strict=True), strict=True))
    assert names["coxa_joint_LF"] == (5, -1) and names["tibia_joint_RR"] == (14, 1)
    assert names["femur_joint_LM"] == (9, -1)
    # The vendor's default stance in counts.
    front, middle, rear = (0.1712, 0.7384, -0.5746), (0.0, 0.7436, -0.5952), (-0.1712, 0.7384, -0.5746)
    stance = np.array([*front, *middle, *rear] * 2)
    vendor = [459, 323, 637, 500, 322, 642, 540, 323, 637, 459, 676, 362, 500, 677, 357, 540, 676, 362]
    counts = np.array([BUS_SERVO.count(angle) for angle in MAP.servo_angles(stance)])
    assert np.abs(counts - vendor).max() <= 1  # the vendor truncates, we round
    assert np.allclose(MAP.quantise(stance), stance, atol=0.5 / BUS_SERVO.per_radian + 1e-12)


@pytest.mark.parametrize(
    ("ids", "directions", "zeros"),
    [((1,), (1, 1), ()), ((1, 2), (1,), ()), ((1, 2, 3), (1, 1), ()), ((1, 2), (1, 1), (0.1,))],
)
def test_a_map_needs_one_id_direction_and_zero_per_joint(ids, directions, zeros):
    with pytest.raises(DeviceError, match=f"2 joints, {len(ids)} servo ids, {len(directions)} directions.*one of each"):
        ServoMap(("a", "b"), ids, directions, zeros)
