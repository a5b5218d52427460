"""The walk as an environment of Gymnasium: one robot."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.learning.walking_robot import WalkingRobot, checked_action


class WalkEnv(gymnasium.Env):
    """A robot that is to walk at a velocity: `hexapod_dynamics/Walk-v0`, and with damage `hexapod_dynamics/Damaged-v0`.

    Action (n,) in [-1, 1], n joints of the whole robot: where the servos are sent in a control period, the standing
    pose plus `reach` [rad] times the action; entries of missing, locked or limp joints have no effect. Observation
    and reward: see walking_robot.py. Ends when the body tilts by more than 60 degrees; truncated after 10 s. Every
    episode starts whole, from the standing pose with random deviations of up to `spread` [rad].

    damaged: whether a RandomDamage injures the robot (`damage`, or one with default arguments if None);
    info["damage"] names the injury in the step in which it happens. robot: the JetHexa by default. velocity:
    forward, left [m/s] and yaw rate [rad/s] asked for, or "random" to draw them anew for each episode. pose (n,)
    [rad]: the standing pose, by default that of TripodGait. friction: Coulomb's coefficient of the ground. period
    [s]: of control; timestep [s]: of the physics. power_weight [1/W]: cost of the servos' mechanical power,
    info["power"]. HexapodError names what is wrong.
    """

    metadata: dict[str, object] = {"render_modes": [], "render_fps": 50}

    def __init__(self, **options: Any) -> None:
        self.walker = walker = WalkingRobot(**options)
        n = walker.robot.joint_count
        self.observation_space = gymnasium.spaces.Box(-walker.limits, walker.limits, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (n,), np.float32)
        self._shape, self._ready = (n,), False

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._ready = True
        return self.walker.reset(self.np_random), {}

    def step(self, action: npt.ArrayLike) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
        """Run one control period."""
        if not self._ready:
            raise HexapodError("step: no episode has begun; call reset first")
        observation, reward, fallen, info = self.walker.step(checked_action(action, self._shape), self.np_random)
        return observation, reward, fallen, False, info
