"""A robot and its URDF, read by Pinocchio: how far what both compute of it is apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
from support.random_robots import rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Morphology, Robot


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference against the largest entry."""
    return float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))


def compare_with_pinocchio(path: Path, morphology: Morphology | None = None) -> tuple[Robot, np.ndarray]:
    """The robot, and the worst differences (3,) of mass matrix, gravity and accelerations at three random states.

    morphology: that the file was written of; None: that of the robot that is read from it. RobotError: the file is
    refused.
    """
    there = Morphology.whole(Robot.from_urdf(path, keep_frame=True)) if morphology is None else morphology
    robot, model = there.robot, WholeBodyModel(there.robot)
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data, rng, worst = peer.createData(), np.random.default_rng(0), np.zeros(3)
    names = model.joint_names(there)
    places = [robot.joint_names.index(name) for name in names]
    joints = [peer.joints[peer.getJointId(name)] for name in names]
    order = [*range(6), *(joint.idx_v for joint in joints)]
    if sorted(order) != list(range(peer.nv)):
        raise RobotError(f"{path}: Pinocchio has other joints, {[*peer.names]}")
    for _ in range(3):
        R, q, nu = rotation(rng), rng.uniform(-1, 1, robot.joint_count), rng.normal(size=peer.nv)
        tau = rng.normal(size=len(joints))
        state = pin.neutral(peer)
        state[3:7] = pin.Quaternion(R).coeffs()
        for joint, angle in zip(joints, q[places], strict=True):
            state[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        rates, torques = np.zeros(peer.nv), np.zeros(peer.nv)
        rates[order], torques[order] = nu, np.concatenate([np.zeros(6), tau])
        M = pin.crba(peer, data, state)
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
        gravity = pin.computeGeneralizedGravity(peer, data, state)[order]
        acceleration = pin.aba(peer, data, state, rates, torques)[order]
        found = difference(model.mass_matrix(q, there), M), difference(model.gravity_force(R, q, there), gravity)
        worst = np.maximum(worst, (*found, difference(model.forward_dynamics(R, q, nu, tau, there), acceleration)))
    return robot, worst
