"""A URDF read by Robot.from_urdf and by Pinocchio: how far what both compute of it is apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
from support.random_robots import rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Robot


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference against the largest entry."""
    return float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))


def compare_with_pinocchio(path: Path) -> tuple[Robot, np.ndarray]:
    """The robot, and the worst differences (3,) of mass matrix, gravity and accelerations at three random states.

    RobotError: the file is refused.
    """
    robot = Robot.from_urdf(path, keep_frame=True)
    model, peer = WholeBodyModel(robot), pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data, rng, worst = peer.createData(), np.random.default_rng(0), np.zeros(3)
    joints = [peer.joints[peer.getJointId(name)] for name in robot.joint_names]
    order = [*range(6), *(joint.idx_v for joint in joints)]
    if sorted(order) != list(range(peer.nv)):
        raise RobotError(f"{path}: Pinocchio has other joints, {[*peer.names]}")
    for _ in range(3):
        R, q, nu = rotation(rng), rng.uniform(-1, 1, len(joints)), rng.normal(size=peer.nv)
        tau = rng.normal(size=len(joints))
        there = pin.neutral(peer)
        there[3:7] = pin.Quaternion(R).coeffs()
        for joint, angle in zip(joints, q, strict=True):
            there[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        rates, torques = np.zeros(peer.nv), np.zeros(peer.nv)
        rates[order], torques[order] = nu, np.concatenate([np.zeros(6), tau])
        M = pin.crba(peer, data, there)
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
        gravity = pin.computeGeneralizedGravity(peer, data, there)[order]
        acceleration = pin.aba(peer, data, there, rates, torques)[order]
        found = difference(model.mass_matrix(q), M), difference(model.gravity_force(R, q), gravity)
        worst = np.maximum(worst, (*found, difference(model.forward_dynamics(R, q, nu, tau), acceleration)))
    return robot, worst
