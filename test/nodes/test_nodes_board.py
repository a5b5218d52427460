"""The node servos on an STM32 board: what it does beside moving servos."""

import numpy as np
import pytest
from support.driver_session import MAP
from support.ros_session import Process, wait_until

from hexapod_dynamics.devices.board import BoardDevice
from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050
from hexapod_dynamics.devices.servos import VirtualServos
from sensor_msgs.msg import Joy
from std_msgs.msg import Bool
from std_srvs.srv import SetBool


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    servos = VirtualServos(MAP.ids, MAP.directions, np.full(18, 0.1), loaded=True)
    device = BoardDevice(servos, VirtualMpu6050(), tmp_path_factory.mktemp("devices") / "board")
    device.start()
    yield device
    device.stop()


@pytest.fixture(scope="module")
def servos(board):
    settings = "protocol:=board", "baudrate:=1000000", f"port:={board.link}", "stop_joy_button:=3"  # not the default
    arguments = [word for setting in settings for word in ("-p", setting)]
    with Process.node("servos", *arguments) as process:
        wait_until(lambda: board.frames > 50, 60, "it talks to the board")
        yield process
    assert "Traceback" not in process.output, process.output


def test_the_buzzer_sounds_when_the_gait_announces_a_motion_and_only_then(probe, board, servos):
    publisher = probe.publisher(Bool, "buzzer", 1)
    publisher.publish(Bool(data=False))
    publisher.publish(Bool(data=True))
    wait_until(lambda: board.beeps, 10, "the buzzer sounds")
    assert len(board.beeps) == 1


def test_keys_and_a_remote_control_published_as_joy_stop_the_robot(probe, board, servos):
    heard, middle = probe.hear(Joy, "joy", keep=500), [992] * 10
    drive, stop = [992, 1792, 992, 992, 1792, 192, *middle], [992, 992, 992, 992, 192, 1792, *middle]

    def resume():
        answer = probe.call(SetBool, "emergency_stop", SetBool.Request(data=False))
        return answer.success, answer.message

    def last():
        message = heard[-1][1] if heard else Joy(axes=[0.0] * 8, buttons=[0] * 11)
        return message.axes[1], message.buttons[4], message.buttons[1]

    wait_until(lambda: board.move_remote(drive) or last() == (1.0, 1, 0), 30, "its stick forward, its switch on")
    heard.clear()
    board.move_pad(0x0100)
    wait_until(lambda: board.move_remote(drive) or heard, 10, "the remote control again")
    assert not any(message.buttons[0] for _, message in heard), "the gamepad is not heard beside it"
    board.move_remote(drive, lost=True)
    wait_until(lambda: last() == (0.0, 0, 0), 10, "everything is released when the signal is lost")
    wait_until(lambda: board.move_remote(stop) or last() == (0.0, 0, 1), 10, "its stop switch")
    stopped = "stop switch of the remote control: the pose is frozen"
    wait_until(lambda: stopped in servos.output, 10, lambda: servos.output)
    wait_until(lambda: board.move_remote(stop) or "remote control is on" in resume()[1], 10, "no end of the stop")
    wait_until(lambda: board.move_remote(drive) or resume()[0], 10, "the stop ends once the switch is off")
    probe.statuses.says("servos", "remote control lost: no joy message")
    board.move_pad(0x0100)
    board.move_pad(0x1000)
    wait_until(lambda: "game pad: the pose is frozen" in servos.output, 10, lambda: servos.output)
    probe.statuses.says("servos", "game pad of the board lost: no joy message")
    assert "has ended" in resume()[1]
    board.press(2)
    assert "no emergency stop was on" in resume()[1]
    board.press(1)
    wait_until(lambda: "key of the STM32 board: the pose is frozen" in servos.output, 10, lambda: servos.output)
    assert "has ended" in resume()[1]
