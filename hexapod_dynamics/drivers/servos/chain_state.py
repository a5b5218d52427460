"""Settings and state of the servo bus thread: plain records that are copied between threads."""

import math
from dataclasses import MISSING, dataclass, fields

import numpy as np

from hexapod_dynamics.drivers.servos.interface import Fault

FAULTS = (*(fault.value for fault in Fault), "implausible")


@dataclass
class ChainSettings:
    """How the bus thread shares the bus among reads and writes; times in seconds, rates in 1/s."""

    position_rate: float = 20.0  # of each joint, at most
    slow_interval: float = 0.2  # between two reads of voltage, temperature or load state
    refresh_interval: float = 0.5  # an unchanged target is sent again after this
    # (age [s] of the oldest measurement, change [rad] of a target below which the write then waits) ...
    starving: tuple = ((0.4, 0.019), (0.15, 0.006))
    defer_interval: float = 0.05  # ... at most this long
    silent_write_interval: float = 0.2  # between two targets of a servo that does not answer
    silent_after: int = 3  # reads in a row without an answer, more on a lossy line
    silent_probe_interval: float = 0.5  # between two requests to one silent servo ...
    # ... and between two requests to any silent servos, so that many of them leave the wire to the others
    silent_probe_pace: float = 0.15
    newly_silent: float = 1.0  # after its last answer, for which a silent servo is asked ...
    newly_silent_pace: float = 0.07  # ... this long after the last request to any silent servo
    doubtful_at_once: int = 4  # requests to joints in doubt between two poses, if several are in doubt
    confirm_interval: float = 0.02  # between two writes of torque on or off to one servo that has not obeyed yet
    lag: float = 0.25  # [rad] away from its target for `lag_reads` reads a joint does not follow
    lag_reads: int = 3  # a joint that was read twice counts twice
    lag_many: int = 3  # if this number of joints do not follow, one read is enough for another joint
    # [rad] distance from its target at which a servo is asked whether it exerts torque ...
    load_check_lag: float = 0.15
    load_check_interval: float = 0.1  # ... one servo in each such interval
    suspect_interval: float = 0.05  # between two slow reads while a joint does not follow
    doubt_interval: float = 0.02  # [s] within which a joint in doubt is read after the joint whose turn it is
    gone_probe_interval: float = 0.5  # between two requests to servos that are known to be off the robot
    reopen_interval: float = 0.5


@dataclass
class ChainState:
    """State of the bus thread; arrays are (n,) in joint order, times are monotonic seconds, NaN = never measured."""

    angle: np.ndarray
    stamp: np.ndarray
    rate: np.ndarray
    voltage: np.ndarray
    temperature: np.ndarray
    loaded: np.ndarray  # 1: torque on, 0: torque off, NaN: not read
    silent: np.ndarray  # bool: does not answer
    gone: np.ndarray  # bool: not on the robot, not read
    lagging: np.ndarray  # bool: joint does not reach its target: no torque, blocked or overloaded
    # [rad] the servo's own set-point when its joint is measured for the first time, or again after a loss
    start_angle: np.ndarray
    generation: np.ndarray  # int: incremented each time this happens: then start from start_angle
    errors: np.ndarray  # (n, len(FAULTS)) int
    unconfirmed: np.ndarray  # bool: has not confirmed the last torque command
    moving: np.ndarray  # bool: found to move although the pose is frozen
    hanging: np.ndarray  # bool: declared missing, but its servo answers
    # bool: torque was switched off while the joint was declared missing, and has not been switched on since
    left_off: np.ndarray
    back: np.ndarray  # int: consecutive answers of a servo that is declared missing
    numbers: np.ndarray  # its rows are the arrays of floats above, so that one copy copies them all
    flags: np.ndarray  # bool: its rows are the arrays of bools above
    connected: bool = False
    epoch: int = 0  # increases with every opening of the port, torque command and freeze: older plans are invalid
    opened: int = 0  # how often the port was opened
    torque: bool = True
    torque_time: float = 0.0  # monotonic [s] of the last switch
    frozen: bool = False  # emergency stop: nothing is moved
    unanswered: int = 0  # requests to any servo since the last valid answer
    port_errors: int = 0
    last_port_error: str = ""
    reports: tuple[str, ...] = ()  # what each servo reports about itself, in words; empty: nothing
    supply: float = math.nan  # [V] median of the last voltages of any servo
    bus_load: float = 0.0  # 0..1, share of the wire's time in use (1 s average)
    heard: float = 0.0  # monotonic [s] time of the last good answer of any servo
    writes: int = 0
    reads: int = 0
    late_answers: int = 0  # number of `reads` that were answered later than the bus's `reply_timeout`
    late_wakes: int = 0  # waits of the bus thread that ended late: the machine is too slow or too busy
    write_time: float = 0.0  # monotonic [s] at which the start of the last pose had been sent

    @classmethod
    def empty(cls, n: int) -> "ChainState":
        """Return the state of n joints about which nothing is known."""
        numbers, flags = np.full((7, n), np.nan), np.zeros((7, n), bool)
        state = cls(
            angle=numbers[0],
            stamp=numbers[1],
            rate=numbers[2],
            voltage=numbers[3],
            temperature=numbers[4],
            loaded=numbers[5],
            silent=flags[0],
            gone=flags[1],
            lagging=flags[2],
            start_angle=numbers[6],
            generation=np.zeros(n, np.int64),
            errors=np.zeros((n, len(FAULTS)), np.int64),
            unconfirmed=flags[3],
            moving=flags[4],
            hanging=flags[5],
            left_off=flags[6],
            back=np.zeros(n, np.int64),
            numbers=numbers,
            flags=flags,
        )
        state.rate[:] = 0.0
        return state

    @property
    def known(self) -> np.ndarray:
        """Joints that are measured and present (n,) bool."""
        return ~(np.isnan(self.angle) | self.silent | self.gone)

    @property
    def unconfirmed_there(self) -> np.ndarray:
        """Joints (n,) bool that have not confirmed the last torque command, except joints that are really missing."""
        return self.unconfirmed & (~self.gone | self.hanging)

    @property
    def settled(self) -> bool:
        """Whether each joint is either measured, silent or missing."""
        return self.connected and not np.any(np.isnan(self.angle) & ~self.silent & ~self.gone)

    def copy_from(self, other: "ChainState") -> None:
        """Copy everything without making new arrays."""
        for name in _ARRAYS:
            self.__dict__[name][...] = other.__dict__[name]
        for name in _SINGLE:
            self.__dict__[name] = other.__dict__[name]


# The names of what `copy_from` copies.
_ARRAYS = ("numbers", "flags", "generation", "errors", "back")
_SINGLE = tuple(each.name for each in fields(ChainState) if each.default is not MISSING)
