"""LX/HTD bus servos behind the servo interface: a latched move for each servo and one common start, one read at a time.

Writes are never acknowledged, so stops and torque are sent several times.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_dynamics.drivers.servos.interface import Idle, PortSettings, Quantity, ServoInterface
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.bus import ServoBus
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.robot.servo_map import BUS_SERVO, BUS_SERVO_READABLE

_COMMANDS: dict[Quantity, Command] = {
    "position": Command.POS_READ,
    "target": Command.MOVE_TIME_WAIT_READ,
    "loaded": Command.LOAD_OR_UNLOAD_READ,
    "voltage": Command.VIN_READ,
    "temperature": Command.TEMP_READ,
    "lowest_voltage": Command.VIN_LIMIT_READ,
    "highest_voltage": Command.VIN_LIMIT_READ,
    "temperature_limit": Command.TEMP_MAX_LIMIT_READ,
    "deviation": Command.ANGLE_OFFSET_READ,
}
# A line that loses 10 % of its bytes loses every second MOVE_STOP: six copies are sent for all, three for one.
_STOPS, _STOP_COPIES = lx.move_stop(lx.BROADCAST_ID) * 6, 3


class LxServos(ServoInterface):
    """The servos of these ids on a bus. Raises DeviceError for wrong ids."""

    readable = BUS_SERVO_READABLE

    def __init__(self, bus: ServoBus, ids: Sequence[int]) -> None:
        super().__init__(bus, ids, lx.BROADCAST_ID - 1, BUS_SERVO)
        self.bus = bus
        self.pose_times = lx.MOVE_SIZE * bus.byte_time, lx.MOVE_SIZE * bus.byte_time
        # Time [s] of each answer on the wire.
        self._reply_times = {
            quantity: lx.reply_size(command) * bus.byte_time for quantity, command in _COMMANDS.items()
        }

    @classmethod
    def from_settings(cls, settings: PortSettings, ids: Sequence[int]) -> LxServos:
        """Create the interface with its port closed."""
        return cls(ServoBus(settings), ids)

    def write_pose(self, angles: Sequence[float], durations: Sequence[float], chosen: Sequence[bool]) -> None:
        """Queue a latched move for each chosen servo and one start."""
        poses = zip(self.ids, angles, durations, chosen, strict=True)
        moves = ((servo_id, BUS_SERVO.count(angle), duration) for servo_id, angle, duration, wanted in poses if wanted)
        self.bus.send(lx.pose(moves))

    def write(self, index: int, angle: float, duration: float) -> None:
        """Queue one move that starts at once."""
        self.bus.send(lx.move_time(self.ids[index], angle, duration))

    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Queue torque on or off, for all these servos `copies` times."""
        self.bus.send(b"".join(lx.load_write(self.ids[index], on) for index in indices) * copies)

    def stop(self, index: int | None = None) -> None:
        """Queue three stops of one servo, or six of all."""
        self.bus.send(_STOPS if index is None else lx.move_stop(self.ids[index]) * _STOP_COPIES)

    def stop_now(self) -> bool:
        """Send stops of all servos ahead of everything queued; return False if the port does not accept them."""
        return self.bus.interrupt(_STOPS)

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo; return the value, or None with `fault` set."""
        bus, command = self.bus, _COMMANDS[quantity]
        payload = bus.exchange(self.ids[index], command, idle, timeout)
        self.fault = bus.fault
        if payload is None:
            return None
        self.answer_time = bus.reply_time
        self.read_time = bus.reply_time - self._reply_times[quantity]
        self.delay = bus.reply_time - bus.free_at - self._reply_times[quantity]
        value = lx.decode(command, payload)
        if isinstance(value, tuple):  # one answer has the target and its duration, or both limits
            return value[quantity == "highest_voltage"]
        return value
