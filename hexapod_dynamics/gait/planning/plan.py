"""Plans of gaits, valid for every twist: their form, those of textbooks (tripod, ripple, wave), their evaluation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.legs import leg_table, link_lines, neutral_foothold
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.checked_yaml import Section, quote

# Mirroring changes the signs of y, vy and wz.
MIRRORED_SWAY = ([1.0] * 4 + [-1.0] * 4) * 2 + ([-1.0] * 4 + [1.0] * 4) * 2


@dataclass(frozen=True)
class GaitPlan:
    """A periodic gait for some legs of a robot.

    kind: "walk", or "row" (on the belly, all legs together). legs: names of the legs that walk, in the robot's
    order; phases: of each leg, 0 to 1; footholds: of each leg, (x, y) [m] in base_link; duty: share of the cycle
    in which a leg stands; period [s]; height [m] of base_link over the ground; lift [m] of a swinging foot; sway
    (32,) [m], see `cycle`; rise [m] of a rowing body from its belly. margin [m]: least distance of the zero-moment
    point from the edge of the standing feet's polygon over all twists of a search; a textbook's plan has only a nominal
    one.
    """

    kind: str
    legs: tuple[str, ...]
    phases: tuple[float, ...]
    footholds: tuple[tuple[float, float], ...]
    duty: float
    period: float
    height: float
    lift: float
    sway: tuple[float, ...]
    rise: float
    margin: float

    def numbers(self) -> _core.PlanNumbers:
        """Return the record that compiled gaits read."""
        out = _core.PlanNumbers()
        for name in ("period", "duty", "height", "lift", "rise", "sway"):
            setattr(out, name, getattr(self, name))
        out.crawls = self.kind == "row"
        return out

    def fill(self, table: np.ndarray, names: Sequence[str]) -> None:
        """Write phase and foothold of each leg into a leg table (legs,) whose rows are the legs `names`."""
        table["used"] = 0.0
        for name, phase, foothold in zip(self.legs, self.phases, self.footholds, strict=True):
            row = table[names.index(name)]
            row["used"], row["phase"], row["foothold"] = 1.0, phase, foothold

    @classmethod
    def read(cls, robot: Robot, section: Section) -> GaitPlan:
        """Return the plan that a section of a file or a message describes; HexapodError says what is wrong in it."""
        legs = section.read("legs")
        if not isinstance(legs, list) or not legs or [name for name in robot.leg_names if name in legs] != legs:
            names = ", ".join(robot.leg_names)
            raise HexapodError(f"{section.key('legs')}: {quote(legs)} given, names out of {names} in this order needed")
        kind = section.text("kind")
        if kind not in ("walk", "row"):
            raise HexapodError(f"{section.key('kind')}: {quote(kind)} given, walk or row needed")
        footholds = section.read("footholds")
        if not isinstance(footholds, list) or len(footholds) != len(legs):
            raise HexapodError(f"{section.key('footholds')}: a list of {len(legs)} places needed")
        places = [Section({"place": place}, section.key(f"footholds[{k}]")) for k, place in enumerate(footholds)]
        plan = cls(
            kind=kind,
            legs=tuple(legs),
            phases=tuple(section.vector("phases", len(legs)).tolist()),
            footholds=tuple(tuple(place.vector("place", 2).tolist()) for place in places),
            duty=section.number("duty", above=0.0),
            period=section.number("period", above=0.2),
            height=section.number("height", above=0.0),
            lift=section.number("lift", above=0.0),
            sway=tuple(section.vector("sway", len(MIRRORED_SWAY)).tolist()),
            rise=section.number("rise", low=0.0),
            margin=section.number("margin", low=0.0),
        )
        if plan.duty >= 1.0 or min(plan.phases) < 0.0 or max(plan.phases) >= 1.0:
            raise HexapodError(f"{section.label}: duty and phases from 0 to below 1 needed")
        section.check_all_read()
        return plan

    def to_dict(self) -> dict[str, object]:
        """Return the plan in the form in which a file contains it; `read` reads this form."""
        digits = {"period": 4, "sway": 6}
        fields = {"legs": self.legs} | vars(self)
        return {name: round_values(value, digits.get(name, 5)) for name, value in fields.items()}

    def mirror(self, partners: dict[str, str]) -> GaitPlan:
        """Return the mirrored plan: left and right are exchanged. partners: name of each leg's mirror image."""
        rows = zip(self.legs, self.phases, self.footholds, strict=True)
        images = {partners[name]: (phase, (x, -y)) for name, phase, (x, y) in rows}
        legs = tuple(name for name in partners if name in images)
        phases, footholds = zip(*(images[name] for name in legs), strict=True)
        sway = tuple(sign * value for sign, value in zip(MIRRORED_SWAY, self.sway, strict=True))
        return dataclasses.replace(self, legs=legs, phases=phases, footholds=footholds, sway=sway)

    def shift(self, dx: float, dy: float) -> GaitPlan:
        """Return the plan with its feet moved by (dx, dy) [m] under the body."""
        return dataclasses.replace(self, footholds=tuple((x + dx, y + dy) for x, y in self.footholds))


def round_values(value: object, digits: int) -> object:
    """Return a value as a file contains it: with rounded numbers, and lists for tuples."""
    if isinstance(value, float):
        return round(value, digits)
    return [round_values(one, digits) for one in value] if isinstance(value, tuple) else value


def mirror_partners(robot: Robot, *, masses: bool = True) -> dict[str, str]:
    """Return {leg: its mirror image on the other side}; HexapodError if the robot is not symmetric.

    masses: whether mirrored legs must have the same masses, too; else equal links and limits suffice.
    """
    table, partners = leg_table(robot), {}
    fields = ["lengths", "lower", "upper", "knee"] + ["mass", "centre"] * masses
    shapes = np.hstack([table[name] for name in fields])
    for i, leg in enumerate(robot.legs):
        image = np.array(leg.mount_position) * (1.0, -1.0, 1.0)
        axis = leg.mount_rotation[:, 0] * (1.0, -1.0, 1.0)
        for j, other in enumerate(robot.legs):
            place, theirs = other.mount_position, other.mount_rotation[:, 0]
            pairs = (shapes[i], shapes[j]), (place, image), (theirs, axis)
            if all(np.allclose(one, two, atol=1e-6) for one, two in pairs):
                partners[leg.name] = other.name
    if len(partners) != len(robot.legs):
        alone = [leg.name for leg in robot.legs if leg.name not in partners]
        raise HexapodError(f"robot {robot.name}: leg {', '.join(alone)} has no mirror image on the other side")
    return partners


TURNS = 0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9, 1.2, -1.2  # [rad] of the coxa of a leg that is held up
HEIGHT, LIFT = 0.12, 0.02  # [m] of base_link over the ground, of a swinging foot


def plan_tripod(robot: Robot) -> GaitPlan | None:
    """Return the tripod of an intact robot; None if its groups have fewer than three legs each."""
    groups = [leg.tripod_group for leg in robot.legs]
    if min(groups.count(1), groups.count(2)) < 3:
        return None
    phases = [0.0 if group == 1 else 0.5 for group in groups]
    # Slightly more than half of the cycle: one group touches down before the other lifts off.
    return _plan(robot, robot.leg_names, phases, 0.53, 1.2)


def plan_pattern(robot: Robot, pattern: str, lost: Sequence[str] = ()) -> GaitPlan | None:
    """Return the wave or the ripple for the remaining legs: neutral footholds, no sway, evenly spaced phases.

    The legs of a side swing one after the other from the rear to the front; in the wave one side follows the
    other, in the ripple the sides are half a cycle apart. Returns None with fewer than four legs.
    """
    names = [name for name in robot.leg_names if name not in lost]
    if len(names) < 4:
        return None
    place = {leg.name: leg.mount_position for leg in robot.legs}
    right = sorted((name for name in names if place[name][1] < 0.0), key=lambda name: place[name][0])
    left = sorted((name for name in names if place[name][1] >= 0.0), key=lambda name: place[name][0])
    if pattern == "wave":
        groups, duty = [(0.0, right + left)], 1.0 - 1.0 / len(names) + 0.01
    else:
        groups, duty = [(0.0, right), (0.5, left)], max(0.55, 1.0 - 1.0 / max(1, min(len(right), len(left))))
    # The leg that swings k-th of a group touches down at (k + 1) / len(group).
    phase = {name: (at - (k + 1) / len(group)) % 1.0 for at, group in groups for k, name in enumerate(group)}
    return _plan(robot, names, [phase[name] for name in names], duty, 1.6)


def _plan(robot: Robot, names: Sequence[str], phases: Sequence[float], duty: float, period: float) -> GaitPlan:
    table = leg_table(robot)
    rows = [table[robot.leg_names.index(name)] for name in names]
    return GaitPlan(
        kind="walk",
        legs=tuple(names),
        phases=tuple(phases),
        footholds=tuple((float(x), float(y)) for x, y in map(neutral_foothold, rows)),
        duty=duty,
        period=period,
        height=min(HEIGHT, float(table["lengths"][:, 2].min())),
        lift=LIFT,
        sway=(0.0,) * 32,
        rise=0.0,
        margin=0.03,
    )


class PlanEvaluator:
    """Evaluates a plan on the leg table of a robot.

    robot: a Robot of three-joint legs; morphology: its present Morphology; samples: of a cycle. Of the last evaluation:
    angles (samples, legs, 3) [rad]; course (samples, 3): zero-moment point (x, y) [m] in the nominal frame, its margin
    [m]; found, see `hd_findings` in core/plan_evaluation.h.
    """

    def __init__(self, robot: Robot, morphology: Morphology | None = None, samples: int = _core.SAMPLES) -> None:
        self.robot = robot
        self.table = leg_table(robot, morphology)
        self.box = robot.body.box_and_com
        self.numbers, self.found = _core.PlanNumbers(), _core.Findings()
        self.angles, self.course = np.zeros((samples, len(robot.legs), 3)), np.zeros((samples, 3))

    def accept(self, plan: GaitPlan) -> None:
        """Set the GaitPlan to evaluate."""
        plan.fill(self.table, self.robot.leg_names)
        self.numbers.load(plan.numbers())

    def findings(self, twist: np.ndarray, samples: int | None = None) -> _core.Findings:
        """Return the findings at a twist, overwritten by the next call; samples: fewer than `angles` has."""
        mass, gravity, angles, course = self.robot.body.mass, self.robot.gravity, self.angles, self.course
        _core.judge(
            self.numbers, self.table, self.box, mass, gravity, twist, angles[:samples], course[:samples], self.found
        )
        return self.found


def turn_away(robot: Robot, plan: GaitPlan, table: np.ndarray, held: Sequence[int], fixed: Sequence[int] = ()) -> None:
    """Write the coxa angles of legs that are held up into a leg table (legs,).

    A leg that has lost only its tibia, or a joint, keeps its coxa and femur. In plans for few legs the femur of its
    neighbour swings through the place where such a leg would be held up, straight ahead of its hip: it turns away.
    held: their rows; fixed: those of them whose coxa cannot be commanded, for example a limp one. Each leg turns
    by the least angle for which its links are far enough from its neighbours in a steady walk at several twists, or
    else as far away as possible.
    """
    count = len(table)
    turning = [i for i in held if table["mass"][i, 0] > 0.0 and i not in fixed and table["free"][i, 0] != 0.0]
    if not turning:
        return
    evaluator = PlanEvaluator(robot)
    evaluator.table[:] = table
    evaluator.accept(plan)
    angles = []
    for twist in ((0.077, 0.0, 0.0), (0.0, 0.05, 0.0), (0.0, 0.0, 0.2)):  # [m/s, m/s, rad/s]
        evaluator.findings(np.array(twist))
        angles.append(evaluator.angles[::3].copy())
    walking = np.concatenate(angles)  # (samples, legs, 3)
    for i in turning:
        row, others = table[i], [np.empty((0, 6))]
        for j in ((i + 1) % count, (i - 1) % count):
            if table["mass"][j, 0] > 0.0:
                rest = table["rest"][j : j + 1]
                others.append(link_lines(table[j], rest if j in held else walking[:, j]).reshape(-1, 6))
        neighbours = np.concatenate(others)
        turns = [turn for turn in TURNS if row["lower"][0] <= turn <= row["upper"][0]]
        poses = [np.array([turn, *row["rest"][1:]]) for turn in turns]
        clear = [_core.least_distance(link_lines(row, pose), neighbours) for pose in poses]
        enough = 0.045  # [m] of the centre lines; links are 24 mm thick (robot/mjcf.py)
        row["rest"][0] = max(
            zip(clear, turns, strict=True), key=lambda one: min(one[0], enough), default=(0.0, row["rest"][0])
        )[1]
