"""One control period of a walking robot, compiled: commands, time steps, observation, reward.

Observation (13 + 3 n,), n joints: the world's z axis in base_link (3), the body's velocity (3) [m/s] and angular
velocity (3) [rad/s] in base_link, the height of base_link over the ground below it [m], the velocity asked for (3)
[m/s, rad/s], then joint positions less the standing pose [rad], joint rates [rad/s] and set-points less the standing
pose [rad], n each; zero for joints that are missing. Each is limited to its bounds.

Reward of a period: exp(-|e|^2 / (0.05 m/s)^2) - power_weight P, with the deviation e of the mean velocity on the ground
from the one asked for (the yaw rate's times 0.1 m), and the mean mechanical power P of the servos [W].
"""

import math

import cython
import numpy as np

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.dynamics import c_model
from hexapod_dynamics.kernel_layout import columns, struct
from hexapod_dynamics.simulation import ground_kernel, servo_kernel
from hexapod_dynamics.simulation import step as stepping

# The observation up to the joints.
OBSERVED = struct(up=3, velocity=3, turning=3, height=1, asked=3)
UP, VELOCITY, TURNING, HEIGHT, ASKED, JOINTS = columns(OBSERVED)
# Reward of a period; 1 if the robot has fallen or its state is not finite; mean mechanical power [W].
RESULT = struct(reward=1, fallen=1, power=1)
REWARD, FALLEN, POWER, RESULTS = columns(RESULT)
# Bounds: of the direction, velocity [m/s], angular velocity [rad/s], height [m], what is asked for, then of the joints.
BOUNDS = (1.0, 5.0, 30.0, 2.0, 2.0)
JOINT_BOUNDS = (2 * np.pi, 50.0, 2 * np.pi)
SPEED_SCALE = 0.05  # [m/s] deviation of the velocity at which the reward has fallen to 1/e
TURN_ARM = 0.1  # [m] lever arm that converts a deviation of the yaw rate into one of the velocity
TILTED = 0.5  # cosine of the tilt beyond which the robot has fallen


def bounds(joints: int) -> np.ndarray:
    """Largest absolute values of an observation, (13 + 3 n,) float32."""
    widths = (3, 3, 3, 1, 3)
    parts = [np.full(width, bound) for width, bound in zip(widths, BOUNDS, strict=True)]
    return np.concatenate([*parts, *(np.full(joints, bound) for bound in JOINT_BOUNDS)]).astype(np.float32)


class PeriodMemory:
    """The memory of a period: a StepMemory, and the arrays that it keeps.

    pose (n,) [rad], reach [rad], asked (3,), limits (13 + 3 n,) of the observation. Results: out (13 + 3 n,), the
    observation; results (RESULTS,).
    """

    def __init__(self, steps, pose, reach, asked, power_weight, limits):
        self.size = 13 + 3 * len(pose)
        self.steps, self.reach, self.power_weight = steps, reach, power_weight
        self.kept = pose, asked, limits
        self.out, self.results = np.zeros(self.size), np.zeros(RESULTS)
        self.pose = kernel_memory.values(pose, len(pose))
        self.asked, self.limits = kernel_memory.values(asked, 3), kernel_memory.values(limits, self.size)
        self.numbers = kernel_memory.numbers(self.out, self.size)
        self.observed = cython.cast("Observed *", self.numbers)
        self.result = cython.cast("Result *", kernel_memory.struct(self.results, RESULT))


def _observe(memory, robot):
    """Write the observation."""
    seen, n, m = memory.observed, robot.joint_count, robot.model
    for i in range(3):
        seen.up[i] = robot.rotation[6 + i]
        seen.velocity[i] = robot.nu[i]
        seen.turning[i] = robot.nu[3 + i]
        seen.asked[i] = memory.asked[i]
    x, y = robot.position[0], robot.position[1]
    ground, _, _, _ = ground_kernel.surface_at(robot.plane, robot.rises, robot.rise_count, x, y)
    seen.height = robot.position[2] - ground
    joints = memory.numbers + 13
    for j in range(n):
        lane = c_model.hd_lane(m, m.joints[j].block, m.joints[j].lane)
        row = m.rows.links + c_model.HD_LINK_SIZE * m.joints[j].k + c_model.HD_LINK_MASS
        exists = lane[row * m.width] > 0.0
        joints[j] = robot.q[j] - memory.pose[j] if exists else 0.0
        joints[n + j] = robot.nu[6 + j]
        joints[2 * n + j] = robot.servos[j].setpoint - memory.pose[j] if exists else 0.0
    for i in range(memory.size):
        memory.numbers[i] = min(memory.limits[i], max(-memory.limits[i], memory.numbers[i]))


def _run(memory, robot, action, period, steps):
    """Run a period as `run_period` does."""
    n, h = robot.joint_count, period / steps
    for j in range(n):
        target = memory.pose[j] + memory.reach * min(1.0, max(-1.0, action[j]))
        servo_kernel.send(robot.servos, robot.drive, j, target, period)
    # the heading at the start: x axis of base_link on the ground
    cx, cy = robot.rotation[0], robot.rotation[3]
    x, y, turned, power = robot.position[0], robot.position[1], 0.0, 0.0
    for _ in range(steps):
        stepping.step(robot, h)
        for i in range(3):
            turned += h * robot.rotation[6 + i] * robot.nu[3 + i]
        for j in range(n):
            power += math.fabs(robot.servos[j].torque * robot.nu[6 + j])
    power /= steps
    size = math.sqrt(cx * cx + cy * cy)
    if size > 1e-9:
        cx, cy = cx / size, cy / size
    else:
        cx, cy = 1.0, 0.0
    dx, dy = (robot.position[0] - x) / period, (robot.position[1] - y) / period
    forward, left = cx * dx + cy * dy - memory.asked[0], cx * dy - cy * dx - memory.asked[1]
    yaw = TURN_ARM * (turned / period - memory.asked[2])
    reward = math.exp(-(forward * forward + left * left + yaw * yaw) / (SPEED_SCALE * SPEED_SCALE))
    reward -= memory.power_weight * power
    memory.result.reward, memory.result.power = reward, power
    memory.result.fallen = 0.0 if robot.rotation[8] >= TILTED and reward - reward == 0.0 else 1.0
    _observe(memory, robot)


# ---- for Python ------------------------------------------------------------------------------------------------------


def observe(memory):
    """Write the observation of a PeriodMemory."""
    _observe(memory, memory.steps)


def run_period(memory, action, period, steps):
    """Send the servos to pose + reach * action (limited to [-1, 1]) in `period` [s], simulate, observe, reward.

    action (n,); steps: time steps of the period. It releases the interpreter's lock.
    """
    robot = memory.steps
    wanted = kernel_memory.values(action, robot.joint_count)
    with cython.nogil:
        _run(memory, robot, wanted, period, steps)
