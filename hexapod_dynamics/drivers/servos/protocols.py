"""The servo protocols by their names: the only module outside a protocol's own directory that refers to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hexapod_dynamics.drivers.board.servos import BoardServos
from hexapod_dynamics.drivers.servos.dynamixel import DynamixelServos
from hexapod_dynamics.drivers.servos.feetech import FeetechServos
from hexapod_dynamics.drivers.servos.interface import PortSettings, ServoInterface
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.drivers.servos.topics import TopicServos
from hexapod_dynamics.errors import DeviceError

PROTOCOLS: dict[str, Callable[[PortSettings, Sequence[int]], ServoInterface]] = {
    "lx": LxServos.from_settings,
    "board": BoardServos.from_settings,
    "dynamixel": DynamixelServos.from_settings,
    "feetech": FeetechServos.from_settings,
    "topics": TopicServos.from_settings,
}
DEFAULT_PROTOCOL = "lx"


def make_servos(settings: PortSettings, ids: Sequence[int], protocol: str = DEFAULT_PROTOCOL) -> ServoInterface:
    """Create the interface of the servos of these ids, with its port closed; raises DeviceError for an unknown
    protocol.
    """
    if protocol not in PROTOCOLS:
        raise DeviceError(f"servo protocol {protocol!r} is unknown; known are {', '.join(PROTOCOLS)}")
    return PROTOCOLS[protocol](settings, ids)
