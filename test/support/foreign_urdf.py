"""The URDF of a PhantomX as others write it: other names, other signs of axes, another pose at zero, a head, an arm."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import exp, roll_pitch_yaw, rotation_rpy

PHANTOMX = Robot.load(Path(__file__).parents[2] / "config" / "phantomx.yaml")
OURS, THEIRS = ("coxa", "femur", "tibia"), ("c1", "thigh", "tibia")
SHIFT = {"c1": 0.0, "thigh": 0.4, "tibia": -0.3}  # [rad] about our axis, of the pose at their zero
ON_BODY = """<robot>
<joint name="j_head_pan" type="revolute"><parent link="base_link"/><child link="head"/><origin xyz="0.08 0 0.06"/>
  <axis xyz="0 0 1"/><limit lower="-1.5" upper="1.5" effort="1" velocity="5"/></joint>
<link name="head"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
<joint name="arm_1" type="revolute"><parent link="base_link"/><child link="a1"/><origin xyz="0.1 0 0.05"/>
  <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="5"/></joint>
<link name="a1"><inertial><mass value="0.05"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
<joint name="arm_2" type="revolute"><parent link="a1"/><child link="a2"/><origin xyz="0.02 0 0.03"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="5"/></joint>
<link name="a2"><inertial><mass value="0.05"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
<joint name="arm_3" type="revolute"><parent link="a2"/><child link="a3"/><origin xyz="0.2 0 0"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="5"/></joint>
<link name="a3"><inertial><origin xyz="0.05 0 0"/><mass value="0.05"/>
  <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="finger" type="prismatic"><parent link="a3"/><child link="f"/><origin xyz="0.1 0 0"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="0.02" effort="1" velocity="1"/></joint>
<link name="f"><inertial><mass value="0.01"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/>
  </inertial></link></robot>"""


def foreign_phantomx() -> str:
    """URDF text: joints j_c1_lf, j_thigh_lf ...; legs of the right side have femurs and tibias that turn about +y."""
    root = ET.fromstring(PHANTOMX.to_urdf())
    for joint in root.findall("joint"):
        words = joint.get("name", "").split("_")
        if words[0] not in OURS:
            continue
        kind, leg = THEIRS[OURS.index(words[0])], words[-1]
        joint.set("name", f"j_{kind}_{leg.lower()}")
        origin, axis, limit = (joint.find(name) for name in ("origin", "axis", "limit"))
        about = np.array([float(word) for word in axis.get("xyz").split()])
        turn = rotation_rpy(*(float(word) for word in origin.get("rpy").split()))
        turn = turn @ exp(np.concatenate([np.zeros(3), SHIFT[kind] * about]))[:3, :3]
        origin.set("rpy", " ".join(repr(float(value)) for value in roll_pitch_yaw(turn)))
        lower, upper = (float(limit.get(side)) - SHIFT[kind] for side in ("lower", "upper"))
        if leg.startswith("R") and kind != "c1":
            axis.set("xyz", " ".join(repr(float(value)) for value in -about))
            lower, upper = -upper, -lower
        limit.set("lower", repr(lower))
        limit.set("upper", repr(upper))
    root.extend(ET.fromstring(ON_BODY))
    return ET.tostring(root, encoding="unicode")
