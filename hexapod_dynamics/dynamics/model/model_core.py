"""The base of all calls of the whole-body model: its workspace, the morphology of a call, checked input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from hexapod_dynamics.dynamics.model.checks import as_array, check_positions, is_rotation
from hexapod_dynamics.dynamics.model.selection import Selection
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.native.extension import ABSENT
from hexapod_dynamics.robot import Morphology, Robot

# Functions of the robot's library; each is an attribute of the model with an underscore.
FUNCTIONS = (
    "forward",
    "forward_under",
    "inverse",
    "gravity",
    "mass",
    "coriolis",
    "tip_forces",
    "inverse_derivatives",
    "forward_derivatives",
    "tip",
    "poses",
    "point_jacobian",
    "point_bias",
    "center",
    "potential_energy",
    "kinetic_energy",
    "centroidal_momentum",
    "held",
)
# Functions and the kernels that they need, which are loaded on the first call.
NEED_MATRIX_KERNELS = {
    "coriolis": "coriolis",
    "inverse_derivatives": "derivatives",
    "forward_derivatives": "derivatives",
}
# number of morphologies whose memory a model keeps, so that each costs only a look-up in a loop over them
KEPT_SELECTIONS = 256


class ModelCore:
    """Memory of a robot's model, and the calls of compiled code on it; base class of WholeBodyModel."""

    # Plain attributes, one for each of FUNCTIONS: Python reads them faster than a descriptor.
    _forward: Callable
    _forward_under: Callable
    _inverse: Callable
    _gravity: Callable
    _mass: Callable
    _coriolis: Callable
    _tip_forces: Callable
    _inverse_derivatives: Callable
    _forward_derivatives: Callable
    _tip: Callable
    _poses: Callable
    _point_jacobian: Callable
    _point_bias: Callable
    _center: Callable
    _potential_energy: Callable
    _kinetic_energy: Callable
    _centroidal_momentum: Callable
    _held: Callable

    def __init__(self, robot: Robot):
        """Prepare the memory of a robot's model. Raises DynamicsError if `robot` is not a Robot."""
        if not isinstance(robot, Robot):
            raise DynamicsError(f"robot: {robot!r} given, a Robot needed (Robot.load(path) reads one from a file)")
        self.robot = robot
        self._kernels = RobotKernels(robot)
        memory = self._kernels.memory
        self._legs = {name: np.array([index]) for index, name in enumerate(robot.leg_names)}
        # in the form for the compiled functions: the leg's index, the link's index in the leg, the joint's index
        self._links: dict[str, np.ndarray] = {}
        for index, leg in enumerate(robot.legs):
            for k, link in enumerate(leg.link_names):
                self._links[f"{leg.name}.{link}"] = np.array([index, k, len(self._links)])
        self._link_masses = np.array([link.mass for leg in robot.legs for link in leg.links])
        self._whole_mass = float(robot.body.mass + self._link_masses.sum())
        self._whole = Selection(memory, Morphology.whole(robot), None)
        self._selections: dict[Morphology, Selection] = {}
        self._known = self._whole
        for name in FUNCTIONS:
            later = name in NEED_MATRIX_KERNELS
            setattr(self, f"_{name}", partial(self._first_call, name) if later else self._kernels.functions[name])

    def prepare(self) -> None:
        """Load (or compile) now what would otherwise be loaded on its first use: for real-time programs."""
        for name in NEED_MATRIX_KERNELS:
            self._load_kernel_of(name)

    def _load_kernel_of(self, name: str) -> Callable:
        """Load the kernel of one of NEED_MATRIX_KERNELS, and return the function."""
        self._kernels.load_matrix_kernel(NEED_MATRIX_KERNELS[name])
        function: Callable = self._kernels.functions[name]
        setattr(self, f"_{name}", function)
        return function

    def _first_call(self, name: str, *arguments):
        return self._load_kernel_of(name)(*arguments)

    def __reduce__(self):
        return type(self), (self.robot,)

    def joint_names(self, morphology=None) -> list[str]:
        """Names of the n joints that exist and move, in order. Raises DynamicsError."""
        moves = self._select(morphology).morphology.moving_mask
        return [name for name, moving in zip(self.robot.joint_names, moves, strict=True) if moving]

    # ---- inside ------------------------------------------------------------------------------------------------

    def _select(self, morphology: Morphology | None) -> Selection:
        """Return the selection of a morphology of this robot; DynamicsError for any other morphology."""
        if morphology is None:
            self._known = self._whole
            return self._whole
        if not isinstance(morphology, Morphology):
            raise DynamicsError(f"morphology: {morphology!r} given, a Morphology needed")
        selection = self._selections.get(morphology)
        if selection is None:
            self._kernels.check(morphology)
            if len(self._selections) >= KEPT_SELECTIONS:
                self._selections = {}
            selection = self._selections[morphology] = Selection(self._kernels.memory, morphology, morphology)
        self._known = selection  # for the next call; this call uses the returned selection
        return selection

    def _leg_index(self, leg, known: Selection) -> np.ndarray:
        """Return the index (1,) of an existing leg for the compiled functions; DynamicsError if there is none."""
        index = self._legs.get(leg) if isinstance(leg, str) else None
        if index is None:
            raise DynamicsError(f"no leg {leg!r}; the legs are {', '.join(self.robot.leg_names)}")
        if not known.morphology.has_leg(leg):
            raise DynamicsError(f"leg {leg} is missing in this morphology ({known.morphology.describe()})")
        return index

    def _listed(self, tip_forces, known: Selection) -> list:
        """Return the tip forces, unchecked, for each leg."""
        if type(tip_forces) is dict and tip_forces.keys() <= self._legs.keys():
            return [tip_forces.get(leg, ABSENT) for leg in self._legs]
        return self._forces(tip_forces, known)

    def _forces(self, tip_forces, known: Selection) -> list:
        """Return the tip forces as an array (3,), or ABSENT, for each leg; DynamicsError if they are wrong."""
        if not isinstance(tip_forces, Mapping):
            raise DynamicsError(f"tip_forces: {tip_forces!r} given, a dict {{leg: force (3,)}} needed")
        forces: list = [ABSENT] * len(self._legs)
        for leg, force in tip_forces.items():
            forces[self._leg_index(leg, known)[0]] = as_array(f"tip_forces[{leg!r}]", force, (3,))
        return forces

    def _checked(self, function, known: Selection, arguments, *more):
        """Call a compiled function on arrays made of the arguments; DynamicsError names an argument that is wrong."""
        shapes = {"R": (3, 3), "q": (self.robot.joint_count,), "nu": (known.size,), "nudot": (known.size,)}
        shapes |= {"tau": (known.n,), "p": (3,), "point": (3,)}
        values = {name: self._array(name, value, shapes[name], known) for name, value in arguments}
        if "R" in values and not is_rotation(values["R"]):
            raise DynamicsError(f"R: {values['R'].tolist()} is not a rotation matrix")
        result = function(known.memory, *values.values(), *more)
        if result is None:
            raise DynamicsError(f"the result is not finite: {', '.join(values)} are too large")
        return result

    def _array(self, name: str, value, shape: tuple[int, ...], known: Selection) -> np.ndarray:
        what = f"; n = {known.n} joints exist and move" if name in ("nu", "nudot", "tau") else ""
        ignored = known.morphology.table[1] == 0 if name == "q" else None
        array = as_array(name, value, shape, what, ignored)
        if name == "q":
            check_positions(array, self.robot.joint_names)
        return array
