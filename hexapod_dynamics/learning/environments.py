"""The walk as environments of Gymnasium: one robot, and many robots on all cores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hexapod_dynamics.dynamics.checks import as_array
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.learning.walking_robot import WalkingRobot


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
        observation, reward, fallen, info = self.walker.step(as_array("action", action, self._shape), self.np_random)
        return observation, reward, fallen, False, info


class WalkVectorEnv(VectorEnv):
    """`num_envs` robots as in WalkEnv; `options` are the arguments of WalkEnv. gymnasium.make_vec returns this
    class.

    The robots are distributed over `threads`, one by default: the physics of several threads runs in parallel,
    their Python code does not. An episode that has ended begins anew with the next step, whose action is ignored for
    it (AutoresetMode.NEXT_STEP). Each robot has random numbers of its own, so the number of threads changes no result.
    """

    metadata = WalkEnv.metadata | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, num_envs: int = 1, max_episode_steps: int | None = None, threads: int = 1, **options: Any
    ) -> None:
        for name, value in (("num_envs", num_envs), ("threads", threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise HexapodError(f"{name}: given {value!r}, needed: a whole number from 1")
        self.num_envs, self.longest = num_envs, max_episode_steps or np.inf
        self.walkers = [WalkingRobot(**options) for _ in range(num_envs)]
        limits, n = self.walkers[0].limits, self.walkers[0].robot.joint_count
        self.single_observation_space = gymnasium.spaces.Box(-limits, limits, dtype=np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (n,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._shape = num_envs, n
        self._threads = min(num_envs, threads)
        self._shares = [range(i, num_envs, self._threads) for i in range(self._threads)]
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        self._randoms: list[np.random.Generator] = []
        self._ages = np.zeros(num_envs, int)
        self._over = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        """Begin an episode of each robot. seed: one for each robot, or that of the first; the next robots then
        have seed + 1, ...
        """
        if seed is None and not self._randoms:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else list(seed)
            if len(seeds) != self.num_envs:
                raise HexapodError(f"seed: {len(seeds)} given, needed: one, or one for each of {self.num_envs} robots")
            self._randoms = [np.random.default_rng(each) for each in seeds]
        self._ages[:], self._over[:] = 0, False
        pairs = zip(self.walkers, self._randoms, strict=True)
        return np.stack([walker.reset(random) for walker, random in pairs]), {}

    def step(self, actions: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, object]]:
        """Run one control period of each robot; actions (num_envs, n)."""
        if not self._randoms:
            raise HexapodError("step: no episode has begun; call reset first")
        given = as_array("action", actions, self._shape)
        observations = np.empty(self.observation_space.shape or (), np.float32)
        rewards, fallen = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        infos: list[dict[str, object]] = [{} for _ in self.walkers]

        def run(share: range) -> None:
            for i in share:
                walker, random = self.walkers[i], self._randoms[i]
                if self._over[i]:
                    observations[i], self._ages[i] = walker.reset(random), 0
                    continue
                observations[i], rewards[i], fallen[i], infos[i] = walker.step(given[i], random)
                self._ages[i] += 1

        waiting = [self._pool.submit(run, share) for share in self._shares[1:]] if self._pool is not None else []
        run(self._shares[0])
        for each in waiting:
            each.result()
        truncated = (self._ages >= self.longest) & ~self._over
        self._over = fallen | truncated
        gathered: dict[str, object] = {}
        for i, info in enumerate(infos):
            gathered = self._add_info(gathered, info, i)
        return observations, rewards, fallen, truncated, gathered

    def close_extras(self, **kwargs: object) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
