"""The library of manoeuvres by which a robot turns over: a YAML file that is read and checked at start.

The first manoeuvre serves the whole robot and every set of lost legs that leaves both corner legs of a side; each
of the others serves one set and its mirror image. The file contains the robot's name and a digest of everything on
which manoeuvres depend.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from hexapod_dynamics.errors import HexapodError, RobotWarning
from hexapod_dynamics.gait.get_up_manoeuvre import (
    DECIMALS,
    POSES,
    SIDES,
    Manoeuvre,
    Pose,
    best_side,
    corner_legs,
    other_side,
)
from hexapod_dynamics.gait.packaged import file_of
from hexapod_dynamics.gait.planning.plan import mirror_partners
from hexapod_dynamics.gait.planning.plan_library import FORMAT, entries_of, robot_digest
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.checked_yaml import Section, load_yaml, shown

HEADER = "# How the robot turns over. Made by `ros2 run hexapod_dynamics plan --get-up`, read by the node gait.\n"


class GetUpLibrary:
    """Manoeuvres by the set of lost legs; `universal`: the manoeuvre for all sets without their own, None if there
    is none.
    """

    def __init__(self, robot: Robot, manoeuvres: Iterable[Manoeuvre] = ()) -> None:
        self.robot = robot
        self.universal: Manoeuvre | None = None
        self._own: dict[frozenset[str], Manoeuvre] = {}
        try:
            self._partners: dict[str, str] | None = mirror_partners(robot, masses=False)
        except HexapodError:
            self._partners = None
        for manoeuvre in manoeuvres:
            self.add(manoeuvre)

    def add(self, manoeuvre: Manoeuvre) -> None:
        """Add a manoeuvre, in place of one for the same legs."""
        unknown = [name for name in manoeuvre.lost if name not in self.robot.leg_names]
        if unknown:
            raise HexapodError(f"lost: {unknown[0]} is no leg of {self.robot.name}")
        if manoeuvre.lost:
            self._own[frozenset(manoeuvre.lost)] = manoeuvre
        else:
            self.universal = manoeuvre

    def has(self, lost: Iterable[str]) -> bool:
        """Whether there is a manoeuvre for this set of lost legs, or for its mirror image."""
        return any(gone in self._own for gone in self._images(lost))

    def own(self, lost: Iterable[str]) -> list[Manoeuvre]:
        """Return the manoeuvre made for this set of lost legs, and the mirror image of the one made for its mirror
        image.
        """
        gone, *images = self._images(lost)
        out = [self._own[gone]] if gone in self._own else []
        return out + [self._own[one].mirrored(self._partners) for one in images if self._partners and one in self._own]

    def remove(self, lost: Iterable[str]) -> None:
        """Remove the manoeuvres for this set of lost legs and its mirror image."""
        for gone in self._images(lost):
            self._own.pop(gone, None)

    def _images(self, lost: Iterable[str]) -> list[frozenset[str]]:
        gone, partners = frozenset(lost), self._partners
        return [gone] if partners is None else [gone, frozenset(partners[name] for name in gone)]

    def manoeuvres(
        self, lost: Iterable[str], no_coxa: Iterable[str] = (), no_femur: Iterable[str] = ()
    ) -> list[Manoeuvre]:
        """Return the manoeuvres to try without these legs, the most promising first; empty if there are none.

        no_coxa, no_femur: those of them whose coxa, or femur, alone is damaged. Manoeuvres in which they take part come
        first: such a leg still pushes without its coxa, and without its femur a middle leg cannot be folded out of the
        way.
        """
        gone, pushes = frozenset(lost), frozenset(no_coxa)
        own = self.own(gone)
        if not pushes and self._stays_in_the_way(gone, no_femur):
            return self._of_all_legs(gone, always=True)[::-1] + own
        if not pushes:
            return own + self._of_all_legs(gone, always=not own)
        return self.own(gone - pushes) + self._of_all_legs(gone, always=True) + own

    def _stays_in_the_way(self, gone: frozenset[str], no_femur: Iterable[str]) -> bool:
        """Return whether the only leg that is damaged is a middle one, of which the femur alone is."""
        corners = {name for side in SIDES for name in corner_legs(self.robot, side)}
        return len(gone) == 1 and gone == set(no_femur) and not gone & corners

    def _of_all_legs(self, gone: frozenset[str], always: bool) -> list[Manoeuvre]:
        """Return the universal manoeuvre and its mirror image, that which pushes with the better side without the legs
        `gone` first; where neither side has both corner legs: only if `always`.
        """
        partners, out = self._partners, list[Manoeuvre]()
        if self.universal is not None:
            images = {self.universal.pushers: self.universal}
            if partners is not None:
                images[other_side(self.universal.pushers)] = self.universal.mirrored(partners)
            best = best_side(self.robot, gone)
            if best in images:
                out.append(images.pop(best))
            if best is not None or always:
                out += images.values()
        return out

    def __iter__(self) -> Iterator[Manoeuvre]:
        if self.universal is not None:
            yield self.universal
        yield from self._own.values()

    # ---- file --------------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, robot: Robot, path: str | os.PathLike[str]) -> GetUpLibrary:
        """Read and check a library; HexapodError names the file, the manoeuvre and what is wrong with it."""
        try:
            return cls._parse(robot, load_yaml(Path(path)))
        except HexapodError as error:
            raise HexapodError(
                f"manoeuvres {path}: {error}; make the file with `ros2 run hexapod_dynamics plan --get-up`"
            ) from None

    @classmethod
    def _parse(cls, robot: Robot, content: Any) -> GetUpLibrary:
        entries = entries_of(robot, content, "manoeuvres")
        return cls(robot, [_read(robot, Section(entry, f"manoeuvres[{k}]")) for k, entry in enumerate(entries)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the library."""
        header = {
            "format": FORMAT,
            "robot": self.robot.name,
            "digest": robot_digest(self.robot),
            "manoeuvres": [_written(one) for one in self],
        }
        text = HEADER + yaml.safe_dump(header, sort_keys=False, width=118, default_flow_style=None)
        Path(path).write_text(text, encoding="utf-8")


def find_get_up_library(robot: Robot) -> GetUpLibrary:
    """Return the library `get_up_NAME.yaml` beside the robot's own file, else that of the package, else an empty one.

    If the robot has the name of one of the package's robots but other parameters, the library is empty, with a
    RobotWarning. Raises HexapodError for a file beside the robot's own that is another robot's.
    """
    path, own = file_of(robot, "get_up")
    try:
        return GetUpLibrary(robot) if path is None else GetUpLibrary.load(robot, path)
    except HexapodError as error:
        if own:
            raise
        warnings.warn(f"{error}; none of these manoeuvres is used", RobotWarning, stacklevel=2)
        return GetUpLibrary(robot)


def _read(robot: Robot, section: Section) -> Manoeuvre:
    lost, poses = section.take("lost"), section.take("poses")
    if not isinstance(lost, list) or not all(isinstance(name, str) for name in lost):
        raise HexapodError(f"{section.key('lost')}: {shown(lost)} given, a list of legs needed")
    if not isinstance(poses, list) or len(poses) != POSES:
        raise HexapodError(f"{section.key('poses')}: a list of {POSES} poses needed")
    found = [_read_pose(robot, Section(pose, section.key(f"poses[{k}]"))) for k, pose in enumerate(poses)]
    times, pushers = section.vector("times", POSES), section.text("pushers")
    section.done()
    try:
        return Manoeuvre(tuple(found), tuple(float(t) for t in times), pushers, tuple(lost))
    except HexapodError as error:
        raise HexapodError(f"{section.where}: {error}") from None


def _read_pose(robot: Robot, section: Section) -> Pose:
    pose = {}
    for name in robot.leg_names:
        if name in section.values:
            coxa, femur, tibia = (float(angle) for angle in section.vector(name, 3))
            pose[name] = coxa, femur, tibia
    section.done()
    return pose


def _written(manoeuvre: Manoeuvre) -> dict[str, Any]:
    return {
        "lost": list(manoeuvre.lost),
        "pushers": manoeuvre.pushers,
        "poses": [{name: [round(v, DECIMALS) for v in a] for name, a in pose.items()} for pose in manoeuvre.poses],
        "times": [round(v, DECIMALS) for v in manoeuvre.times],
    }
