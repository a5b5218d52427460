"""The node servos on an STM32 board: what it does beside moving servos."""

import numpy as np
import pytest
from support.driver_session import MAP
from support.ros_session import Process, wait_until

from hexapod_dynamics.bench.devices.board_device import BoardDevice
from hexapod_dynamics.bench.devices.mpu6050_device import VirtualMpu6050
from hexapod_dynamics.bench.devices.virtual_servos import VirtualServos
from std_msgs.msg import Bool


@pytest.fixture
def board(tmp_path):
    servos = VirtualServos(MAP.ids, MAP.directions, np.full(18, 0.1), loaded=True)
    device = BoardDevice(servos, VirtualMpu6050(), tmp_path / "board")
    device.start()
    yield device
    device.stop()


def test_the_buzzer_sounds_when_the_gait_announces_a_motion_and_only_then(probe, board):
    servos = Process.node("servos", "-p", "protocol:=board", "-p", "baudrate:=1000000", "-p", f"port:={board.link}")
    try:
        publisher = probe.node.create_publisher(Bool, "buzzer", 1)
        wait_until(publisher.get_subscription_count, 30, "servos listens")
        wait_until(lambda: board.counters.frames > 50, 30, "it talks to the board")
        publisher.publish(Bool(data=False))
        publisher.publish(Bool(data=True))
        wait_until(lambda: board.beeps, 10, "the buzzer sounds")
        assert len(board.beeps) == 1
    finally:
        servos.end()
    assert "Traceback" not in servos.output, servos.output
