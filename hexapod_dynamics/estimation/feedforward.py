"""Joint torques that the commanded motion needs: inverse dynamics with the contact forces of the standing legs.

h = ID(R, q, nu, nudot) is the wrench on the base and the joint torques without contact, f the feet's forces that make
up h_base (FootForces: non-negative least squares), and tau_i = h_i - J_tip,i^T f_i: the leg rows of Farghdani & Chhabra
2025, eq. (6), with tip wrenches.
"""

import numpy as np

from hexapod_dynamics.dynamics.kernel_cache import kernel
from hexapod_dynamics.dynamics.kernels import RobotKernels, inverse, leg_terms, set_state
from hexapod_dynamics.estimation.foot_forces import FootForces
from hexapod_dynamics.robot import Morphology


@kernel
def feet(ws, tips, columns):
    """Write each leg's end (legs, 3) and its velocity per joint rate (joints, 3), body frame, at the state set.

    A leg of which nothing is left has its end at the body's origin.
    """
    rows = ws.rows
    columns[:] = 0.0
    tips[:] = 0.0
    for i in range(ws.legs.shape[0]):
        block, lane, first, last = ws.legs[i, 0], ws.legs[i, 1], ws.legs[i, 2], ws.legs[i, 4]
        if last < 0:
            continue
        row = rows.point + 3 * last
        x, y, z = ws.lanes[block, row, lane], ws.lanes[block, row + 1, lane], ws.lanes[block, row + 2, lane]
        tips[i, 0], tips[i, 1], tips[i, 2] = x, y, z
        for k in range(last + 1):
            if ws.moving[first + k] == 0.0:
                continue
            s = rows.screw + 6 * k
            wx, wy, wz = ws.lanes[block, s + 3, lane], ws.lanes[block, s + 4, lane], ws.lanes[block, s + 5, lane]
            columns[first + k, 0] = ws.lanes[block, s, lane] + wy * z - wz * y
            columns[first + k, 1] = ws.lanes[block, s + 1, lane] + wz * x - wx * z
            columns[first + k, 2] = ws.lanes[block, s + 2, lane] + wx * y - wy * x


@kernel
def needed(ws, rotation, q, nu, nudot, no_torque, tips, columns, out):
    """Write inverse dynamics without contact to out (6 + joints,), and the feet's places and Jacobians."""
    set_state(ws, rotation, q, nu, no_torque)
    leg_terms(ws)
    feet(ws, tips, columns)
    inverse(ws, rotation, q, nu, nudot, out)


class Feedforward:
    """Feed-forward torques of a robot under changing morphologies.

    Args:
        robot: Robot.
        friction: of the feet's friction pyramid.
        clearance: a foot this high above the ground carries nothing, one on it all it can, in between in proportion
            [m]; so torques pass from one tripod to the other without a leap.

    """

    def __init__(self, robot, *, friction=0.6, clearance=0.004):
        self.robot, self.clearance = robot, clearance
        legs, joints = len(robot.legs), robot.joint_count
        self._kernels = RobotKernels(robot)
        self._workspace = self._kernels.workspace(Morphology.whole(robot))
        self._leg_of_joint = np.repeat(np.arange(legs), [len(leg.joints) for leg in robot.legs])
        self._feet = FootForces(legs, friction=friction)
        self.tips, self._columns = np.zeros((legs, 3)), np.zeros((joints, 3))
        self.load, self.forces = np.zeros(legs), np.zeros((legs, 3))
        self._needed, self._no_torque = np.zeros(6 + joints), np.zeros(joints)
        self._nu, self._nudot = np.zeros(6 + joints), np.zeros(6 + joints)
        self._exists = np.ones(legs, bool)
        self.torques = np.zeros(joints)

    def set_morphology(self, morphology):
        """Take a Morphology over."""
        self._kernels.set_morphology(self._workspace, morphology)
        self._exists = self._workspace.legs[:, 4] >= 0

    def solve(self, rotation, height, twist, joints, rates, accelerations, predicted_joints):
        """Compute the torques (n,) [N m]; zero for joints that are missing or locked.

        Args:
            rotation: (3, 3) world <- base_link, as predicted.
            height: of base_link over the ground, as predicted [m].
            twist: (6,) body twist, linear first.
            joints: (n,) as commanded [rad].
            rates: (n,) as commanded [rad/s].
            accelerations: (n,) as commanded [rad/s^2].
            predicted_joints: (n,) [rad]; they tell which feet are on the ground.

        """
        self._nu[:6], self._nu[6:], self._nudot[6:] = twist, rates, accelerations
        ws = self._workspace
        needed(ws, rotation, predicted_joints, self._nu, self._nudot, self._no_torque, self.tips, self._columns,
               self._needed)
        over_ground = height + self.tips @ rotation[2]
        np.clip(1.0 - over_ground / self.clearance, 0.0, 1.0, out=self.load)
        self.load *= self._exists
        needed(ws, rotation, joints, self._nu, self._nudot, self._no_torque, self.tips, self._columns, self._needed)
        forces = self._feet.solve(self._needed[:6], rotation, self.tips, self.load)
        np.matmul(forces, rotation, out=self.forces)                # body axes
        np.einsum('jc,jc->j', self._columns, self.forces[self._leg_of_joint], out=self.torques)
        np.subtract(self._needed[6:], self.torques, out=self.torques)
        return self.torques
