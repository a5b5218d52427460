"""Servos with registers behind the servo interface: sync writes, and group reads where they support it.

A motion of a given duration is a set-point and a speed. These servos have no stop command: a stop is a set-point at the
present position of the motion. Torque is switched on after the present position has become the set-point.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from hexapod_dynamics.drivers.servos.interface import (
    BusError,
    Fault,
    Idle,
    Motions,
    PortSettings,
    Quantity,
    ServoInterface,
)
from hexapod_dynamics.drivers.servos.register_packets import Packets, Status
from hexapod_dynamics.drivers.servos.serial_link import ReplyWait, SerialLink
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_map import CountScale

TURN = 2.0 * math.pi
RPM = TURN / 60.0


@dataclass(frozen=True)
class Register:
    """A register: address, size [bytes], value of one count.

    sign: the sign bit of a sign-magnitude number; None: two's complement if `signed`.
    """

    address: int
    size: int
    unit: float = 1.0
    signed: bool = False
    sign: int | None = None

    def number(self, data: bytes) -> int:
        """The whole number in the register's bytes (little endian)."""
        value = int.from_bytes(data, "little", signed=self.signed and self.sign is None)
        if self.sign is not None and value >> self.sign & 1:
            return -(value & ~(1 << self.sign))
        return value

    def pack(self, value: int) -> bytes:
        """The bytes of a whole number."""
        if self.sign is not None and value < 0:
            value = -value | 1 << self.sign
        return value.to_bytes(self.size, "little", signed=self.signed and self.sign is None)

    def place(self, block: Register) -> slice:
        """Where its bytes are in those of a block of registers."""
        begin = self.address - block.address
        return slice(begin, begin + self.size)


class Variant(NamedTuple):
    """One product: its name, and the register of its effort (in `state_block`), a current [A] or a load [%]."""

    name: str
    effort: Register
    unit: str


class Modes(NamedTuple):
    """Modes of a servo: why it cannot be used with them, or empty; whether `speed` takes a duration [ms] instead."""

    refusal: str = ""
    by_time: bool = False


@dataclass(frozen=True)
class ServoModel:
    """A family of servos with the same registers.

    variants: the products by their model numbers, the values of the register `model`. registers: of the quantities that
    these servos have; "loaded" switches the torque, "target" is the set-point. goal_block is written for a motion;
    speed [rad/s for each count] is the unit of the register `speed`, `slowest` its least value that moves. state_block
    is read with each position. modes_block: what `modes` decides on. acceleration: a limit that is set to 0 (none).
    error_bits: of the servo's own error byte, in words; `hardware_error` has that byte, None if each answer has it.
    shutdown: its bits that mean that the servo has switched its torque off or is about to. group_read: whether several
    servos answer one request.
    """

    name: str
    variants: Mapping[int, Variant]
    packets: Callable[[], Packets]
    counts: CountScale
    model: Register
    speed: Register
    registers: Mapping[Quantity, Register]
    goal_block: Register
    state_block: Register
    modes_block: Register
    modes: Callable[[bytes], Modes]
    acceleration: Register | None = None
    hardware_error: Register | None = None
    group_read: bool = True
    slowest: int = 1
    fastest: int = 1023
    error_bits: tuple[tuple[int, str], ...] = ()
    shutdown: int = 0
    reported: int = 0xFF  # bits that are reported to people at once: not those of a request that noise has damaged


RETURN_DELAY = 0.0006  # [s] after which a servo answers, unless its register says otherwise (250 counts of 2 us)


class RegisterBus(SerialLink):
    """A serial port with servos that speak `packets`."""

    def __init__(self, settings: PortSettings, packets: Packets) -> None:
        super().__init__(settings)
        self.packets = packets

    def ask(
        self, packet: bytes, ids: Sequence[int], size: int, idle: Idle = None, timeout: float | None = None
    ) -> dict[int, tuple[Status, float]]:
        """Send a packet; return the answers of these servos with `size` bytes of data, each with its arrival [s].

        `fault` says why one is missing. timeout [s]: instead of reply_timeout; it counts from when all could have
        answered. idle: called after that time; while it returns True, the wait goes on, for at most `patience`.
        """
        if self._serial is None:
            raise self._not_open()
        self.strays += len(self._discard_input())
        packets, answers = self.packets, dict[int, tuple[Status, float]]()
        packets.reset()
        damaged, skipped = packets.damaged, packets.skipped
        self.send(packet)
        answer_time = (packets.overhead + size) * self.byte_time + RETURN_DELAY
        needed = (timeout or self.reply_timeout) + answer_time * len(ids)
        wait = ReplyWait(self.free_at, needed, self.patience, idle)
        echo: bytearray | None = bytearray()
        while len(answers) < len(ids) and not self.interrupted:
            now = time.monotonic()
            left = wait.left(now)
            if left < 0.0:
                break
            chunk = self._wait(left, now)
            if not chunk:
                continue
            if echo is not None:
                echo += chunk
                if len(echo) < len(packet) and packet.startswith(echo):
                    continue
                chunk, echo = bytes(echo.removeprefix(packet)), None
            came = time.monotonic()
            for status in packets.feed(chunk):
                if status.servo_id in ids and len(status.data) == size:
                    answers[status.servo_id] = status, came
        if len(answers) == len(ids):
            self.fault, self.strays = None, 0
        elif packets.damaged > damaged:
            self.fault = Fault.CHECKSUM
        else:
            noisy = packets.skipped > skipped or packets.incomplete
            self.fault = Fault.GARBAGE if noisy else Fault.TIMEOUT
        return answers


Waits = tuple[Idle, float | None]  # how long an answer is awaited: idle and timeout of `ServoInterface.read`
_NORMAL: Waits = (None, None)
_HIGHEST_ID = 252  # of protocol 2; 253 is reserved, 254 addresses all servos
_STOP_COPIES = 2  # a sync write is not acknowledged
_KEEP = 0.02  # [s] for which later requests for single servos use the answers of a group
_RECENT = 1.0  # [s] for which a slow value of the state block is used again, and between reads of a hardware error
_MARGIN = 1.1  # multiple of the speed that a motion needs, so that a servo that lags catches up
_GENTLE = 0.5  # [rad/s] speed if the present set-point is not known, and for stops
_BEYOND = 0.1  # [rad] by which the reported angle of a working servo may exceed its travel
_OUTSIDE = 3  # readings in a row beyond that after which the servo is reported: noise of the line differs each time
_ALERT = 0x80  # bit of the answers of protocol 2: there is a hardware error to be read
_HOLD = 0.1  # [s] duration of a motion to where the servo stands, where durations are written instead of speeds


@dataclass
class _Servo:
    """What is known of a servo since the port was opened; times are monotonic [s]."""

    grouped: bool  # whether it is read together with others; False after that has failed
    state: bytes | None = None  # last state block
    state_time: float = -math.inf
    unread: bool = False  # a state has been received that no caller has asked for yet
    damaged: Fault | None = None  # fault of its damaged answer within a group, not reported yet
    tried: bool = False  # whether its angle was read before its first motion
    errors: int = 0  # hardware errors, as bits
    error_time: float = -math.inf  # of the last read of the register that has them
    variant: Variant | None = None  # the product, once the servo has been inspected
    by_time: bool = False  # the register of the speed takes the duration
    outside: int = 0  # readings in a row outside the travel


class RegisterServos(ServoInterface):
    """The servos of these ids, all of one model; a subclass names the models of its maker. DeviceError: wrong ids."""

    MODELS: ClassVar[Mapping[str, ServoModel]]
    DEFAULT_MODEL: ClassVar[str]

    def __init__(self, bus: RegisterBus, ids: Sequence[int], model: ServoModel) -> None:
        super().__init__(bus, ids, _HIGHEST_ID, model.counts)
        self.bus, self.model, self.counts = bus, model, model.counts
        self.pose_times = 14 * bus.byte_time, (1 + model.goal_block.size) * bus.byte_time
        self._lowest, self._highest = model.counts.angle(0), model.counts.angle(model.counts.top)
        self.readable = self._lowest - _BEYOND, self._highest + _BEYOND
        self._motion = threading.Lock()  # guards the present motions, which a stop from any thread needs
        self._motions = Motions(len(ids))
        self._forget()

    @classmethod
    def from_settings(cls, settings: PortSettings, ids: Sequence[int]) -> RegisterServos:
        """Create the interface with its port closed; DeviceError for an unknown model."""
        name = settings.model or cls.DEFAULT_MODEL
        if name not in cls.MODELS:
            raise DeviceError(f"servo model {name!r} is unknown; known are {', '.join(cls.MODELS)}")
        model = cls.MODELS[name]
        return cls(RegisterBus(settings, model.packets()), ids, model)

    # The port --------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._servos = [_Servo(self.model.group_read) for _ in self.ids]
        self.reports: list[str] = [""] * len(self.ids)

    def open(self) -> None:
        """Open the port for this process alone; BusError if a servo of another model answers."""
        super().open()
        with self._motion:
            self._motions.forget()
            self._forget()
        self._check(range(len(self.ids)))

    def _inspect(self, index: int) -> str:
        """Read a servo's product and modes unless known; return why it must not be moved; empty: it may, or is mute."""
        model, servo = self.model, self._servos[index]
        number = None if servo.variant is not None else self._read_register(index, model.model)
        if number is None:
            return ""
        if number not in model.variants:
            fits = next((m for m in self.MODELS.values() if number in m.variants), None)
            name = fits.variants[number].name if fits else "unknown"
            hint = f"set servo_model to {fits.name}" if fits else f"set servo_model, one of {', '.join(self.MODELS)}"
            return f"no {model.name} (model number {number}, {name}): {hint}"
        block = self._read_register(index, model.modes_block)
        if block is None:
            return ""
        modes: Modes = model.modes(model.modes_block.pack(block))
        if modes.refusal:
            return modes.refusal
        if model.acceleration is not None and self._read_register(index, model.acceleration) != 0:
            # A motion of a given duration would take longer; the register is volatile.
            self._write_register(index, model.acceleration, bytes(model.acceleration.size))
        servo.by_time, servo.variant = modes.by_time, model.variants[number]
        return ""

    def _check(self, indices: Iterable[int]) -> None:
        """Inspect servos; close the port and raise BusError if there are some that must not be moved."""
        refused = [(index, why) for index in indices if (why := self._inspect(index))]
        if refused:
            self.bus.close()
            reasons = {why: ", ".join(str(self.ids[k]) for k, other in refused if other == why) for _, why in refused}
            words = "; ".join(f"servo {numbers} is {why}" for why, numbers in reasons.items())
            raise BusError(f"servo port {self.port}: {words}. Nothing was moved")

    # Motions ---------------------------------------------------------------------------------------------------------

    def _measured(self, index: int) -> float:
        state = self._servos[index].state
        return math.nan if state is None else self.counts.angle(self._field(state, self.model.registers["position"]))

    def _field(self, state: bytes, register: Register) -> int:
        return register.number(state[register.place(self.model.state_block)])

    def _goal(self, index: int, angle: float, speed: float = _GENTLE, duration: float = _HOLD) -> bytes:
        """Return the goal block for a set-point [rad] with a speed [rad/s], or a duration [s] where that is taken."""
        model = self.model
        block = bytearray(model.goal_block.size)
        counts = round(1000.0 * duration) if self._servos[index].by_time else math.ceil(speed / model.speed.unit)
        counts = min(max(counts, model.slowest), model.fastest)
        goal = min(max(self.counts.count(angle), 0), self.counts.top)
        for register, value in ((model.registers["target"], goal), (model.speed, counts)):
            block[register.place(model.goal_block)] = register.pack(value)
        return bytes(block)

    def _sync(self, register: Register, parts: Sequence[tuple[int, bytes]]) -> bytes:
        """Return the packets of a sync write, several if the data exceeds the longest length."""
        if not parts:
            return b""
        packets = self.bus.packets
        most = max(1, (packets.longest - 8) // (1 + len(parts[0][1])))
        cut = (parts[k : k + most] for k in range(0, len(parts), most))
        return b"".join(packets.sync_write(register.address, each) for each in cut)

    def _begin_motion(self, index: int, angle: float, duration: float, now: float) -> bytes:
        way = self._motions.begin(index, angle, duration, now, self._measured(index))
        if math.isnan(way):
            return self._goal(index, angle, _GENTLE, (self._highest - self._lowest) / _GENTLE)
        return self._goal(index, angle, _MARGIN * abs(way) / max(duration, 1e-3), duration)

    def write_pose(self, angles: Sequence[float], durations: Sequence[float], chosen: Sequence[bool]) -> None:
        """Queue one sync write of set-points and speeds for the chosen servos."""
        moved = [index for index, wanted in enumerate(chosen) if wanted]
        self._measure_unknown(moved)
        now = time.monotonic()
        with self._motion:
            parts = [(self.ids[k], self._begin_motion(k, angles[k], durations[k], now)) for k in moved]
        self.bus.send(self._sync(self.model.goal_block, parts))

    def _measure_unknown(self, indices: Sequence[int]) -> None:
        """Measure servos of unknown set-point and angle, because a stop needs a position; inspect new ones."""
        untried = [index for index in indices if not self._servos[index].tried]
        self._check(untried)
        for index in untried:
            if math.isnan(self._motions.target(index)) and self._servos[index].state is None:
                self._servos[index].tried = True
                self._read_states([index])

    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Queue torque off; or on, for servos that answer, with the present position as set-point first."""
        chosen = [index for index in indices if not on or self._hold_where_it_stands(index)]
        parts = [(self.ids[index], bytes((int(on),))) for index in chosen]
        if parts:
            self.bus.send(self._sync(self.model.registers["loaded"], parts) * copies)

    def _hold_where_it_stands(self, index: int) -> bool:
        """Write a servo's set-point to its measured angle, which is read now; False if it does not answer."""
        if not any(self._read_states([index]) for _ in range(2)):
            return False
        angle = self._measured(index)
        with self._motion:
            self._motions.hold(index, angle)
        self._write_register(index, self.model.goal_block, self._goal(index, angle))
        return True

    # Stops -----------------------------------------------------------------------------------------------------------

    def _stops(self, indices: Sequence[int]) -> bytes:
        """Return the packets that stop servos; those about which nothing is known were not commanded to move."""
        now, parts = time.monotonic(), []
        with self._motion:
            for index in indices:
                place = self._motions.place(index, now, self._measured(index))
                if not math.isnan(place):
                    self._motions.hold(index, place)
                    parts.append((self.ids[index], self._goal(index, place)))
        return self._sync(self.model.goal_block, parts) * _STOP_COPIES

    def stop(self, index: int | None = None) -> None:
        """Queue a stop of one servo, or of all."""
        self.bus.send(self._stops(range(len(self.ids)) if index is None else (index,)))

    def stop_now(self) -> bool:
        """Send stops of all servos ahead of everything queued; return False if the port does not accept them."""
        return self.bus.interrupt(self._stops(range(len(self.ids))))

    # Requests --------------------------------------------------------------------------------------------------------

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo, and for its position all others with it; return the value, or None with `fault` set."""
        model, register = self.model, self.model.registers.get(quantity)
        if register is None:
            self.fault = None
            return 0.0
        if quantity == "position":
            return self._read_position(index, (idle, timeout))
        value = self._read_slow(index, register, (idle, timeout))
        if value is None:
            return None
        if quantity == "loaded":
            return value != 0.0 and not self._servos[index].errors & model.shutdown
        if quantity == "target":
            angle = self.counts.angle(round(value))
            with self._motion:
                self._motions.hold(index, angle)
            return angle
        return value / self.counts.per_radian if quantity == "deviation" else value

    def _read_slow(self, index: int, register: Register, waits: Waits) -> float | None:
        """Return the value of a register, from the last state block if that is recent."""
        block, servo = self.model.state_block, self._servos[index]
        inside = block.address <= register.address and register.place(block).stop <= block.size
        if inside and servo.state is not None and time.monotonic() - servo.state_time < _RECENT:
            self.fault, self.read_time, self.answer_time = None, servo.state_time, servo.state_time
            return self._field(servo.state, register) * register.unit
        number = self._read_register(index, register, waits)
        return None if number is None else number * register.unit

    def _read_position(self, index: int, waits: Waits) -> float | None:
        servo = self._servos[index]
        damaged, servo.damaged = servo.damaged, None
        if damaged is not None:
            self.fault = damaged
            return None
        if servo.unread and time.monotonic() - servo.state_time < _KEEP:
            self.fault = None  # its answer has come together with that of another servo
            self.delay = 0.0
        else:
            group = [index]
            if servo.grouped:
                group += [k for k, other in enumerate(self._servos) if other.grouped and k != index]
            came = self._read_states(group, waits)
            for each in group:
                self._servos[each].grouped = self.model.group_read and each in came
            missing = [each for each in group if each not in came]
            if index in missing:
                return None
            if missing and self.fault is not Fault.TIMEOUT:
                # Servos behind the damaged answer were not received.
                self._servos[missing[0]].damaged = self.fault
        servo.unread = False
        state_time = servo.state_time
        self._check([index])
        self._read_errors(index)
        self._report(index)
        self.fault, self.read_time, self.answer_time = None, state_time, state_time
        return self._measured(index)

    def _read_states(self, indices: Sequence[int], waits: Waits = _NORMAL) -> list[int]:
        """Read the state block of servos, by one request; return those that have answered."""
        block, packets, bus = self.model.state_block, self.bus.packets, self.bus
        ids = {self.ids[index]: index for index in indices}
        if len(ids) == 1:
            packet = packets.read(self.ids[indices[0]], block.address, block.size)
        else:
            packet = packets.sync_read(block.address, block.size, list(ids))
        answers = bus.ask(packet, list(ids), block.size, *waits)
        self.fault = bus.fault
        one = (packets.overhead + block.size) * bus.byte_time
        for servo_id, (status, came) in answers.items():
            servo = self._servos[ids[servo_id]]
            self._note_error(servo, status)
            # Several answers may come from the kernel at once; a servo measured at least one answer's duration before.
            servo.state, servo.state_time, servo.unread = status.data, came - one, True
        found = [ids[servo_id] for servo_id in answers]
        if len(ids) == 1 and found:
            self.delay = max(0.0, self._servos[found[0]].state_time - bus.free_at)
        return found

    def _note_error(self, servo: _Servo, status: Status) -> None:
        """Store the error bits of an answer; protocol 2 only tells that there is an error to be read."""
        if self.model.hardware_error is None:
            servo.errors = status.error
        elif not status.error & _ALERT:
            servo.errors = 0
        elif not servo.errors:
            servo.errors, servo.error_time = _ALERT, -math.inf

    def _read_errors(self, index: int) -> None:
        """Read the hardware error of a servo that has announced one."""
        register, servo, now = self.model.hardware_error, self._servos[index], time.monotonic()
        if register is None or not servo.errors or now - servo.error_time < _RECENT:
            return
        servo.error_time = now
        bits = self._read_register(index, register)
        if bits is not None:
            servo.errors = bits | _ALERT

    def _error_words(self, servo: _Servo) -> str:
        """The errors that a servo reports, in words; empty without any."""
        words = ", ".join(text for bit, text in self.model.error_bits if servo.errors & bit)
        return words or (f"an error that its tables do not name (0x{servo.errors:02x})" if servo.errors else "")

    def _report(self, index: int) -> None:
        """Put what the servo says about itself into words, after its position was read."""
        servo = self._servos[index]
        count = 0 if servo.state is None else self._field(servo.state, self.model.registers["position"])
        beyond = not self.readable[0] <= self.counts.angle(count) <= self.readable[1]
        servo.outside = servo.outside + 1 if beyond else 0
        words = []
        if servo.outside >= _OUTSIDE:
            words.append(f"reports {count}, outside 0..{self.counts.top}: multi-turn mode?")
        if servo.errors & self.model.reported:
            words.append(f"reports {self._error_words(servo)}")
        self.reports[index] = "; ".join(words)

    def _read_register(self, index: int, register: Register, waits: Waits = _NORMAL) -> int | None:
        servo_id, packets = self.ids[index], self.bus.packets
        packet = packets.read(servo_id, register.address, register.size)
        answer = self.bus.ask(packet, [servo_id], register.size, *waits).get(servo_id)
        self.fault: Fault | None = self.bus.fault
        if answer is None:
            return None
        status, self.answer_time = answer
        self._note_error(self._servos[index], status)
        self.read_time = self.answer_time - (packets.overhead + register.size) * self.bus.byte_time
        self.delay = max(0.0, self.read_time - self.bus.free_at)
        return register.number(status.data)

    def _write_register(self, index: int, register: Register, data: bytes) -> None:
        self.bus.send(self.bus.packets.write(self.ids[index], register.address, data))

    def figures(self) -> dict[str, object]:
        """Products, currents or loads and hardware errors of the servos, and how many are read by one request."""
        values: dict[str, object] = {"servo model": self.model.name}
        products = {servo.variant.name for servo in self._servos if servo.variant is not None}
        values["servo products"] = ", ".join(sorted(products))
        values["servos read by one request"] = sum(servo.grouped for servo in self._servos) or 1
        currents = []
        for servo_id, servo in zip(self.ids, self._servos, strict=True):
            if servo.variant is not None and servo.state is not None:
                effort = servo.variant.effort
                value = self._field(servo.state, effort) * effort.unit
                if servo.variant.unit == "A":
                    currents.append(abs(value))
                what = "current" if servo.variant.unit == "A" else "load"
                values[f"servo {servo_id} {what} [{servo.variant.unit}]"] = round(value, 4)
            if servo.errors:
                values[f"servo {servo_id} hardware error"] = self._error_words(servo)
        if currents:
            values["current of all servos [A]"] = round(sum(currents), 3)
        return values
