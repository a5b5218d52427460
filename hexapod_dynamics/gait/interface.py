"""The interface of all gaits, as the Simulator and the node `gait` use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.errors import HexapodError, UnboundGaitError, is_finite, require_finite
from hexapod_dynamics.robot import Morphology, Robot

if TYPE_CHECKING:
    from hexapod_dynamics.core import _core

# Until when [s] of its trial a foot that was declared lost has which height [m] above the ground; then it is held up.
# The last 15 % of a tibia are longer than it is deep.
PUT_DOWN = (1.3, 0.03), (2.8, -0.012), (3.1, 0.03)
PRESSED_FOOT = "pressed foot"  # key of `Gait.report` for the leg whose foot is being pressed down
# Keys of `gait_state`: whether the robot braces against a push; whether it lies after a fall or is getting up.
BRACES = "braces against a push"
OFF_ITS_FEET = "off its feet"
STANDING, WALKING = "standing", "walking"  # values of Gait.doing
THROWN_BACK = "thrown back by an obstacle"  # key of `Gait.report`: whether an obstacle does so at present


def refuse_unbound(gait: object) -> object:
    """Raise UnboundGaitError: the value of an attribute, as a cached_property, until `bind` sets it."""
    raise UnboundGaitError(f"{type(gait).__name__}: call bind(robot) first")


class Gait(ABC):
    """Converts a planar twist of the body into joint set-points.

    A gait is made with its settings, bound to a robot, commanded, and stepped at a fixed rate:

        gait = TripodGait().bind(robot)
        gait.command(0.077, 0.0, 0.0)
        position, velocity = gait.step(0.02)

    After `bind`, `step` allocates nothing; the arrays that it returns belong to the gait and are overwritten by the
    next step. `bind` sets `robot`, and `data`: memory of the compiled core with at least start, position, velocity
    (n,) and state; a gait without it overrides the properties that read it. `morphology` is None for an intact robot.
    """

    robot: Robot
    data: Any
    if not TYPE_CHECKING:
        robot, data = cached_property(refuse_unbound), cached_property(refuse_unbound)
    morphology: Morphology | None = None
    period: float = 1.0
    nominal_velocity: float  # [m/s] of the nominal walk, forward
    MADE_BY = "TripodGait() and AdaptiveGait() make one, make_gait(kind, DEFAULTS) one of a named kind"

    # ---- set up ------------------------------------------------------------------------------------------------------

    @property
    def is_bound(self) -> bool:
        """Whether `bind` has been called."""
        return hasattr(self, "robot")

    @abstractmethod
    def bind(self, robot: Robot, morphology: Morphology | None = None) -> Gait:
        """Prepare the gait for a Robot; return self, standing. HexapodError if this robot cannot walk."""

    @abstractmethod
    def copy(self) -> Gait:
        """Return a gait of the same settings in the same state that is independent of this one."""

    @abstractmethod
    def set_morphology(self, morphology: Morphology | None) -> None:
        """Adopt a Morphology at any time; None is the whole robot."""

    def reset(self, *, walking: bool = False, phase: float = 0.0, joints: npt.ArrayLike | None = None) -> None:
        """Restart: standing, or in the steady nominal walk at a phase, with a transition from measured joints if given.

        joints (n,) [rad]. The transition has minimum jerk; the average speed of each joint in it is at most a tenth of
        its speed limit. Raises HexapodError for values that are wrong; then nothing has changed.
        """
        require_finite(phase=phase)
        start = None if joints is None else as_array("joints", joints, self.position.shape)
        self.restart(walking, phase % 1.0)
        self.step(0.0)
        if start is not None:
            self.data.start[:] = start
            self.data.state.blend_time = np.abs(self.position - start).max() / (0.1 * self.robot.servo.speed_limit)
            self.step(0.0)

    def restart(self, walking: bool, phase: float) -> None:
        """Set the state for `reset`: standing, or in the steady nominal walk at a phase from 0 to 1."""
        raise NotImplementedError(f"{type(self).__name__} needs `restart`, or a `reset` of its own")

    def close(self) -> None:
        """Stop background work; by default there is none."""
        return

    def __copy__(self) -> Gait:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Gait:
        return self.copy()

    # ---- every tick --------------------------------------------------------------------------------------------------

    @abstractmethod
    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Command a planar body twist [m/s, m/s, rad/s] in base_link; return the twist (3,) that will be followed."""

    @abstractmethod
    def limit_command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Return the command (3,) as it will be followed; HexapodError for values that are not finite."""

    def walk(self) -> np.ndarray:
        """Command the nominal walk, forward; return the twist (3,) that will be followed."""
        return self.command(self.nominal_velocity, 0.0, 0.0)

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Advance by dt [s], at most a quarter period; return (position, velocity), each (n,) [rad, rad/s]."""
        self.check_step(dt)
        motion: tuple[np.ndarray, np.ndarray] = self.data.advance(dt)
        return motion

    def check_step(self, dt: float) -> None:
        """Raise HexapodError unless dt [s] is 0 to a quarter period."""
        try:
            if 0.0 <= dt <= 0.25 * self.period:
                return
        except (TypeError, ValueError):  # it is no number
            pass
        raise HexapodError(f"dt: given {dt} s, allowed are 0 to a quarter period, {0.25 * self.period} s")

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Set the measured attitude of the body [rad]; a gait that does not use it ignores it."""
        return

    def sense_force(self, x: float, y: float, z: float) -> None:
        """Set the specific force (x, y, z) of the body [m/s^2], NaN if unknown, after `sense`; by default ignored."""
        return

    @property
    def ground_normal(self) -> tuple[float, float, float]:
        """Upward direction (3,), in base_link axes, of a body that stands on the ground, as learnt from `sense`."""
        return 0.0, 0.0, 1.0

    def adopt_plan(self) -> None:
        """Apply a change of plan that was computed in parallel, as `step` does; by default there is none."""
        return

    def measure_joints(self, angles: npt.ArrayLike) -> None:
        """Set the measured joint angles (n,) [rad], NaN where unknown, while `awaits_joints`; by default ignored."""
        return

    @property
    def awaits_joints(self) -> bool:
        """Whether the gait needs `measure_joints` now."""
        return False

    def lean(self, offset: npt.ArrayLike) -> None:
        """Move the body over its feet by an offset (6,): x, y, z [m], roll, pitch, yaw [rad]."""
        raise HexapodError(f"{type(self).__name__} cannot move the body over its feet; choose the gait auto")

    def set_payload(self, mass: float, x_moment: float, y_moment: float) -> None:
        """Set the load on the body: mass [kg], first moments m cx, m cy [kg m]; by default ignored."""
        return

    def sit(self) -> None:
        """Sit down and stay until `stand`."""
        raise HexapodError(f"{type(self).__name__} cannot sit down; choose the gait auto")

    def stand(self) -> None:
        """Stand up again; by default the gait always stands."""
        return

    def contact_probe(self, leg: str) -> bool:
        """Stop, and press the foot of a leg (by name) down, so that the damage detector sees whether it is there.

        Returns False if this gait cannot do this, or not now.
        """
        return False

    def adjust(self, **settings: object) -> None:
        """Change settings while the robot walks; HexapodError if that is not possible."""
        raise HexapodError(f"{type(self).__name__} keeps its settings while it walks; choose the gait auto")

    # ---- what it does now --------------------------------------------------------------------------------------------

    @property
    def position(self) -> np.ndarray:
        """Joint set-points (n,) [rad] of the last step; overwritten by the next."""
        return self.data.position

    @property
    def velocity(self) -> np.ndarray:
        """Rates (n,) [rad/s] of the joint set-points of the last step; overwritten by the next."""
        return self.data.velocity

    @property
    def phase(self) -> float:
        """Phase of the cycle, 0 to 1."""
        return float(self.data.state.phase)

    @property
    def twist(self) -> np.ndarray:
        """The body twist (vx, vy, wz) (3,) [m/s, m/s, rad/s] that the feet follow now, without the yaw hold."""
        return self.data.state.twist[:3].copy()

    @property
    @abstractmethod
    def walking(self) -> bool:
        """Whether the legs are stepping."""

    @property
    def commanded_twist(self) -> np.ndarray:
        """The twist (vx, vy, wz) (3,) [m/s, m/s, rad/s] that is commanded; by default the one that is followed."""
        return self.twist

    @property
    def commanded(self) -> bool:
        """Whether the gait walks or has been commanded to."""
        return self.walking or bool(self.commanded_twist.any())

    @property
    def compiled(self) -> _core.Tick | None:
        """The Tick that the compiled loop of the Simulator calls; None if the Simulator has to call `step`."""
        return None

    @property
    def doing(self) -> str:
        """Present action of the gait, in one or two words; STANDING: another gait may take its place."""
        return WALKING if self.walking else STANDING

    def report(self) -> dict[str, object]:
        """Return further values for the diagnostics, as {name: value}."""
        return {}


def finite_twist(vx: float, vy: float, wz: float) -> np.ndarray:
    """Return a command (3,) [m/s, m/s, rad/s]; HexapodError for values that are not finite."""
    if not all(map(is_finite, (vx, vy, wz))):
        raise HexapodError(f"velocity command ({vx}, {vy}, {wz}): finite numbers needed; the last command stays")
    return np.array([vx, vy, wz], float)
