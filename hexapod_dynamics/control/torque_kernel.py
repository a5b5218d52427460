"""Joint torques that a commanded motion needs, compiled: inverse dynamics and the standing feet; see feedforward.py."""

import cython
import numpy as np

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.control import foot_force_kernel
from hexapod_dynamics.dynamics import c_model, kernels


class TorqueMemory:
    """Inputs, scratch memory and results of `commanded_torques` for a Workspace and the ForceMemory of its feet,
    which it keeps alive.

    Inputs: rotation (3, 3) world <- base_link, predicted and joints (joints,) [rad], nu and nudot (6 + joints,),
    driven (joints,): 1 if a joint has torque. Results: needs (6 + joints,), inverse dynamics without contact; tips
    (legs, 3) and columns (joints, 3), ends of the legs and their velocities by the joints' rates, body frame; load
    (legs,); forces (legs, 3), body axes [N]; torques (joints,) [N m].
    """

    def __init__(self, workspace, feet):
        joints, legs = len(workspace.joints), len(workspace.legs)
        self.workspace, self.feet = workspace, feet
        self.rotation, self.driven = np.zeros((3, 3)), np.ones(joints)
        self.predicted, self.joints = np.zeros(joints), np.zeros(joints)
        self.nu, self.nudot = np.zeros(6 + joints), np.zeros(6 + joints)
        self.needs, self.torques = np.zeros(6 + joints), np.zeros(joints)
        self.tips, self.columns = np.zeros((legs, 3)), np.zeros((joints, 3))
        self.load, self.forces = np.zeros(legs), np.zeros((legs, 3))
        self.model = kernels.model_of(workspace)
        self.given_rotation = kernel_memory.numbers(self.rotation, 9)
        self.given_predicted = kernel_memory.numbers(self.predicted, joints)
        self.given_joints = kernel_memory.numbers(self.joints, joints)
        self.given_nu = kernel_memory.numbers(self.nu, 6 + joints)
        self.given_nudot = kernel_memory.numbers(self.nudot, 6 + joints)
        self.given_driven = kernel_memory.numbers(self.driven, joints)
        self.needed = kernel_memory.numbers(self.needs, 6 + joints)
        self.ends = kernel_memory.numbers(self.tips, 3 * legs)
        self.jacobians = kernel_memory.numbers(self.columns, 3 * joints)
        self.loads, self.pushes = kernel_memory.numbers(self.load, legs), kernel_memory.numbers(self.forces, 3 * legs)
        self.out = kernel_memory.numbers(self.torques, joints)


def feet_of(m, tips, columns):
    """Write the end of each leg (legs, 3) and its velocity per joint rate (joints, 3), body frame, at the present
    state.

    The end of a missing leg is the origin of the body.
    """
    width = m.width
    for i in range(3 * m.joint_count):
        columns[i] = 0.0
    for i in range(3 * m.leg_count):
        tips[i] = 0.0
    for i in range(m.leg_count):
        if m.legs[i].last < 0:
            continue
        lane = c_model.hd_lane(m, m.legs[i].block, m.legs[i].lane)
        row = (m.rows.point + 3 * m.legs[i].last) * width
        x, y, z = lane[row], lane[row + width], lane[row + 2 * width]
        tips[3 * i], tips[3 * i + 1], tips[3 * i + 2] = x, y, z
        for k in range(m.legs[i].last + 1):
            j = m.legs[i].first + k
            if m.moving[j] == 0.0:
                continue
            s = (m.rows.screw + 6 * k) * width
            wx, wy, wz = lane[s + 3 * width], lane[s + 4 * width], lane[s + 5 * width]
            columns[3 * j] = lane[s] + wy * z - wz * y
            columns[3 * j + 1] = lane[s + width] + wz * x - wx * z
            columns[3 * j + 2] = lane[s + 2 * width] + wx * y - wy * x


def find_needed(m, rotation, q, nu, nudot, tips, columns, out):
    """Write inverse dynamics without contact to out (6 + joints,), and the feet's places and Jacobians."""
    c_model.hd_set_state(m, rotation, q, nu, q)
    c_model.hd_leg_terms(m)
    feet_of(m, tips, columns)
    c_model.hd_inverse(m, rotation, q, nu, nudot, out)


def _find_load(memory, slope_x, slope_y, height, clearance):
    """Write the load capacity of the feet, by their heights over the ground."""
    rotation, tips = memory.given_rotation, memory.ends
    for leg in range(memory.model.leg_count):
        over_ground = height
        for k in range(3):
            up = rotation[6 + k] - slope_x * rotation[k] - slope_y * rotation[3 + k]
            over_ground += tips[3 * leg + k] * up
        memory.loads[leg] = 0.0
        if memory.model.legs[leg].last >= 0:
            memory.loads[leg] = min(max(1.0 - over_ground / clearance, 0.0), 1.0)


def find_torques(memory, feet, slope_x, slope_y, height, clearance):
    """Write the torques as `commanded_torques` does."""
    m, rotation, columns, forces = memory.model, memory.given_rotation, memory.jacobians, memory.pushes
    nu, nudot, needs = memory.given_nu, memory.given_nudot, memory.needed
    find_needed(m, rotation, memory.given_predicted, nu, nudot, memory.ends, columns, needs)
    _find_load(memory, slope_x, slope_y, height, clearance)
    find_needed(m, rotation, memory.given_joints, nu, nudot, memory.ends, columns, needs)
    outcome = foot_force_kernel.solve_forces(feet, needs, rotation, memory.ends, memory.loads)
    if outcome != 0:
        return outcome
    world = feet.out
    for leg in range(m.leg_count):
        i = 3 * leg
        for k in range(3):  # body axes
            forces[i + k] = world[i] * rotation[k] + world[i + 1] * rotation[3 + k] + world[i + 2] * rotation[6 + k]
        for k in range(m.legs[leg].count):
            j = m.legs[leg].first + k
            memory.out[j] = 0.0
            if memory.given_driven[j] != 0.0:
                column = columns + 3 * j
                push = column[0] * forces[i] + column[1] * forces[i + 1] + column[2] * forces[i + 2]
                memory.out[j] = needs[6 + j] - push
    return 0


# ---- for Python ------------------------------------------------------------------------------------------------------


def needed(workspace, rotation, q, nu, nudot, tips, columns, out):
    """Write inverse dynamics without contact to out (6 + joints,), and the feet's places and Jacobians.

    rotation: (3, 3) world <- base_link; q (joints,); nu, nudot (6 + joints,). tips (legs, 3): end of each leg, columns
    (joints, 3): its velocity per joint rate, body frame.
    """
    n = len(q)
    find_needed(
        kernels.model_of(workspace),
        kernel_memory.values(rotation, 9),
        kernel_memory.values(q, n),
        kernel_memory.values(nu, 6 + n),
        kernel_memory.values(nudot, 6 + n),
        kernel_memory.numbers(tips, tips.size),
        kernel_memory.numbers(columns, 3 * n),
        kernel_memory.numbers(out, 6 + n),
    )


def commanded_torques(memory, slope_x, slope_y, height, clearance):
    """Write the torques of `Feedforward.solve` for the inputs of a TorqueMemory; return what `foot_forces` returns."""
    feet = memory.feet
    with cython.nogil:
        outcome = find_torques(memory, feet, slope_x, slope_y, height, clearance)
    return outcome
