"""The walk as an environment of Gymnasium: the simulated robot, one control period, damage at random times.

Observation (13 + 3 n,), n joints: the world's z axis in base_link (3), the body's velocity (3) [m/s] and angular
velocity (3) [rad/s] in base_link, the height of base_link over the ground below it [m], the velocity asked for (3)
[m/s, rad/s], then joint positions less the standing pose [rad], joint rates [rad/s] and set-points less the standing
pose [rad], n each; zero for joints that are missing. Each is limited to its bounds.

Reward of a period: exp(-|e|^2 / (0.05 m/s)^2) - power_weight P, with the deviation e of the mean velocity on the ground
from the one asked for (the yaw rate's times 0.1 m), and the mean mechanical power P of the servos [W].
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import gymnasium
import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.dynamics.checks import require_robot
from hexapod_dynamics.errors import HexapodError, require_instance, require_positive
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.robot_simulator import count
from hexapod_dynamics.simulation.trajectory import split
from hexapod_dynamics.simulation.world import SteppedModel

# Where the parts of an observation begin.
UP, VELOCITY, TURNING, HEIGHT, ASKED, JOINTS = 0, 3, 6, 9, 10, 13


def observation_bounds(joints: int) -> np.ndarray:
    """Largest absolute values of an observation, (13 + 3 n,) float32: of the direction, velocity [m/s], angular
    velocity [rad/s], height [m], what is asked for, then of the joints [rad, rad/s, rad].
    """
    largest = [1.0, 5.0, 30.0, 2.0, 2.0, 2.0 * np.pi, 50.0, 2.0 * np.pi]
    return np.repeat(largest, [3, 3, 3, 1, 3, joints, joints, joints]).astype(np.float32)


class RandomDamage:
    """At most `most` injuries in an episode, each kind equally likely, with exponentially distributed times
    between them.

    interval [s]: mean time between two injuries. Each leg is injured at most once.
    """

    def __init__(self, interval: float = 3.0, most: int = 2) -> None:
        require_positive({"interval": interval})
        self.interval, self.most = interval, count("most", most, 0)

    def draw_times(self, random: np.random.Generator) -> list[float]:
        """Times [s] of an episode's injuries, in order."""
        return np.cumsum(random.exponential(self.interval, self.most)).tolist()

    def add_injury(self, random: np.random.Generator, morphology: Morphology, q: np.ndarray) -> Morphology:
        """Return the morphology with one more injury; a joint that locks does so at its present position in q (n,)
        [rad].

        The morphology is returned unchanged if no leg is intact.
        """
        robot, whole = morphology.robot, Morphology.whole(morphology.robot)
        columns = {leg: list(robot.leg_joints(leg)) for leg in robot.leg_names}
        differs = (morphology.table != whole.table).any(axis=0)
        sound = [leg for leg in robot.legs if not differs[columns[leg.name]].any()]
        if not sound:
            return morphology
        leg = sound[int(random.integers(len(sound)))]
        k, injury = int(random.integers(len(leg.links))), int(random.integers(len(KINDS.injuries)))
        value, damaged = KINDS.injuries[injury]
        part = leg.name if value.of_leg else f"{leg.name}.{leg.links[k].name}"
        injured = float(random.uniform(0.2, 0.9)) if damaged is None else damaged  # remaining fraction of a link
        position = float(np.clip(q[columns[leg.name][k]], -np.pi, np.pi))
        return morphology.updated({f"{value.prefix}.{part}": injured}, {leg.joints[k].name: position})


class WalkEnv(gymnasium.Env):
    """A robot that is to walk at a velocity: `hexapod_dynamics/Walk-v0`, and with damage `hexapod_dynamics/Damaged-v0`.

    Action (n,) in [-1, 1], n joints of the whole robot: where the servos are sent in a control period, the standing
    pose plus `reach` [rad] times the action; entries of missing, locked or limp joints have no effect. Observation
    and reward: see the module. Ends when the body tilts by more than 60 degrees; truncated after 10 s. Every episode
    starts whole, from the standing pose with random deviations of up to `spread` [rad].

    damaged: whether a RandomDamage injures the robot (`damage`, or one with default arguments if None);
    info["damage"] names the injury in the step in which it happens. robot: the JetHexa by default. velocity:
    forward, left [m/s] and yaw rate [rad/s] asked for, or "random" to draw them anew for each episode. pose (n,)
    [rad]: the standing pose, by default that of TripodGait. friction: Coulomb's coefficient of the ground. period
    [s]: of control; timestep [s]: of the physics. power_weight [1/W]: cost of the servos' mechanical power,
    info["power"]. HexapodError names what is wrong.
    """

    metadata: dict[str, object] = {"render_modes": [], "render_fps": 50}

    def __init__(
        self,
        damaged: bool = False,
        robot: Robot | None = None,
        velocity: Sequence[float] | str = (0.077, 0.0, 0.0),
        pose: npt.ArrayLike | None = None,
        reach: float = 0.5,
        friction: float = 0.6,
        period: float = 0.02,
        timestep: float = 0.002,
        power_weight: float = 0.01,
        spread: float = 0.05,
        damage: RandomDamage | None = None,
    ) -> None:
        self.robot = robot = Robot.jethexa() if robot is None else robot
        damage = RandomDamage() if damage is None else damage
        require_instance("damage", damage, RandomDamage)
        self.damage = damage if damaged else None
        require_positive({"reach": reach, "period": period, "timestep": timestep})
        require_positive({"power_weight": power_weight, "spread": spread}, zero=True)
        self.steps = round(period / timestep)
        if self.steps < 1 or abs(self.steps * timestep - period) > 1e-9 * period:
            raise HexapodError(f"period: given {period} s, needed: a multiple of timestep {timestep} s")
        self.period, self.reach, self.power_weight, self.spread = float(period), reach, power_weight, spread
        self.random_velocity = isinstance(velocity, str)
        if self.random_velocity and velocity != "random":
            raise HexapodError(f"velocity: given {velocity!r}, needed: (forward, left, yaw rate) or 'random'")
        self.asked = np.zeros(3) if self.random_velocity else as_array("velocity", velocity, (3,))
        n = require_robot(robot).joint_count
        standing = TripodGait().bind(robot).position.copy() if pose is None else pose
        self.pose = as_array("pose", standing, (n,))
        self.intact = self.morphology = Morphology.whole(robot)
        self.model = SteppedModel(robot, self.intact, Ground(friction=friction))
        self.limits = observation_bounds(n)
        self.observation_space = gymnasium.spaces.Box(-self.limits, self.limits, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (n,), np.float32)
        self._log = np.empty((self.steps, self.model.row_width))
        self._times: list[float] = []
        self.time = math.nan  # [s] of the episode, NaN before the first one

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        """Put the intact robot into its standing pose; return the observation."""
        super().reset(seed=seed)
        random, state = self.np_random, self.model
        state.nu[:] = 0.0
        if self.morphology is not self.intact:
            self.model.set_morphology(self.intact)
            self.morphology = self.intact
        state.q[:] = self.pose + random.uniform(-self.spread, self.spread, self.pose.size)
        state.rotation[:], state.position[:] = np.eye(3), 0.0
        self.model.settle_servos_at(state.q)
        self.model.forget()
        state.position[2] = self.model.resting_height()
        self.time = 0.0
        self._times = [] if self.damage is None else self.damage.draw_times(random)
        if self.random_velocity:
            fastest = np.array([0.08, 0.05, 0.4])  # forward, left [m/s], yaw [rad/s]
            self.asked[:] = random.uniform(-fastest, fastest)
        return self._observe(), {}

    def step(self, action: npt.ArrayLike) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
        """Run one control period; damage that falls into it happens at its beginning."""
        if math.isnan(self.time):
            raise HexapodError("step: no episode has begun; call reset first")
        given = as_array("action", action, self.pose.shape)
        info: dict[str, object] = {}
        while self.damage is not None and self._times and self._times[0] < self.time + self.period:
            del self._times[0]
            self.morphology = self.damage.add_injury(self.np_random, self.morphology, self.model.q)
            self.model.set_morphology(self.morphology)
            info["damage"] = self.morphology.describe()
        reward, info["power"] = self._run(given)
        self.time += self.period
        tilted = not self.model.rotation[2, 2] >= 0.5
        is_number = math.isfinite(reward)
        return self._observe(), reward if is_number else 0.0, tilted or not is_number, False, info

    def _run(self, action: np.ndarray) -> tuple[float, float]:
        """Simulate a period; return the reward and the mean power [W] of the servos."""
        model, before, (cos, sin) = self.model, self.model.position.copy(), self.model.rotation[:2, 0].tolist()
        model.command(self.pose + self.reach * np.clip(action, -1.0, 1.0), self.period, 0.0)
        model.walk(None, self.period / self.steps, self.steps, 0, 1, 0.0, self._log, 1)
        log = split(np.empty(0), self._log, self.pose.size, len(self.robot.legs))
        power = float(np.abs(log.joint_torques * log.joint_velocities).sum()) / self.steps
        turned = float((log.rotation[:, 2] * log.twist[:, 3:]).sum()) / self.steps
        # along the heading at the start: x axis of base_link on the ground
        size = math.hypot(cos, sin)
        cos, sin = (cos / size, sin / size) if size > 1e-9 else (1.0, 0.0)
        vx, vy, _ = ((model.position - before) / self.period).tolist()
        forward, left, yaw = self.asked.tolist()
        error = cos * vx + sin * vy - forward, cos * vy - sin * vx - left, 0.1 * (turned - yaw)
        return math.exp(-sum(each * each for each in error) / 0.05**2) - self.power_weight * power, power

    def _observe(self) -> np.ndarray:
        """Return the observation; the ground is the plane z = 0."""
        model, exists = self.model, self.morphology.existing_mask
        setpoints = model.servos["setpoint"]
        joints, commanded = (np.where(exists, angles - self.pose, 0.0) for angles in (model.q, setpoints))
        parts = model.rotation[2], model.nu[:6], model.position[2:], self.asked, joints, model.nu[6:], commanded
        # of a robot that has diverged: the lower bound
        return np.fmin(np.fmax(np.concatenate(parts), -self.limits), self.limits).astype(np.float32)
