"""Gamepad and remote control of the STM32 board in the order of axes and buttons that joy_node gives (sensor_msgs/Joy).

A transmitter sends its sticks in the order aileron, elevator, throttle, rudder on channels 1 to 4, and its switches
behind them. The right stick (aileron, elevator) walks, as the left one of a gamepad does, and the rudder turns.
"""

from __future__ import annotations

from hexapod_dynamics.drivers.board.frames import Pad, Remote

# Masks of the vendor's SDK, in joy_node's order: A, B, X, Y, L1, R1, select, start, (guide), L3, R3.
_BUTTONS = (0x0100, 0x0200, 0x0800, 0x1000, 0x4000, 0x8000, 0x0004, 0x0008, 0x0000, 0x0020, 0x0040)
_L2, _R2 = 0x0001, 0x0002
_LEFT, _RIGHT, _UP, _DOWN = 9, 13, 15, 11  # of the hat, as the vendor's node reads it


_ENABLE, _STOP = 4, 5  # channels, from 0: the switches that stand for L1 (drive) and B (emergency stop)
_SWITCHED = 0.3  # value of a channel above which its switch is on
_RELEASED = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0] * len(_BUTTONS)


def _stick(value: int) -> float:
    return value / 127.0 if value > 0 else value / 128.0


def joy_values(pad: Pad) -> tuple[list[float], list[int]]:
    """Axes (8,) -1..1 (left stick x, y, L2, right stick x, y, R2, hat x, y; left and up positive) and buttons (11,)."""
    axes = [
        -_stick(pad.left_x),
        _stick(pad.left_y),
        -1.0 if pad.buttons & _L2 else 1.0,
        -_stick(pad.right_x),
        _stick(pad.right_y),
        -1.0 if pad.buttons & _R2 else 1.0,
        float((pad.hat == _LEFT) - (pad.hat == _RIGHT)),
        float((pad.hat == _UP) - (pad.hat == _DOWN)),
    ]
    return axes, [int(pad.buttons & mask != 0) for mask in _BUTTONS]


def remote_values(remote: Remote) -> tuple[list[float], list[int]]:
    """Axes (8,) and buttons (11,) as `joy_values`; everything is released while the signal is lost."""
    axes, buttons = list(_RELEASED[0]), list(_RELEASED[1])
    if not remote.lost:
        aileron, elevator, throttle, rudder = remote.channels[:4]
        axes[0], axes[1], axes[3], axes[4] = -aileron, elevator, -rudder, throttle
        buttons[4] = int(remote.channels[_ENABLE] > _SWITCHED)
        buttons[1] = int(remote.channels[_STOP] > _SWITCHED)
    return axes, buttons
