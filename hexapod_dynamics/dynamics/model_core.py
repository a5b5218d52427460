"""What every call of the whole-body model stands on: its workspace, the morphology of a call, checked input."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hexapod_dynamics.dynamics import entry_points
from hexapod_dynamics.dynamics.checks import as_array
from hexapod_dynamics.dynamics.entry_points import OK
from hexapod_dynamics.dynamics.native import ABSENT
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.selection import Selection, Template
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology, Robot

KEPT_SELECTIONS = 256  # morphologies that a model remembers, so that a loop over them costs a look-up each


class ModelCore:
    """Memory of a robot's model and how compiled code is called on it; WholeBodyModel's base."""

    def __init__(self, robot: Robot):
        self.robot = robot
        self._kernels = RobotKernels(robot)
        self._template = Template(self._kernels)
        self._legs = {name: np.array([index]) for index, name in enumerate(robot.leg_names)}
        self._link_axes = np.array([link.rotation.ravel() for leg in robot.legs for link in leg.links])
        self._whole = Selection(self._template, Morphology.whole(robot), None)
        self._selections: dict[Morphology, Selection] = {}
        self._known = self._whole

    def __reduce__(self):
        return type(self), (self.robot,)

    def joint_names(self, morphology=None) -> list[str]:
        """Names of the n joints that exist and move, in order."""
        moves = (self._whole.morphology if morphology is None else morphology).moving_mask
        return [name for name, moving in zip(self.robot.joint_names, moves, strict=True) if moving]

    # ---- inside ------------------------------------------------------------------------------------------------

    def _select(self, morphology: Morphology | None) -> Selection:
        """Return the selection of a morphology of this robot, or refuse it."""
        if morphology is None:
            self._known = self._whole
            return self._whole
        if not isinstance(morphology, Morphology):
            raise DynamicsError(f"morphology: {morphology!r} given, a Morphology needed")
        selection = self._selections.get(morphology)
        if selection is None:
            if morphology.robot is not self.robot and morphology.robot != self.robot:
                raise DynamicsError(
                    f"morphology of robot {morphology.robot.name!r} given to the model of {self.robot.name!r}; "
                    "make it from the model's own robot"
                )
            if len(self._selections) >= KEPT_SELECTIONS:
                self._selections = {}
            selection = self._selections[morphology] = Selection(self._template, morphology, morphology)
        self._known = selection  # for the next call; this one uses what it is given
        return selection

    def _leg_index(self, leg, known: Selection) -> np.ndarray:
        """Index (1,) of an existing leg, as entry points take it, or a refusal."""
        index = self._legs.get(leg) if isinstance(leg, str) else None
        if index is None:
            raise DynamicsError(f"no leg {leg!r}; the legs are {', '.join(self.robot.leg_names)}")
        if not known.morphology.has_leg(leg):
            raise DynamicsError(f"leg {leg} is missing in this morphology ({known.morphology.describe()})")
        return index

    def _listed(self, tip_forces, known: Selection) -> list:
        """Tip forces, as they are given, for each leg."""
        if type(tip_forces) is dict and tip_forces.keys() <= self._legs.keys():
            return [tip_forces.get(leg, ABSENT) for leg in self._legs]
        return self._forces(tip_forces, known)

    def _forces(self, tip_forces, known: Selection) -> list:
        """Tip forces as an array (3,), or ABSENT, for each leg; or a refusal."""
        if not isinstance(tip_forces, Mapping):
            raise DynamicsError(f"tip_forces: {tip_forces!r} given, a dict {{leg: force (3,)}} needed")
        forces: list = [ABSENT] * len(self._legs)
        for leg, force in tip_forces.items():
            forces[self._leg_index(leg, known)[0]] = as_array(f"tip_forces[{leg!r}]", force, (3,))
        return forces

    def _checked(self, function, known: Selection, arguments, out, *more) -> np.ndarray:
        """Call a builtin on arrays made of what was given, or refuse it by name."""
        shapes = {"R": (3, 3), "q": (self.robot.joint_count,), "nu": (known.size,), "nudot": (known.size,)}
        shapes |= {"tau": (known.n,), "p": (3,), "point": (3,)}
        values = [self._array(name, value, shapes[name], known) for name, value in arguments]
        status = function(known.memory, *values, out, *more)
        if status == entry_points.BAD_ROTATION:
            raise DynamicsError(f"R: {values[[n for n, _ in arguments].index('R')].tolist()} is not a rotation matrix")
        if status == entry_points.NOT_FINITE:
            raise DynamicsError(f"the result is not finite: {', '.join(name for name, _ in arguments)} are too large")
        if status != OK:
            raise AssertionError(f"compiled function refused checked input, status {status}")
        return out

    def _array(self, name: str, value, shape: tuple[int, ...], known: Selection) -> np.ndarray:
        what = f"; n = {known.n} joints exist and move" if name in ("nu", "nudot", "tau") else ""
        ignored = known.morphology.table[1] == 0 if name == "q" else None
        return as_array(name, value, shape, what, ignored)
