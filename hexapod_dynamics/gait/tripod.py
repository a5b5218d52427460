"""The tripod gait: planar twist in, joint set-points out, for the node and for the Simulator alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError, require_positive
from hexapod_dynamics.gait.interface import Gait, finite_twist
from hexapod_dynamics.gait.legs import leg_table, link_lines, neutral_foothold
from hexapod_dynamics.gait_kinds import GaitValue
from hexapod_dynamics.robot import Morphology, Robot

Tripod = TypeVar("Tripod", bound="TripodGait")
SWINGS = {"half_sine": 1, "minimum_jerk": 2}  # as hd_profile in core/gait.h numbers them


class TripodGait(Gait):
    """Tripod gait of Farghdani & Chhabra 2025, eq. (64), extended to any planar twist.

    step_length S [m]: stroke of a foot in stance; the nominal walk is forward at 2 S / T.
    step_height [m]: lift of the swinging foot. step_depth [m]: how far stance feet push into the ground.
    period T [s]. body_height [m]: coxa plane above the feet.
    The neutral foot is a coxa plus femur length from its coxa axis, along the leg. swing: "half_sine" is eq. (64):
    straight forward, half a sine up. "minimum_jerk" lifts off and touches down without a jump in velocity; the stance,
    so the propulsion, is the same. response_time [s]: of each of the two equal poles with which twist and height follow
    a command. The twist is a weighted mean of past commands, so it stays within the limits and changes with bounded
    acceleration.

    Commands that need a longer stroke of a leg than `longest_stroke` [m] are scaled down as a whole, so that the
    direction of travel and the curvature do not change. After `bind`, `step` allocates nothing. `position` and
    `velocity` (18,) [rad, rad/s] are overwritten by each step.
    """

    def __init__(
        self,
        step_length: float = 0.05,
        step_height: float = 0.012,
        period: float = 1.3,
        *,
        step_depth: float = 1e-4,
        body_height: float = 0.12,
        swing: str = "half_sine",
        response_time: float = 0.2,
    ) -> None:
        require_positive({"period": period, "body_height": body_height, "response_time": response_time})
        lengths = {"step_length": step_length, "step_height": step_height, "step_depth": step_depth}
        require_positive(lengths, zero=True)
        if swing not in tuple(SWINGS):
            raise HexapodError(f"swing: given {swing!r}, allowed are {', '.join(map(repr, SWINGS))}")
        self.step_length, self.step_height, self.step_depth = float(step_length), float(step_height), float(step_depth)
        self.period, self.body_height, self.response_time = float(period), float(body_height), float(response_time)
        self.swing = swing
        self.nominal_velocity = 2.0 * self.step_length / self.period

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> TripodGait:
        """Prepare the gait for a robot whose legs all have a coxa, femur and tibia; return self, standing.

        Raises HexapodError if a leg has another structure or the nominal step is out of reach.
        """
        self.data = _core.Tripod(leg_table(robot))
        self.robot = robot
        parameters = self.data.parameters
        for name in ("period", "response_time", "step_height", "step_depth"):
            setattr(parameters, name, getattr(self, name))
        parameters.profile, parameters.speed_limit = SWINGS[self.swing], robot.servo.speed_limit
        for row, leg in zip(self.data.legs, robot.legs, strict=True):
            row["foothold"] = neutral_foothold(row)
            row["phase"] = 0.0 if leg.tripod_group == 1 else 0.5
        self.longest_stroke = self._find_longest_stroke()
        self.set_morphology(morphology)
        self.reset()
        return self

    def copy(self) -> TripodGait:
        """Return a gait of the same settings in the same state independent of this one."""
        return self.copy_as(type(self))

    def copy_as(self, kind: type[Tripod]) -> Tripod:
        """Return `copy` as a gait of another class."""
        twin = object.__new__(kind)
        vars(twin).update(vars(self))
        if self.is_bound:
            twin.data = self.data.copy()
        return twin

    def set_morphology(self, morphology: Morphology | None) -> None:
        """Adopt a Morphology, at any time; the walk continues.

        A missing leg or joint keeps its entry in `position`, which is not used; a locked joint is held at its angle.
        The remaining links of a leg move as in the intact leg.
        """
        legs, table = self.data.legs, leg_table(self.robot, morphology)
        self.morphology = morphology
        legs["free"], legs["held"] = table["free"], table["held"]
        legs["lengths"] = np.where(table["mass"][:, 2:] > 0.0, table["lengths"], leg_table(self.robot)["lengths"])

    def limit_command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Return the command (3,) as it will be followed: scaled down as a whole to `longest_stroke`."""
        command = finite_twist(vx, vy, wz)
        size = max(1.0, float(np.abs(command).max()))  # the stroke of the largest numbers would be none
        (vx, vy, wz), (x, y) = command / size, self.data.legs["foothold"].T
        longest, most = 0.5 * self.period * np.hypot(vx - wz * y, vy + wz * x).max(), self.longest_stroke
        return command / size * (most / longest) if longest * size > most else command

    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Command a planar body twist; return the twist that will be followed, see `limit_command`."""
        followed = self.limit_command(vx, vy, wz)
        self.data.state.command[:3] = followed
        return followed

    def restart(self, walking: bool, phase: float) -> None:
        """Set the state for `reset`: standing, or in the steady walk at a phase of eq. (64)."""
        state = self.data.state
        state.values[:] = 0.0
        state.twist[3] = state.command[3] = self.body_height
        if walking:
            state.twist[:3] = self.walk()
            state.walking = 1.0
            state.phase = phase
        self.data.place_feet()

    @property
    def compiled(self) -> _core.Tick | None:
        """The gait for the compiled loop of the Simulator, which advances it in place."""
        return self.data

    @property
    def commanded_twist(self) -> np.ndarray:
        """The commanded twist (3,) [m/s, m/s, rad/s]; a view."""
        return self.data.state.command[:3]

    @property
    def walking(self) -> bool:
        """Whether the legs are stepping."""
        return bool(self.data.state.walking)

    def _find_longest_stroke(self) -> float:
        """Bisect for the longest stroke [m] that every leg reaches in every direction within angle and speed limits."""
        # Strokes of up to 8 cm: neighbouring feet of the JetHexa do not touch.
        low, high = self.step_length, max(self.step_length, 0.08)
        if not self._reaches(low):
            raise HexapodError(
                f"a step of {self.step_length} m, {self.step_height} m high at body height {self.body_height} m in "
                f"{self.period} s is out of reach or too fast for a leg; take a shorter, lower or slower one"
            )
        if self._reaches(high):
            low = high
        while high - low > 1e-4:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._reaches(middle) else (low, middle)
        return low

    def _reaches(self, length: float) -> bool:
        """Return whether a walk of a period in each of 16 directions, with this stroke [m], brings every foot to its
        place, with all joints below 0.8 of their speed limit: the rest is reserved for tracking.
        """
        scratch, count, fastest = self.data.copy(), 32, 0.8 * self.data.parameters.speed_limit
        scratch.parameters.speed_limit = fastest
        for angle in np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False):
            state, speed, ticks = scratch.state, 2.0 * length / self.period, []
            state.values[:] = 0.0
            state.twist = state.command = speed * np.cos(angle), speed * np.sin(angle), 0.0, self.body_height
            state.walking = 1.0
            scratch.place_feet()
            for _ in range(count):
                scratch.advance(self.period / count)
                ticks.append(np.column_stack([scratch.position.reshape(-1, 3), scratch.feet["place"][:, :2]]))
                if np.abs(scratch.velocity).max() >= fastest:
                    return False
            for row, leg in zip(scratch.legs, np.swapaxes(ticks, 0, 1), strict=True):
                foot = link_lines(row, leg[:, :3])[-1, :, 3:]
                lift = foot[:, 2] + self.body_height
                far = np.linalg.norm(foot[:, :2] - leg[:, 3:], axis=1).max() > 1e-6
                if far or lift.min() < -self.step_depth - 1e-6 or lift.max() > self.step_height + 1e-6:
                    return False
        return True


def make_gait(kind: str, values: Mapping[str, GaitValue]) -> TripodGait:
    """Return the TripodGait for the parameters of the node `gait`."""
    return TripodGait(**arguments(values))


def arguments(values: Mapping[str, GaitValue]) -> dict[str, Any]:
    """Return the arguments of a TripodGait for the parameters of the node `gait`, whose period 0 is the usual one."""
    names = ("step_length", "step_height", "step_depth", "body_height", "response_time")
    return {name: values[name] for name in names} | {"period": values["period"] or 1.3}
