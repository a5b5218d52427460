"""Learn to walk with random damage: a search for the five numbers of a rhythm, on eight robots at once.

python examples/learn_to_walk.py      (needs gymnasium: pip install 'hexapod_dynamics[learning]')
"""

import gymnasium
import numpy as np

import hexapod_dynamics.learning
from hexapod_dynamics.robot import Robot

gymnasium.register_envs(hexapod_dynamics.learning)  # so that tools see that the import is used
ROBOTS, STEPS = 8, 150
robots = gymnasium.make_vec("hexapod_dynamics/Damaged-v0", num_envs=ROBOTS, velocity=(0.05, 0.0, 0.0))
legs = Robot.jethexa().legs
side = np.array([1.0 if leg.mount_position[1] > 0 else -1.0 for leg in legs])  # left legs swing the other way round
group = np.array([np.pi * (leg.tripod_group - 1) for leg in legs])
random = np.random.default_rng(0)


def rhythm(numbers: np.ndarray, step: int) -> np.ndarray:
    """Actions (18,) of a tripod rhythm: swing, lift, their phase, frequency [Hz], and an offset of the lift."""
    swing, lift, phase, frequency, offset = numbers
    angle = 2 * np.pi * frequency * 0.02 * step + group
    femur = lift * np.maximum(0.0, np.sin(angle + phase)) + offset
    return np.stack([-side * swing * np.sin(angle), femur, np.zeros(6)], axis=1).ravel()


def earned(candidates: np.ndarray) -> np.ndarray:
    """Mean reward of each candidate (8, 5), each on a robot of its own with damage of its own."""
    robots.reset(seed=1)
    total = np.zeros(ROBOTS)
    for step in range(STEPS):
        total += robots.step(np.array([rhythm(each, step) for each in candidates]))[1]
    return total / STEPS


best = np.array([0.0, 0.2, 1.5, 1.0, 0.0])
score = earned(np.tile(best, (ROBOTS, 1))).mean()
print(f"before: mean reward {score:.3f}")
spread = 0.3 * np.array([0.3, 0.3, 1.0, 0.5, 0.2])
for generation in range(8):
    candidates = best + spread * random.normal(size=(ROBOTS, 5))
    winner = candidates[np.argmax(earned(candidates))]
    again = earned(np.tile(winner, (ROBOTS, 1))).mean()  # on all eight damages
    if again > score:
        best, score = winner, again
    print(f"generation {generation}: mean reward {score:.3f}")
robots.close()
