"""Reads MJCF, MuJoCo's model format, as a tree of links (model_tree.py).

MuJoCo itself reads and compiles the model (defaults, includes, masses of geoms, angles in degrees, damping ratios);
what it made of it is the truth: qpos0, gainprm, biasprm, gear, force ranges of actuators and joints. A link's frame is
that of its body, moved to its joint, and turned back by the joint's `ref`, so that joint positions are MuJoCo's. Drives
come from position actuators, armatures become rotor inertias, the IMU is at the gyroscope's site.
"""

from __future__ import annotations

import importlib
import math
import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.model_tree import Drive, Shape, TreeJoint, TreeLink, warn
from hexapod_dynamics.se3 import rotation_from_quaternion, rotation_from_vector

if TYPE_CHECKING:
    from mujoco import MjModel

INSTALL = "pip install 'mujoco>=3.2,<5' (or the extra: pip install 'hexapod_dynamics[sim]')"
GIVE = "give servo=Servo(...)"
# What MuJoCo adds to an actuator or a joint in some of its releases, and the robot has not.
ADDED_TO_ACTUATORS = {"actuator_delay": "delay", "actuator_damping": "damping", "actuator_armature": "armature"}
ADDED_TO_JOINTS = {"dof_dampingpoly": "damping that grows with the speed"}
# Switches of the option `flag` that the robot does not follow.
SWITCHES = {"mjDSBL_GRAVITY": "gravity", "mjDSBL_ACTUATION": "actuation", "mjDSBL_LIMIT": "limit"}
Pose = tuple[np.ndarray, np.ndarray]  # position, rotation


def read_mjcf(text_or_path: str | os.PathLike) -> tuple[TreeLink, str, float, Pose | None]:
    """Return the tree, the name, the gravity [m/s^2] and the IMU's pose in the main body of an MJCF text or file.

    Raises RobotError.
    """
    try:
        mujoco = importlib.import_module("mujoco")
    except ModuleNotFoundError:
        raise RobotError(f"MJCF is read by the Python package mujoco, which is not installed here: {INSTALL}") from None
    if not isinstance(text_or_path, (str, os.PathLike)):
        raise RobotError(f"MJCF: {text_or_path!r} given, the text of an MJCF model or the path of a file needed")
    text = str(text_or_path)
    if "<" not in text and not Path(text).is_file():
        raise RobotError(f"MJCF file {text[:200]}: there is no such file")
    try:
        model = mujoco.MjModel.from_xml_string(text) if "<" in text else mujoco.MjModel.from_xml_path(text)
    except (ValueError, mujoco.FatalError) as error:
        raise RobotError(f"MJCF: MuJoCo cannot compile it: {error}") from None
    return _Reader(mujoco, model).read()


class _Reader:
    """One compiled model, and what has been read of it."""

    def __init__(self, mujoco: ModuleType, model: MjModel) -> None:
        self.mujoco, self.model = mujoco, model
        self.links: dict[int, TreeLink] = {}  # by body
        self.joints: dict[int, TreeJoint] = {}  # by joint

    def read(self) -> tuple[TreeLink, str, float, Pose | None]:
        model, main = self.model, self._main_body()
        anchors = {main: np.zeros(3)}
        self.links[main] = self._link(main, anchors[main])
        for body in range(main + 1, model.nbody):
            parent = int(model.body_parentid[body])
            if parent not in self.links:
                continue  # the body belongs to another tree
            joint, anchors[body] = self._joint(body, anchors[parent])
            self.links[body] = self._link(body, anchors[body])
            self.links[body].joint = joint
            self.links[parent].children.append(self.links[body])
        self._read_equalities()
        self._read_drives()
        self._name_unused()
        name = model.names[: model.names.index(b"\0")].decode() or "robot"
        name = "".join("_" if c in "./" or c.isspace() else c for c in name)
        return self.links[main], name, float(np.linalg.norm(model.opt.gravity)), self._imu(main)

    def _is(self, value: int, *names: str) -> bool:
        """Return whether a value is one of MuJoCo's named constants: mjtJoint.mjJNT_FREE."""
        constants = (getattr(getattr(self.mujoco, name.split(".")[0]), name.split(".")[1]) for name in names)
        return int(value) in {int(constant) for constant in constants}

    def _name(self, kind: str, index: int) -> str:
        found = self.mujoco.mj_id2name(self.model, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), index)
        return found or f"{kind}_{index}"

    def _main_body(self) -> int:
        """Return the index of the main body: the floating body, else the only body in the world with legs."""
        model = self.model
        floating = [
            int(model.jnt_bodyid[j]) for j in range(model.njnt) if self._is(model.jnt_type[j], "mjtJoint.mjJNT_FREE")
        ]
        if not floating:
            carriers = {int(model.body_parentid[b]) for b in range(1, model.nbody) if model.body_jntnum[b] > 0}
            floating = [b for b in carriers if b > 0 and not self._moves(b)]
        if len(floating) != 1:
            names = ", ".join(self._name("body", b) for b in floating) or "none"
            raise RobotError(
                f"MJCF: one body that floats (a <freejoint>) is needed as the robot's main body; found {names}"
            )
        return floating[0]

    def _moves(self, body: int) -> bool:
        """Return whether a joint is between a body and the world."""
        while body != 0:
            if self.model.body_jntnum[body]:
                return True
            body = int(self.model.body_parentid[body])
        return False

    # ---- links and joints --------------------------------------------------------------------------------------------

    def _link(self, body: int, anchor: np.ndarray) -> TreeLink:
        model, link = self.model, TreeLink(self._name("body", body))
        turn = _rotation(model.body_iquat[body])
        full = turn @ np.diag(model.body_inertia[body]) @ turn.T
        link.mass, link.com = float(model.body_mass[body]), model.body_ipos[body] - anchor
        link.inertia = 0.5 * (full + full.T)
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] == body:
                shape = self._shape(geom, anchor)
                if shape is not None:
                    collides = model.geom_contype[geom] or model.geom_conaffinity[geom]
                    (link.collisions if collides else link.visuals).append(shape)
        link.marks = [model.site_pos[s] - anchor for s in range(model.nsite) if model.site_bodyid[s] == body]
        return link

    def _shape(self, geom: int, anchor: np.ndarray) -> Shape | None:
        model, size = self.model, self.model.geom_size[geom]
        kind = self.mujoco.mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_").lower()
        if kind == "ellipsoid":
            kind, size = "box", 2.0 * size
        elif kind == "box":
            size = 2.0 * size
        elif kind in ("cylinder", "capsule"):
            size = np.array([size[0], 2.0 * size[1]])
        elif kind == "mesh":
            mesh = int(model.geom_dataid[geom])
            size = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]].astype(float)
        elif kind != "sphere":
            return None
        return Shape(kind, size.copy(), _rotation(model.geom_quat[geom]), model.geom_pos[geom] - anchor)

    def _joint(self, body: int, above: np.ndarray) -> tuple[TreeJoint, np.ndarray]:
        """Return the joint of a body and its anchor in the body's frame; above: that of the parent."""
        model, rotation = self.model, _rotation(self.model.body_quat[body])
        count, first = int(model.body_jntnum[body]), int(model.body_jntadr[body])
        where = f"body {self._name('body', body)}"
        if count == 0:
            place = model.body_pos[body] - above
            return TreeJoint(f"fixed_{self._name('body', body)}", "fixed", rotation, place, np.zeros(3)), np.zeros(3)
        if count > 1:
            raise RobotError(f"{where}: {count} joints on one body; give each joint a body of its own")
        hinge = self._is(model.jnt_type[first], "mjtJoint.mjJNT_HINGE")
        if not hinge and not self._is(model.jnt_type[first], "mjtJoint.mjJNT_SLIDE"):
            raise RobotError(f"{where}: a ball or free joint; hinges and slides can be read")
        name, axis, anchor = self._name("joint", first), model.jnt_axis[first].copy(), model.jnt_pos[first].copy()
        low, high = model.jnt_range[first] if model.jnt_limited[first] else (-math.inf, math.inf)
        if not hinge and not model.jnt_limited[first]:
            raise RobotError(f'joint {name}: a slide without a range; give it range="LOWER UPPER" in metres')
        # The model is drawn with the joint at its `ref`: at zero the body is turned or moved back by it.
        ref = float(model.qpos0[model.jnt_qposadr[first]])
        place = model.body_pos[body] + rotation @ anchor - above
        if hinge:
            rotation = rotation @ rotation_from_vector(-ref * axis)
        else:
            place = place - rotation @ axis * ref
        kind = "revolute" if hinge else "prismatic"
        dof = int(model.jnt_dofadr[first])
        armature = float(model.dof_armature[dof])
        joint = TreeJoint(name, kind, rotation, place, axis, float(low), float(high), rotor_inertia=armature)
        self.joints[first] = joint
        for value, what in ((model.jnt_stiffness[first], "stiffness"), (model.dof_frictionloss[dof], "frictionloss")):
            if np.any(value):
                said = f"{what} {np.ravel(value)[0]:g} is not used: joints of the model have no springs and no friction"
                joint.notes.append(f"{said}; friction of a servo is in joint_servos")
        joint.notes += self._added(ADDED_TO_JOINTS, dof)
        return joint, anchor

    def _added(self, fields: dict[str, str], index: int) -> list[str]:
        """Return a note for each field of the model, {name: word}, that this release has and this element uses."""
        used = ((word, getattr(self.model, name, None)) for name, word in fields.items())
        return [
            f"{word} {np.max(np.abs(values[index])):g} is not used"
            for word, values in used
            if values is not None and np.any(values[index])
        ]

    # ---- drives ------------------------------------------------------------------------------------------------------

    def _read_drives(self) -> None:
        """Read what the actuators on joints do; the speed limit is one for all: the median of their greatest speeds."""
        model, speeds = self.model, []
        acting: dict[int, list[int]] = {joint: [] for joint in self.joints}
        unused: dict[str, list[str]] = {}
        for actuator in range(model.nu):
            joint = int(model.actuator_trnid[actuator, 0])
            on_joint = self._is(model.actuator_trntype[actuator], "mjtTrn.mjTRN_JOINT", "mjtTrn.mjTRN_JOINTINPARENT")
            group = int(model.actuator_group[actuator])
            disabled = 0 <= group < 31 and bool(model.opt.disableactuator & 1 << group)
            if on_joint and joint in acting and not disabled:
                acting[joint].append(actuator)
            else:
                why = "its group is disabled" if disabled else "it acts on no joint of the robot"
                unused.setdefault(why, []).append(self._name("actuator", actuator))
        for why, idle in unused.items():
            warn(f"actuator {', '.join(idle)} is not used: {why}")
        for joint, actuators in acting.items():
            if len(actuators) == 1:
                drive, speed = self._drive(joint, actuators[0])
                speeds.append(speed)
            else:
                names = "no actuator" if not actuators else " and ".join(self._name("actuator", a) for a in actuators)
                drive = Drive(problem=f"{names} on it, where one position servo is needed; {GIVE}")
            self.joints[joint].drive = drive
        known = [speed for speed in speeds if speed is not None]
        for driven in self.joints.values():
            driven.drive.speed_limit = float(np.median(known)) if known else None

    def _drive(self, joint: int, actuator: int) -> tuple[Drive, float | None]:
        """Return what an actuator does to a joint, and the greatest speed that it gives, None if it is no servo.

        MuJoCo: torque = g clip(gain u + b0 + b1 g q + b2 g qdot), clipped again to the joint's range of actuator
        forces; for a set-point q* = u / g this is a servo of stiffness g^2 gain, and only if b1 = -gain. The greatest
        speed is that at which the damping balances the torque of a set-point half the joint's range ahead.
        """
        model, name = self.model, "its actuator"
        gear, gain = float(model.actuator_gear[actuator, 0]), float(model.actuator_gainprm[actuator, 0])
        offset, spring, rate = (float(model.actuator_biasprm[actuator, k]) for k in range(3))
        fixed = self._is(model.actuator_gaintype[actuator], "mjtGain.mjGAIN_FIXED")
        if not fixed or self._is(model.actuator_biastype[actuator], "mjtBias.mjBIAS_MUSCLE", "mjtBias.mjBIAS_USER"):
            return Drive(problem=f"{name} is a muscle or has a gain of its own, no position servo; {GIVE}"), None
        if self._is(model.actuator_dyntype[actuator], "mjtDyn.mjDYN_FILTER", "mjtDyn.mjDYN_FILTEREXACT"):
            self.joints[joint].notes.append(
                f"{name}: its filter of {model.actuator_dynprm[actuator, 0]:g} s is not used: set-points act at once"
            )
        elif not self._is(model.actuator_dyntype[actuator], "mjtDyn.mjDYN_NONE"):
            return Drive(problem=f"{name} integrates its control (intvelocity), no position servo; {GIVE}"), None
        if not self._is(model.actuator_biastype[actuator], "mjtBias.mjBIAS_AFFINE"):
            offset = spring = rate = 0.0  # MuJoCo ignores biasprm
        if spring == 0.0:
            kind = "velocity servo" if rate else "torque motor"
            return Drive(problem=f"{name} is a {kind}, no position servo: use <position kp=...>, or {GIVE}"), None
        if gain <= 0.0 or not math.isclose(gain, -spring, rel_tol=1e-9) or offset != 0.0 or gear == 0.0:
            values = f"gain {gain:g}, bias {offset:g} {spring:g} {rate:g}, gear {gear:g}"
            return Drive(problem=f"{name} is no position servo ({values}; the bias must be 0, -gain); {GIVE}"), None
        self.joints[joint].notes += [f"{name}: its {note}" for note in self._added(ADDED_TO_ACTUATORS, actuator)]
        limits = [math.inf]
        if model.actuator_forcelimited[actuator]:
            limits += [abs(gear * float(force)) for force in model.actuator_forcerange[actuator]]
        if model.jnt_actfrclimited[joint]:
            limits += [abs(float(force)) for force in model.jnt_actfrcrange[joint]]
        stiffness, inner = gear**2 * gain, -(gear**2) * rate
        outer = float(np.ravel(model.dof_damping[model.jnt_dofadr[joint]])[0])  # not within the force range
        half = 0.5 * float(np.ptp(model.jnt_range[joint])) if model.jnt_limited[joint] else math.pi
        speed = min(stiffness * half / d if (d := inner + outer) > 0.0 else math.inf,
                    min(limits) / outer if outer > 0.0 else math.inf)  # fmt: skip
        if not (0.0 < min(limits) < math.inf and math.isfinite(speed)):
            needed = "it needs a force limit (its forcerange, the joint's actuatorfrcrange) and damping"
            return Drive(
                problem=f"{name} has force limit {min(limits):g}, speed limit {speed:g}: {needed}; or {GIVE}"
            ), None
        if model.actuator_ctrllimited[actuator]:
            low, high = sorted(model.actuator_ctrlrange[actuator] / gear)
            if low > self.joints[joint].lower + 1e-6 or high < self.joints[joint].upper - 1e-6:
                self.joints[joint].notes.append(
                    f"{name}: its ctrlrange ends the set-points at {low:.3g} and {high:.3g}, within the joint's range, "
                    "which is what the robot has; narrow the range if the servo needs it"
                )
        if len({round(limit, 9) for limit in limits[1:]}) > 1:
            self.joints[joint].notes.append(
                f"{name}: limits of force {limits[1:]}; the smallest counts in both directions"
            )
        return Drive(stiffness, inner + outer, min(limits)), speed

    # ---- what else the file has --------------------------------------------------------------------------------------

    def _read_equalities(self) -> None:
        """Note which joint follows another one; RobotError for closed chains."""
        model = self.model
        for equality in range(model.neq):
            if not model.eq_active0[equality]:
                continue
            first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
            kind = self.mujoco.mjtEq(int(model.eq_type[equality])).name.removeprefix("mjEQ_").lower()
            if kind == "joint":
                if first in self.joints:
                    self.joints[first].follows = self._name("joint", second) if second >= 0 else "none, it is held"
                continue
            ends = [first, second]
            if kind in ("connect", "weld") and self._is(model.eq_objtype[equality], "mjtObj.mjOBJ_SITE"):
                ends = [int(model.site_bodyid[end]) for end in ends]
            if kind not in ("connect", "weld") or any(end in self.links for end in ends):
                raise RobotError(
                    f"equality {self._name('equality', equality)} ({kind}): chains that are closed or coupled are not "
                    'supported; remove it, or make it inactive (active="false")'
                )

    def _name_unused(self) -> None:
        """Warn of what acts on the robot's bodies and has no place in it."""
        model = self.model
        for tendon in range(model.ntendon):
            warn(f"tendon {self._name('tendon', tendon)} is not used: joints move alone")
        lifted = [link.name for body, link in self.links.items() if model.body_gravcomp[body]]
        if lifted:
            warn(f"gravcomp of {', '.join(lifted)} is not used: all links have their weight")
        for switch, word in SWITCHES.items():
            if model.opt.disableflags & int(getattr(self.mujoco.mjtDisableBit, switch)):
                warn(f'flag {word}="disable" is not used: the robot has its {word}')
        if model.opt.density or model.opt.viscosity:
            warn("density and viscosity of the medium are not used: the robot moves in air without drag")
        x, y, z = model.opt.gravity
        if max(abs(x), abs(y)) > 1e-6 or z > 0.0:
            warn(f"gravity {x:g} {y:g} {z:g}: its size is taken, along -z")

    def _imu(self, main: int) -> Pose | None:
        """Return the pose of the gyroscope's site on the main body, else that of a site named imu."""
        model = self.model
        gyros = [s for s in range(model.nsensor) if self._is(model.sensor_type[s], "mjtSensor.mjSENS_GYRO")]
        sites = [int(model.sensor_objid[s]) for s in gyros]
        sites += [s for s in range(model.nsite) if "imu" in self._name("site", s).lower()]
        for site in sites:
            if model.site_bodyid[site] == main:
                return model.site_pos[site].copy(), _rotation(model.site_quat[site])
        return None


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return rotation_from_quaternion((x, y, z, w))
