"""The whole-body model of a robot that may lose legs: what scripts and nodes call.

Farghdani & Chhabra 2025; equations.md's section 1 states the equations, closed_form.py has them line by line, and
here they run as compiled leg kernels. q always has all joints of the robot (a missing or locked joint's entry is
ignored); nu = (v, w, qdot) with the body twist of base_link in base_link axes, linear first, then the rates of the n
joints that exist and move, in the robot's order; rotation is world <- base_link. Units are SI.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hexapod_dynamics.dynamics import derivative_entry_points, entry_points, matrix_entry_points
from hexapod_dynamics.dynamics.entry_points import CUBE, INTEGER, MATRIX, OK, VECTOR, compiled
from hexapod_dynamics.dynamics.link_quantities import LinkQuantities
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Robot


class WholeBodyModel(LinkQuantities):
    """Mass matrix, Coriolis matrix, gravity, tip Jacobians, forward and inverse dynamics of any morphology of a robot.

    Changing the morphology from one call to the next changes numbers in place: nothing is compiled or rebuilt. Threads
    may share a model, each with its own morphology: every call is one step under the interpreter's lock. Copies and
    pickles are models of their own; models of a robot share their compiled code.
    """

    def __init__(self, robot: Robot):
        super().__init__(robot)
        self._forward = compiled(entry_points.forward, MATRIX, VECTOR, VECTOR, VECTOR, VECTOR)
        self._inverse = compiled(entry_points.inverse, MATRIX, VECTOR, VECTOR, VECTOR, VECTOR)
        self._mass = compiled(matrix_entry_points.mass, VECTOR, MATRIX)

    def prepare(self) -> None:
        """Load (or compile) now what would otherwise be on its first use: for programs with a clock to keep."""
        for name in ("_coriolis", "_tip", "_tip_forces", "_forward_under", "_gravity", "_frames"):
            getattr(self, name)

    @cached_property
    def _coriolis(self):
        self._kernels.matrix_kernels()
        return compiled(matrix_entry_points.coriolis, VECTOR, VECTOR, MATRIX)

    @cached_property
    def _tip(self):
        return compiled(matrix_entry_points.tip, INTEGER, VECTOR, MATRIX, MATRIX)

    @cached_property
    def _tip_forces(self):
        return compiled(matrix_entry_points.tip_forces, MATRIX, VECTOR, MATRIX, VECTOR, VECTOR)

    @cached_property
    def _forward_under(self):
        return compiled(entry_points.forward_under, MATRIX, VECTOR, VECTOR, VECTOR, MATRIX, VECTOR, VECTOR)

    @cached_property
    def _inverse_derivatives(self):
        self._kernels.matrix_kernels()
        return compiled(derivative_entry_points.inverse_derivatives, MATRIX, VECTOR, VECTOR, VECTOR, CUBE)

    @cached_property
    def _forward_derivatives(self):
        self._kernels.matrix_kernels()
        states = MATRIX, VECTOR, VECTOR, VECTOR
        return compiled(derivative_entry_points.forward_derivatives, *states, VECTOR, MATRIX, CUBE, MATRIX)

    @cached_property
    def _gravity(self):
        return compiled(entry_points.gravity, MATRIX, VECTOR, VECTOR)

    # ---- the model ---------------------------------------------------------------------------------------------

    def forward_dynamics(self, rotation, q, nu, tau, morphology=None, tip_forces=None) -> np.ndarray:
        """Accelerations nudot (6+n,) under joint torques tau (n,) and tip_forces {leg: force (3,) [N], world axes}.

        A limp joint's torque is zero, whatever tau says. Raises DynamicsError for input of the wrong shape or not
        finite. (6), solved as an arrow: n_i x n_i blocks and one 6x6.
        """
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        if tip_forces:
            forces = self._forces(tip_forces, known)
            arguments = (("R", rotation), ("q", q), ("nu", nu), ("tau", tau), ("forces", forces))
            return self._call(self._forward_under, known, arguments, np.empty(known.size), scratch=True)
        out = np.empty(known.size)
        try:
            if self._forward(self._address, known.key, rotation, q, nu, tau, out) == OK:
                return out
        except TypeError:  # not the arrays that the compiled function takes: converted or refused
            pass
        return self._checked(self._forward, known, (("R", rotation), ("q", q), ("nu", nu), ("tau", tau)), out)

    def inverse_dynamics(self, rotation, q, nu, nudot, morphology=None, tip_forces=None) -> np.ndarray:
        """Wrench on the base and joint torques (6+n,) that accelerations nudot (6+n,) need, tip_forces helping.

        tip_forces {leg: force (3,) [N], world axes}. A limp joint's entry is the torque that it would need: where it is
        not zero, the robot cannot do this motion. Raises DynamicsError. (6), by recursion along each leg.
        """
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        out = np.empty(known.size)
        try:
            good = self._inverse(self._address, known.key, rotation, q, nu, nudot, out) == OK
        except TypeError:
            good = False
        if not good:
            self._checked(self._inverse, known, (("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)), out)
        if tip_forces:
            out -= self.tip_force_rows(rotation, q, tip_forces, morphology)
        return out

    def mass_matrix(self, q, morphology=None) -> np.ndarray:
        """Mass matrix M (6+n, 6+n), (31) and (32)."""
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        out = np.zeros((known.size, known.size))
        try:
            if self._mass(self._address, known.key, q, out) == OK:
                return out
        except TypeError:
            pass
        return self._checked(self._mass, known, (("q", q),), out)

    def coriolis_matrix(self, q, nu, morphology=None) -> np.ndarray:
        """Coriolis matrix C (6+n, 6+n) such that Mdot - 2C is skew-symmetric, (44)-(51); see closed_form.py."""
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        out = np.zeros((known.size, known.size))
        try:
            if self._coriolis(self._address, known.key, q, nu, out) == OK:
                return out
        except TypeError:
            pass
        return self._checked(self._coriolis, known, (("q", q), ("nu", nu)), out)

    def gravity_force(self, rotation, q, morphology=None) -> np.ndarray:
        """Gravity g (6+n,) on the left-hand side, M nudot + C nu + g = tau (9)."""
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        out = np.empty(known.size)
        try:
            if self._gravity(self._address, known.key, rotation, q, out) == OK:
                return out
        except TypeError:
            pass
        return self._checked(self._gravity, known, (("R", rotation), ("q", q)), out)

    def tip_jacobian(self, leg: str, q, morphology=None) -> np.ndarray:
        """Jacobian J (6, 6+n) of a leg's tip, V_tip = J nu (11).

        The tip frame sits at the end of the leg's last existing link and has that link's axes, x along the link.
        """
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        out = np.zeros((6, known.size))
        try:
            if self._tip(self._address, known.key, self._legs[leg], q, self._link_axes, out) == OK:
                return out
        except (TypeError, KeyError):
            pass
        arguments = (("leg", self._leg_index(leg, known)), ("q", q), ("links", self._link_axes))
        return self._checked(self._tip, known, arguments, out)

    def tip_force_rows(self, rotation, q, tip_forces, morphology=None) -> np.ndarray:
        """Sum of J_tip^T F (6+n,) over tip_forces {leg: force (3,) [N], world axes}."""
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        arguments = (("R", rotation), ("q", q), ("forces", self._forces(tip_forces, known)))
        return self._call(self._tip_forces, known, arguments, np.zeros(known.size), scratch=True)

    # ---- derivatives ---------------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(self, rotation, q, nu, nudot, morphology=None):
        """Derivatives of inverse dynamics: (dtau_dconf, dtau_dnu, M), each (6+n, 6+n).

        Columns of dtau_dconf: the tangent of the configuration, body translation and rotation in base_link axes
        (g exp([V])), then the moving joints. By nudot the derivative is the mass matrix M. Exact: the leg's program is
        differentiated by the chain rule. Raises DynamicsError.
        """
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        out = np.zeros((3, known.size, known.size))
        arguments = (("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot))
        self._call(self._inverse_derivatives, known, arguments, out)
        return out[0], out[1], out[2]

    def forward_dynamics_derivatives(self, rotation, q, nu, tau, morphology=None):
        """Derivatives of forward dynamics: (da_dconf, da_dnu), each (6+n, 6+n), and da_dtau (6+n, n).

        Columns as in `inverse_dynamics_derivatives`: -M^-1 times what stands there; da_dtau: M^-1's columns of the
        joints, zero for limp ones. Raises DynamicsError.
        """
        known = self._known
        if morphology is not known.morphology:
            known = self._select(morphology)
        out, by_tau = np.zeros((3, known.size, known.size)), np.zeros((known.size, known.n))
        scratch = np.empty(known.size), np.empty((known.n, len(self._scratch)))
        values = ("R", rotation), ("q", q), ("nu", nu), ("tau", tau)
        arguments = (*values, ("accelerations", scratch[0]), ("legs", scratch[1]), ("out", out))
        self._call(self._forward_derivatives, known, arguments, by_tau)
        return out[0], out[1], by_tau

    def casadi_function(self, name: str, morphology=None):
        """Return a casadi.Function for one morphology, equal to the compiled model: to be used in an Opti problem.

        name: "forward_dynamics" (R, q, nu, tau) -> nudot, "inverse_dynamics" (R, q, nu, nudot) -> tau (6+n,), or
        "tip_positions" (R, p, q) -> (3, k), the ends in the world of the k legs that there are. Needs CasADi.
        """
        from hexapod_dynamics.dynamics.symbolic import casadi_function  # CasADi, which nothing else here needs

        return casadi_function(self._kernels, name, self._select(morphology).morphology)

    # ---- feet that are held ----------------------------------------------------------------------------------------

    def constrained_forward_dynamics(self, rotation, q, nu, tau, stance, morphology=None):
        """Accelerations nudot (6+n,) with the tips of the legs in `stance` held, and {leg: force (3,) [N], world axes}.

        Held means that the tips' accelerations in the world are zero (Gauss' principle): M nudot + h = tau + J^T f.
        Where the feet are held more than once over, the smallest forces of all that do it are given.
        """
        known = self._select(morphology)
        R, nu = self._rotation(rotation), self._vector("nu", nu, known.size)
        free = self.forward_dynamics(rotation, q, nu, tau, known.morphology)
        legs = [stance] if isinstance(stance, str) else list(stance)
        if len(set(legs)) != len(legs):
            raise DynamicsError(f"stance: {legs} names a leg twice")
        for leg in legs:
            self._leg_index(leg, known)
        if not legs:
            return free, {}
        table, jacobians, biases = self._table(q, known), [], []
        for leg in legs:
            link = known.morphology.links(leg)[-1]
            bias, jacobian = self._bias(f"{leg}.{link.name}", (link.length, 0.0, 0.0), table, nu, known)
            jacobians.append(jacobian)
            biases.append(bias + np.cross(nu[3:6], jacobian @ nu))
        J = np.concatenate(jacobians)
        carried = np.linalg.solve(self.mass_matrix(q, known.morphology), J.T)
        forces = _least_forces(J @ carried, -np.concatenate(biases) - J @ free)
        return free + carried @ forces, {leg: R @ force for leg, force in zip(legs, forces.reshape(-1, 3), strict=True)}


def _least_forces(delassus, wanted) -> np.ndarray:
    """Forces with delassus @ forces = wanted; the smallest ones where the feet are held more than once over."""
    values, vectors = np.linalg.eigh(delassus)
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] @ ((vectors[:, kept].T @ wanted) / values[kept])
