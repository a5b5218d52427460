"""A robot of a URDF as gaits expect it: its legs are found by their structure, and their frames and zeros converted.

Other chains on the body (pan heads, arms, masts) become fixed parts of it. Gaits need a coxa that turns about z, and a
femur and a tibia that turn about -y, with links along x, x and -z at zero (`kinematics.link_lengths`). A URDF may have
axes of the other sign and any pose at zero: axes and zeros are changed, `servo_direction` and `servo_zero` describe a
servo that turns in the direction of the URDF's joint, with its centre at the URDF's zero. Masses, centres of mass and
inertias are those of the same bodies, in other axes.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.description import Robot
from hexapod_dynamics.robot.geometry import Leg
from hexapod_dynamics.robot.model_tree import TreeLink, find_body, leg_names, read_leg, robot_of_tree
from hexapod_dynamics.robot.parts import Joint, Link
from hexapod_dynamics.robot.urdf_reading import read_robot_tree
from hexapod_dynamics.se3 import roll_pitch_yaw, rotation_about, rotation_rpy, rotation_x_to

MIN_LEGS = 3
NAMES = ("coxa", "femur", "tibia")
UPRIGHT = 0.02  # [rad] by which axes may deviate from z and from the leg's plane
ASIDE = 0.003  # [m] by which a joint or the foot may be beside the leg's plane; it is then moved into the plane
# decimal places of lengths [m] and angles [rad], so that legs of one kind are equal; mounting angles [deg] have two
# less
DIGITS = 6


def robot_of_urdf(text_or_path: str | os.PathLike[str], name: str) -> tuple[Robot, dict[str, str]]:
    """Return a Robot as gaits expect it (`standard_robot`), and {first joint: reason} for the chains that are not
    legs and were fixed.

    Legs are the largest group of chains on the body that have a coxa, a femur and a tibia of equal lengths.
    RobotError if there are fewer than three such chains, with the reasons for the others, if Robot.from_urdf
    refuses the URDF, and if a joint of a leg has no limits, as the servos of gaits have.
    """
    title, root = read_robot_tree(text_or_path)
    base = find_body(root)
    chains = {link.joint: link for link in base.children}
    left_out = {joint: why for joint, link in chains.items() if (why := _why_no_leg(link))}
    candidates = [joint for joint in chains if joint not in left_out]
    legs: dict[str, Leg] = {}
    for joint, leg in zip(candidates, leg_names(candidates), strict=True):
        read = read_leg(leg, chains[joint])
        try:
            legs[joint] = standard_leg(read)
        except RobotError as error:
            left_out[joint] = str(error)
    kind = _largest_group(legs)
    left_out |= {joint: "its links are of other lengths than the legs'" for joint in legs if joint not in kind}
    if len(kind) < MIN_LEGS:
        reasons = [f"{joint}: {why}" for joint, why in left_out.items()] or ["no other moving joint is on the body"]
        found = f"{len(kind)} legs found, at least {MIN_LEGS} needed: {'; '.join(reasons)}"
        raise RobotError(f"URDF: {found}; other legs: describe them by hand (docs/your_robot.md)")
    for link in (link for joint in left_out for link in chains[joint].list_subtree()):
        link.kind = "fixed"
    named = dict(zip(leg_names(kind), kind, strict=True))
    robot = robot_of_tree(base, dataclasses.replace(Robot.jethexa(), name=title), named, keep_frame=True)
    for one in robot.joints:
        if not (math.isfinite(one.lower) and math.isfinite(one.upper)):
            raise RobotError(
                f"joint {one.name}: continuous, without limits; a servo has ends: make it "
                'type="revolute" with <limit lower="-2" upper="2" .../> [rad]'
            )
    return standard_robot(robot, [standard_leg(leg) for leg in robot.legs], name), left_out


def _why_no_leg(link: TreeLink) -> str:
    """Return why the chain that begins with this link is no leg of three joints, empty if it is one."""
    if any(len(part.children) > 1 for part in link.list_subtree()):
        return "its chain forks"
    count = len(link.list_subtree())
    return "" if count == 3 else f"{count} moving joints, no leg of three"


def _largest_group(legs: dict[str, Leg]) -> list[str]:
    """Return the first joints of the largest group of legs whose links have equal lengths."""
    lengths = {joint: np.array([link.length for link in leg.links]) for joint, leg in legs.items()}
    groups = [
        [joint for joint, other in lengths.items() if np.allclose(other, of_one, rtol=0.15)]
        for of_one in lengths.values()
    ]
    return max(groups, key=len, default=[])


def standard_leg(leg: Leg, *, exact: bool = False) -> Leg:
    """Return a leg of three joints in the frames that gaits expect, rounded to DIGITS, links named as in NAMES.

    exact: nothing is rounded, and names stay. Raises RobotError, which names the leg and the deviation: not three
    revolute joints, a coxa that does not turn about a vertical axis, a femur or tibia that leaves the leg's plane.
    """
    digits = 16 if exact else DIGITS
    where = f"leg {leg.name}"
    if len(leg.joints) != 3 or any(joint.kind != "revolute" for joint in leg.joints):
        raise RobotError(f"{where}: {len(leg.joints)} joints; gaits need three that turn: coxa, femur, tibia")
    up = leg.mount_rotation[2]  # base_link's z in the mount frame at zero
    axes = [joint.axis for joint in leg.joints]
    if abs(axes[0] @ up) < math.cos(UPRIGHT):
        raise RobotError(
            f"{where}: its first joint turns about {np.round(axes[0], 3).tolist()}, a vertical axis needed"
        )
    z = math.copysign(1.0, axes[0] @ up) * axes[0]
    origins = [joint.origin for joint in leg.joints]
    points = [*origins, origins[2] + leg.links[2].tip]
    steps = [end - start for start, end in zip(points, points[1:], strict=False)]
    flat = axes[1] - (axes[1] @ z) * z
    if np.linalg.norm(flat) < math.cos(UPRIGHT) or abs(flat @ axes[2]) / np.linalg.norm(flat) < math.cos(UPRIGHT):
        raise RobotError(f"{where}: its second and third joint need one horizontal axis, as a femur and a tibia have")
    y = flat / np.linalg.norm(flat)
    if np.cross(y, z) @ (points[3] - points[0]) < 0.0:
        y = -y
    x = np.cross(y, z)
    turned = np.column_stack([x, y, z])  # mount frame at zero <- the leg's frame in which gaits expect it
    aside = max(abs(float(step @ y)) for step in steps)
    if aside > ASIDE:
        raise RobotError(
            f"{where}: its links lie {1e3 * aside:.1f} mm beside one another; up to {1e3 * ASIDE:.0f} mm fit"
        )
    raised = float(steps[0] @ z)  # height of the femur's joint over the coxa's; the hip is moved to this height
    lengths = [float(steps[0] @ x), *(math.hypot(step @ x, step @ z) for step in steps[1:])]
    if min(lengths) <= 0.0:
        raise RobotError(f"{where}: lengths {np.round(lengths, 4).tolist()} m; all must be above 0")
    femur, tibia = (math.atan2(step @ z, step @ x) for step in steps[1:])
    # Angles of the standard joints at the zeros of the URDF, and their senses of rotation.
    zeros = (0.0, femur, math.remainder(tibia + 0.5 * math.pi - femur, 2.0 * math.pi))
    senses = (float(np.sign(axes[0] @ z)), -float(np.sign(axes[1] @ y)), -float(np.sign(axes[2] @ y)))
    pitches = (0.0, femur, femur + zeros[2])
    directions = ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0))
    links, joints, end = [], [], np.zeros(3)
    for k, (link, joint) in enumerate(zip(leg.links, leg.joints, strict=True)):
        at_zero = rotation_x_to(directions[k])
        own = turned @ rotation_about(1, -pitches[k]) @ at_zero  # mount frame <- the link's own axes, URDF at zero
        com = own.T @ (link.com_in_leg - (raised * z if k == 0 else 0.0))
        inertia = own.T @ link.inertia_in_leg @ own
        inertia = 0.5 * (inertia + inertia.T) if exact else _round_inertia(inertia)
        length, label = round(lengths[k], digits), link.name if exact else NAMES[k]
        links.append(Link(label, link.mass, length, np.round(com, digits), inertia, at_zero))
        made = _joint(joint, k, end, senses[k], zeros[k], digits)
        if not exact and not joint.name.endswith(f"_{leg.name}"):
            made = dataclasses.replace(made, name=f"{NAMES[k]}_joint_{leg.name}")
        joints.append(made)
        end = end + length * np.array(directions[k])
    mount = leg.mount_rotation @ turned
    if not exact:
        mount = rotation_rpy(*np.radians(np.round(np.degrees(roll_pitch_yaw(mount)), DIGITS - 2)))
    return dataclasses.replace(
        leg,
        mount_rotation=mount,
        mount_position=np.round(leg.mount_position + leg.mount_rotation @ (raised * z), digits),
        joints=tuple(joints),
        links=tuple(links),
        module="leg",
    )


def _joint(joint: Joint, k: int, origin: np.ndarray, sense: float, zero: float, digits: int) -> Joint:
    zero = round(zero, digits) + 0.0
    limits = sorted(round(sense * limit + zero, digits) for limit in (joint.lower, joint.upper))
    axis = np.array([0.0, 0.0, 1.0] if k == 0 else [0.0, -1.0, 0.0])
    return dataclasses.replace(
        joint,
        axis=axis,
        origin=origin,
        lower=limits[0],
        upper=limits[1],
        servo_id=k + 1,
        servo_direction=round(sense),
        servo_zero=-zero + 0.0,
    )


def _round_inertia(inertia: np.ndarray) -> np.ndarray:
    """Return an inertia (3, 3) rounded to the seventh digit of its least principal moment: it stays possible."""
    inertia = 0.5 * (inertia + inertia.T)
    step = 10.0 ** (math.floor(math.log10(np.linalg.eigvalsh(inertia)[0])) - 6)
    return step * np.round(inertia / step)


def standard_robot(robot: Robot, legs: Sequence[Leg], name: str) -> Robot:
    """Return a robot with these standard legs, counter-clockwise from the front left one, and base_link in their
    middle.

    Tripod groups alternate around the body; servos are numbered from 1, leg by leg.
    """
    middle = np.round(np.mean([leg.mount_position for leg in legs], axis=0), DIGITS)
    around = sorted(legs, key=lambda leg: math.atan2(*(leg.mount_position - middle)[[1, 0]]) % (2.0 * math.pi))
    placed, ids = [], itertools.count(1)
    for k, leg in enumerate(around):
        joints = tuple(dataclasses.replace(joint, servo_id=next(ids)) for joint in leg.joints)
        place, group = np.round(leg.mount_position - middle, DIGITS), 1 if k % 2 else 2
        placed.append(dataclasses.replace(leg, mount_position=place, joints=joints, tripod_group=group))
    body = dataclasses.replace(robot.body, com=np.round(robot.body.com - middle, DIGITS))
    imu = dataclasses.replace(robot.imu, position=robot.imu.position - middle)
    return dataclasses.replace(robot, name=name, body=body, imu=imu, legs=tuple(placed), joint_servos=())
