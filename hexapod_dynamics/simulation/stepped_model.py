"""The compiled model of a robot with its state and world: common part of Simulator and Predictor."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.dynamics.workspace import BODY, EXTERNAL
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import actuator, loops, servo_kernel
from hexapod_dynamics.simulation.damage import change_morphology, settle
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.step import StepMemory
from hexapod_dynamics.simulation.world import kernels_of, make_state, make_world

NO_PAYLOAD = (0.0, (0.0, 0.0, 0.0))


class SteppedModel:
    """A robot with a morphology on a ground.

    payload: mass [kg] and place (3,) [m] in base_link of a point mass on the body. `memory` is the argument for
    the functions of `loops`.
    """

    def __init__(
        self,
        robot: Robot,
        morphology: Morphology,
        ground: Ground,
        payload: tuple[float, npt.ArrayLike] = NO_PAYLOAD,
    ) -> None:
        self.robot, self.morphology, self._payload = robot, morphology, payload
        self.state, self.world = make_state(robot.joint_count), make_world(robot, ground)
        self._make_workspace()

    def _make_workspace(self) -> None:
        self._kernels = kernels_of(self.robot)
        self.workspace = self._kernels.workspace(self.morphology)
        add_payload(self.workspace.shared, *self._payload)
        self.memory = StepMemory(self.workspace, self.world, self.state)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles: everything except compiled code and its memory."""
        state = self.__dict__.copy()
        del state["_kernels"], state["memory"]
        state["workspace"] = self.workspace.shared[EXTERNAL : EXTERNAL + 6].copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_workspace()
        self.push(state["workspace"])

    def __copy__(self) -> SteppedModel:
        return copy.deepcopy(self)  # a shallow copy would share the state

    def settle(self) -> None:
        """Set locked joints to their positions, stop locked and missing joints, enable the servos of the others."""
        settle(self.workspace, self.morphology, self.state.q, self.state.nu)
        actuator.set_driven(self.world.servos, self.morphology, self.state.q)

    def settle_servos_at(self, setpoints: np.ndarray) -> None:
        """Put the servos at rest at set-points (n,) [rad]."""
        loops.settle_setpoints(self.memory, np.ascontiguousarray(setpoints, float))

    def forget(self) -> None:
        """Clear what the last step has stored for the next one: forces, sliding contacts, saturated servos."""
        world = self.world
        for array in (world.acceleration, world.foot_forces, world.ground_force, world.friction_memory):
            array[:] = 0.0
        world.contact_count[:] = 0
        world.servos[:, [servo_kernel.TORQUE, servo_kernel.SATURATED, servo_kernel.STOPPED]] = 0.0

    def set_morphology(self, morphology: Morphology) -> None:
        """Change the morphology between two steps; momentum is conserved, see damage.py."""
        change_morphology(self._kernels, self.workspace, self.morphology, morphology, self.state.q, self.state.nu)
        self.morphology = morphology
        actuator.set_driven(self.world.servos, morphology, self.state.q)

    def push(self, wrench: npt.ArrayLike) -> None:
        """Let an external wrench (6,) [N, N m], force first, in base_link, act on the body until the next call."""
        self.workspace.shared[EXTERNAL : EXTERNAL + 6] = wrench

    def resting_height(self) -> float:
        """Return the height [m] of the body over the origin at which its lowest point touches the ground."""
        return loops.resting_height(self.memory)


def add_payload(shared: np.ndarray, mass: float, position: npt.ArrayLike) -> None:
    """Add a point mass [kg] at position (3,) in base_link [m] to the main body of a workspace's shared memory."""
    x, y, z = np.asarray(position, float)
    shared[BODY] += mass
    shared[BODY + 1 : BODY + 4] += mass * np.asarray(position)
    inertia = mass * np.array([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z])
    shared[BODY + 4 : BODY + 10] += inertia
