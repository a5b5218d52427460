"""Servos with registers behind the servo interface: sync writes, and group reads where they support it.

A motion of a given duration is a set-point and a speed. These servos have no stop command: a stop is a set-point at the
present position of the motion. Torque is switched on after the present position has become the set-point, which is read
back. All writes are sync writes: the answer to another one would meet the next request on the line.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from hexapod_dynamics.drivers.frame_finder import Answer
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, Idle, Motion, Motions, PortSettings, Quantity
from hexapod_dynamics.drivers.servos.register_packets import Packets, Register
from hexapod_dynamics.drivers.servos.serial_servos import SerialServos
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_map import CountScale

TURN = 2.0 * math.pi
RPM = TURN / 60.0


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
    speed [rad/s for each count] is the unit of the register `speed`, `fastest` its largest value. state_block is read
    with each position. modes_block: what `modes` decides on. acceleration: a limit that is set to 0 (none). error_bits:
    of the servo's own error byte, in words; `hardware_error` has that byte, None if each answer has it. group_read:
    whether several servos answer one request.
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
    fastest: int = 1023
    error_bits: tuple[tuple[int, str], ...] = ()
    reported: int = 0xFF  # bits that are reported to people at once: not those of a request that noise has damaged


Waits = tuple[Idle, float | None]  # how long an answer is awaited: idle and timeout of `ServoInterface.read`
_NORMAL: Waits = (None, None)
_RECENT = 1.0  # [s] for which a slow value of the state block is used again, and between reads of a hardware error
_GENTLE = 0.5  # [rad/s] speed if the present set-point is not known, and for stops
_NEAR = 0.05  # [rad] from a set-point to the servo without torque that gets it: it may follow the shaft
_ALERT = 0x80  # bit of the answers of protocol 2: there is a hardware error to be read
_SHUTDOWN = 0x24  # overload and heat, in all error bytes: the servo has switched its torque off or is about to


@dataclass
class _Servo:
    """What is known of a servo since the port was opened; times are monotonic [s]."""

    grouped: bool  # whether it is read together with others; False after that has failed
    state: bytes | None = None  # last state block
    state_time: float = -math.inf
    unread: bool = False  # a state has been received that no caller has asked for yet
    damaged: Fault | None = None  # fault of its damaged answer within a group, not reported yet
    tried: bool = False  # whether its angle was read before its first motion
    limp: bool = False  # without torque, switched off or found so: with protocol 1 a set-point would switch it on
    errors: int = 0  # hardware errors, as bits
    error_time: float = -math.inf  # of the last read of the register that has them
    variant: Variant | None = None  # the product, once the servo has been inspected
    by_time: bool = False  # the register of the speed takes the duration
    outside: int = 0  # readings in a row outside the travel


class RegisterServos(SerialServos):
    """The servos of these ids, all of one model, the first of `MODELS` or as the settings say; a subclass names the
    models of its maker. DeviceError: wrong ids, or an unknown model.
    """

    MODELS: ClassVar[Mapping[str, ServoModel]]
    counts: CountScale
    turnaround = 0.0006  # unless a servo's register says otherwise (250 counts of 2 us)
    _parser: Packets

    def __init__(self, settings: PortSettings, ids: Sequence[int]) -> None:
        name = settings.model or next(iter(self.MODELS))
        if name not in self.MODELS:
            raise DeviceError(f"servo model {name!r} is unknown; known are {', '.join(self.MODELS)}")
        self.model = model = self.MODELS[name]
        super().__init__(settings, ids, 252, model.counts)  # of protocol 2; 253 is reserved, 254 addresses all servos
        self._parser = model.packets()
        self.pose_times = 14 * self.byte_time, (1 + model.goal_block.size) * self.byte_time
        self.readable = model.counts.angle(0) - 0.1, model.counts.angle(model.counts.top) + 0.1
        self._motions = Motions(len(ids))
        self._forget()

    # The port --------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._motions.forget()
        self._servos = [_Servo(self.model.group_read) for _ in self.ids]
        self.reports: list[str] = [""] * len(self.ids)

    def open(self) -> None:
        """Open the port for this process alone; BusError if a servo of another model answers."""
        super().open()
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
            known = ", ".join(each.name for m in self.MODELS.values() for each in m.variants.values())
            hint = f"set servo_model to {fits.name}" if fits else f"its registers are not known; known are {known}"
            return f"no {model.name} (model number {number}, {name}): {hint}"
        block = self._read_register(index, model.modes_block)
        if block is None:
            return ""
        modes: Modes = model.modes(model.modes_block.pack(block))
        if modes.refusal:
            return modes.refusal
        if model.acceleration is not None and self._read_register(index, model.acceleration) != 0:
            # A motion of a given duration would take longer; the register is volatile.
            none = bytes(model.acceleration.size)
            self.send(self._parser.sync_write(model.acceleration.address, [(self.ids[index], none)]))
        servo.by_time, servo.variant = modes.by_time, model.variants[number]
        return ""

    def _check(self, indices: Iterable[int]) -> None:
        """Inspect servos; close the port and raise BusError if there are some that must not be moved."""
        refused = [(index, why) for index in indices if (why := self._inspect(index))]
        if refused:
            self.close()
            reasons = {why: ", ".join(str(self.ids[k]) for k, other in refused if other == why) for _, why in refused}
            words = "; ".join(f"servo {numbers} is {why}" for why, numbers in reasons.items())
            raise BusError(f"servo port {self.port}: {words}. Nothing was moved")

    # Motions ---------------------------------------------------------------------------------------------------------

    def _measured_angle(self, index: int) -> float:
        state = self._servos[index].state
        return math.nan if state is None else self.counts.angle(self._field(state, self.model.registers["position"]))

    def _field(self, state: bytes, register: Register) -> int:
        return register.number(state[register.place(self.model.state_block)])

    def _build_goal(self, index: int, angle: float, speed: float = _GENTLE, duration: float = 0.1) -> bytes:
        """Return the goal block for a set-point [rad] with a speed [rad/s], or a duration [s] where that is taken."""
        model = self.model
        block = bytearray(model.goal_block.size)
        counts = round(1000.0 * duration) if self._servos[index].by_time else math.ceil(speed / model.speed.unit)
        goal = min(max(self.counts.count(angle), 0), self.counts.top)
        for register, value in ((model.registers["target"], goal), (model.speed, min(max(counts, 1), model.fastest))):
            block[register.place(model.goal_block)] = register.pack(value)
        return bytes(block)

    def _begin_motion(self, index: int, angle: float, duration: float, now: float) -> bytes:
        way = self._motions.begin(index, angle, duration, now, self._measured_angle(index))
        self._servos[index].limp = False
        if math.isnan(way):
            return self._build_goal(index, angle, _GENTLE, self.counts.top / self.counts.per_radian / _GENTLE)
        # A tenth faster than the motion needs, so that a servo that lags catches up.
        return self._build_goal(index, angle, 1.1 * abs(way) / max(duration, 1e-3), duration)

    def write_pose(self, motions: Sequence[Motion]) -> None:
        """Queue one sync write of set-points and speeds."""
        self._measure_unknown([index for index, _, _ in motions])

        def pose() -> bytes:
            now = time.monotonic()
            parts = [(self.ids[k], self._begin_motion(k, angle, duration, now)) for k, angle, duration in motions]
            return self._parser.sync_write(self.model.goal_block.address, parts)

        self.send(pose)

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

        def switched() -> bytes:
            for index in chosen:
                self._servos[index].limp = not on
            return self._parser.sync_write(self.model.registers["loaded"].address, parts) * copies

        self.send(switched)

    def _hold_where_it_stands(self, index: int) -> bool:
        """Make a servo's measured angle, which is read now, its set-point; False if it does not confirm that."""
        if not any(self._read_states([index]) for _ in range(2)):
            return False
        angle, target = self._measured_angle(index), self.model.registers["target"]
        parts = [(self.ids[index], self._build_goal(index, angle))]
        goal = self._parser.sync_write(self.model.goal_block.address, parts)
        self._motions.hold(index, angle)
        for _ in range(3):
            self.send(goal)
            number = self._read_register(index, target)
            if number is not None and abs(self.counts.angle(number) - angle) < _NEAR:
                return True
        return False

    def _build_stop(self, index: int | None) -> bytes:
        """Return the packets that stop servos; those about which nothing is known were not commanded to move."""
        now, goals, off = time.monotonic(), [], []
        for each in range(len(self.ids)) if index is None else (index,):
            place = self._motions.setpoint_at(each, now, self._measured_angle(each))
            if self._servos[each].limp:
                off.append((self.ids[each], b"\0"))
            elif not math.isnan(place):
                self._motions.hold(each, place)
                goals.append((self.ids[each], self._build_goal(each, place)))
        packets, model = self._parser, self.model
        stops = packets.sync_write(model.goal_block.address, goals)
        return (stops + packets.sync_write(model.registers["loaded"].address, off)) * 2

    # Requests --------------------------------------------------------------------------------------------------------

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo, and for its position all others with it; return the value, or None with `fault` set."""
        register = self.model.registers.get(quantity)
        if register is None:
            self.fault = None
            return 0.0
        if quantity == "position":
            return self._read_position(index, (idle, timeout))
        value = self._read_slow(index, register, (idle, timeout))
        if value is None:
            return None
        if quantity == "loaded":
            self._servos[index].limp = value == 0.0
            return value != 0.0 and not self._servos[index].errors & _SHUTDOWN
        if quantity == "target":
            angle = self.counts.angle(round(value))
            self._motions.hold(index, angle)
            return angle
        return value / self.counts.per_radian if quantity == "deviation" else value

    def _read_slow(self, index: int, register: Register, waits: Waits) -> float | None:
        """Return the value of a register, from the last state block if that is recent."""
        block, servo = self.model.state_block, self._servos[index]
        inside = block.address <= register.address and register.place(block).stop <= block.size
        if inside and servo.state is not None and time.monotonic() - servo.state_time < _RECENT:
            self.fault, self.read_time = None, servo.state_time
            return self._field(servo.state, register) * register.unit
        number = self._read_register(index, register, waits)
        return None if number is None else number * register.unit

    def _read_position(self, index: int, waits: Waits) -> float | None:
        servo = self._servos[index]
        damaged, servo.damaged = servo.damaged, None
        if damaged is not None:
            self.fault = damaged
            return None
        if servo.unread and time.monotonic() - servo.state_time < 0.02:
            self.delay = 0.0  # its answer has come together with that of another servo
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
        self._check([index])
        self._report_errors(index)
        self.fault, self.read_time = None, servo.state_time
        return self._measured_angle(index)

    def _ask(self, indices: Sequence[int], register: Register, waits: Waits) -> dict[int, tuple[bytes, float]]:
        """Read a register of servos, by one request; return the bytes of those that have answered, and their times [s].

        `fault` says why one is missing.
        """
        packets, size, address = self._parser, register.size, register.address
        awaited = {(self.ids[index], size): index for index in indices}
        if len(awaited) == 1:
            packet = packets.read(self.ids[indices[0]], address, size)
        else:
            packet = packets.sync_read(address, size, [servo_id for servo_id, _ in awaited])
        found = self._exchange(packet, awaited, packets.overhead + size, *waits)
        # Several answers may come from the kernel at once; a servo measured at least one answer's duration before.
        one = (packets.overhead + size) * self.byte_time
        for key, answer in found.items():
            self._note_error(self._servos[awaited[key]], answer.code)
            if len(awaited) == 1:
                self.delay = max(0.0, answer.came - one - self.free_at)
        return {awaited[key]: (answer.data, answer.came - one) for key, answer in found.items()}

    def _parse(self, chunk: bytes, came: float) -> list[Answer]:
        return [Answer((servo, len(data)), data, came, code) for servo, code, data in self._parser.feed(chunk)]

    def _read_states(self, indices: Sequence[int], waits: Waits = _NORMAL) -> list[int]:
        """Read the state block of servos, by one request; return those that have answered."""
        found = self._ask(indices, self.model.state_block, waits)
        for index, (data, measured) in found.items():
            servo = self._servos[index]
            servo.state, servo.state_time, servo.unread = data, measured, True
        return list(found)

    def _note_error(self, servo: _Servo, code: int) -> None:
        """Store the error bits of an answer; protocol 2 only tells that there is an error to be read."""
        if self.model.hardware_error is None:
            servo.errors = code
        elif not code & _ALERT:
            servo.errors = 0
        elif not servo.errors:
            servo.errors, servo.error_time = _ALERT, -math.inf

    def _error_words(self, servo: _Servo) -> str:
        """The errors that a servo reports, in words; empty without any."""
        words = [text for bit, text in self.model.error_bits if servo.errors & bit]
        known = sum(bit for bit, _ in self.model.error_bits) | (_ALERT if self.model.hardware_error else 0)
        if servo.errors & ~known or (servo.errors and not words):
            words.append(f"an error that its tables do not name (0x{servo.errors & ~known:02x})")
        return ", ".join(words)

    def _report_errors(self, index: int) -> None:
        """Put what the servo says about itself into words, after its position was read; read an error it announces."""
        register, servo, now = self.model.hardware_error, self._servos[index], time.monotonic()
        if register is not None and servo.errors and now - servo.error_time >= _RECENT:
            servo.error_time = now
            bits = self._read_register(index, register)
            servo.errors = servo.errors if bits is None else bits | _ALERT
        count = 0 if servo.state is None else self._field(servo.state, self.model.registers["position"])
        beyond = not self.readable[0] <= self.counts.angle(count) <= self.readable[1]
        servo.outside = servo.outside + 1 if beyond else 0
        words = []
        if servo.outside >= 3:  # noise of the line differs each time
            words.append(f"reports {count}, outside 0..{self.counts.top}: multi-turn mode?")
        if servo.errors & self.model.reported:
            words.append(f"reports {self._error_words(servo)}")
        self.reports[index] = "; ".join(words)

    def _read_register(self, index: int, register: Register, waits: Waits = _NORMAL) -> int | None:
        found = self._ask((index,), register, waits)
        if not found:
            return None
        data, self.read_time = found[index]
        return register.number(data)

    def figures(self) -> dict[str, object]:
        """Return values for diagnostics: model, products, currents or loads and hardware errors of the servos, and how
        many are read by one request.
        """
        values: dict[str, object] = {
            "servo model": self.model.name,
            "servo products": ", ".join(sorted({each.variant.name for each in self._servos if each.variant})),
            "servos read by one request": sum(servo.grouped for servo in self._servos) or 1,
        }
        currents = []
        for servo_id, servo in zip(self.ids, self._servos, strict=True):
            if servo.variant is not None and servo.state is not None:
                _, effort, unit = servo.variant
                value = self._field(servo.state, effort) * effort.unit
                if unit == "A":
                    currents.append(abs(value))
                values[f"servo {servo_id} {'current' if unit == 'A' else 'load'} [{unit}]"] = round(value, 4)
            if servo.errors:
                values[f"servo {servo_id} hardware error"] = self._error_words(servo)
        if currents:
            values["current of all servos [A]"] = round(sum(currents), 3)
        return values
