"""The plan of a gait: phases, footholds and sway of the legs that walk, valid for every twist."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.leg_table import leg_table
from hexapod_dynamics.robot import Robot

# Mirroring changes the signs of y, vy and wz.
MIRRORED_SWAY = ([1.0] * 4 + [-1.0] * 4) * 2 + ([-1.0] * 4 + [1.0] * 4) * 2


@dataclass(frozen=True)
class GaitPlan:
    """A periodic gait for some legs of a robot.

    kind: "walk", or "row" (on the belly, all legs together). legs: names of the legs that walk, in the robot's
    order; phases: of each leg, 0 to 1; footholds: of each leg, (x, y) [m] in base_link; duty: share of the cycle
    in which a leg stands; period [s]; height [m] of base_link over the ground; lift [m] of a swinging foot; sway
    (32,) [m], see `cycle`; rise [m] of a rowing body from its belly. margin [m]: least distance of the zero-moment
    point from the edge of the standing feet's polygon over all twists for which the plan was made.
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
    rise: float = 0.0
    margin: float = 0.0

    def numbers(self) -> _core.PlanNumbers:
        """Return the record that compiled gaits read."""
        out = _core.PlanNumbers()
        out.period, out.duty, out.height, out.lift = self.period, self.duty, self.height, self.lift
        out.crawls, out.rise, out.sway = self.kind == "row", self.rise, self.sway
        return out

    def fill(self, table: np.ndarray, names: Sequence[str]) -> None:
        """Write phase and foothold of each leg into a leg table (legs,) whose rows are the legs `names`."""
        table["used"] = 0.0
        for name, phase, foothold in zip(self.legs, self.phases, self.footholds, strict=True):
            row = table[names.index(name)]
            row["used"], row["phase"], row["foothold"] = 1.0, phase, foothold

    def mirrored(self, partners: dict[str, str]) -> GaitPlan:
        """Return the mirrored plan: left and right are exchanged. partners: name of each leg's mirror image."""
        order = {name: k for k, name in enumerate(partners)}
        rows = sorted(
            (order[partners[name]], partners[name], phase, (x, -y))
            for name, phase, (x, y) in zip(self.legs, self.phases, self.footholds, strict=True)
        )
        return dataclasses.replace(
            self,
            legs=tuple(row[1] for row in rows),
            phases=tuple(row[2] for row in rows),
            footholds=tuple(row[3] for row in rows),
            sway=tuple(sign * value for sign, value in zip(MIRRORED_SWAY, self.sway, strict=True)),
        )

    def shifted(self, dx: float, dy: float) -> GaitPlan:
        """Return the plan with its feet moved by (dx, dy) [m] under the body."""
        return dataclasses.replace(self, footholds=tuple((x + dx, y + dy) for x, y in self.footholds))


def mirror_partners(robot: Robot, *, masses: bool = True) -> dict[str, str]:
    """Return {leg: its mirror image on the other side}; HexapodError if the robot is not symmetric.

    masses: whether mirrored legs must have the same masses, too; else equal links and limits suffice.
    """
    partners, shapes = {}, {}
    if not masses:
        rows = leg_table(robot)
        parts = [rows[name] for name in ("lengths", "lower", "upper", "knee")]
        shapes = {leg.name: np.concatenate([part[k] for part in parts]) for k, leg in enumerate(robot.legs)}
    for leg in robot.legs:
        image = np.array(leg.mount_position) * (1.0, -1.0, 1.0)
        for other in robot.legs:
            alike = (
                other.module == leg.module if masses else np.allclose(shapes[leg.name], shapes[other.name], atol=1e-6)
            )
            if alike and np.allclose(other.mount_position, image, atol=1e-6):
                axis, theirs = leg.mount_rotation[:, 0], other.mount_rotation[:, 0]
                if np.allclose(theirs, axis * (1.0, -1.0, 1.0), atol=1e-6):
                    partners[leg.name] = other.name
    if len(partners) != len(robot.legs):
        alone = [leg.name for leg in robot.legs if leg.name not in partners]
        raise HexapodError(f"robot {robot.name}: leg {', '.join(alone)} has no mirror image on the other side")
    return partners
