"""One control period of a walking robot, compiled: commands, time steps, observation, reward.

Observation (13 + 3 n,), n joints: the world's z axis in base_link (3), the body's velocity (3) [m/s] and angular
velocity (3) [rad/s] in base_link, the height of base_link over the ground below it [m], the velocity asked for (3)
[m/s, rad/s], then joint positions less the standing pose [rad], joint rates [rad/s] and set-points less the standing
pose [rad], n each; zero for joints that are missing. Each is limited to its bounds.

Reward of a period: exp(-|e|^2 / (0.05 m/s)^2) - power_weight P, with the deviation e of the mean velocity on the ground
from the one asked for (the yaw rate's times 0.1 m), and the mean mechanical power P of the servos [W].
"""

from __future__ import annotations

from math import exp

import numpy as np

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.dynamics.workspace import LINK_SIZE
from hexapod_dynamics.simulation.actuator import SETPOINT, TORQUE, command
from hexapod_dynamics.simulation.ground import surface
from hexapod_dynamics.simulation.loops import borrowed
from hexapod_dynamics.simulation.step import step

MASS = 6  # place of a link's mass in its parameters
UP, VELOCITY, TURNING, HEIGHT, ASKED, JOINTS = 0, 3, 6, 9, 10, 13  # places of the observation
# Bounds: of the direction, velocity [m/s], angular velocity [rad/s], height [m], what is asked for, then of the joints.
BOUNDS = (1.0, 5.0, 30.0, 2.0, 2.0)
JOINT_BOUNDS = (2 * np.pi, 50.0, 2 * np.pi)
SPEED_SCALE = 0.05  # [m/s] a deviation of the velocity that costs much of the reward
TURN_ARM = 0.1  # [m] with which a deviation of the yaw rate counts as one of the velocity
TILTED = 0.5  # cosine of the tilt beyond which the robot has fallen
REWARD, FALLEN, POWER, RESULTS = 0, 1, 2, 3


def bounds(joints: int) -> np.ndarray:
    """Largest absolute values of an observation, (13 + 3 n,) float32."""
    widths = (3, 3, 3, 1, 3)
    parts = [np.full(width, bound) for width, bound in zip(widths, BOUNDS, strict=True)]
    return np.concatenate([*parts, *(np.full(joints, bound) for bound in JOINT_BOUNDS)]).astype(np.float32)


@kernel
def observe(ws, world, state, pose, asked, limits, out):
    """Write the observation."""
    ws, world, state = borrowed(ws), borrowed(world), borrowed(state)
    n = pose.size
    for i in range(3):
        out[UP + i] = state.rotation[2, i]
        out[VELOCITY + i] = state.nu[i]
        out[TURNING + i] = state.nu[3 + i]
        out[ASKED + i] = asked[i]
    out[HEIGHT] = state.position[2] - surface(world.ground, state.position[0], state.position[1])[0]
    for j in range(n):
        exists = ws.lanes[ws.joints[j, 0], ws.rows.links + LINK_SIZE * ws.joints[j, 2] + MASS, ws.joints[j, 1]] > 0.0
        out[JOINTS + j] = state.q[j] - pose[j] if exists else 0.0
        out[JOINTS + n + j] = state.nu[6 + j]
        out[JOINTS + 2 * n + j] = world.servos[j, SETPOINT] - pose[j] if exists else 0.0
    for i in range(out.size):
        out[i] = min(limits[i], max(-limits[i], out[i]))


@kernel
def run_period(ws, world, state, action, pose, reach, asked, power_weight, period, steps, limits, out, results):
    """Send the servos to pose + reach * action (limited to [-1, 1]) in `period` [s], simulate, observe, reward.

    results (RESULTS,): reward; 1 where the robot has fallen or is not finite; mean mechanical power [W].
    """
    ws, world, state = borrowed(ws), borrowed(world), borrowed(state)
    n, h = pose.size, period / steps
    for j in range(n):
        target = pose[j] + reach * min(1.0, max(-1.0, action[j]))
        command(world.servos, world.servo, j, target, period)
    # the heading at the start: x axis of base_link on the ground
    cx, cy = state.rotation[0, 0], state.rotation[1, 0]
    x, y, turned, power = state.position[0], state.position[1], 0.0, 0.0
    for _ in range(steps):
        step(ws, world, state, h)
        for i in range(3):
            turned += h * state.rotation[2, i] * state.nu[3 + i]
        for j in range(n):
            power += abs(world.servos[j, TORQUE] * state.nu[6 + j])
    power /= steps
    size = (cx * cx + cy * cy) ** 0.5
    cx, cy = (cx / size, cy / size) if size > 1e-9 else (1.0, 0.0)
    dx, dy = (state.position[0] - x) / period, (state.position[1] - y) / period
    forward, left = cx * dx + cy * dy - asked[0], cx * dy - cy * dx - asked[1]
    yaw = TURN_ARM * (turned / period - asked[2])
    reward = exp(-(forward * forward + left * left + yaw * yaw) / (SPEED_SCALE * SPEED_SCALE)) - power_weight * power
    up = state.rotation[2, 2]
    results[REWARD], results[POWER] = reward, power
    results[FALLEN] = 0.0 if up >= TILTED and reward - reward == 0.0 else 1.0
    observe(ws, world, state, pose, asked, limits, out)
