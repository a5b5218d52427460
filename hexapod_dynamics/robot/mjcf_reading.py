"""A robot read from MJCF, MuJoCo's model format: any body with serial legs.

MuJoCo itself reads the model (defaults, includes, masses of geoms, angles in degrees) and compiles it; the result
is written as URDF, which `urdf_reading` reads, so that both formats have the same rules: bodies without a joint
belong to their parent, legs are the chains on the body, a link ends at the end of its outermost collision shape.
Servos come from the actuators (position servos: gain, velocity gain and joint damping, force range), armatures
become rotor inertias, the IMU is at the gyroscope's site. Contact is an argument, as for URDF.
"""

from __future__ import annotations

import importlib
import math
import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.parts import DRAKE, Contact, Imu, Servo
from hexapod_dynamics.robot.urdf import write_inertial
from hexapod_dynamics.robot.urdf_reading import robot_arguments
from hexapod_dynamics.robot.xml_text import as_text
from hexapod_dynamics.se3 import roll_pitch_yaw, rotation_from_quaternion

INSTALL = "pip install 'mujoco>=3.2,<5' (or the extra: pip install 'hexapod_dynamics[sim]')"
RESOLUTION = math.radians(0.24)  # [rad] of a servo; MJCF does not contain it


def mjcf_arguments(
    text_or_path: str | os.PathLike,
    legs: Mapping[str, str] | None,
    servo: Servo | None,
    contact: Contact | None,
    imu: Imu | None,
    keep_frame: bool,
) -> dict[str, Any]:
    """Return the fields of the Robot that an MJCF text or file describes; see Robot.from_mjcf. RobotError."""
    mujoco = _import_mujoco()
    model = _compiled(mujoco, text_or_path)
    body = _body_of(mujoco, model)
    servo = servo or _servo(mujoco, model)
    gravity = float(np.linalg.norm(model.opt.gravity))
    urdf = ET.tostring(_as_urdf(mujoco, model, body), encoding="unicode")
    arguments = robot_arguments(urdf, legs, servo, contact, None, gravity, keep_frame)
    moved = np.zeros(3) if keep_frame else -_centre(model, body)
    return arguments | {"imu": imu or _imu(mujoco, model, body, moved)}


def _import_mujoco() -> Any:
    try:
        return importlib.import_module("mujoco")
    except ModuleNotFoundError:
        raise RobotError(f"MJCF is read by the Python package mujoco, which is not installed here: {INSTALL}") from None


def _compiled(mujoco: Any, text_or_path: Any) -> Any:
    """Return the MjModel of a text or a file."""
    if not isinstance(text_or_path, (str, os.PathLike)):
        raise RobotError(f"MJCF: {text_or_path!r} given, the text of an MJCF model or the path of a file needed")
    text = str(text_or_path)
    if "<" not in text and not Path(text).is_file():
        raise RobotError(f"MJCF file {text[:200]}: there is no such file")
    try:
        return mujoco.MjModel.from_xml_string(text) if "<" in text else mujoco.MjModel.from_xml_path(text)
    except (ValueError, mujoco.FatalError) as error:
        raise RobotError(f"MJCF: MuJoCo cannot compile it: {error}") from None


def _name(mujoco: Any, model: Any, kind: str, index: int) -> str:
    found = mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), index)
    return found or f"{kind}_{index}"


def _body_of(mujoco: Any, model: Any) -> int:
    """Return the index of the main body: the floating body, else the only body in the world with legs."""
    floating = [
        int(model.jnt_bodyid[j]) for j in range(model.njnt) if int(model.jnt_type[j]) == int(mujoco.mjtJoint.mjJNT_FREE)
    ]
    if not floating:
        carriers = {int(model.body_parentid[b]) for b in range(1, model.nbody) if model.body_jntnum[b] > 0}
        floating = [b for b in carriers if b > 0 and not model.body_jntnum[_ancestors(model, b)].any()]
    if len(floating) != 1:
        names = ", ".join(_name(mujoco, model, "body", b) for b in floating) or "none"
        raise RobotError(
            f"MJCF: one body that floats (a <freejoint>) is needed as the robot's main body; found {names}"
        )
    return floating[0]


def _ancestors(model: Any, body: int) -> list[int]:
    out = [body]
    while model.body_parentid[out[-1]] != 0:
        out.append(int(model.body_parentid[out[-1]]))
    return out


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return rotation_from_quaternion((x, y, z, w))


def _origin(parent: ET.Element, position: np.ndarray, rotation: np.ndarray) -> None:
    ET.SubElement(parent, "origin", xyz=as_text(position), rpy=as_text(roll_pitch_yaw(rotation)))


def _as_urdf(mujoco: Any, model: Any, body: int) -> ET.Element:
    """Return the element <robot> with the main body and everything below it. A link's frame is that of its body,
    moved to its joint.
    """
    name = model.names[: model.names.index(b"\0")].decode() or "robot"
    root = ET.Element("robot", name="".join("_" if c in "./" or c.isspace() else c for c in name))
    anchors = {body: np.zeros(3)}
    _link(mujoco, model, root, body, np.zeros(3))
    _box(mujoco, model, root, body)
    for index in range(body + 1, model.nbody):
        parent = int(model.body_parentid[index])
        if parent not in anchors:
            continue  # the body belongs to another tree
        rotation = _rotation(model.body_quat[index])
        kind, anchor = _joint_kind(mujoco, model, index)
        anchors[index] = anchor
        joint = _joint(mujoco, model, root, index, kind)
        ET.SubElement(joint, "parent", link=_name(mujoco, model, "body", parent))
        ET.SubElement(joint, "child", link=_name(mujoco, model, "body", index))
        _origin(joint, model.body_pos[index] + rotation @ anchor - anchors[parent], rotation)
        _link(mujoco, model, root, index, anchor)
    for index in anchors:
        below = [b for b in anchors if b != index and index in _ancestors(model, b)]
        if index != body and model.body_jntnum[index] and not model.body_jntnum[below].any():
            _end(mujoco, model, root, index, anchors[index], [index, *below])
    return root


def _link(mujoco: Any, model: Any, root: ET.Element, index: int, anchor: np.ndarray) -> None:
    link = ET.SubElement(root, "link", name=_name(mujoco, model, "body", index))
    if model.body_mass[index] <= 0.0:
        return
    turn = _rotation(model.body_iquat[index])
    full = turn @ np.diag(model.body_inertia[index]) @ turn.T
    write_inertial(link, model.body_mass[index], model.body_ipos[index] - anchor, 0.5 * (full + full.T))


def _joint_kind(mujoco: Any, model: Any, index: int) -> tuple[str, np.ndarray]:
    """Return URDF's type of the joint of a body, and the joint's position in the body's frame."""
    count, first = int(model.body_jntnum[index]), int(model.body_jntadr[index])
    where = f"body {_name(mujoco, model, 'body', index)}"
    if count == 0:
        return "fixed", np.zeros(3)
    if count > 1:
        raise RobotError(f"{where}: {count} joints on one body; give each joint a body of its own")
    kinds = {int(mujoco.mjtJoint.mjJNT_HINGE): "revolute", int(mujoco.mjtJoint.mjJNT_SLIDE): "prismatic"}
    kind = kinds.get(int(model.jnt_type[first]))
    if kind is None:
        raise RobotError(f"{where}: a ball or free joint; hinges and slides can be read")
    return kind, model.jnt_pos[first].copy()


def _joint(mujoco: Any, model: Any, root: ET.Element, index: int, kind: str) -> ET.Element:
    if kind == "fixed":
        return ET.SubElement(root, "joint", name=f"fixed_{_name(mujoco, model, 'body', index)}", type="fixed")
    first = int(model.body_jntadr[index])
    name = _name(mujoco, model, "joint", first)
    limited = bool(model.jnt_limited[first])
    joint = ET.SubElement(root, "joint", name=name, type=kind if limited or kind != "revolute" else "continuous")
    ET.SubElement(joint, "axis", xyz=as_text(model.jnt_axis[first]))
    low, high = model.jnt_range[first] if limited else (-math.inf, math.inf)
    if kind == "prismatic" and not limited:
        raise RobotError(f'joint {name}: a slide without a range; give it range="LOWER UPPER" in metres')
    ET.SubElement(joint, "limit", lower=repr(float(low)), upper=repr(float(high)), effort="0", velocity="0")
    armature = float(model.dof_armature[model.jnt_dofadr[first]])
    if armature > 0.0:
        transmission = ET.SubElement(root, "transmission", name=name)
        ET.SubElement(transmission, "joint", name=name)
        actuator = ET.SubElement(transmission, "actuator", name=name)
        ET.SubElement(actuator, f"{{{DRAKE}}}rotor_inertia", value=repr(armature))
    return joint


def _collides(model: Any, geom: int) -> bool:
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _geoms(model: Any, index: int) -> list[int]:
    first, count = int(model.body_geomadr[index]), int(model.body_geomnum[index])
    return list(range(first, first + count)) if count else []


def _box(mujoco: Any, model: Any, root: ET.Element, body: int) -> None:
    """Write the largest box of the main body; if there are boxes that collide, the largest of these."""
    boxes = [g for g in _geoms(model, body) if int(model.geom_type[g]) == int(mujoco.mjtGeom.mjGEOM_BOX)]
    boxes = [g for g in boxes if _collides(model, g)] or boxes
    if boxes:
        largest = max(boxes, key=lambda g: float(np.prod(model.geom_size[g])))
        collision = ET.SubElement(root.find("link"), "collision")  # type: ignore[arg-type]
        size = as_text(2.0 * model.geom_size[largest])
        ET.SubElement(ET.SubElement(collision, "geometry"), "box", size=size)


def _pose_in(model: Any, index: int, above: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation and the position of a body in the frame of an ancestor, with all joints between them
    fixed.
    """
    turn, place = np.eye(3), np.zeros(3)
    while index != above:
        own = _rotation(model.body_quat[index])
        turn, place = own @ turn, own @ place + model.body_pos[index]
        index = int(model.body_parentid[index])
    return turn, place


def _end(mujoco: Any, model: Any, root: ET.Element, index: int, anchor: np.ndarray, bodies: list[int]) -> None:
    """Write the end of a last link as a frame: the farthest point of the colliding spheres and capsules of its
    bodies, else of their sites.
    """
    sphere, capsule = int(mujoco.mjtGeom.mjGEOM_SPHERE), int(mujoco.mjtGeom.mjGEOM_CAPSULE)
    points, sites = [], []
    for body in bodies:
        turn, place = _pose_in(model, body, index)
        sites += [place + turn @ model.site_pos[s] - anchor for s in range(model.nsite) if model.site_bodyid[s] == body]
        for geom in _geoms(model, body):
            if not _collides(model, geom) or int(model.geom_type[geom]) not in (sphere, capsule):
                continue
            centre, radius = place + turn @ model.geom_pos[geom] - anchor, float(model.geom_size[geom][0])
            half = float(model.geom_size[geom][1]) if int(model.geom_type[geom]) == capsule else 0.0
            axis = half * (turn @ _rotation(model.geom_quat[geom])[:, 2])
            for end in (centre + axis, centre - axis):
                distance = float(np.linalg.norm(end))
                points.append(end * (1.0 + radius / distance) if distance > 1e-9 else end)
    points = points or sites
    if not points:
        return
    name = _name(mujoco, model, "body", index)
    joint = ET.SubElement(root, "joint", name=f"end_of_{name}", type="fixed")
    ET.SubElement(joint, "parent", link=name)
    ET.SubElement(joint, "child", link=f"end_of_{name}")
    _origin(joint, max(points, key=lambda point: float(np.linalg.norm(point))), np.eye(3))
    ET.SubElement(root, "link", name=f"end_of_{name}")


def _servo(mujoco: Any, model: Any) -> Servo:
    """Return the servo of the actuators on joints. Its speed limit is the speed at which the damping cancels the
    torque of a set-point that is half a joint's range ahead.
    """
    rows = []
    for actuator in range(model.nu):
        if int(model.actuator_trntype[actuator]) != int(mujoco.mjtTrn.mjTRN_JOINT):
            continue
        joint = int(model.actuator_trnid[actuator, 0])
        gain, velocity = float(model.actuator_gainprm[actuator, 0]), -float(model.actuator_biasprm[actuator, 2])
        damping = velocity + float(np.ravel(model.dof_damping[model.jnt_dofadr[joint]])[0])
        torque = float(model.actuator_forcerange[actuator, 1]) if model.actuator_forcelimited[actuator] else math.inf
        half = 0.5 * float(np.ptp(model.jnt_range[joint])) if model.jnt_limited[joint] else math.pi
        rows.append((gain, damping, torque, gain * half / damping if damping > 0.0 else math.inf))
    if not rows:
        raise RobotError("MJCF: no actuator acts on a joint; give servo=Servo(...)")
    stiffness, damping, torque, speed = np.median(np.array(rows), axis=0)
    if not (math.isfinite(torque) and math.isfinite(speed) and stiffness > 0.0):
        raise RobotError(
            f"MJCF: the actuators have stiffness {stiffness}, force limit {torque}, speed limit {speed}: "
            "they are not position servos with forcerange and damping; give servo=Servo(...)"
        )
    return Servo(float(stiffness), float(damping), float(torque), float(speed), RESOLUTION)


def _centre(model: Any, body: int) -> np.ndarray:
    """Return the centre of mass (3,) [m] of the main body and everything fixed to it, in the main body's frame."""
    total, moment = 0.0, np.zeros(3)
    poses = {body: (np.eye(3), np.zeros(3))}
    for index in range(body, model.nbody):
        if index != body:
            parent = int(model.body_parentid[index])
            if parent not in poses or model.body_jntnum[index]:
                continue
            turn, place = poses[parent]
            poses[index] = turn @ _rotation(model.body_quat[index]), place + turn @ model.body_pos[index]
        turn, place = poses[index]
        total += float(model.body_mass[index])
        moment += float(model.body_mass[index]) * (place + turn @ model.body_ipos[index])
    return moment / total if total > 0.0 else moment


def _imu(mujoco: Any, model: Any, body: int, moved: np.ndarray) -> Imu:
    """Return the pose of the gyroscope's site on the main body, else that of a site named imu, else base_link's
    origin.
    """
    gyros = [s for s in range(model.nsensor) if int(model.sensor_type[s]) == int(mujoco.mjtSensor.mjSENS_GYRO)]
    sites = [int(model.sensor_objid[s]) for s in gyros]
    sites += [s for s in range(model.nsite) if "imu" in _name(mujoco, model, "site", s).lower()]
    for site in sites:
        if model.site_bodyid[site] == body:
            return Imu(model.site_pos[site] + moved, _rotation(model.site_quat[site]))
    return Imu(np.zeros(3), np.eye(3))
