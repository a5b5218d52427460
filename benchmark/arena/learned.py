"""A policy that PPO has learned on `Damaged-v0`, whose damage is one to three torn legs.

The policy changes the set-points of the textbook tripod: it sees the attitude, the body's velocity by a motion capture,
the joints as the bus reads them and its last action. `train` needs PyPI's stable-baselines3 and gymnasium.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from recovery import Readings, Recovery

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.learning.random_damage import RandomDamage
from hexapod_dynamics.robot import Morphology, Robot

WEIGHTS = Path(__file__).parent / "ppo.npz"
TICK, SPEED = 0.02, 0.077  # [s], [m/s]
REACH, CHANGE = 1.2, 0.6  # [rad] set-points from the standing pose; what the policy may add to the tripod
SMOOTH = 0.2  # share of an action that is taken over in a tick
AVERAGED = 0.2  # [s] over which the motion capture's velocity is averaged
READ = 2  # joints that the bus reads in a tick
JOINTS = 13  # where the joints begin in an observation of Damaged-v0
ROBOTS, STEPS, LAYER = 32, 128, 128  # of PPO: robots at once, ticks between two updates, units of the two layers


class Rhythm:
    """The tripod that is changed, and what the policy sees."""

    def __init__(self, robot: Robot) -> None:
        gait = TripodGait().bind(robot)
        self.pose = gait.position.copy()
        gait.command(SPEED, 0.0, 0.0)
        for _ in range(200):
            gait.step(TICK)
        cycle = round(gait.period / TICK)
        self.steps = np.array([gait.step(TICK)[0].copy() for _ in range(cycle)])
        self.count = len(self.pose)
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.tick, self.velocity = 0, np.zeros(2)
        self.joints, self.action = np.zeros(self.count), np.zeros(self.count)

    @property
    def size(self) -> int:
        """Of what the policy sees."""
        return 7 + 2 * self.count

    def set_points(self, action: np.ndarray) -> np.ndarray:
        """Return the set-points (n,) [rad] for an action (n,) in [-1, 1]; a tick passes."""
        self.action += SMOOTH * (np.clip(action, -1.0, 1.0) - self.action)
        rhythm = self.steps[self.tick % len(self.steps)]
        self.tick += 1
        return rhythm + CHANGE * self.action

    def see(self, up: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return what the policy sees; up (3,): the world's z in base_link; velocity (2,) in base_link [m/s]."""
        self.velocity += TICK / AVERAGED * (velocity - self.velocity)
        phase = 2.0 * np.pi * self.tick / len(self.steps)
        clock = np.sin(phase), np.cos(phase)
        return np.concatenate([clock, up, 10.0 * self.velocity, self.joints, self.action]).astype(np.float32)


class LegLosses(RandomDamage):
    """One to `most` legs are torn off."""

    def times(self, random: np.random.Generator) -> list[float]:
        """Times [s] of an episode's losses."""
        return super().times(random)[: random.integers(self.most + 1)]

    def strike(self, random: np.random.Generator, morphology: Morphology, q: np.ndarray) -> Morphology:
        """Tear off one of the legs that are there."""
        left = morphology.existing_mask.reshape(len(morphology.robot.legs), -1).all(axis=1).nonzero()[0]
        return morphology.without(morphology.robot.leg_names[int(random.choice(left))])


class Sensed(gymnasium.Wrapper):
    """Damaged-v0 with what the arena's robot measures, and its delay of up to one tick."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.rhythm = Rhythm(Robot.jethexa())
        size, count = self.rhythm.size, self.rhythm.count
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (count,), np.float32)

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(**options)
        self.rhythm.reset()
        self.rhythm.tick = int(self.np_random.integers(len(self.rhythm.steps)))
        self.late, self.waiting = bool(self.np_random.integers(2)), self.rhythm.pose
        return self._see(observation), info

    def _see(self, observation: np.ndarray) -> np.ndarray:
        rhythm = self.rhythm
        joints = observation[JOINTS : JOINTS + rhythm.count]
        read = (READ * rhythm.tick + np.arange(READ)) % rhythm.count
        rhythm.joints[read] = joints[read]
        rhythm.joints[joints == 0.0] = 0.0  # legs that are torn off
        return rhythm.see(observation[:3], observation[3:5])

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Run one control period."""
        wanted = self.rhythm.set_points(action)
        sent, self.waiting = (self.waiting if self.late else wanted), wanted
        moved = np.clip((sent - self.rhythm.pose) / REACH, -1.0, 1.0)
        observation, reward, fallen, ended, info = self.env.step(moved)
        return self._see(observation), float(reward), fallen, ended, info


def train(steps: int, seed: int = 1) -> float:
    """Train for so many ticks (PyPI: stable-baselines3), write the weights, return the mean reward of a tick."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    import hexapod_dynamics.learning  # noqa: F401  registers the environment

    torch.set_num_threads(1)
    made = {"velocity": (SPEED, 0.0, 0.0), "reach": REACH, "damage": LegLosses(interval=1.5, most=3)}
    made["power_weight"] = 0.002  # the noise of the trials costs power
    robots = make_vec_env("hexapod_dynamics/Damaged-v0", ROBOTS, seed=seed, env_kwargs=made, wrapper_class=Sensed)
    policy = {"net_arch": [LAYER, LAYER], "log_std_init": -2.0}
    model = PPO(
        "MlpPolicy", robots, n_steps=STEPS, batch_size=1024, n_epochs=5, gamma=0.98, learning_rate=3e-4,
        policy_kwargs=policy, seed=seed, device="cpu",
    )  # fmt: skip
    reward = 0.0
    for part in range(20):
        model.learn(steps // 20, reset_num_timesteps=part == 0)
        layers = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
        arrays = [p.detach().numpy() for layer in layers for p in layer.parameters()]
        np.savez_compressed(WEIGHTS, *arrays)
        episodes = model.ep_info_buffer or []
        reward = float(np.mean([row["r"] / 500.0 for row in episodes])) if episodes else 0.0
        print(f"{model.num_timesteps / 1e6:.1f} million ticks: mean reward {reward:.3f} of 1", flush=True)
    return reward


@dataclass
class Learned(Recovery):
    """The policy, told nothing."""

    name: str = "PPO"
    needs_position: bool = True

    def reset(self, robot: Robot) -> np.ndarray:
        """Stand."""
        if not WEIGHTS.is_file():
            raise HexapodError(f"{WEIGHTS.name} is missing: make it with `run.py --policy 12000000`, in half an hour")
        with np.load(WEIGHTS) as stored:
            arrays = [stored[f"arr_{k}"].astype(float) for k in range(6)]
        self.layers = list(zip(arrays[::2], arrays[1::2], strict=True))
        self.rhythm, self.place = Rhythm(robot), None
        return self.rhythm.pose.copy()

    def step(self, readings: Readings) -> np.ndarray:
        """Walk on."""
        rhythm, rotation = self.rhythm, readings.rotation
        here = readings.position.copy()
        x, y = (here - (here if self.place is None else self.place)) / TICK
        self.place = here
        ahead = rotation[:2, 0] / np.hypot(*rotation[:2, 0])
        velocity = np.array([ahead[0] * x + ahead[1] * y, ahead[0] * y - ahead[1] * x])
        read = np.isfinite(readings.joints)
        rhythm.joints[read] = (readings.joints - rhythm.pose)[read]
        rhythm.joints[readings.silent] = 0.0
        x = rhythm.see(rotation[2], velocity).astype(float)
        for weights, bias in self.layers[:-1]:
            x = np.tanh(weights @ x + bias)
        weights, bias = self.layers[-1]
        return rhythm.set_points(weights @ x + bias)
