"""A morphology as a Pinocchio model, built from the description of the robot alone."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from hexapod_dynamics.robot import Joint, Morphology


class PinocchioRobot:
    """Free-flying body with the remaining legs; a locked joint is replaced by a fixed one at its locked position.

    aligned: a revolute joint about an axis of its frame gets Pinocchio's type for that axis, which is quicker.
    """

    def __init__(self, morphology: Morphology, aligned: bool = False) -> None:
        robot = morphology.robot
        self.model = model = pin.Model()
        model.gravity.linear = np.array([0, 0, -robot.gravity])
        base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
        model.addJointFrame(base)
        body = pin.Inertia(robot.body.mass, np.array(robot.body.com), np.array(robot.body.inertia))
        model.appendBodyToJoint(base, body, pin.SE3.Identity())
        self.tips, self.q_places = {}, []
        rotors: list[float] = []
        index = 0
        for leg in robot.legs:
            parent, placement = base, pin.SE3(np.array(leg.mount_rotation), np.array(leg.mount_position))
            inner = np.zeros(3)
            for joint, link in zip(leg.joints, morphology.links(leg.name), strict=False):
                placement = placement * pin.SE3(np.eye(3), joint.origin - inner)
                inner = joint.origin
                lock = morphology.locked_angle(leg.name, link.name)
                if lock is None:
                    kind, turn = aligned_joint_model(joint) if aligned else (joint_model(joint), np.eye(3))
                    placement = placement * pin.SE3(turn, np.zeros(3))
                    parent = model.addJoint(parent, kind, placement, joint.name)
                    model.addJointFrame(parent)
                    self.q_places.append(index + leg.joints.index(joint))
                    rotors.append(joint.rotor_inertia)
                    placement = pin.SE3(turn.T, np.zeros(3))
                else:
                    placement = placement * fixed_joint(joint, lock)
                axes = pin.SE3(np.array(link.rotation), np.zeros(3))
                body = pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia))
                model.appendBodyToJoint(parent, body, placement * axes)
                end = pin.SE3(np.eye(3), np.array([link.length, 0.0, 0.0]))
                name, inner_frame = f"tip {leg.name} {link.name}", model.getFrameId(model.names[parent])
                frame = pin.Frame(name, parent, inner_frame, placement * axes * end, pin.OP_FRAME)
                self.tips[leg.name] = model.addFrame(frame)
            index += len(leg.joints)
        model.armature = np.concatenate([np.zeros(6), rotors])
        self.data = model.createData()

    def configuration(self, rotation: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return Pinocchio's configuration vector; the body is at the origin.

        rotation: (3, 3) world <- base_link; q: (N,) positions of all joints of the robot, missing ones included.
        """
        return np.concatenate([np.zeros(3), pin.Quaternion(np.array(rotation)).coeffs(), np.asarray(q)[self.q_places]])


def joint_model(joint: Joint) -> pin.JointModel:
    """Return the joint in Pinocchio's form."""
    axis = np.array(joint.axis)
    if joint.kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(axis)
    if joint.kind == "helical":
        return pin.JointModelHelicalUnaligned(axis, joint.pitch)
    return pin.JointModelRevoluteUnaligned(axis)


def aligned_joint_model(joint: Joint) -> tuple[pin.JointModel, np.ndarray]:
    """Return Pinocchio's type for the joint's axis, and the rotation (3, 3) of the frame in which it is that axis."""
    place = int(np.argmax(np.abs(joint.axis)))
    if joint.kind != "revolute" or abs(joint.axis[place]) != 1.0:
        return joint_model(joint), np.eye(3)
    turn = np.eye(3)
    if joint.axis[place] < 0.0:  # half a turn about the next axis
        turn[place, place] = turn[place - 1, place - 1] = -1.0
    return (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)[place](), turn


def fixed_joint(joint: Joint, position: float) -> pin.SE3:
    """Return the placement of a joint that is fixed at a position [rad or m]."""
    axis = np.array(joint.axis)
    if joint.kind == "prismatic":
        return pin.SE3(np.eye(3), axis * position)
    return pin.SE3(pin.AngleAxis(position, axis).matrix(), axis * joint.pitch * position)
