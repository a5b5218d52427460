"""The servo protocols by their names: the only module outside a protocol's own directory that refers to it.

A protocol's module is imported when it is chosen: a node loads one driver.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from hexapod_dynamics.drivers.servos.interface import PortSettings, ServoInterface
from hexapod_dynamics.errors import DeviceError

# {name: "module:class"}; the class has from_settings(PortSettings, ids).
PROTOCOLS = {
    "lx": "hexapod_dynamics.drivers.servos.lx.servos:LxServos",
    "board": "hexapod_dynamics.drivers.board.servos:BoardServos",
    "dynamixel": "hexapod_dynamics.drivers.servos.dynamixel:DynamixelServos",
    "feetech": "hexapod_dynamics.drivers.servos.feetech:FeetechServos",
    "topics": "hexapod_dynamics.drivers.servos.topics:TopicServos",
}
DEFAULT_PROTOCOL = "lx"


def make_servos(settings: PortSettings, ids: Sequence[int], protocol: str = DEFAULT_PROTOCOL) -> ServoInterface:
    """Create the interface of the servos of these ids, with its port closed; raises DeviceError for an unknown
    protocol.
    """
    if protocol not in PROTOCOLS:
        raise DeviceError(f"servo protocol {protocol!r} is unknown; known are {', '.join(PROTOCOLS)}")
    module, _, name = PROTOCOLS[protocol].partition(":")
    servos: ServoInterface = getattr(importlib.import_module(module), name).from_settings(settings, ids)
    return servos
