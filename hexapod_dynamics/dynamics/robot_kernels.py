"""A robot's leg kernels, compiled or loaded, and the memory they work on."""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.dynamics.leg_code import leg_library, matrix_library, model_library
from hexapod_dynamics.dynamics.leg_program import LegType, link_parameters, symmetric
from hexapod_dynamics.dynamics.model_memory import ModelMemory
from hexapod_dynamics.dynamics.workspace import (
    BODY,
    COLUMNS,
    CORIOLIS,
    DERIVATIVES,
    GRAVITY,
    KERNELS,
    LINK_SIZE,
    SHARED_SIZE,
    Rows,
    Workspace,
)
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.native import builtins
from hexapod_dynamics.native.processor import native_lanes
from hexapod_dynamics.robot import Morphology, Robot


class RobotKernels:
    """Kernels of a robot, compiled or loaded from the disk cache, and the constants of its legs."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.rows = rows = Rows.of(max(len(leg.joints) for leg in robot.legs))
        self.legs_of_type = legs_of_type(robot)
        self.lane_count = lane_count(self.legs_of_type, native_lanes())
        places: dict[int, tuple[int, int]] = {}
        code: list[Any] = []
        self._loaded = []  # keeps the code in memory
        self._block_types: list[LegType] = []
        for leg_type, indices in self.legs_of_type.items():
            loaded = leg_library(leg_type, rows, self.lane_count)
            self._loaded.append(loaded)
            addresses = [0] * KERNELS
            for column, name in COLUMNS.items():
                addresses[column] = loaded.address(name)
            for start in range(0, len(indices), self.lane_count):
                for lane, index in enumerate(indices[start : start + self.lane_count]):
                    places[index] = (len(code), lane)
                code.append(addresses)
                self._block_types.append(leg_type)
        self.code = np.array(code, dtype=np.int64)
        self.solve_head = np.array([self._loaded[0].address("solve_head")], dtype=np.int64)

        starts = np.cumsum([0] + [len(leg.joints) for leg in robot.legs])
        self.legs = np.array(
            [(*places[i], starts[i], len(leg.joints), len(leg.joints) - 1) for i, leg in enumerate(robot.legs)],
            dtype=np.int64,
        )
        self.joints = np.array(
            [(*places[i], k) for i, leg in enumerate(robot.legs) for k in range(len(leg.joints))], dtype=np.int64
        )
        # Parameters of the whole links, from which the inertia of a cut link is computed, see set_morphology.
        self.links = np.concatenate([link_parameters(leg) for leg in robot.legs])
        self.cut = np.array(
            [
                [*link.rotation[:, 0], link.inertia[0, 0], *symmetric(link.inertia_in_leg), *link.com_in_leg]
                for leg in robot.legs
                for link in leg.links
            ]
        )
        model = model_library(rows, self.lane_count)
        self.functions, self.run_state = builtins(model), model.address("hd_run_state")
        self.memory = ModelMemory(self)

    def whole_shared(self) -> np.ndarray:
        """Return the numbers of the whole robot that its legs share."""
        body, shared = self.robot.body, np.zeros(SHARED_SIZE)
        shared[GRAVITY] = self.robot.gravity
        shared[BODY] = body.mass
        shared[BODY + 1 : BODY + 4] = body.mass * body.com
        shared[BODY + 4 : BODY + 10] = symmetric(body.spatial_inertia[3:, 3:])
        return shared

    def whole_lanes(self) -> np.ndarray:
        """Return the lanes of the whole robot."""
        rows = self.rows
        lanes = np.zeros((len(self.code), rows.size, self.lane_count))
        for index, leg in enumerate(self.robot.legs):
            block, lane = self.legs[index, :2]
            lanes[block, rows.mount : rows.mount + 9, lane] = leg.mount_rotation.ravel()
            lanes[block, rows.mount + 9 : rows.mount + 12, lane] = leg.mount_position
        # a lane without a leg consists of locked joints without mass; so do the joints that a shorter leg does not have
        for joint, (block, lane, k) in enumerate(self.joints):
            lanes[block, rows.links + LINK_SIZE * k : rows.links + LINK_SIZE * (k + 1), lane] = self.links[joint]
            lanes[block, rows.mask + k, lane] = 1.0
        links = [link for leg in self.robot.legs for link in leg.links]
        for link, (block, lane, k) in zip(links, self.joints, strict=True):
            lanes[block, rows.axes + 9 * k : rows.axes + 9 * (k + 1), lane] = link.rotation.ravel()
        return lanes

    def load_matrix_kernel(self, name: str) -> None:
        """Load or compile one of MATRIX_KERNELS, on its first use."""
        column = {"coriolis": CORIOLIS, "derivatives": DERIVATIVES}[name]
        if self.code[0, column]:
            return
        for block, leg_type in enumerate(self._block_types):
            loaded = matrix_library(name, leg_type, self.rows, self.lane_count)
            self._loaded.append(loaded)
            self.code[block, column] = loaded.address(name)

    def workspace(self, morphology: Morphology | None = None) -> Workspace:
        """Return memory for the model of a morphology (by default the whole robot)."""
        if morphology is not None:
            self.check(morphology)
        return self.memory.workspace(Morphology.whole(self.robot) if morphology is None else morphology)

    def set_morphology(self, workspace: Workspace, morphology: Morphology) -> None:
        """Change a workspace to another morphology: the same arrays with new numbers; nothing is compiled."""
        self.check(morphology)
        self.memory.set_morphology(workspace, morphology)

    def check(self, morphology: Morphology) -> None:
        """Raise DynamicsError if the morphology belongs to another robot."""
        if morphology.robot is not self.robot and morphology.robot != self.robot:
            raise DynamicsError(
                f"morphology of robot {morphology.robot.name!r} given to the model of {self.robot.name!r}; "
                "make it from the model's own robot"
            )


def legs_of_type(robot: Robot) -> dict[LegType, list[int]]:
    """Return the indices of the legs of each type."""
    found: dict[LegType, list[int]] = {}
    for index, leg in enumerate(robot.legs):
        found.setdefault(LegType.of(leg), []).append(index)
    return found


def lane_count(legs: dict[LegType, list[int]], native: int) -> int:
    """Return the least number of lanes with which the legs of each type need the fewest instructions.

    native: number of doubles in a vector register.
    """
    costs = {}
    for lanes in (1, 2, 4, 8):
        blocks = sum(-(-len(group) // lanes) for group in legs.values())
        costs[lanes] = blocks * max(1, lanes // native)
    return min(costs, key=lambda lanes: (costs[lanes], lanes))
