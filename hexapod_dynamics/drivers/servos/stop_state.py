"""The last request of a person to the servos, stored for a respawn of the node; checked when it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hexapod_dynamics.errors import DeviceError

FOLLOW, HOLD, SIT, OFF = "follow", "hold", "sit", "off"
MODES = {
    FOLLOW: "joint_commands move the robot",
    HOLD: "torque is on, the pose is held, joint_commands are ignored",
    SIT: "the robot sits down, then its torque is switched off",
    OFF: "torque is off",
}


@dataclass(frozen=True)
class StopState:
    """mode: one of MODES; frozen: emergency stop on top of it; reason: why, for people."""

    mode: str = FOLLOW
    frozen: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        if (
            not isinstance(self.mode, str)
            or self.mode not in MODES
            or not isinstance(self.frozen, bool)
            or not isinstance(self.reason, str)
        ):
            raise DeviceError(
                f"{str(self)[:200]} is no stop state: mode is one of {', '.join(MODES)}, frozen true or false"
            )

    def changed(self, **values: Any) -> StopState:
        """Return a copy with other values."""
        return replace(self, **values)

    def to_values(self) -> dict:
        """Values for a JSON file."""
        return dict(self.__dict__)

    @classmethod
    def from_values(cls, values: Any) -> StopState:
        """Read the values of `to_values`; None (nothing stored) gives the initial state; raises DeviceError for other
        values.
        """
        if values is None:
            return cls()
        if not isinstance(values, dict) or set(values) != {"mode", "frozen", "reason"}:
            raise DeviceError(f"{str(values)[:200]} is no stop state: mode, frozen and reason are needed")
        return cls(**values)

    @classmethod
    def unreadable(cls, why: object) -> StopState:
        """Return the state if the stored request cannot be read: emergency stop, because the request may have been
        one.
        """
        return cls(HOLD, True, f"the request from before the restart cannot be read ({why})")

    @classmethod
    def lost(cls, remembered: StopState | None, why: str) -> StopState:
        """Return the state after a restart without the stored request: what is known of it, but joint_commands are
        not followed.
        """
        stop = remembered or cls()
        mode = HOLD if stop.mode == FOLLOW else stop.mode
        return cls(mode, stop.frozen, f"the request from before the restart was deleted ({why})")
