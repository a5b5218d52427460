"""Types of the compiled core; the docstrings stand in the .pxi files."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexapod_dynamics.robot import Joint, Link, Morphology, Robot

Array = NDArray[np.float64]
Forces = dict[str, ArrayLike]

def widest() -> int: ...
def joint_numbers(joint: Joint, link: Link, offset: ArrayLike) -> dict[str, Any]: ...

class Numbers:
    def __init__(self, robot: Robot) -> None: ...
    def values(self) -> dict[str, Any]: ...

class Selection:
    given: Morphology | None
    morphology: Morphology
    n: int
    size: int

class ModelCore:
    robot: Robot
    lanes: int
    def __init__(self, robot: Robot, *, lanes: int = 0) -> None: ...
    def _select(self, morphology: Morphology | None) -> Selection: ...
    def joint_names(self, morphology: Morphology | None = None) -> list[str]: ...
    def forward_dynamics(
        self,
        rotation: ArrayLike,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        morphology: Morphology | None = None,
        tip_forces: Forces | None = None,
    ) -> Array: ...
    def inverse_dynamics(
        self,
        rotation: ArrayLike,
        q: ArrayLike,
        nu: ArrayLike,
        nudot: ArrayLike,
        morphology: Morphology | None = None,
        tip_forces: Forces | None = None,
    ) -> Array: ...
    def mass_matrix(self, q: ArrayLike, morphology: Morphology | None = None) -> Array: ...
    def coriolis_matrix(self, q: ArrayLike, nu: ArrayLike, morphology: Morphology | None = None) -> Array: ...
    def gravity_force(self, rotation: ArrayLike, q: ArrayLike, morphology: Morphology | None = None) -> Array: ...
    def tip_jacobian(self, leg: str, q: ArrayLike, morphology: Morphology | None = None) -> Array: ...
    def tip_force_rows(
        self, rotation: ArrayLike, q: ArrayLike, tip_forces: Forces, morphology: Morphology | None = None
    ) -> Array: ...

class Model(ModelCore):
    def inverse_dynamics_derivatives(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, nudot: ArrayLike, morphology: Morphology | None = None
    ) -> tuple[Array, Array, Array]: ...
    def forward_dynamics_derivatives(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, morphology: Morphology | None = None
    ) -> tuple[Array, Array, Array]: ...
    def _hold(
        self,
        rotation: ArrayLike,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        names: list[str],
        morphology: Morphology | None,
    ) -> tuple[Array, dict[str, Array]] | None: ...
    def link_poses(
        self, rotation: ArrayLike, position: ArrayLike, q: ArrayLike, morphology: Morphology | None = None
    ) -> dict[str, tuple[Array, Array]]: ...
    def point_jacobian(
        self, link: str, point: ArrayLike, q: ArrayLike, morphology: Morphology | None = None
    ) -> Array: ...
    def point_acceleration_bias(
        self, link: str, point: ArrayLike, q: ArrayLike, nu: ArrayLike, morphology: Morphology | None = None
    ) -> Array: ...
    def total_mass(self, morphology: Morphology | None = None) -> float: ...
    def center_of_mass(
        self, rotation: ArrayLike, position: ArrayLike, q: ArrayLike, morphology: Morphology | None = None
    ) -> Array: ...
    def potential_energy(
        self, rotation: ArrayLike, position: ArrayLike, q: ArrayLike, morphology: Morphology | None = None
    ) -> float: ...
    def kinetic_energy(self, q: ArrayLike, nu: ArrayLike, morphology: Morphology | None = None) -> float: ...
    def centroidal_momentum(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, morphology: Morphology | None = None
    ) -> Array: ...
    def _run_states(
        self,
        forward: bool,
        morphology: Morphology | None,
        in_place: bool,
        states: NDArray[np.int64],
        R: Array,
        q: Array,
        nu: Array,
        given: Array,
        out: Array,
    ) -> int: ...
    def _run_each(
        self, forward: bool, morphologies: list[Morphology], R: Array, q: Array, nu: Array, given: Array, out: Array
    ) -> int: ...

SERVO: np.dtype[Any]

class World:
    def __init__(self, world: Any, state: Any, joints: int, legs: int) -> None: ...

def take_steps(model: Model, world: World, h: float, steps: int, morphology: Any) -> None: ...
