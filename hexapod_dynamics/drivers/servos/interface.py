"""What the bus thread needs of a servo protocol, in physical units: one subclass for each of PROTOCOLS.

Servos are named by their index in `ids`. Angles are radians from a servo's centre, positive in the servo's own
direction (`servo_map.py` has that of the joints); times are monotonic seconds, voltages volts, temperatures deg C.
"""

from __future__ import annotations

import importlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np

from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_map import CountScale

# What a servo can be asked for. position: measured angle [rad]; target: the servo's present set-point [rad]; loaded:
# whether it exerts torque; voltage [V]; temperature [deg C]. For checks only: its own limits [V] and [deg C], beyond
# which it switches its torque off, and its trim (deviation) [rad].
Quantity = Literal[
    "position",
    "target",
    "loaded",
    "voltage",
    "temperature",
    "lowest_voltage",
    "highest_voltage",
    "temperature_limit",
    "deviation",
]


Idle = Callable[[], bool] | None  # called during a long wait for an answer: whether the wait may go on
Motion = tuple[int, float, float]  # of a servo (index) to a set-point [rad] in a duration [s]


class BusError(DeviceError):
    """The port itself failed: missing, busy, forbidden or unplugged."""


class NoReply(DeviceError):
    """A servo gave no valid answer."""


class Fault(Enum):
    """Why a request failed, in words for people."""

    TIMEOUT = "no answer: is it connected, powered, and is its id right?"
    CHECKSUM = "corrupted answers: noise, or two servos with this id"
    GARBAGE = "unusable bytes: baud rate, noise, or several servos answering"


FAULTS = (*(fault.name.lower() for fault in Fault), "implausible")  # what is counted for each servo


def make_no_reply(servo_id: int, what: str, tries: int, fault: Fault | None) -> NoReply:
    """Return the error for a servo that did not answer; what: the request."""
    return NoReply(f"servo {servo_id} did not answer {what} in {tries} tries ({(fault or Fault.TIMEOUT).value})")


@dataclass(frozen=True)
class PortSettings:
    """The port of the servos; names and units of the parameters of the node `servos`.

    model: of the servos, if a protocol has several models; empty: the usual one. patience [s]: the longest wait
    for an answer while no other request is pending. prove(): called before the port is opened; it returns the
    device behind the path, or raises BusError if that is not the intended one.
    """

    port: str
    baudrate: int = 115200
    direction: str = "adapter"
    transmit_pin: int = 27
    receive_pin: int = 17
    reply_timeout: float = 0.006
    patience: float = 0.05
    prove: Callable[[], str] | None = None
    model: str = ""


class Motions:
    """The present motion of n servos, each uniform to its set-point in a duration; NaN where no set-point is known."""

    def __init__(self, n: int) -> None:
        # Of each servo: from, to [rad], begin, end (monotonic [s]), replaced as a whole: any thread may stop it.
        self._motions: list[tuple[float, float, float, float]] = []
        self._unknown = [(math.nan, math.nan, 0.0, 1.0)] * n
        self.forget()

    def forget(self, index: int | None = None) -> None:
        """Note that the set-point of a servo is not known, by default that none is."""
        if index is None:
            self._motions = self._unknown.copy()
        else:
            self._motions[index] = self._unknown[index]

    def setpoint_at(self, index: int, now: float, measured: float) -> float:
        """Set-point [rad] of a servo at the monotonic time `now` [s]; `measured` if it is not known."""
        start, target, begin, end = self._motions[index]
        if now >= end and not math.isnan(target):
            return target
        if math.isnan(target) or math.isnan(start):
            return measured
        return start + (target - start) * max((now - begin) / (end - begin), 0.0)

    def target(self, index: int) -> float:
        """Where the motion of a servo ends [rad]."""
        return self._motions[index][1]

    @property
    def targets(self) -> np.ndarray:
        """Where the motions of all servos end (n,) [rad]."""
        return np.array([target for _, target, _, _ in self._motions])

    def begin(self, index: int, angle: float, duration: float, now: float, measured: float) -> float:
        """Begin a motion to an angle [rad] in a duration [s]; return the way [rad], NaN if its start is not known."""
        here = self.setpoint_at(index, now, measured)
        self._motions[index] = here, angle, now, now + max(duration, 1e-3)
        return angle - here

    def hold(self, index: int, angle: float) -> None:
        """Stand at an angle [rad]."""
        self._motions[index] = angle, angle, -math.inf, -math.inf


class ServoInterface(ABC):
    """All servos of a robot behind one line. One thread at a time uses it; only `stop_now` is for any thread.

    Requests raise BusError when the port fails; a servo that does not answer is no error, except in `read_value`.

    settings: the port and its waits. ids: of the servos, 0 to `highest_id`, else DeviceError. counts: the whole numbers
    in which they take set-points; None: they take any. resolution [rad]: between two set-points. readable: lowest and
    highest angle [rad] that a working servo reports; a reading outside this range is an error of the line. pose_times
    [s]: time of a pose on the line, without servos and for each servo in it. reports: what each servo reports about
    itself that a person has to know, in words, empty: nothing; () if none ever does. tool: what a person writes ids and
    trims with, {} for the verb.
    """

    readable: tuple[float, float]
    pose_times: tuple[float, float] = (0.0, 0.0)
    reports: Sequence[str] = ()
    tool = "the maker's program"

    # Of the last request: why it failed; when the value was measured, monotonic [s]; how much later [s] the answer came
    # than the protocol needs. Values that are read by one request have a `read_time` each.
    fault: Fault | None = None
    read_time = delay = 0.0

    # Of the line: whether a stop from another thread has cut in, until `resume`; monotonic [s] at which all that was
    # sent has left it; [s] for which it has been in use; waits that ended late because this computer is too slow or too
    # busy; bytes or answers since the last good answer that were not the awaited one; longest time [s] from a request
    # that was given up to its answer, which the reader sets to zero.
    is_open = interrupted = False
    free_at = busy_time = 0.0
    late_wakes = strays = 0
    lateness = 0.0

    def __init__(
        self, settings: PortSettings, ids: Sequence[int], highest_id: int, counts: CountScale | None = None
    ) -> None:
        for servo_id in ids:
            if not 0 <= servo_id <= highest_id:
                raise DeviceError(
                    f"servo id {servo_id} is outside 0..{highest_id}: give the joint another one in the robot file"
                )
        self.port, self.reply_timeout, self.patience = settings.port, settings.reply_timeout, settings.patience
        self.ids, self.counts = tuple(ids), counts
        self.resolution = 1.0 / counts.per_radian if counts else 1e-6

    @abstractmethod
    def open(self) -> None:
        """Open the port for this process alone."""

    @abstractmethod
    def close(self) -> None:
        """Close the port after everything queued has been transmitted."""

    def release(self) -> None:
        """Close the port and release all other hardware."""
        self.close()

    def drain(self) -> None:
        """Wait until everything that was sent has left the line."""
        time.sleep(max(0.0, self.free_at - time.monotonic()))

    def quantise(self, angles: np.ndarray) -> np.ndarray:
        """Return the nearest set-points (n,) [rad] that the servos take for `angles` (n,) [rad]; NaN stays NaN."""
        return self.counts.quantise(angles) if self.counts else np.array(angles, float)

    @abstractmethod
    def write_pose(self, motions: Sequence[Motion]) -> None:
        """Queue motions of different servos to set-points as `quantise` gives them; all start together."""

    def write(self, index: int, angle: float, duration: float) -> None:
        """Queue one set-point [rad] that starts at once; raises DeviceError beyond the servo's travel."""
        if self.counts:
            self.counts.setpoint(angle)
        self.write_pose([(index, angle, duration)])

    @abstractmethod
    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Queue torque on (where a servo stands) or off, sent `copies` times if servos do not acknowledge it."""

    @abstractmethod
    def stop(self, index: int | None = None) -> None:
        """Queue a stop of one servo, or of all, where they are; repeated against a bad line."""

    @abstractmethod
    def stop_now(self) -> bool:
        """Send stops of all servos ahead of everything queued; return False if the port does not accept them.

        Each thread may call it. Queued frames are dropped, waits for answers end; nothing else is sent until `resume`.
        """

    def resume(self) -> None:
        """Send again, after `stop_now`."""
        self.interrupted = False

    @abstractmethod
    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo; return the value, or None with `fault` set.

        timeout [s]: instead of reply_timeout. idle: called after that time; while it returns True, the wait continues,
        for at most `patience`.
        """

    def can_read(self, index: int, quantity: Quantity) -> bool:
        """Whether this protocol can read the quantity from this servo; if not, the servo is not asked."""
        return True

    def figures(self) -> dict[str, object]:
        """Return further values of the protocol for `/diagnostics`, by name with unit; called once a second."""
        return {}


def read_value(servos: ServoInterface, index: int, quantity: Quantity, retries: int = 2) -> float:
    """Ask a servo up to 1 + retries times; return the value, or raise NoReply."""
    for _ in range(1 + retries):
        value = servos.read(index, quantity)
        if value is not None:
            return value
    raise make_no_reply(servos.ids[index], f"the request of its {quantity}", 1 + retries, servos.fault)


# The protocols, {name: "module:class"}; the class takes (PortSettings, ids), and its module is imported when it is
# chosen: a node loads one driver.
PROTOCOLS = {
    "lx": "hexapod_dynamics.drivers.servos.lx.servos:LxServos",
    "board": "hexapod_dynamics.drivers.servos.board.servos:BoardServos",
    "dynamixel": "hexapod_dynamics.drivers.servos.dynamixel:DynamixelServos",
    "feetech": "hexapod_dynamics.drivers.servos.feetech:FeetechServos",
    "topics": "hexapod_dynamics.drivers.servos.topics:TopicServos",
}
DEFAULT_PROTOCOL = "lx"


def make_servos(settings: PortSettings, ids: Sequence[int], protocol: str = DEFAULT_PROTOCOL) -> ServoInterface:
    """Create the interface of these servos, with its port closed; DeviceError for an unknown protocol."""
    if protocol not in PROTOCOLS:
        raise DeviceError(f"servo protocol {protocol!r} is unknown; known are {', '.join(PROTOCOLS)}")
    module, _, name = PROTOCOLS[protocol].partition(":")
    servos: ServoInterface = getattr(importlib.import_module(module), name)(settings, ids)
    return servos
