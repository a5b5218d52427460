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
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import RobotError, shorten
from hexapod_dynamics.robot.model_tree import Shape, TreeLink, warn
from hexapod_dynamics.se3 import pose, rotation_from_quaternion

if TYPE_CHECKING:
    from mujoco import MjModel

INSTALL = "pip install 'mujoco>=3.2,<5' (or the extra: pip install 'hexapod_dynamics[sim]')"
# What MuJoCo adds to an actuator or a joint in some of its releases, and the robot has not.
ADDED = {
    "actuator_delay": "delay",
    "actuator_damping": "damping",
    "actuator_dampingpoly": "damping that grows with the speed",
    "actuator_armature": "armature",
    "jnt_stiffnesspoly": "stiffness that grows with the angle",
    "dof_dampingpoly": "damping that grows with the speed",
}
# Switches of the option `flag` that the robot does not follow; which there are differs by release.
SWITCHES = "constraint equality limit contact passive spring damper gravity actuation".split()


def read_mjcf(text_or_path: str | os.PathLike) -> tuple[TreeLink, str, float, np.ndarray | None]:
    """Return the tree, the name, the gravity [m/s^2] and the IMU's pose (4, 4) in the main body of an MJCF text or
    file.

    Raises RobotError.
    """
    try:
        mujoco = importlib.import_module("mujoco")
    except ModuleNotFoundError:
        raise RobotError(f"MJCF is read by the Python package mujoco, which is not installed here: {INSTALL}") from None
    if not isinstance(text_or_path, (str, os.PathLike)):
        raise RobotError(f"MJCF: {text_or_path!r} given, the text of an MJCF model or the path of a file needed")
    text = str(text_or_path)
    if "<" not in text and not os.path.isfile(text):
        raise RobotError(f"MJCF file {text[:200]}: there is no such file")
    try:
        model = mujoco.MjModel.from_xml_string(text) if "<" in text else mujoco.MjModel.from_xml_path(text)
    except (ValueError, mujoco.FatalError) as error:
        raise RobotError(f"MJCF: MuJoCo cannot compile it: {shorten(str(error))}") from None
    try:
        return _Reader(mujoco, model).read()
    except UnicodeDecodeError as error:
        raise RobotError(f"MJCF: the name {error.object!r} is not UTF-8; save the file as UTF-8") from None


class _Reader:
    """One compiled model, and what has been read of it."""

    def __init__(self, mujoco: ModuleType, model: MjModel) -> None:
        self.mujoco, self.model = mujoco, model
        self.links: dict[int, TreeLink] = {}  # by body
        self.joints: dict[int, TreeLink] = {}  # by the joint that carries them

    def read(self) -> tuple[TreeLink, str, float, np.ndarray | None]:
        model, main = self.model, self._main_body()
        anchors = {main: np.zeros(3)}  # by body: the place of its joint
        self.links[main] = self._link(main, anchors[main])
        for body in range(main + 1, model.nbody):
            parent = int(model.body_parentid[body])
            if parent not in self.links:
                continue  # the body belongs to another tree
            single = model.body_jntnum[body] == 1
            anchors[body] = model.jnt_pos[model.body_jntadr[body]].copy() if single else np.zeros(3)
            self.links[body] = self._link(body, anchors[body])
            self.links[parent].children.append(self.links[body])
            self._read_joint(self.links[body], body, anchors[body], anchors[parent])
        self._read_equalities()
        self._read_drives()
        self._name_unused(main)
        name = model.names[: model.names.index(b"\0")].decode() or "robot"
        name = "".join("_" if c in "./" or c.isspace() else c for c in name)
        return self.links[main], name, float(np.linalg.norm(model.opt.gravity)), self._imu(main)

    def _name(self, kind: str, index: int) -> str:
        return getattr(self.model, kind)(index).name or f"{kind}_{index}"

    def _main_body(self) -> int:
        """Return the index of the main body: the floating body, of several the only one with joints below it, as in a
        scene with loose objects; else the one body in the world that carries all legs.
        """
        model = self.model
        floating = model.jnt_bodyid[model.jnt_type == self.mujoco.mjtJoint.mjJNT_FREE].tolist()
        if len(floating) > 1:
            carriers = {int(model.body_rootid[body]) for body in model.jnt_bodyid.tolist() if body not in floating}
            floating = [body for body in floating if body in carriers] or floating
        if not floating:
            parents = model.body_parentid.tolist()
            carriers = {parents[body] for body in np.flatnonzero(model.body_jntnum)} - {0}
            common = floating = sorted(body for body in carriers if not model.body_weldid[body])
            # Legs may be on brackets, bodies of their own: the main body carries all of these.
            while len(common) > 1:
                common = sorted({*common[:-1], parents[common[-1]]})  # bodies come after their parents
            floating = common if any(common) else floating
        if len(floating) != 1:
            names = ", ".join(self._name("body", b) for b in floating) or "none"
            raise RobotError(
                f"MJCF: one body that floats (a <freejoint>) is needed as the robot's main body; found {names}"
            )
        return floating[0]

    # ---- links and joints --------------------------------------------------------------------------------------------

    def _link(self, body: int, anchor: np.ndarray) -> TreeLink:
        model, given, link = self.model, self.model.body(body), TreeLink(self._name("body", body))
        turn = _rotation(given.iquat)
        full = turn @ np.diag(given.inertia) @ turn.T
        link.mass, link.com, link.inertia = float(given.mass[0]), given.ipos - anchor, 0.5 * (full + full.T)
        for geom in np.flatnonzero(model.geom_bodyid == body):
            shape = self._shape(int(geom), anchor)
            if shape is not None:
                collides = model.geom_contype[geom] or model.geom_conaffinity[geom]
                (link.collisions if collides else link.visuals).append(shape)
        link.marks = list(model.site_pos[model.site_bodyid == body] - anchor)
        return link

    def _shape(self, index: int, anchor: np.ndarray) -> Shape | None:
        model, geom = self.model, self.model.geom(index)
        kind, size = self.mujoco.mjtGeom(geom.type[0]).name.removeprefix("mjGEOM_").lower(), geom.size.copy()
        if kind in ("box", "ellipsoid"):
            kind, size = "box", 2.0 * size
        elif kind in ("cylinder", "capsule"):
            size = np.array([size[0], 2.0 * size[1]])
        elif kind == "mesh":
            mesh = geom.dataid[0]
            size = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]].astype(float)
        elif kind != "sphere":
            return None
        return Shape(kind, size, pose(_rotation(geom.quat), geom.pos - anchor))

    def _read_joint(self, link: TreeLink, index: int, anchor: np.ndarray, above: np.ndarray) -> None:
        """Read the joint of a body, at `anchor` in the body's frame; above: that of the parent."""
        body, own = self.model.body(index), link.name
        rotation, kinds = _rotation(body.quat), self.mujoco.mjtJoint
        if body.jntnum == 0:
            link.joint, link.kind, link.pose = f"fixed_{own}", "fixed", pose(rotation, body.pos - above)
            return
        if body.jntnum > 1:
            raise RobotError(f"body {own}: {body.jntnum[0]} joints on one body; give each joint a body of its own")
        first = int(body.jntadr[0])
        given, name = self.model.joint(first), self._name("joint", first)
        hinge, limited = given.type == kinds.mjJNT_HINGE, bool(given.limited)
        if not hinge and given.type != kinds.mjJNT_SLIDE:
            raise RobotError(f"body {own}: a ball or free joint; hinges and slides can be read")
        if not hinge and not limited:
            raise RobotError(f'joint {name}: a slide without a range; give it range="LOWER UPPER" in metres')
        self.joints[first] = link
        link.joint, link.kind, link.axis = name, "revolute" if hinge else "prismatic", given.axis.copy()
        # The model is drawn with the joint at its `ref`: at zero the body is turned or moved back by it.
        link.pose = pose(rotation, body.pos + rotation @ anchor - above)
        link.pose = link.pose_at(-float(given.qpos0[0]))
        if limited:
            link.lower, link.upper = given.range.tolist()
        link.rotor_inertia = float(given.armature[0])
        for what in ("stiffness", "frictionloss"):
            if np.any(value := getattr(given, what)):
                said = f"{what} {np.ravel(value)[0]:g} is not used: joints of the model have no springs and no friction"
                link.notes.append(f"{said}; friction of a servo is in joint_servos")
        link.notes += self._describe_added("jnt", first) + self._describe_added("dof", int(given.dofadr[0]))

    def _describe_added(self, kind: str, index: int) -> list[str]:
        """Return a note for each field of ADDED of this kind that this release has and this element uses."""
        fields = ((word, getattr(self.model, name, None)) for name, word in ADDED.items() if name.startswith(kind))
        used = ((word, np.max(np.abs(values[index]))) for word, values in fields if values is not None)
        return [f"{word} {value:g} is not used" for word, value in used if value]

    # ---- drives ------------------------------------------------------------------------------------------------------

    def _read_drives(self) -> None:
        """Read what the actuators on joints do; the speed limit is one for all: the median of their greatest speeds."""
        model, kinds = self.model, self.mujoco.mjtTrn
        on_joint = int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)
        acting: dict[int, list[int]] = {joint: [] for joint in self.joints}
        unused: dict[str, list[str]] = {}
        for actuator in range(len(model.actuator_trntype)):  # not nu: some have several controls
            joint, group = int(model.actuator_trnid[actuator, 0]), int(model.actuator_group[actuator])
            disabled = 0 <= group < 31 and bool(model.opt.disableactuator & 1 << group)
            if int(model.actuator_trntype[actuator]) in on_joint and joint in acting and not disabled:
                acting[joint].append(actuator)
            else:
                why = "its group is disabled" if disabled else "it acts on no joint of the robot"
                unused.setdefault(why, []).append(self._name("actuator", actuator))
        for why, idle in unused.items():
            warn(f"actuator {', '.join(idle)} is not used: {why}")
        for joint, link in self.joints.items():
            try:
                link.drive = self._drive(joint, acting[joint])
            except RobotError as error:
                link.problem = f"{error}; or give servo=Servo(...)"
        driven = [link.drive for link in self.joints.values() if link.drive]
        speed = float(np.median([drive["speed_limit"] for drive in driven])) if driven else 0.0
        for drive in driven:
            drive["speed_limit"] = speed

    def _drive(self, index: int, actuators: list[int]) -> dict[str, float]:
        """Return what the one actuator of a joint does to it; its speed limit is the greatest speed that it gives.
        RobotError tells why it is no servo.

        MuJoCo: torque = g clip(gain u + b0 + b1 g q + b2 g qdot), clipped again to the joint's range of actuator
        forces; for a set-point q* = u / g this is a servo of stiffness g^2 gain, and only if b1 = -gain. The greatest
        speed is that at which the damping balances the torque of a set-point half the joint's range ahead.
        """
        if len(actuators) != 1:
            names = " and ".join(self._name("actuator", a) for a in actuators) or "no actuator"
            raise RobotError(f"{names} on it, where one position servo is needed")
        model, m, name, (number,) = self.model, self.mujoco, "its actuator", actuators
        actuator, joint, notes = model.actuator(number), model.joint(index), self.joints[index].notes
        gear, gain, (offset, spring, rate) = float(actuator.gear[0]), float(actuator.gainprm[0]), actuator.biasprm[:3]
        if actuator.gaintype != m.mjtGain.mjGAIN_FIXED or actuator.biastype > int(m.mjtBias.mjBIAS_AFFINE):
            raise RobotError(f"{name} is a muscle or has a gain of its own, no position servo")
        if int(actuator.dyntype[0]) in (int(m.mjtDyn.mjDYN_FILTER), int(m.mjtDyn.mjDYN_FILTEREXACT)):
            notes.append(f"{name}: its filter of {actuator.dynprm[0]:g} s is not used: set-points act at once")
        elif actuator.dyntype != m.mjtDyn.mjDYN_NONE:
            raise RobotError(f"{name} integrates its control (intvelocity), no position servo")
        if actuator.biastype != m.mjtBias.mjBIAS_AFFINE:
            offset = spring = rate = 0.0  # MuJoCo ignores biasprm
        if spring == 0.0:
            kind = "velocity servo" if rate else "torque motor"
            raise RobotError(f"{name} is a {kind}, no position servo: use <position kp=...>")
        if gain <= 0.0 or not math.isclose(gain, -spring, rel_tol=1e-9) or offset != 0.0 or gear == 0.0:
            values = f"gain {gain:g}, bias {offset:g} {spring:g} {rate:g}, gear {gear:g}"
            raise RobotError(f"{name} is no position servo ({values}; the bias must be 0, -gain)")
        notes += [f"{name}: its {note}" for note in self._describe_added("actuator", number)]
        limits = [math.inf]
        if actuator.forcelimited:
            limits += np.abs(gear * actuator.forcerange).tolist()
        if model.jnt_actfrclimited[index]:
            limits += np.abs(model.jnt_actfrcrange[index]).tolist()
        stiffness, outer = gear**2 * gain, float(np.ravel(joint.damping)[0])  # `outer` is not within the force range
        damping, half = outer - gear**2 * float(rate), 0.5 * float(np.ptp(joint.range)) if joint.limited else math.pi
        speed = min(stiffness * half / damping if damping > 0.0 else math.inf,
                    min(limits) / outer if outer > 0.0 else math.inf)  # fmt: skip
        if not (0.0 < min(limits) < math.inf and math.isfinite(speed)):
            needed = "it needs a force limit (its forcerange, the joint's actuatorfrcrange) and damping"
            raise RobotError(f"{name} has force limit {min(limits):g}, speed limit {speed:g}: {needed}")
        if actuator.ctrllimited:
            low, high = sorted(actuator.ctrlrange / gear)
            if low > self.joints[index].lower + 1e-6 or high < self.joints[index].upper - 1e-6:
                notes.append(
                    f"{name}: its ctrlrange ends the set-points at {low:.3g} and {high:.3g}, within the joint's range, "
                    "which is what the robot has; narrow the range if the servo needs it"
                )
        if len({round(limit, 9) for limit in limits[1:]}) > 1:
            notes.append(f"{name}: limits of force {limits[1:]}; the smallest counts in both directions")
        return {"stiffness": stiffness, "damping": damping, "torque_limit": min(limits), "speed_limit": speed}

    # ---- what else the file has --------------------------------------------------------------------------------------

    def _read_equalities(self) -> None:
        """Note which joint follows another one; RobotError for closed chains."""
        model = self.model
        for index in np.flatnonzero(model.eq_active0).tolist():
            first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
            kind = self.mujoco.mjtEq(model.eq_type[index]).name.removeprefix("mjEQ_").lower()
            if kind == "joint":
                if first in self.joints:
                    self.joints[first].follows = self._name("joint", second) if second >= 0 else "none, it is held"
                continue
            ends = [first, second]
            if kind in ("connect", "weld") and model.eq_objtype[index] == int(self.mujoco.mjtObj.mjOBJ_SITE):
                ends = model.site_bodyid[ends].tolist()
            if kind not in ("connect", "weld") or any(end in self.links for end in ends):
                name = model.equality(index).name or f"equality_{index}"
                raise RobotError(
                    f"equality {name} ({kind}): chains that are closed or coupled are not "
                    'supported; remove it, or make it inactive (active="false")'
                )

    def _name_unused(self, main: int) -> None:
        """Warn of what acts on the robot's bodies and has no place in it."""
        model, bits = self.model, self.mujoco.mjtDisableBit
        if model.body_jntnum[main]:  # a floating joint, which takes over the defaults of joints
            floating = model.joint(int(model.body_jntadr[main]))
            for what in ("damping", "armature", "frictionloss", "stiffness"):
                if np.any(value := getattr(floating, what)):
                    warn(f"{what} {np.max(value):g} of the floating joint is not used; <freejoint/> has none")
        for tendon in range(model.ntendon):
            warn(f"tendon {self._name('tendon', tendon)} is not used: joints move alone")
        lifted = [link.name for body, link in self.links.items() if model.body_gravcomp[body]]
        if lifted:
            warn(f"gravcomp of {', '.join(lifted)} is not used: all links have their weight")
        for word in SWITCHES:
            if model.opt.disableflags & int(getattr(bits, f"mjDSBL_{word.upper()}", 0)):
                warn(f'flag {word}="disable" is not used: the robot has its {word}')
        if model.opt.density or model.opt.viscosity:
            warn("density and viscosity of the medium are not used: the robot moves in air without drag")
        x, y, z = model.opt.gravity
        if max(abs(x), abs(y)) > 1e-6 or z > 0.0:
            warn(f"gravity {x:g} {y:g} {z:g}: its size is taken, along -z")

    def _imu(self, main: int) -> np.ndarray | None:
        """Return the pose (4, 4) of the site of a gyroscope or accelerometer, or named imu, fixed to the body."""
        model, kinds, state = self.model, self.mujoco.mjtSensor, self.mujoco.MjData(self.model)
        self.mujoco.mj_kinematics(model, state)
        gyros, others = (model.sensor_type == kind for kind in (kinds.mjSENS_GYRO, kinds.mjSENS_ACCELEROMETER))
        named = [site for site in range(model.nsite) if "imu" in self._name("site", site).lower()]
        turn = state.xmat[main].reshape(3, 3).T
        for site in (*model.sensor_objid[gyros], *model.sensor_objid[others], *named):
            if model.body_weldid[model.site_bodyid[site]] == model.body_weldid[main]:
                rotation, place = state.site_xmat[site].reshape(3, 3), state.site_xpos[site] - state.xpos[main]
                return pose(turn @ rotation, turn @ place)
        return None


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return rotation_from_quaternion((x, y, z, w))
