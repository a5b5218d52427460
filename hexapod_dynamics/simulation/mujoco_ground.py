"""A Ground in MuJoCo's model: a plane, or a height field that follows the robot, and patches below the feet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.robot.mjcf import GROUND, ROBOT
from hexapod_dynamics.simulation.ground import SLIPPERY, Ground

if TYPE_CHECKING:
    import mujoco

# The height field: points per side, spacing [m], thickness [m], half of its side [m].
POINTS, SPACING, BASE = 401, 0.0125, 0.2
HALF = 0.5 * (POINTS - 1) * SPACING
MARGIN = 0.6  # [m] from the robot to the edge of the field at which it is moved
# MuJoCo's solref of a soft patch, [s] and damping ratio: a foot that carries a third of the robot sinks by 1 cm.
_FIRM, _SOFT = (0.02, 1.0), (0.3, 1.0)
_MEETS_ROBOT = f'contype="{GROUND}" conaffinity="{ROBOT}"'


class MujocoGround:
    """Writes a Ground into a MuJoCo model, which is set by `attach`."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._flat = not ground.steps and ground.rough == 0.0
        self._centre: np.ndarray | None = None

    def xml(self) -> tuple[str, str]:
        """Return the MJCF of the ground's assets, and of its geom."""
        ground = self.ground
        if self._flat:
            normal = np.array([-ground.slope_x, -ground.slope_y, 1.0])
            axis = " ".join(repr(float(value)) for value in normal)
            return "", f'<geom name="ground" type="plane" size="0 0 1" zaxis="{axis}" {_MEETS_ROBOT}/>'
        assets = (
            f'<asset><hfield name="ground" nrow="{POINTS}" ncol="{POINTS}" '
            f'size="{HALF} {HALF} {self._relief()!r} {BASE}"/></asset>'
        )
        return assets, f'<geom name="ground" type="hfield" hfield="ground" {_MEETS_ROBOT}/>'

    def attach(self, model: mujoco.MjModel, feet: Iterable[int]) -> None:
        """Set the compiled model and the ids of the feet's geoms."""
        self._model, self._feet = model, list(feet)
        self.geom = model.geom("ground").id
        self._centre = None
        if self.ground.patches:  # each foot gets the properties of the ground below it
            model.geom_priority[self._feet] = 1

    def _relief(self) -> float:
        """Return an upper bound [m] of the height range of the field."""
        ground = self.ground
        steps = sum(abs(rise) for _, rise in ground.steps)
        return float(2.0 * HALF * (abs(ground.slope_x) + abs(ground.slope_y)) + ground.rough + steps + 1e-3)

    def lay(self, here: np.ndarray) -> None:
        """Move the height field to the robot's (x, y) [m], if that is far from the centre of the field."""
        if self._flat or (self._centre is not None and np.abs(here - self._centre).max() < HALF - MARGIN):
            return
        self._centre = (np.floor(here / SPACING) + 0.5) * SPACING  # so that the edges of blocks are between points
        at = (np.arange(POINTS) - (POINTS - 1) // 2) * SPACING
        heights = self.ground.heights(self._centre[0] + at, self._centre[1] + at)
        low = heights.min()
        self._model.hfield_data[:] = ((heights - low) / self._model.hfield_size[0, 2]).ravel()
        self._model.geom_pos[self.geom] = [*self._centre, low]
        self._model.geom_sameframe[self.geom] = 0  # else MuJoCo ignores geom_pos

    def lay_patches(self, places: np.ndarray) -> None:
        """Give each foot the friction and the softness of the ground below it; places (geoms, 3) [m]."""
        for geom in self._feet:
            x, y, _ = places[geom]
            patch = self.ground.patch(x, y)
            self._model.geom_friction[geom, 0] = SLIPPERY if patch == "slippery" else self.ground.friction
            self._model.geom_solref[geom] = _SOFT if patch == "soft" else _FIRM
