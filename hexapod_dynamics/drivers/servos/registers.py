"""Servos with registers behind the servo interface: sync writes, several servos are read by one request if they
support this.

A motion of a given duration is a set-point and a speed. These servos have no stop command: a stop is a set-point
at the present position of the motion. Before torque is switched on, the present position is written as the
set-point.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from hexapod_dynamics.drivers.servos.interface import BusError, Fault, Idle, Motions, PortSettings, Quantity
from hexapod_dynamics.drivers.servos.packets import Packets, Status
from hexapod_dynamics.drivers.servos.serial_link import ReplyWait, SerialLink, SerialServos
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


class Variant(NamedTuple):
    """One product: its name, and the register of its effort (in `state_block`), a current [A] or a load [%]."""

    name: str
    effort: Register
    unit: str


class Modes(NamedTuple):
    """The modes that are set in a servo: why it cannot be used with them, empty if it can; whether the register
    `speed` takes the duration of a motion [ms] instead.
    """

    refusal: str = ""
    by_time: bool = False


@dataclass(frozen=True)
class ServoModel:
    """A family of servos with the same registers.

    variants: the products by their model numbers, the values of the register `model`. registers: of the quantities that
    these servos have; "loaded" switches the torque, "target" is the set-point. goal_block: (address, size) that
    is written for a motion; speed [rad/s for each count] is the unit of the register `speed`, `slowest` its least value
    that moves. state_block: (address, size) that is read with each position. modes_block: (address, size) of what
    `modes` decides on. acceleration: a limit that is set to 0 (none). error_bits: of the servo's own error byte, in
    words; `hardware_error` has that byte, None if each answer has it. shutdown: its bits that mean that the servo has
    switched its torque off or is about to. group_read: whether several servos answer one request.
    """

    name: str
    variants: Mapping[int, Variant]
    packets: Callable[[], Packets]
    counts: CountScale
    model: Register
    speed: Register
    registers: Mapping[Quantity, Register]
    goal_block: tuple[int, int]
    state_block: tuple[int, int]
    modes_block: tuple[int, int]
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
        self,
        packet: bytes,
        ids: Sequence[int],
        size: int,
        idle: Idle = None,
        timeout: float | None = None,
    ) -> dict[int, tuple[Status, float]]:
        """Send a packet; return the answers of these servos with `size` bytes of data, each with its arrival [s].

        `fault` says why one is missing. timeout [s]: instead of reply_timeout; it counts from the moment at which all
        could have answered. idle: called after that time; while it returns True, the wait continues, for at most
        `patience`.
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


_HIGHEST_ID = 252  # of protocol 2; 253 is reserved, 254 addresses all servos
_STOP_COPIES = 2  # a sync write is not acknowledged
_KEEP = 0.02  # [s] for which later requests for single servos use the answers of a group
_RECENT = 1.0  # [s] for which a slow value of the state block is used again
_MARGIN = 1.1  # multiple of the speed that a motion needs, so that a servo that lags catches up
_GENTLE = 0.5  # [rad/s] speed if the present set-point is not known, and for stops
_BEYOND = 0.1  # [rad] by which the reported angle of a working servo may exceed its travel
_OUTSIDE = 3  # readings in a row beyond that after which the servo is reported: noise of the line differs each time
_ERROR_INTERVAL = 1.0  # [s] between two reads of a servo's hardware error
_ALERT = 0x80  # bit of the answers of protocol 2: there is a hardware error to be read
_HOLD = 0.1  # [s] duration of a motion to where the servo stands, where durations are written instead of speeds


class RegisterServos(SerialServos):
    """The servos of these ids, all of one model; a subclass names the models of its maker. DeviceError: wrong ids."""

    MODELS: ClassVar[Mapping[str, ServoModel]]
    DEFAULT_MODEL: ClassVar[str]

    def __init__(self, bus: RegisterBus, ids: Sequence[int], model: ServoModel) -> None:
        n = len(ids)
        self._use(bus, ids, _HIGHEST_ID, model.counts)
        self.bus, self.model = bus, model
        self.pose_times = 14 * bus.byte_time, (1 + model.goal_block[1]) * bus.byte_time
        self._lowest, self._highest = model.counts.angle(0), model.counts.angle(model.counts.top)
        self.readable = self._lowest - _BEYOND, self._highest + _BEYOND
        self._index = {servo_id: index for index, servo_id in enumerate(self.ids)}
        self._motion = threading.Lock()  # guards the present motions, which a stop from any thread needs
        self._motions = Motions(n)
        self._state: list[bytes | None] = [None] * n  # last state block
        self._state_time = [-math.inf] * n
        self._unread = [False] * n  # a state has been received that no caller has asked for yet
        self._grouped = [model.group_read] * n  # whether it is read together with others; False after that has failed
        self._damaged: list[Fault | None] = [None] * n  # fault of its damaged answer within a group, not reported yet
        self._tried = [False] * n  # whether its angle was read before its first motion
        self.reports: list[str] = [""] * n
        self._errors = [0] * n  # hardware errors, as bits
        self._error_read = [-math.inf] * n  # monotonic [s] of the last read of the register that has them
        self._variant: list[Variant | None] = [None] * n  # the product, once the servo has been inspected
        self._by_time = [False] * n  # the register of the speed takes the duration
        self._outside = [0] * n  # readings in a row outside the travel

    @classmethod
    def from_settings(cls, settings: PortSettings, ids: Sequence[int]) -> RegisterServos:
        """Create the interface with its port closed; DeviceError for an unknown model."""
        name = settings.model or cls.DEFAULT_MODEL
        if name not in cls.MODELS:
            raise DeviceError(f"servo model {name!r} is unknown; known are {', '.join(cls.MODELS)}")
        model = cls.MODELS[name]
        return cls(RegisterBus(settings, model.packets()), ids, model)

    # The port --------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the port for this process alone; BusError if a servo of another model answers."""
        super().open()
        n = len(self.ids)
        with self._motion:
            self._motions.forget()
        self._state, self._unread, self._tried = [None] * n, [False] * n, [False] * n
        self._grouped = [self.model.group_read] * n
        self._variant, self._by_time, self._outside = [None] * n, [False] * n, [0] * n
        self._errors, self.reports = [0] * n, [""] * n
        self._check(range(n))

    def _inspect(self, index: int) -> str:
        """Read a servo's product and modes, unless they are known; return why it must not be moved, empty if it may
        or does not answer.
        """
        model = self.model
        number = None if self._variant[index] is not None else self._read_register(index, model.model, None, None)
        if number is None:
            return ""
        if number not in model.variants:
            fits = next((f"set servo_model to {m.name}" for m in self.MODELS.values() if number in m.variants), "")
            name = self.MODELS[fits.split()[-1]].variants[number].name if fits else "unknown"
            hint = fits or f"set servo_model, one of {', '.join(self.MODELS)}"
            return f"no {model.name} (model number {number}, {name}): {hint}"
        address, size = model.modes_block
        block = self._read_register(index, Register(address, size), None, None)
        if block is None:
            return ""
        modes: Modes = model.modes(block.to_bytes(size, "little"))
        if modes.refusal:
            return modes.refusal
        if model.acceleration is not None and self._read_register(index, model.acceleration, None, None) != 0:
            # A motion of a given duration would take longer; the register is volatile.
            packet = self.bus.packets.write(self.ids[index], model.acceleration.address, bytes(model.acceleration.size))
            self.bus.send(packet)
        self._by_time[index], self._variant[index] = modes.by_time, model.variants[number]
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
        state = self._state[index]
        if state is None:
            return math.nan
        return self.counts.angle(self._field(state, self.model.registers["position"]))

    def _field(self, state: bytes, register: Register) -> int:
        begin = register.address - self.model.state_block[0]
        return register.number(state[begin : begin + register.size])

    def _goal(self, index: int, angle: float, speed: float = _GENTLE, duration: float = _HOLD) -> bytes:
        """Return the bytes of the goal block for a set-point [rad] and a speed [rad/s], or a duration [s] where the
        servo takes that.
        """
        model = self.model
        address, size = model.goal_block
        block = bytearray(size)
        counts = round(1000.0 * duration) if self._by_time[index] else math.ceil(speed / model.speed.unit)
        counts = min(max(counts, model.slowest), model.fastest)
        goal = min(max(self.counts.count(angle), 0), self.counts.top)
        for register, value in ((model.registers["target"], goal), (model.speed, counts)):
            begin = register.address - address
            block[begin : begin + register.size] = register.pack(value)
        return bytes(block)

    def _sync(self, address: int, parts: Sequence[tuple[int, bytes]]) -> bytes:
        """Return the packets of a sync write, several if the data exceeds the longest length."""
        if not parts:
            return b""
        packets = self.bus.packets
        most = max(1, (packets.longest - 8) // (1 + len(parts[0][1])))
        return b"".join(packets.sync_write(address, parts[k : k + most]) for k in range(0, len(parts), most))

    def _begin_motion(self, index: int, angle: float, duration: float, now: float) -> bytes:
        way = self._motions.begin(index, angle, duration, now, self._measured(index))
        if math.isnan(way):
            return self._goal(index, angle, _GENTLE, (self._highest - self._lowest) / _GENTLE)
        return self._goal(index, angle, _MARGIN * abs(way) / max(duration, 1e-3), duration)

    def write_pose(self, angles: Sequence[float], durations: Sequence[float], chosen: Sequence[bool]) -> None:
        """Queue one sync write of set-points and speeds for the chosen servos."""
        self._measure_unknown([index for index, wanted in enumerate(chosen) if wanted])
        now = time.monotonic()
        with self._motion:
            parts = [
                (self.ids[index], self._begin_motion(index, angles[index], durations[index], now))
                for index, wanted in enumerate(chosen)
                if wanted
            ]
        self.bus.send(self._sync(self.model.goal_block[0], parts))

    def _measure_unknown(self, indices: Sequence[int]) -> None:
        """Measure servos whose set-point and angle are unknown, because a stop needs a position; inspect those that
        have not been.
        """
        self._check(index for index in indices if not self._tried[index])
        for index in indices:
            if math.isnan(self._motions.target(index)) and self._state[index] is None and not self._tried[index]:
                self._tried[index] = True
                self._read_states([index], None, None)

    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Queue torque off; or on, for servos that answer, after writing each one's present position as its
        set-point.
        """
        chosen = list(indices)
        if on:
            chosen = [index for index in chosen if self._hold_where_it_stands(index)]
        parts = [(self.ids[index], bytes((int(on),))) for index in chosen]
        if parts:
            self.bus.send(self._sync(self.model.registers["loaded"].address, parts) * copies)

    def _hold_where_it_stands(self, index: int) -> bool:
        """Write a servo's set-point to its measured angle, which is read now; False if it does not answer."""
        if not any(self._read_states([index], None, None) for _ in range(2)):
            return False
        angle = self._measured(index)
        with self._motion:
            self._motions.hold(index, angle)
        self.bus.send(self.bus.packets.write(self.ids[index], self.model.goal_block[0], self._goal(index, angle)))
        return True

    # Stops -----------------------------------------------------------------------------------------------------------

    def _stops(self, indices: Sequence[int]) -> bytes:
        """Return the packets that stop moving servos; servos about which nothing is known were not commanded to
        move.
        """
        now, parts = time.monotonic(), []
        with self._motion:
            for index in indices:
                place = self._motions.place(index, now, self._measured(index))
                if not math.isnan(place):
                    self._motions.hold(index, place)
                    parts.append((self.ids[index], self._goal(index, place)))
        return self._sync(self.model.goal_block[0], parts) * _STOP_COPIES

    def stop(self, index: int | None = None) -> None:
        """Queue a stop of one servo, or of all."""
        self.bus.send(self._stops(range(len(self.ids)) if index is None else (index,)))

    def stop_now(self) -> bool:
        """Send stops of all servos ahead of everything queued; return False if the port does not accept them."""
        return self.bus.interrupt(self._stops(range(len(self.ids))))

    # Requests --------------------------------------------------------------------------------------------------------

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo, and for its position all others with it; return the value, or None with `fault` set."""
        model = self.model
        if quantity == "position":
            return self._read_position(index, idle, timeout)
        register = model.registers.get(quantity)
        if register is None:
            self.fault = None
            return 0.0
        value = self._read_slow(index, register, idle, timeout)
        if value is None:
            return None
        if quantity == "loaded":
            return value != 0.0 and not self._errors[index] & model.shutdown
        if quantity == "target":
            angle = self.counts.angle(round(value))
            with self._motion:
                self._motions.hold(index, angle)
            return angle
        return value / self.counts.per_radian if quantity == "deviation" else value

    def _read_slow(self, index: int, register: Register, idle: Idle, timeout: float | None) -> float | None:
        """Return the value of a register, from the last state block if that is recent."""
        (first, size), state = self.model.state_block, self._state[index]
        inside = first <= register.address and register.address + register.size <= first + size
        if inside and state is not None and time.monotonic() - self._state_time[index] < _RECENT:
            self.fault, self.read_time, self.answer_time = None, self._state_time[index], self._state_time[index]
            return self._field(state, register) * register.unit
        number = self._read_register(index, register, idle, timeout)
        return None if number is None else number * register.unit

    def _read_position(self, index: int, idle: Idle, timeout: float | None) -> float | None:
        damaged, self._damaged[index] = self._damaged[index], None
        if damaged is not None:
            self.fault = damaged
            return None
        if self._unread[index] and time.monotonic() - self._state_time[index] < _KEEP:
            self.fault = None  # its answer has come together with that of another servo
            self.delay = 0.0
        else:
            group = [index]
            if self._grouped[index]:
                group += [other for other, grouped in enumerate(self._grouped) if grouped and other != index]
            came = self._read_states(group, idle, timeout)
            for each in group:
                self._grouped[each] = self.model.group_read and each in came
            missing = [each for each in group if each not in came]
            if index in missing:
                return None
            if missing and self.fault is not Fault.TIMEOUT:
                self._damaged[missing[0]] = self.fault  # servos behind the damaged answer were not received
            self.fault = None
        self._unread[index] = False
        state_time = self._state_time[index]
        self._check([index])
        self._read_errors(index)
        self._report(index)
        self.fault, self.read_time, self.answer_time = None, state_time, state_time
        return self._measured(index)

    def _read_states(self, indices: Sequence[int], idle: Idle, timeout: float | None) -> list[int]:
        """Read the state block of servos, by one request; return those that have answered."""
        address, size = self.model.state_block
        ids = [self.ids[index] for index in indices]
        packets, bus = self.bus.packets, self.bus
        packet = packets.read(ids[0], address, size) if len(ids) == 1 else packets.sync_read(address, size, ids)
        answers = bus.ask(packet, ids, size, idle, timeout)
        self.fault = bus.fault
        one = (packets.overhead + size) * bus.byte_time
        found = []
        for servo_id, (status, came) in answers.items():
            index = self._index[servo_id]
            self._note_error(index, status)
            # Several answers may be read from the kernel at once; a servo measured at least the duration of an answer
            # before that.
            self._state[index], self._state_time[index], self._unread[index] = status.data, came - one, True
            found.append(index)
        if len(ids) == 1 and found:
            self.delay = max(0.0, self._state_time[found[0]] - bus.free_at)
        return found

    def _note_error(self, index: int, status: Status) -> None:
        """Store the error bits of an answer; protocol 2 only tells that there is an error to be read."""
        if self.model.hardware_error is None:
            self._errors[index] = status.error
        elif not status.error & _ALERT:
            self._errors[index] = 0
        elif not self._errors[index]:
            self._errors[index], self._error_read[index] = _ALERT, -math.inf

    def _read_errors(self, index: int) -> None:
        """Read the hardware error of a servo that has announced one."""
        register, now = self.model.hardware_error, time.monotonic()
        if register is None or not self._errors[index] or now - self._error_read[index] < _ERROR_INTERVAL:
            return
        self._error_read[index] = now
        bits = self._read_register(index, register, None, None)
        if bits is not None:
            self._errors[index] = bits | _ALERT

    def _error_words(self, index: int) -> str:
        """The errors that a servo reports, in words; empty without any."""
        bits = self._errors[index]
        words = ", ".join(text for bit, text in self.model.error_bits if bits & bit)
        return words or (f"an error that its tables do not name (0x{bits:02x})" if bits else "")

    def _report(self, index: int) -> None:
        """Put what the servo says about itself into words, after its position was read."""
        state, position = self._state[index], self.model.registers["position"]
        count = 0 if state is None else self._field(state, position)
        beyond = not self.readable[0] <= self.counts.angle(count) <= self.readable[1]
        self._outside[index] = self._outside[index] + 1 if beyond else 0
        words = []
        if self._outside[index] >= _OUTSIDE:
            words.append(f"reports {count}, outside 0..{self.counts.top}: multi-turn mode?")
        if self._errors[index] & self.model.reported:
            words.append(f"reports {self._error_words(index)}")
        self.reports[index] = "; ".join(words)

    def _read_register(self, index: int, register: Register, idle: Idle, timeout: float | None) -> int | None:
        servo_id = self.ids[index]
        packet = self.bus.packets.read(servo_id, register.address, register.size)
        answer = self.bus.ask(packet, [servo_id], register.size, idle, timeout).get(servo_id)
        self.fault: Fault | None = self.bus.fault
        if answer is None:
            return None
        status, came = answer
        self._note_error(index, status)
        self.answer_time = came
        self.read_time = came - (self.bus.packets.overhead + register.size) * self.bus.byte_time
        self.delay = max(0.0, self.read_time - self.bus.free_at)
        return register.number(status.data)

    def figures(self) -> dict[str, object]:
        """Products, currents or loads and hardware errors of the servos, and how many are read by one request."""
        values: dict[str, object] = {"servo model": self.model.name}
        values["servo products"] = ", ".join(sorted({each.name for each in self._variant if each is not None}))
        values["servos read by one request"] = sum(self._grouped) or 1
        currents = []
        for index, servo_id in enumerate(self.ids):
            state, variant = self._state[index], self._variant[index]
            if variant is not None and state is not None:
                value = self._field(state, variant.effort) * variant.effort.unit
                what = "current [A]" if variant.unit == "A" else f"load [{variant.unit}]"
                values[f"servo {servo_id} {what}"] = round(value, 4)
                if variant.unit == "A":
                    currents.append(abs(value))
            if self._errors[index]:
                values[f"servo {servo_id} hardware error"] = self._error_words(index)
        if currents:
            values["current of all servos [A]"] = round(sum(currents), 3)
        return values
