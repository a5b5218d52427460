"""What the node `gait` does: from commanded twists to joint commands, with falls, pushes and getting up.

The robot walks with the default twist only until the first command. Then, and after a crash and respawn, it walks only
as commanded. After a fall no joint is commanded until the IMU measures an upright robot and a new command lets it
walk (control.walk_permit).
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from hexapod_dynamics.control.joint_trial import JointTrial
from hexapod_dynamics.control.walk_permit import WalkPermit
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.gait.foot_trial import FootTrial
from hexapod_dynamics.gait.interface import BRACES, OFF_ITS_FEET, STANDING, WALKING, Gait
from hexapod_dynamics.gait.recovery.brace import Brace
from hexapod_dynamics.gait.recovery.get_up import ANNOUNCE
from hexapod_dynamics.gait_kinds import ADAPTIVE, LIVE, GaitValue, make_gait
from hexapod_dynamics.onboard.getting_up import GettingUp
from hexapod_dynamics.onboard.inputs import Faults, ImuReading
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import roll_pitch_yaw

if TYPE_CHECKING:
    from hexapod_dynamics.gait.adaptive import AdaptiveGait

# Without a usable sample of the IMU for longer than this [s] a fall would not be noticed.
BLIND_AFTER = 0.5
NEW_COMMAND = "standing still until a new cmd_vel: send zero, then a speed"
NOT_KNOWN = "whether the robot had fallen before this node was restarted is not known"
FALLEN_TEXT = (
    "the robot has fallen: legs stopped; call `get_up` or put it upright, then command it again (cmd_vel zero, then a "
    "speed)"
)

State = tuple[str, str, dict[str, object]]


@dataclass(frozen=True)
class GaitControlSettings:
    """As the parameters of the node `gait` of the same names; gait, values: as `gait_kinds.make_gait` takes them.
    period [s]: between two joint commands. velocity [m/s]: forward, until the first command. cmd_vel_timeout [s]: an
    older command stops the walk. brace: a pushed robot lies down. get_up: asked or automatic. get_up_speed [rad/s].
    """

    gait: str = "auto"
    values: Mapping[str, GaitValue] | None = None
    period: float = 0.02
    velocity: float = 0.0
    cmd_vel_timeout: float = 1.0
    brace: bool = True
    get_up: str = "asked"
    get_up_speed: float = 2.0


class JointCommand(NamedTuple):
    """A command of some joints (indices): positions [rad] and velocities [rad/s]."""

    joints: list[int]
    positions: list[float]
    velocities: list[float]


class GaitControl:
    """Commands the joints; times are seconds on one clock, measurements are of base_link.

    Args:
        robot: the Robot.
        settings: GaitControlSettings.
        gait: the Gait, not bound; by default of `settings`.
        permit: WalkPermit from before a restart.
        report: report(level, text) for the log; level: info, warn, error.
        announce: announce(on): the robot is about to get up (buzzer).
        keep: keep(state) stores the walk permit for a restart.
        faults: where faults of the inputs are counted.

    """

    def __init__(
        self,
        robot: Robot,
        settings: GaitControlSettings,
        *,
        gait: Gait | None = None,
        permit: WalkPermit | None = None,
        report: Callable[[str, str], None] = lambda level, text: None,
        announce: Callable[[bool], None] = lambda on: None,
        keep: Callable[[dict[str, object]], None] = lambda state: None,
        faults: Faults | None = None,
    ) -> None:
        self.robot, self.settings, self.faults = robot, settings, faults or Faults()
        self._kind, self._values = settings.gait, dict(settings.values or {})
        self.gait = (gait or make_gait(self._kind, self._values)).bind(robot)
        n = robot.joint_count
        self._angles = np.full(n, np.nan)  # measured joints, used while the gait needs them
        self.gait.measure_joints(self._angles)  # from now on the gait waits for restored legs
        self._morphology: Morphology | None = None  # what is declared; the gait may still change to it
        self._payload = 0.0, 0.0, 0.0
        self._body_pose: tuple[float, ...] = (0.0,) * 6
        self.permit, self.falls = permit or WalkPermit(pause=settings.cmd_vel_timeout), FallDetector(robot.gravity)
        self.get_up = GettingUp(robot, settings, report, announce)
        self.brace, self.trial, self.foot_trial = Brace(robot), JointTrial(robot), FootTrial(robot)
        self._report, self._keep, self._kept = report, keep, self.permit.state
        self._imu_time: float | None = None  # of the last usable sample
        self._turned = -math.inf  # time of the last one with an attitude
        self._commanded: float | None = None  # time of the last command
        self._begun: float | None = None  # time of the first step
        self._ready: float | None = None  # time since which all inputs are there
        self._ticks, self._now = 0, -math.inf
        self._held = False  # by the servos, whatever is commanded
        self._moving, self._still = list(range(n)), np.zeros(n)

    # ---- in ----------------------------------------------------------------------------------------------------------

    def command(self, t: float, twist: tuple[float, float, float]) -> None:
        """Walk with a twist (vx, vy, wz) [m/s, m/s, rad/s] of the body; a fault if it is not finite."""
        with self._refusals_of("cmd_vel", t):
            self.gait.command(*twist)
            self._commanded = t
            if not self.permit.command(t, np.asarray(twist)) or self.get_up.active:
                self.gait.command(0.0, 0.0, 0.0)  # a gait that stands up would walk off
            self._store()

    def imu(self, t: float, reading: ImuReading) -> None:
        """Process a sample of the IMU of the time t [s]."""
        rotation, force, rate = reading.rotation, reading.force, reading.rate
        last = self._imu_time
        if rotation is not None:
            self.gait.sense(*roll_pitch_yaw(rotation))
            if t - self._turned > BLIND_AFTER:
                self.gait.sense_force(math.nan, math.nan, math.nan)
            self._turned = t
        if rotation is not None or force is not None:
            self._imu_time = t
        if force is not None:
            if not self._held:
                self.gait.sense_force(*force)
            if self.settings.brace and last is not None and rate is not None:
                walking = self.permit.may_walk and self.gait.doing == WALKING and not self._held
                self.brace.sense(min(t - last, BLIND_AFTER), force, rate, walking)
        self.get_up.sense(t, rotation, rate, force)
        before = self.permit.fallen
        self.permit.update_fall(self.falls.update(t, rotation, force, self.gait.ground_normal), self.falls.upright)
        if self.permit.fallen and not before:
            self.gait.command(0.0, 0.0, 0.0)
            self._report("error", FALLEN_TEXT)
            self.get_up.note_fall(t, self.gait)
        self._store()

    @property
    def awaits_joints(self) -> bool:
        """Whether measured joints are needed now."""
        return self.gait.awaits_joints or self.get_up.active

    def joints(self, t: float, angles: np.ndarray) -> None:
        """Process measured joints (n,) [rad], NaN if unknown."""
        self._angles[:] = angles
        self.gait.measure_joints(self._angles)
        self.get_up.measure_joints(t, self._angles)

    def set_morphology(self, t: float, morphology: Morphology) -> None:
        """Walk with the legs that a Morphology has."""
        self._morphology = morphology
        self.gait.set_morphology(morphology)
        self.get_up.set_morphology(t, morphology, self.gait, self.permit.waiting)
        self.brace.set_morphology(morphology)
        self.trial.set_morphology(morphology)
        self.foot_trial.set_morphology(morphology)
        self._moving = morphology.moving_mask.nonzero()[0].tolist()

    def set_following(self, following: bool) -> None:
        """Note whether the servos execute commands: a body whose servos hold makes no way, and meets no obstacle."""
        self._held = not following
        self.get_up.set_following(following)

    def set_payload(self, mass: float, mx: float, my: float) -> None:
        """Set what the body carries: mass [kg] and its first moment about base_link [kg m]."""
        with self._refusals_of("payload", self._now):
            self.gait.set_payload(mass, mx, my)
            self._payload = mass, mx, my

    def set_body_pose(self, pose: tuple[float, ...]) -> None:
        """Set the offset (x, y, z, roll, pitch, yaw) [m, rad] of the body over its feet."""
        with self._refusals_of("body_pose", self._now):
            self.gait.lean(pose)
            self._body_pose = pose

    def probe_foot(self, leg: str) -> None:
        """Press the foot of a leg down if the robot walks, also of one that is held up as its foot is lost; a robot
        that stands or was stopped does not move.
        """
        with self._refusals_of("press_foot", self._now):
            if self._held or not (self.permit.may_walk and self.gait.walking):
                return
            if self.gait.contact_probe(leg):
                self._report("info", f"stops and presses the foot of {leg} down, then walks on")
            elif self.foot_trial.start(self._now, leg, self.gait):
                self._report("info", f"puts {leg} down for a moment, to learn whether its foot is there")

    def try_joint(self, t: float, joint: str) -> None:
        """Command a locked joint (`RF.femur`) beside its lock if the robot walks; else no joint moves."""
        if self.permit.may_walk and self.gait.walking and not self._held:
            self.trial.start(t, joint)

    @contextlib.contextmanager
    def _refusals_of(self, about: str, t: float) -> Iterator[None]:
        """Count what the gait refuses as a fault of the input `about` at the time t [s]."""
        try:
            yield
        except HexapodError as error:
            self.faults.add(about, f"{about}: {error}", t)

    def change(self, given: Mapping[str, GaitValue]) -> None:
        """Change the kind of gait (`gait`) or its settings while it walks; HexapodError if that is impossible; then
        nothing changes. A gait that is asked for again is tried again if its plan failed.
        """
        values = {**self._values, **{name: value for name, value in given.items() if name in self._values}}
        kind = str(given.get("gait", self._kind))
        again = "gait" in given and kind in ADAPTIVE
        if kind == self._kind and values == self._values and not again:
            return
        if kind in ADAPTIVE and self._kind in ADAPTIVE:
            self._change_live(kind, values, again)
        else:
            if self.doing != STANDING or self.permit.sits or self.get_up.active:
                how = f"let it stand first (cmd_vel zero, or the service stand); now: {self.state(self._now)[1]}"
                raise HexapodError(f"a robot that does not stand keeps its kind of gait: {how}")
            other = make_gait(kind, values).bind(self.robot, self._morphology)
            other.reset(joints=self.gait.position)
            threading.Thread(target=self.gait.close, name="close gait", daemon=True).start()  # it awaits its worker
            self.gait = other
            if any(self._payload):  # what the gait before had
                self.set_payload(*self._payload)
            if any(self._body_pose):
                self.set_body_pose(self._body_pose)
        self.gait.measure_joints(np.full(self.robot.joint_count, np.nan))
        self._kind, self._values = kind, values

    def _change_live(self, kind: str, values: Mapping[str, GaitValue], asked: bool) -> None:
        fixed = [name for name in values if name not in LIVE and values[name] != self._values[name]]
        if fixed:
            raise HexapodError(f"{fixed[0]}: set at start; while gait is {self._kind} you can set {', '.join(LIVE)}")
        changed = {name: values[name] for name in LIVE if name in values and values[name] != self._values[name]}
        if changed:
            self.gait.adjust(**changed)
        if asked:
            cast("AdaptiveGait", self.gait).set_pattern(kind)

    def ask_to_get_up(self, t: float) -> str:
        """Begin to get up; return what follows, HexapodError tells why not."""
        self.get_up.begin(t, self.gait, self.permit.waiting)
        self.permit.sit(False)  # it will stand
        return f"moves after {ANNOUNCE:.0f} s at rest"

    def sit(self) -> None:
        """Sit down and stay until `stand`, also over a restart; HexapodError if this gait cannot. Getting up ends."""
        self.get_up.stop("it was told to sit")
        self.gait.sit()
        self.permit.sit(True)
        self._store()

    def stand(self) -> None:
        """Stand up again."""
        self.gait.stand()
        self.permit.sit(False)
        self._store()

    # ---- out ---------------------------------------------------------------------------------------------------------

    def step(self, t: float, ready: bool = True) -> JointCommand | None:
        """Return the command for the next period; None: no command, the servos hold the pose.

        ready: all inputs are there; a second later the default twist is followed.
        """
        self._now, period = t, self.settings.period
        if self._begun is None:
            self._begun, self._ticks = t, -1
        due = round((t - self._begun) / period) - self._ticks
        if due <= 0:  # called early: the times of commands stay on their grid
            return None
        self._ticks += due
        self._choose_twist(t, ready)
        if self._held or t - self._turned > BLIND_AFTER:
            self.gait.sense_force(math.nan, math.nan, math.nan)
        self.gait.adopt_plan()
        if self.get_up.active or not self.permit.may_walk or not self._moving:
            self.brace.stop()
            self.foot_trial.leg = None
            commands = self.get_up.step(t)
            if commands is None:
                return None
        elif self.brace.is_needed:
            commands = self.brace.step(period, self.gait.position), self._still
            self.foot_trial.stop()
        else:
            # After a stall the gait does not catch up, because the legs would jump.
            commands = self.gait.step(min(due * period, 0.25 * self.gait.period))
        commands = self.foot_trial.step(t, period, self.gait, *commands)
        moving = self._moving
        positions, velocities = commands[0][moving].tolist(), commands[1][moving].tolist()
        tried = self.trial.setpoint(t)
        if tried is None or self.trial.joint is None:
            return JointCommand(moving, positions, velocities)
        return JointCommand([*moving, self.trial.joint], [*positions, tried], [*velocities, 0.0])

    def _choose_twist(self, t: float, ready: bool) -> None:
        if not self.permit.by_itself:
            if self._commanded is None or t - self._commanded > self.settings.cmd_vel_timeout:
                self.gait.command(0.0, 0.0, 0.0)
        elif self._ready is None:
            if ready:
                self._ready = t
        elif t - self._ready > 1.0:
            self.gait.command(self.settings.velocity, 0.0, 0.0)  # the gait scales it, also later, with another plan

    def _store(self) -> None:
        if self._kept != self.permit.state:
            self._kept = self.permit.state
            self._keep(self._kept)

    @property
    def doing(self) -> str:
        """The action of the robot in words."""
        return "bracing" if self.brace.active else self.gait.doing

    @property
    def _getting_up(self) -> str:
        """What getting up does, or why it ended; empty once the robot may walk again."""
        return self.get_up.doing if self.get_up.active or self.permit.waiting else ""

    def state(self, t: float) -> State:
        """Return level (ok, warn, error), message and values of `gait_state`: what it does, and why."""
        vx, vy, wz = self.gait.twist
        values: dict[str, object] = {
            "walking": self.gait.walking and self.permit.may_walk and bool(self._moving) and not self._held,
            "forward [m/s]": vx,
            "left [m/s]": vy,
            "turn [deg/s]": math.degrees(wz),
            OFF_ITS_FEET: self.permit.fallen or bool(self._getting_up),
            BRACES: self.brace.active,
            "pushes that it braced against": self.brace.count,
        }
        values.update(self.gait.report() | self.faults.counts())
        if self.permit.waiting or self._imu_time is not None:
            values["tilt [deg]"] = math.degrees(self.falls.tilt)
        return *self._assess(t, values), values

    def _assess(self, t: float, values: Mapping[str, object]) -> tuple[str, str]:
        doing = f"{self.doing}, but the servos hold" if self._held else self.doing
        if not self._moving:
            return "error", "no leg is left to walk with: no joint is commanded"
        if self._getting_up:
            return "warn" if self.get_up.active else "error", f"get up: {self._getting_up}"
        if self.permit.fallen:
            return "error", FALLEN_TEXT
        if self.permit.waiting:
            return "warn", f"{'upright after a fall' if self.permit.state_known else NOT_KNOWN}, {NEW_COMMAND}"
        if self.permit.seated:
            doing = "sitting, as before a restart: the service stand ends it"
        faults = self.faults.list_recent(t)
        if faults:
            return "warn", f"{doing}; {'; '.join(faults)}"
        if self.brace.active:
            return "warn", f"{doing}: it was pushed, or ran against something"
        if "why" in values:
            return "warn", f"{doing}: {values['why']}"
        if self.gait.walking and (self._imu_time is None or t - self._imu_time > BLIND_AFTER):
            return "warn", f"{doing}; no imu/data: a fall would not be noticed"
        return "ok", doing

    def close(self) -> None:
        """End the background work of the gait."""
        self.gait.close()
