"""Effect of damage on the state: locked joints stop, the momentum of the robot is conserved.

A lock is an impact within the joint. The rows k of the mass matrix that still move keep their momentum, so that

    nu_k+ = (M_kk)^-1 (M nu)_k

(zeroing the joint's rate alone loses momentum). Removed parts take their momentum with them: no force acts on the
rest, so its velocities do not change. Restored parts start at rest relative to the part that carries them.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.dynamics.kernels import forward, inverse
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.workspace import EXTERNAL, Workspace
from hexapod_dynamics.robot import Morphology

# Used in place of a rotation, of which the dynamics needs only the last row: the downward direction in the body's
# frame.
NO_GRAVITY = np.zeros((3, 3))


def change_morphology(
    kernels: RobotKernels, workspace: Workspace, old: Morphology, new: Morphology, q: np.ndarray, nu: np.ndarray
) -> None:
    """Change the workspace to the morphology `new`, and q (n,) and nu (6 + n,) from a state of `old` to the state
    after the change.
    """
    locking = old.moving_mask & new.existing_mask & ~new.moving_mask
    if not np.any(nu[6:][locking]):
        kernels.set_morphology(workspace, new)
        settle(workspace, new, q, nu)
        return
    momentum, still = np.zeros_like(nu), np.zeros_like(nu)
    kernels.set_morphology(workspace, _unlocked(new, locking))  # the new morphology just before the impact
    inverse(workspace, NO_GRAVITY, q, still, nu, momentum)
    kernels.set_morphology(workspace, new)
    settle(workspace, new, q, nu)
    push = workspace.shared[EXTERNAL : EXTERNAL + 6]
    outside = push.copy()
    push[:] = momentum[:6]
    forward(workspace, NO_GRAVITY, q, still, momentum[6:], nu)
    push[:] = outside


def settle(workspace: Workspace, morphology: Morphology, q: np.ndarray, nu: np.ndarray) -> None:
    """Set locked joints to their locked positions, and the rates of locked and missing joints to zero, in place."""
    stuck = ~morphology.moving_mask
    locked = morphology.existing_mask & stuck
    q[locked] = workspace.locked[locked]
    nu[6:][stuck] = 0.0


def _unlocked(morphology: Morphology, joints: np.ndarray) -> Morphology:
    """Return the morphology in which these joints (n,) bool move, although damage has locked them."""
    robot = morphology.robot
    for index, leg in enumerate(robot.legs):
        for link, joint in enumerate(robot.leg_joints(leg.name)):
            if joints[joint]:
                morphology = morphology.with_working_joint(index, link)
    return morphology
