"""Libraries of a robot, of plans and of manoeuvres: YAML files that are read and checked at start, one entry for each
set of lost legs; and the choice of the plan for the legs that are left.

A set and its mirror image share an entry. The file contains the robot's name and a digest of everything on which the
entries depend, so that a library of another robot is refused.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import yaml

from hexapod_dynamics.background import BackgroundCall
from hexapod_dynamics.errors import HexapodError, RobotWarning
from hexapod_dynamics.gait.legs import leg_moments, leg_table
from hexapod_dynamics.gait.planning.plan import GaitPlan, mirror_partners, plan_pattern, plan_tripod, turn_away
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.checked_yaml import Section, quote
from hexapod_dynamics.robot.robot_file import find_own_file, find_packaged_file
from hexapod_dynamics.robot.yaml_text import load_yaml

FORMAT = 1


class _Entry(Protocol):
    def mirror(self, partners: dict[str, str]) -> Any:
        """Return the mirror image; partners: each leg's name on the other side."""

    def to_dict(self) -> dict[str, object]:
        """Return the entry in the form in which a file contains it."""


Entry = TypeVar("Entry", bound=_Entry)
Library = TypeVar("Library", bound="RobotLibrary")


def robot_digest(robot: Robot) -> str:
    """Return a short text that changes with every number of the robot on which plans depend."""
    body = [robot.gravity, robot.body.mass, *robot.body.box, robot.servo.speed_limit]
    body += robot.body.com.tolist() if robot.body.com.any() else []
    numbers = np.concatenate([leg_table(robot).view(float), body])
    return hashlib.sha256(np.round(numbers, 9).tobytes()).hexdigest()[:16]


class RobotLibrary(ABC, Generic[Entry]):
    """Entries that were made for one robot, by the set of lost legs, and their YAML file.

    ENTRY: class of the entries, with a constructor `read(robot, section)`; KIND: the file is KIND_NAME.yaml; KEY: of
    the entries in it; TITLE, COMMAND: what they are and what makes them, for the first line of the file and for errors;
    MASSES: whether mirrored legs must have equal masses. An instance is made of a robot and its entries, and iterates
    over these.
    """

    ENTRY: ClassVar[type[Any]]
    KIND: ClassVar[str]
    KEY: ClassVar[str]
    TITLE: ClassVar[str]
    COMMAND: ClassVar[str]
    MASSES: ClassVar[bool]

    def __init__(self, robot: Robot, entries: Iterable[Entry] = ()) -> None:
        self.robot = robot
        try:
            self._partners = mirror_partners(robot, masses=self.MASSES)
        except HexapodError:
            self._partners = {}  # a robot that is not symmetric: every set needs its own entry
        self._entries: dict[frozenset[str], Entry] = {self.get_lost_legs(entry): entry for entry in entries}

    @abstractmethod
    def get_lost_legs(self, entry: Entry) -> frozenset[str]:
        """Return the set of lost legs (names) for which an entry was made."""

    def add(self, entry: Entry) -> None:
        """Add an entry, in place of one for the same legs."""
        self._entries[self.get_lost_legs(entry)] = entry

    def find_all(self, lost: Iterable[str]) -> list[Entry]:
        """Return the entry made for a set of lost legs (names), and the image of that for its mirror image."""
        gone, *images = self._images(lost)
        out = [self._entries[gone]] if gone in self._entries else []
        return out + [self._entries[one].mirror(self._partners) for one in images if one in self._entries]

    def _images(self, lost: Iterable[str]) -> list[frozenset[str]]:
        """Return a set of legs and its mirror image."""
        gone, partners = frozenset(lost), self._partners
        return [gone] if not partners else [gone, frozenset(partners[name] for name in gone)]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    @classmethod
    def load(cls: type[Library], robot: Robot, path: str | os.PathLike[str], *, target: bool = False) -> Library:
        """Read and check a library; HexapodError names the file, the entry and what is wrong with it.

        target: the file will be written, so that it may be absent, or of this robot before a change: then it is empty.
        """
        remedy = "it is not replaced: name another file" if target else f"make the file with `{cls.COMMAND}`"
        try:
            if target and not Path(path).exists():
                return cls(robot)
            top = Section(load_yaml(Path(path)), "")
            if top.read("format") != FORMAT:
                raise HexapodError(f"format: {quote(top.read('format'))} given, {FORMAT} needed")
            name, digest, rows = top.text("robot"), top.text("digest"), top.read(cls.KEY)
            top.check_all_read()
            if digest != robot_digest(robot):
                if target and name == robot.name:
                    return cls(robot)
                raise HexapodError(
                    f"digest: the {cls.KEY} are of another robot ({name}) than {robot.name}, or it has changed"
                )
            if not isinstance(rows, list):
                raise HexapodError(f"{cls.KEY}: {quote(rows)} given, a list needed")
            sections = (Section(row, f"{cls.KEY}[{k}]") for k, row in enumerate(rows))
            return cls(robot, [cls.ENTRY.read(robot, section) for section in sections])
        except HexapodError as error:
            raise HexapodError(f"{cls.TITLE} {path}: {error}; {remedy}") from None

    @classmethod
    def load_target(cls: type[Library], robot: Robot, path: str | Path, source: str | Path) -> Library:
        """Return the entries of a file that will be written, and those of the file `source` that it has not."""
        return cls(robot, [*cls.load(robot, source), *cls.load(robot, path, target=True)])

    @classmethod
    def load_for_robot(
        cls: type[Library], robot: Robot, given: Library | str | os.PathLike[str] | None = None, *, stacklevel: int = 2
    ) -> Library:
        """Return the given library, or read it from the given path; None: return the library KIND_NAME.yaml beside the
        robot's own file, else that of the package, else an empty one.

        If the robot has the name of one of the package's robots but other parameters, the library is empty, with a
        RobotWarning. Raises HexapodError for a file beside the robot's own that is another robot's.
        """
        if isinstance(given, (str, os.PathLike)):
            return cls.load(robot, given)
        if given is not None:
            return given
        path, own = find_library_file(robot, cls.KIND)
        try:
            return cls(robot) if path is None else cls.load(robot, path)
        except HexapodError as error:
            if own:
                raise
            warnings.warn(f"{error}; none of these {cls.KEY} is used", RobotWarning, stacklevel=stacklevel)
            return cls(robot)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the library."""
        content: dict[str, object] = {"format": FORMAT, "robot": self.robot.name, "digest": robot_digest(self.robot)}
        content[self.KEY] = [entry.to_dict() for entry in self]
        text = yaml.safe_dump(content, sort_keys=False, width=118, default_flow_style=None)
        heading = f"# {self.TITLE.capitalize()}. Made by `{self.COMMAND}`, read by the node gait.\n"
        Path(path).write_text(heading + text, encoding="utf-8")


class PlanLibrary(RobotLibrary[GaitPlan]):
    """Plans by the set of lost legs."""

    ENTRY, MASSES = GaitPlan, True
    KIND, KEY, TITLE, COMMAND = "plans", "plans", "gait plans", "ros2 run hexapod_dynamics plan"

    def get_lost_legs(self, entry: GaitPlan) -> frozenset[str]:
        """Return the legs that a plan does not use."""
        return frozenset(self.robot.leg_names) - frozenset(entry.legs)

    def find(self, lost: Iterable[str]) -> GaitPlan | None:
        """Return the plan for a set of lost legs (names), mirrored if needed; None if there is none."""
        return next(iter(self.find_all(lost)), None)

    def with_images(self) -> list[GaitPlan]:
        """Return all plans, and mirror images of them for the sets of lost legs that have no plan of their own."""
        plans = dict(self._entries)
        for plan in self if self._partners else ():
            image = plan.mirror(self._partners)
            plans.setdefault(self.get_lost_legs(image), image)
        return list(plans.values())

    def lost_sets(self, most_lost: int = 3) -> list[tuple[str, ...]]:
        """Return the sets of lost legs, one of each mirror pair, from one leg lost to `most_lost`."""
        out: dict[frozenset[str], tuple[str, ...]] = {}
        for count in range(1, most_lost + 1):
            for lost in combinations(self.robot.leg_names, count):
                if not any(one in out for one in self._images(lost)):
                    out[frozenset(lost)] = lost
        return list(out.values())


def find_library_file(robot: Robot, kind: str) -> tuple[Path | None, bool]:
    """Return the path of KIND_NAME.yaml of a robot, None if there is none, and whether it is beside the robot's file.

    One beside the robot's file is meant for it, so whoever reads it raises if it is another robot's; a packaged one has
    only the same name.
    """
    name = f"{kind}_{robot.name}.yaml"
    own = find_own_file(robot, name)
    return own or find_packaged_file(name), own is not None


# ---- the plan for the legs that are left -----------------------------------------------------------------------------


class BackgroundPlanner(BackgroundCall[GaitPlan]):
    """Makes one plan at a time, in a process."""

    def __init__(self) -> None:
        super().__init__("hexapod_dynamics.gait.planning.search:make_plan", check_plan)

    def ask(self, robot: Robot, lost: Sequence[str], morphology: Morphology) -> None:
        """Start to make the plan of a Robot with a Morphology, without the legs `lost` (names)."""
        self.start(robot, tuple(lost), morphology)


def check_plan(answer: object, robot: Robot, lost: Sequence[str], _morphology: Morphology) -> GaitPlan:
    """Return the GaitPlan that was asked for; HexapodError for anything else."""
    plan = GaitPlan.read(robot, Section(answer, "the plan that was made"))
    if set(plan.legs) & set(lost):
        raise HexapodError(f"the plan that was made walks on {', '.join(plan.legs)}, without {', '.join(lost)} asked")
    return plan


class PlanChoice:
    """Finds the plan for the legs that can walk.

    planner: makes a plan that the library does not have; None: such plans are not made. why: the reason why there
    is no plan, empty if there is one.
    """

    def __init__(self, robot: Robot, library: PlanLibrary, planner: BackgroundPlanner | None) -> None:
        self.robot, self.library, self.planner = robot, library, planner
        self.why = ""

    def choose(
        self, pattern: str, lost: list[str], morphology: Morphology | None, table: np.ndarray
    ) -> GaitPlan | None:
        """Return the plan without the lost legs, shifted by their weight; None (and `why`) if there is none.

        pattern: "auto", or "wave" or "ripple": these gaits on the remaining legs. table: that of `prepare_legs`;
        the coxa angles at which legs are held up, out of the way of the others, are written to it.
        """
        plan, self.why = self._find(pattern, lost, morphology)
        if plan is None or not lost:
            return plan
        names, legs = self.robot.leg_names, self.robot.legs
        held = [names.index(name) for name in lost]
        limp = [i for i in held if morphology is not None and morphology.is_limp(names[i], legs[i].link_names[0])]
        turn_away(self.robot, plan, table, held, limp)
        moment = leg_moments(table, table["rest"])[held].sum(axis=0)
        return plan.shift(*moment / (self.robot.body.mass + table["mass"].sum()))

    def _find(self, pattern: str, lost: list[str], morphology: Morphology | None) -> tuple[GaitPlan | None, str]:
        left = len(self.robot.legs) - len(lost)
        if pattern != "auto":
            plan = plan_pattern(self.robot, pattern, lost)
            return plan, "" if plan is not None else f"{left} legs left: a {pattern} needs four; sitting"
        plan = (None if lost else plan_tripod(self.robot)) or (self.library.find(lost) if left > 1 else None)
        if plan is not None:
            return plan, ""
        if left < 3:
            return None, f"{left} legs left: fewer than 3 cannot walk, and no plan rows on these; sitting"
        why = f"no plan for the robot without {', '.join(lost) or 'a tripod'}; sitting"
        if self.planner is not None:
            self.planner.ask(self.robot, lost, morphology or Morphology.whole(self.robot))
            why += " while it is made in the background"
        return None, why

    def add_new_plan(self) -> bool:
        """Add a plan that was made in the background to the library; return whether there was one."""
        made = None if self.planner is None or not self.planner.busy else self.planner.poll()
        if made is None:
            return False
        plan, reason = made
        if plan is None:
            self.why = reason if self.why else ""  # else there is a plan now, for other legs
            return False
        self.library.add(plan)
        return True
