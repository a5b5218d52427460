"""Checks a URDF: contents that a robot cannot have are refused or named in a warning; chains that are not legs are
refused.
"""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from typing import NoReturn

from hexapod_dynamics.errors import RobotError, RobotWarning

XACRO_ELEMENT = re.compile(r"<\s*(xacro:[\w.-]+)")
XACRO_CALL = re.compile(r"\$[{(][^})]*[})]?")


def check_xacro_text(text: str) -> None:
    """Raise RobotError if a text that is not XML has elements of xacro."""
    found = XACRO_ELEMENT.search(text)
    if found:
        _refuse_xacro(f"<{found[1]}>")


def check_elements(root: ET.Element) -> None:
    """Raise RobotError for repeated names, joints that follow others, and calls of xacro.

    A RobotWarning names each value that is not used: friction and damping of joints, reductions of transmissions.
    """
    for element in root.iter():
        if isinstance(element.tag, str) and "xacro}" in element.tag:
            _refuse_xacro(f"<xacro:{element.tag.partition('}')[2]}>")
    for element in root:
        where = f"{element.tag} {element.get('name')}"
        for inner in element.iter():
            for value in (*inner.attrib.values(), inner.text or ""):
                if XACRO_CALL.search(value):
                    _refuse_xacro(f"{where}: {value.strip()!r}")
    names: set[str] = set()
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        if not name:
            raise RobotError("joint: one has no name; give each joint a name of its own")
        if name in names:
            raise RobotError(f"joint {name}: there are two of this name; give each joint a name of its own")
        names.add(name)
        mimic = joint.find("mimic")
        if mimic is not None and joint.get("type") != "fixed":
            raise RobotError(
                f"joint {name}: <mimic joint={mimic.get('joint')!r}>: joints that follow others are not supported; "
                "remove <mimic> to drive it alone, or make it fixed"
            )
        _warn_of_dynamics(name, joint)
    _warn_of_reductions(root)


def _refuse_xacro(what: str) -> NoReturn:
    raise RobotError(f"URDF: {what} is a call of xacro; run xacro first: xacro robot.urdf.xacro > robot.urdf")


def _is_number(text: str | None, number: float) -> bool:
    """Return whether a text is a number."""
    try:
        return float(text or "") == number
    except ValueError:
        return False


def _warn_of_dynamics(name: str, joint: ET.Element) -> None:
    dynamics = joint.find("dynamics")
    if dynamics is None:
        return
    given = [f"{key} {value}" for key, value in dynamics.attrib.items() if not _is_number(value, 0.0)]
    if given:
        _warn(f"joint {name}: <dynamics> {' and '.join(given)} not used: joints of the model have no friction; the "
              "servo's damping is an argument, servo=Servo(...)")  # fmt: skip


def _warn_of_reductions(root: ET.Element) -> None:
    for transmission in root.findall("transmission"):
        joint = transmission.find("joint")
        name = transmission.get("name") if joint is None else joint.get("name")
        for reduction in transmission.iter("mechanicalReduction"):
            if not _is_number(reduction.text, 1.0):
                _warn(
                    f"joint {name}: mechanicalReduction {(reduction.text or '').strip()} is not used: torques and "
                    "rates are the joint's; a motor's rotor is read from drake:rotor_inertia and drake:gear_ratio"
                )


def _warn(message: str) -> None:
    warnings.warn(message, RobotWarning, stacklevel=7)  # the level of the caller of Robot.from_urdf


# ---- legs ------------------------------------------------------------------------------------------------------------


def leg_names(joints: list[str]) -> list[str]:
    """Return the parts of the joints' names without their common beginning and end: coxa_joint_LF -> LF."""
    words = [_words(joint) for joint in joints]
    while len(words) > 1 and all(len(w) > 1 for w in words) and len({w[0] for w in words}) == 1:
        words = [w[1:] for w in words]
    while len(words) > 1 and all(len(w) > 1 for w in words) and len({w[-1] for w in words}) == 1:
        words = [w[:-1] for w in words]
    return ["_".join(w) for w in words]


def check_legs(chains: dict[str, int]) -> None:
    """Raise RobotError if some of the chains on the body, {first joint: number of joints}, are not legs.

    If the names of most chains begin or end with the same word, and these chains have equal numbers of joints,
    they are legs. A chain with another name and another number of joints, such as a head's pan joint, is not a
    leg.
    """
    for end in (0, -1):
        word, count = Counter(_words(joint)[end] for joint in chains).most_common(1)[0]
        legs = [joint for joint in chains if _words(joint)[end] == word]
        others = [joint for joint in chains if joint not in legs]
        alike = {chains[joint] for joint in legs}
        if 2 * count > len(chains) and others and len(alike) == 1 and alike.isdisjoint(map(chains.get, others)):
            example = ", ".join(f"{name!r}: {joint!r}" for name, joint in zip(leg_names(legs), legs, strict=True))
            raise RobotError(
                f"URDF: {', '.join(others)} on the body is no leg like {', '.join(legs)}: it has other joints and "
                'another name. What is no leg must be type="fixed" (it then belongs to the body); where all are legs, '
                f"name them: legs={{{example}, ...}}"
            )


def _words(joint: str) -> list[str]:
    return joint.replace(".", "_").split("_")
