"""The same robot for the peers: Pinocchio and MuJoCo, from the robot's description."""

import mujoco
import numpy as np
from support.pinocchio_robot import PinocchioRobot

__all__ = ["PinocchioRobot", "mujoco_model", "mujoco_state", "mujoco_xml"]


def mujoco_xml(morphology, *, timestep: float = 1e-3, extra: str = "", foot: str = "") -> str:
    """MJCF of a morphology without contacts; extra: elements for the world, foot: elements at the end of each leg."""
    robot = morphology.robot
    legs = "".join(_leg(morphology, leg, foot) for leg in robot.legs)
    contact = "" if foot else '<flag contact="disable" constraint="disable"/>'
    return f"""<mujoco>
  <compiler angle="radian" boundmass="0" boundinertia="0" inertiafromgeom="false" balanceinertia="false"/>
  <option timestep="{timestep}" gravity="0 0 {-robot.gravity}">{contact}</option>
  <worldbody>{extra}
    <body name="base"><freejoint/>{_inertial(robot.body.mass, robot.body.com, robot.body.inertia)}{legs}</body>
  </worldbody>
</mujoco>"""


def _leg(morphology, leg, foot: str) -> str:
    opening, closing = "", ""
    position, quaternion, inner = leg.mount_position, _quaternion(leg.mount_rotation), np.zeros(3)
    links = morphology.links(leg.name)
    for joint, link in zip(leg.joints, links, strict=False):
        offset = joint.origin - inner
        inner = joint.origin
        if leg.joints.index(joint) == 0:
            position = leg.mount_position + leg.mount_rotation @ offset
        else:
            position, quaternion = offset, "1 0 0 0"
        kind = {"revolute": "hinge", "prismatic": "slide"}[joint.kind]
        opening += f'<body name="{link.name}_{leg.name}" pos="{_text(position)}" quat="{quaternion}">'
        opening += (
            f'<joint name="{joint.name}" type="{kind}" axis="{_text(joint.axis)}" armature="{joint.rotor_inertia!r}"/>'
        )
        opening += _inertial(link.mass, link.com_in_leg, link.inertia_in_leg)
        closing += "</body>"
    if links and foot:
        opening += foot.format(leg=leg.name, position=_text(links[-1].tip))
    return opening + closing


def _inertial(mass, com, inertia) -> str:
    full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    return f'<inertial mass="{mass!r}" pos="{_text(com)}" fullinertia="{_text(full)}"/>'


def _quaternion(rotation) -> str:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.array(rotation).ravel())
    return _text(quaternion)


def _text(values) -> str:
    return " ".join(repr(float(value)) for value in values)


def mujoco_model(morphology, **options) -> mujoco.MjModel:
    """Compiled MuJoCo model of a morphology."""
    return mujoco.MjModel.from_xml_string(mujoco_xml(morphology, **options))


def mujoco_state(data, rotation, q, nu) -> None:
    """Write a state: MuJoCo has the body's linear velocity in world axes."""
    data.qpos[:3] = 0.0
    mujoco.mju_mat2Quat(data.qpos[3:7], np.array(rotation).ravel())
    data.qpos[7:] = q
    data.qvel[:3] = rotation @ nu[:3]
    data.qvel[3:] = nu[3:]
