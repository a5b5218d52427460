"""Types of the compiled core; the docstrings stand in the .pxi files."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

from hexapod_dynamics.robot import Joint, Link, Morphology, Robot

Array = NDArray[np.float64]
Structs = NDArray[Any]  # of a struct of the core, whose fields are those of its dtype
Forces = dict[str, ArrayLike]
A = ArrayLike
Damage = Morphology | None

FARTHEST_POSITION: float
ROTATION_TOLERANCE: float

def widest() -> int: ...
def joint_numbers(joint: Joint, link: Link, offset: A) -> dict[str, Any]: ...

class Numbers:
    def __init__(self, robot: Robot) -> None: ...
    def values(self) -> dict[str, Any]: ...

class Selection:
    given: Damage
    morphology: Morphology
    n: int
    size: int

class Model:
    robot: Robot
    lanes: int
    def __init__(self, robot: Robot, *, lanes: int = 0) -> None: ...
    def _select(self, morphology: Damage) -> Selection: ...
    def joint_names(self, morphology: Damage = None) -> list[str]: ...
    def forward_dynamics(
        self, rotation: A, q: A, nu: A, tau: A, morphology: Damage = None, tip_forces: Forces | None = None
    ) -> Array: ...
    def inverse_dynamics(
        self, rotation: A, q: A, nu: A, nudot: A, morphology: Damage = None, tip_forces: Forces | None = None
    ) -> Array: ...
    def mass_matrix(self, q: A, morphology: Damage = None) -> Array: ...
    def coriolis_matrix(self, q: A, nu: A, morphology: Damage = None) -> Array: ...
    def gravity_force(self, rotation: A, q: A, morphology: Damage = None) -> Array: ...
    def tip_jacobian(self, leg: str, q: A, morphology: Damage = None) -> Array: ...
    def tip_force_rows(self, rotation: A, q: A, tip_forces: Forces, morphology: Damage = None) -> Array: ...
    def inverse_dynamics_derivatives(
        self, rotation: A, q: A, nu: A, nudot: A, morphology: Damage = None
    ) -> tuple[Array, Array, Array]: ...
    def forward_dynamics_derivatives(
        self, rotation: A, q: A, nu: A, tau: A, morphology: Damage = None
    ) -> tuple[Array, Array, Array]: ...
    def _regressors(self, morphology: Damage, R: Array, q: Array, nu: Array, nudot: Array) -> Array: ...
    def _hold(
        self, rotation: A, q: A, nu: A, tau: A, names: list[str], morphology: Damage
    ) -> tuple[Array, dict[str, Array]] | None: ...
    def link_poses(
        self, rotation: A, position: A, q: A, morphology: Damage = None
    ) -> dict[str, tuple[Array, Array]]: ...
    def point_jacobian(self, link: str, point: A, q: A, morphology: Damage = None) -> Array: ...
    def point_acceleration_bias(self, link: str, point: A, q: A, nu: A, morphology: Damage = None) -> Array: ...
    def total_mass(self, morphology: Damage = None) -> float: ...
    def center_of_mass(self, rotation: A, position: A, q: A, morphology: Damage = None) -> Array: ...
    def potential_energy(self, rotation: A, position: A, q: A, morphology: Damage = None) -> float: ...
    def kinetic_energy(self, q: A, nu: A, morphology: Damage = None) -> float: ...
    def centroidal_momentum(self, rotation: A, q: A, nu: A, morphology: Damage = None) -> Array: ...
    def _run_states(
        self, forward: bool, morphology: Damage, in_place: bool, states: NDArray[np.int64], *arrays: Array
    ) -> int: ...
    def _run_each(self, forward: bool, morphologies: list[Morphology], *arrays: Array) -> int: ...

# ---- simulation ------------------------------------------------------------------------------------------------------

PLANE: np.dtype[np.void]
RISE: np.dtype[np.void]
DRIVE: np.dtype[np.void]
SERVO: np.dtype[np.void]
LAW: np.dtype[np.void]

def surface(plane: Structs, rises: Structs, x: float, y: float) -> tuple[float, float, float, float]: ...
def heights(plane: Structs, rises: Structs, xs: Array, ys: Array) -> Array: ...
def drawn(i: int, j: int, seed: int) -> float: ...
def command_servo(servos: Structs, drive: Structs, joint: int, target: float, duration: float) -> None: ...
def command_servos(servos: Structs, drive: Structs, targets: Array, duration: float) -> None: ...
def move_setpoints(servos: Structs, h: float) -> None: ...

class Tick:
    """A compiled gait that the loop of a Simulation can step."""

    joints: int

class Simulation:
    """A robot's model with its ground and servos, and the memory of its state: what a step reads and writes."""

    joints: int
    legs: int
    external: Any
    plane: Structs
    drive: Structs
    servos: Structs
    memory: Array
    position: Array
    rotation: Array
    q: Array
    nu: Array
    acceleration: Array
    foot_forces: Array
    ground_force: Array
    def __init__(
        self,
        robot: Robot,
        morphology: Morphology,
        plane: Structs,
        rises: Structs,
        law: Structs,
        drive: Structs,
    ) -> None: ...
    def forget(self) -> None: ...
    def set_morphology(self, morphology: Morphology) -> None: ...
    def add_payload(self, mass: float, x: float, y: float, z: float) -> None: ...
    def take_steps(self, h: float, count: int) -> None: ...
    def follow(self, h: float, steps: int, log: Array, every: int) -> None: ...
    def walk(
        self,
        gait: Tick,
        h: float,
        steps: int,
        since: int,
        period: int,
        resolution: float,
        log: Array,
        every: int,
    ) -> int: ...
    def command(self, targets: Array, duration: float, resolution: float) -> None: ...
    def predict(
        self, targets: Array, period: float, h: float, steps: int, positions: Array, rotations: Array, joints: Array
    ) -> None: ...
    def resting_height(self) -> float: ...
    def needs(
        self,
        rotation: Array,
        q: Array,
        nu: Array,
        nudot: Array,
        tips: Array,
        columns: Array,
        out: Array,
    ) -> None: ...
    def inertial(self, nudot: Array, out: Array) -> None: ...
    def strike(self, impulse: Array, out: Array) -> None: ...

# ---- control ---------------------------------------------------------------------------------------------------------

class FootForces:
    """Memory of the foot forces of a robot; see control/foot_forces.py."""

    wrench: Array
    rotation: Array
    tips: Array
    load: Array
    forces: Array
    def __init__(self, edges: Array, legs: int, length: float, r: float, rounds: int) -> None: ...
    def solve(self) -> int: ...

class CommandedTorques:
    """Joint torques that a commanded motion needs; see control/feedforward.py."""

    rotation: Array
    predicted: Array
    joints: Array
    nu: Array
    nudot: Array
    driven: Array
    needs: Array
    tips: Array
    columns: Array
    load: Array
    forces: Array
    torques: Array
    def __init__(self, model: Simulation, feet: FootForces) -> None: ...
    def solve(self, slope_x: float, slope_y: float, height: float, clearance: float) -> int: ...

# ---- gaits -----------------------------------------------------------------------------------------------------------

PLENTY: float
SAMPLES: int
GAIT_LEG: np.dtype[np.void]
GAIT_FOOT: np.dtype[np.void]
TRIPOD_FOOT: np.dtype[np.void]

class Record:
    """Numbers of a struct of core/, as attributes: floats, or arrays that are views."""

    values: Array
    dtype: np.dtype[np.void]
    count: int
    def __init__(self, values: ArrayLike | None = None) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: ArrayLike) -> None: ...
    def copy(self) -> Self: ...
    def load(self, other: Self) -> None: ...

class PlanNumbers(Record): ...
class GaitNumbers(Record): ...
class GaitCommand(Record): ...
class GaitState(Record): ...
class TripodNumbers(Record): ...
class TripodState(Record): ...
class Findings(Record): ...
class FirstCycle(Record): ...

def wrap(angle: float) -> float: ...
def foot_position(q1: float, q2: float, q3: float, l1: float, l2: float, l3: float) -> tuple[float, float, float]: ...
def place_foot(
    target: ArrayLike, rate: ArrayLike, lengths: ArrayLike, free: ArrayLike, held: ArrayLike, knee: ArrayLike
) -> tuple[tuple[float, float, float], tuple[float, float, float]]: ...

class Memory(Tick):
    """The memory of a gait."""

    state: Any
    legs: Structs
    feet: Structs
    start: Array
    position: Array
    velocity: Array
    def __init__(self, legs: Structs) -> None: ...
    def copy(self) -> Self: ...
    def load(self, other: Self) -> None: ...
    def advance(self, dt: float) -> None: ...
    def place_feet(self) -> None: ...

class Walk(Memory):
    """The memory of the adaptive gait; see core/adaptive_gait.h."""

    state: GaitState
    plan: PlanNumbers
    settings: GaitNumbers
    command: GaitCommand
    standing_height: float
    body_place: tuple[tuple[float, float], float]
    body_speed: tuple[float, float]
    def enter(self, mode: int, quick: bool = False) -> None: ...
    def rehearse(self, box: Array, mass: float, gravity: float, least: float, found: FirstCycle) -> None: ...

class Tripod(Memory):
    """The memory of the tripod gait; see core/tripod_gait.h."""

    state: TripodState
    parameters: TripodNumbers
    command: Array
    def longest_stroke(self, vx: float, vy: float, wz: float) -> float: ...
    def reaches(self, height: float, length: float, directions: int, samples: int) -> bool: ...

class PlanCycle:
    """The memory in which a plan is evaluated; see core/plan_evaluation.h."""

    angles: Array
    course: Array
    def __init__(self, legs: int, samples: int = ...) -> None: ...
    def evaluate(
        self,
        plan: PlanNumbers,
        legs: Structs,
        box: Array,
        mass: float,
        gravity: float,
        twist: ArrayLike,
        guard: float,
        found: Findings,
    ) -> None: ...

def cycle_foot(
    plan: PlanNumbers, legs: Structs, i: int, phase: float, vx: float, vy: float, wz: float
) -> tuple[float, float, float, int]: ...
def hull_margin(points: ArrayLike, count: int, x: float, y: float) -> float: ...
def two_feet_margin(points: ArrayLike, box: ArrayLike, x: float, y: float) -> float: ...
def least_distance(some: ArrayLike, others: ArrayLike) -> float: ...
def link_points(legs: Structs, i: int, angles: ArrayLike) -> tuple[Array, Array]: ...
