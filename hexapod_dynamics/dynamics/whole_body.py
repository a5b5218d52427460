"""The whole-body model of a robot that may lose legs: what scripts and nodes call.

Farghdani & Chhabra 2025; equations.md's section 1 states the equations, closed_form.py has them line by line, and
here they run as compiled leg kernels. q always has all joints of the robot (a missing or locked joint's entry is
ignored); nu = (v, w, qdot) with the body twist of base_link in base_link axes, linear first, then the rates of the n
joints that exist and move, in the robot's order; rotation is world <- base_link. Units are SI.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.dynamics import calls, matrix_calls
from hexapod_dynamics.dynamics.calls import INTEGER, MATRIX, OK, TABLE, VECTOR, Handle, compiled
from hexapod_dynamics.dynamics.memory import EXTERNAL
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology, Robot


class WholeBodyModel:
    """Mass matrix, Coriolis matrix, gravity, tip Jacobians, forward and inverse dynamics of any morphology of a robot.

    Changing the morphology from one call to the next changes numbers in place: nothing is compiled or rebuilt. A model
    is for one thread; models share their compiled code, so that one for each thread costs little.
    """

    def __init__(self, robot: Robot):
        self.robot = robot
        self._kernels = RobotKernels(robot)
        self._handle = Handle(self._kernels)
        self._address = self._handle.address
        self._change = compiled(calls.change, TABLE)
        self._forward = compiled(calls.forward, MATRIX, VECTOR, VECTOR, VECTOR, VECTOR)
        self._inverse = compiled(calls.inverse, MATRIX, VECTOR, VECTOR, VECTOR, VECTOR)
        self._mass = compiled(matrix_calls.mass, VECTOR, MATRIX)
        self._link_axes = [[link.rotation for link in leg.links] for leg in robot.legs]
        self._whole = Morphology.whole(robot)
        self._morphology: Morphology | None = None
        self._size = 0
        self._select(self._whole)

    def prepare(self) -> None:
        """Load (or compile) now what would otherwise be on its first use: for programs with a clock to keep."""
        self._kernels.matrix_kernels()
        compiled(matrix_calls.coriolis, VECTOR, VECTOR, MATRIX)
        compiled(matrix_calls.tip, INTEGER, VECTOR, MATRIX, MATRIX)
        compiled(matrix_calls.tip_force, INTEGER, MATRIX, VECTOR, VECTOR, VECTOR)

    # ---- the model ---------------------------------------------------------------------------------------------

    def forward_dynamics(self, rotation, q, nu, tau, morphology=None, tip_forces=None) -> np.ndarray:
        """Accelerations nudot (6+n,) under joint torques tau (n,) and tip_forces {leg: force (3,) [N], world axes}.

        Raises DynamicsError for input of the wrong shape or not finite. (6), solved as an arrow: n_i x n_i blocks and
        one 6x6.
        """
        if morphology is not self._morphology:
            self._select(morphology)
        if tip_forces:
            return self._forward_with_forces(rotation, q, nu, tau, tip_forces)
        out = np.empty(self._size)
        try:
            if self._forward(self._address, rotation, q, nu, tau, out) == OK:
                return out
        except TypeError:  # not the arrays that the compiled function takes: converted or refused
            pass
        return self._checked(self._forward, (("R", rotation), ("q", q), ("nu", nu), ("tau", tau)), out)

    def inverse_dynamics(self, rotation, q, nu, nudot, morphology=None, tip_forces=None) -> np.ndarray:
        """Wrench on the base and joint torques (6+n,) that accelerations nudot (6+n,) need, tip_forces helping.

        tip_forces {leg: force (3,) [N], world axes}. Raises DynamicsError. (6), by recursion along each leg.
        """
        if morphology is not self._morphology:
            self._select(morphology)
        out = np.empty(self._size)
        try:
            good = self._inverse(self._address, rotation, q, nu, nudot, out) == OK
        except TypeError:
            good = False
        if not good:
            self._checked(self._inverse, (("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)), out)
        if tip_forces:
            out -= self.tip_force_rows(rotation, q, tip_forces, self._morphology)
        return out

    def mass_matrix(self, q, morphology=None) -> np.ndarray:
        """Mass matrix M (6+n, 6+n), (31) and (32)."""
        if morphology is not self._morphology:
            self._select(morphology)
        out = np.empty((self._size, self._size))
        try:
            if self._mass(self._address, q, out) == OK:
                return out
        except TypeError:
            pass
        return self._checked(self._mass, (("q", q),), out)

    def coriolis_matrix(self, q, nu, morphology=None) -> np.ndarray:
        """Coriolis matrix C (6+n, 6+n) such that Mdot - 2C is skew-symmetric, (44)-(51); see closed_form.py."""
        if morphology is not self._morphology:
            self._select(morphology)
        self._kernels.matrix_kernels()
        out = np.zeros((self._size, self._size))
        return self._checked(compiled(matrix_calls.coriolis, VECTOR, VECTOR, MATRIX), (("q", q), ("nu", nu)), out)

    def gravity_force(self, rotation, q, morphology=None) -> np.ndarray:
        """Gravity g (6+n,) on the left-hand side, M nudot + C nu + g = tau (9)."""
        if morphology is not self._morphology:
            self._select(morphology)
        still = np.zeros(self._size)
        arguments = (("R", rotation), ("q", q), ("nu", still), ("nudot", still))
        return self._checked(self._inverse, arguments, np.empty(self._size))

    def tip_jacobian(self, leg: str, q, morphology=None) -> np.ndarray:
        """Jacobian J (6, 6+n) of a leg's tip, V_tip = J nu (11).

        The tip frame sits at the end of the leg's last existing link and has that link's axes, x along the link.
        """
        if morphology is not self._morphology:
            self._select(morphology)
        index = self._leg_index(leg)
        self._kernels.matrix_kernels()
        last = self._handle.workspace.legs[index, 4]
        axes = self._link_axes[index][last]
        out = np.zeros((6, self._size))
        function = compiled(matrix_calls.tip, INTEGER, VECTOR, MATRIX, MATRIX)
        return self._checked(function, (("leg", index), ("q", q), ("link", axes)), out)

    def tip_force_rows(self, rotation, q, tip_forces, morphology=None) -> np.ndarray:
        """Sum of J_tip^T F (6+n,) over tip_forces {leg: force (3,) [N], world axes}."""
        if morphology is not self._morphology:
            self._select(morphology)
        self._kernels.matrix_kernels()
        function = compiled(matrix_calls.tip_force, INTEGER, MATRIX, VECTOR, VECTOR, VECTOR)
        rows = np.zeros(self._size)
        for leg, force in dict(tip_forces).items():
            arguments = (("leg", self._leg_index(leg)), ("R", rotation), ("q", q), (f"tip_forces[{leg!r}]", force))
            self._checked(function, arguments, rows)
        return rows

    def joint_names(self, morphology=None) -> list[str]:
        """Names of the n joints that exist and move, in order."""
        moves = (self._whole if morphology is None else morphology).moving_mask
        return [name for name, moving in zip(self.robot.joint_names, moves, strict=True) if moving]

    # ---- inside ------------------------------------------------------------------------------------------------

    def _select(self, morphology: Morphology | None) -> None:
        """Make the workspace that of a morphology."""
        if morphology is None:
            morphology = self._whole
        elif not isinstance(morphology, Morphology):
            raise DynamicsError(f"morphology: {morphology!r} given, a Morphology needed")
        if morphology.robot is not self.robot and morphology.robot != self.robot:
            raise DynamicsError(
                f"morphology of robot {morphology.robot.name!r} given to the model of {self.robot.name!r}; "
                "make it from the model's own robot"
            )
        self._size = 6 + self._change(self._address, morphology.table)
        self._morphology = morphology

    def _leg_index(self, leg) -> int:
        if leg not in self.robot.leg_names:
            raise DynamicsError(f"no leg {leg!r}; the legs are {', '.join(self.robot.leg_names)}")
        index = self.robot.leg_names.index(leg)
        if self._handle.workspace.legs[index, 4] < 0:
            raise DynamicsError(f"leg {leg} is missing in this morphology ({self._morphology.describe()})")
        return index

    def _forward_with_forces(self, rotation, q, nu, tau, tip_forces) -> np.ndarray:
        rows = self.tip_force_rows(rotation, q, tip_forces, self._morphology)
        tau = self._array("tau", tau, (self._size - 6,))
        external = self._handle.workspace.shared[EXTERNAL : EXTERNAL + 6]
        external[:] = rows[:6]
        try:
            return self.forward_dynamics(rotation, q, nu, tau + rows[6:], self._morphology)
        finally:
            external[:] = 0.0

    def _checked(self, function, arguments, out) -> np.ndarray:
        """Call a compiled function on arrays made of what was given, or refuse it by name."""
        shapes = {"R": (3, 3), "q": (self.robot.joint_count,), "tau": (self._size - 6,)}
        shapes |= {"nu": (self._size,), "nudot": (self._size,), "link": (3, 3)}
        values = [
            value if name == "leg" else self._array(name, value, shapes.get(name, (3,))) for name, value in arguments
        ]
        status = function(self._address, *values, out)
        if status == calls.BAD_ROTATION:
            raise DynamicsError(f"R: {values[[n for n, _ in arguments].index('R')].tolist()} is not a rotation matrix")
        if status == calls.NOT_FINITE:
            raise DynamicsError(f"the result is not finite: {', '.join(name for name, _ in arguments)} are too large")
        if status != OK:
            raise AssertionError(f"compiled function refused checked input, status {status}")
        return out

    def _array(self, name: str, value, shape: tuple[int, ...]) -> np.ndarray:
        try:
            array = np.array(value, dtype=float, order="C")
        except (TypeError, ValueError):
            raise DynamicsError(f"{name}: {value!r} given, an array of shape {shape} needed") from None
        if array.shape != shape:
            what = f"; n = {self._size - 6} joints exist and move" if name in ("nu", "nudot", "tau") else ""
            raise DynamicsError(f"{name}: shape {array.shape} given, {shape} needed{what}")
        if name == "q":
            array[self._morphology.table[1] == 0] = 0.0  # ignored
        if not np.all(np.isfinite(array)):
            raise DynamicsError(f"{name}: {array.tolist()} has a value that is not finite")
        return array

