"""The whole-body model of a robot that may lose legs: what scripts and nodes call.

Farghdani & Chhabra 2025; equations.md's section 1 states the equations, closed_form.py has them line by line, and
here they run as compiled leg kernels. q always has all joints of the robot (a missing or locked joint's entry is
ignored); nu = (v, w, qdot) with the body twist of base_link in base_link axes, linear first, then the rates of the n
joints that exist and move, in the robot's order; rotation is world <- base_link. Units are SI.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy import empty

from hexapod_dynamics.dynamics import derivative_entry_points, entry_points, matrix_entry_points
from hexapod_dynamics.dynamics.link_quantities import LinkQuantities
from hexapod_dynamics.dynamics.native import builtin
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Robot


class WholeBodyModel(LinkQuantities):
    """Mass matrix, Coriolis matrix, gravity, tip Jacobians, forward and inverse dynamics of any morphology of a robot.

    Changing the morphology from one call to the next compiles and rebuilds nothing: each has its own memory of a few
    kilobytes. Threads may share a model, each with its own morphology: every call is one step under the interpreter's
    lock. Copies and pickles are models of their own; models of a robot share their compiled code.
    """

    def __init__(self, robot: Robot):
        super().__init__(robot)
        self._forward = builtin(entry_points.forward)
        self._inverse = builtin(entry_points.inverse)
        self._mass = builtin(matrix_entry_points.mass)

    def prepare(self) -> None:
        """Load (or compile) now what would otherwise be on its first use: for programs with a clock to keep."""
        for name in ("_coriolis", "_tip", "_tip_forces", "_forward_under", "_gravity", "_frames"):
            getattr(self, name)

    @cached_property
    def _coriolis(self):
        self._kernels.matrix_kernels()
        return builtin(matrix_entry_points.coriolis)

    @cached_property
    def _tip(self):
        return builtin(matrix_entry_points.tip)

    @cached_property
    def _tip_forces(self):
        return builtin(matrix_entry_points.tip_forces)

    @cached_property
    def _forward_under(self):
        return builtin(entry_points.forward_under)

    @cached_property
    def _inverse_derivatives(self):
        self._kernels.matrix_kernels()
        return builtin(derivative_entry_points.inverse_derivatives)

    @cached_property
    def _forward_derivatives(self):
        self._kernels.matrix_kernels()
        return builtin(derivative_entry_points.forward_derivatives)

    @cached_property
    def _gravity(self):
        return builtin(entry_points.gravity)

    # ---- the model ---------------------------------------------------------------------------------------------

    def forward_dynamics(self, rotation, q, nu, tau, morphology=None, tip_forces=None) -> np.ndarray:
        """Accelerations nudot (6+n,) under joint torques tau (n,) and tip_forces {leg: force (3,) [N], world axes}.

        A limp joint's torque is zero, whatever tau says. Raises DynamicsError for input of the wrong shape or not
        finite. (6), solved as an arrow: n_i x n_i blocks and one 6x6.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = empty(known.size)
        if tip_forces:
            forces = self._listed(tip_forces, known)
            if self._forward_under(known.memory, rotation, q, nu, tau, out, *forces):
                forces = self._forces(tip_forces, known)
                state = ("R", rotation), ("q", q), ("nu", nu), ("tau", tau)
                self._checked(self._forward_under, known, state, out, *forces)
        elif self._forward(known.memory, rotation, q, nu, tau, out):
            self._checked(self._forward, known, (("R", rotation), ("q", q), ("nu", nu), ("tau", tau)), out)
        return out

    def inverse_dynamics(self, rotation, q, nu, nudot, morphology=None, tip_forces=None) -> np.ndarray:
        """Wrench on the base and joint torques (6+n,) that accelerations nudot (6+n,) need, tip_forces helping.

        tip_forces {leg: force (3,) [N], world axes}. A limp joint's entry is the torque that it would need: where it is
        not zero, the robot cannot do this motion. Raises DynamicsError. (6), by recursion along each leg.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = empty(known.size)
        if self._inverse(known.memory, rotation, q, nu, nudot, out):
            self._checked(self._inverse, known, (("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)), out)
        if tip_forces:
            out -= self.tip_force_rows(rotation, q, tip_forces, morphology)
        return out

    def mass_matrix(self, q, morphology=None) -> np.ndarray:
        """Mass matrix M (6+n, 6+n), (31) and (32)."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = empty((known.size, known.size))
        if self._mass(known.memory, q, out):
            self._checked(self._mass, known, (("q", q),), out)
        return out

    def coriolis_matrix(self, q, nu, morphology=None) -> np.ndarray:
        """Coriolis matrix C (6+n, 6+n) such that Mdot - 2C is skew-symmetric, (44)-(51); see closed_form.py."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = empty((known.size, known.size))
        if self._coriolis(known.memory, q, nu, out):
            self._checked(self._coriolis, known, (("q", q), ("nu", nu)), out)
        return out

    def gravity_force(self, rotation, q, morphology=None) -> np.ndarray:
        """Gravity g (6+n,) on the left-hand side, M nudot + C nu + g = tau (9)."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = empty(known.size)
        if self._gravity(known.memory, rotation, q, out):
            self._checked(self._gravity, known, (("R", rotation), ("q", q)), out)
        return out

    def tip_jacobian(self, leg: str, q, morphology=None) -> np.ndarray:
        """Jacobian J (6, 6+n) of a leg's tip, V_tip = J nu (11).

        The tip frame sits at the end of the leg's last existing link and has that link's axes, x along the link.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = empty((6, known.size))
        if leg not in self._legs or self._tip(known.memory, q, out, self._legs[leg], self._link_axes):
            self._checked(self._tip, known, (("q", q),), out, self._leg_index(leg, known), self._link_axes)
        return out

    def tip_force_rows(self, rotation, q, tip_forces, morphology=None) -> np.ndarray:
        """Sum of J_tip^T F (6+n,) over tip_forces {leg: force (3,) [N], world axes}."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = empty(known.size)
        if self._tip_forces(known.memory, rotation, q, out, *self._listed(tip_forces, known)):
            forces = self._forces(tip_forces, known)
            self._checked(self._tip_forces, known, (("R", rotation), ("q", q)), out, *forces)
        return out

    # ---- derivatives ---------------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(self, rotation, q, nu, nudot, morphology=None):
        """Derivatives of inverse dynamics: (dtau_dconf, dtau_dnu, M), each (6+n, 6+n).

        Columns of dtau_dconf: the tangent of the configuration, body translation and rotation in base_link axes
        (g exp([V])), then the moving joints. By nudot the derivative is the mass matrix M. Exact: the leg's program is
        differentiated by the chain rule. Raises DynamicsError.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        shape = known.size, known.size
        by_conf, by_nu, mass = empty(shape), empty(shape), empty(shape)
        if self._inverse_derivatives(known.memory, rotation, q, nu, nudot, by_conf, by_nu, mass):
            motion = ("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)
            self._checked(self._inverse_derivatives, known, motion, by_conf, by_nu, mass)
        return by_conf, by_nu, mass

    def forward_dynamics_derivatives(self, rotation, q, nu, tau, morphology=None):
        """Derivatives of forward dynamics: (da_dconf, da_dnu), each (6+n, 6+n), and da_dtau (6+n, n).

        Columns as in `inverse_dynamics_derivatives`: -M^-1 times what stands there; da_dtau: M^-1's columns of the
        joints, zero for limp ones. Raises DynamicsError.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        shape = known.size, known.size
        by_conf, by_nu, by_tau, mass = empty(shape), empty(shape), empty((known.size, known.n)), empty(shape)
        out = by_conf, by_nu, by_tau, mass, empty(known.size)
        if self._forward_derivatives(known.memory, rotation, q, nu, tau, *out):
            state = ("R", rotation), ("q", q), ("nu", nu), ("tau", tau)
            self._checked(self._forward_derivatives, known, state, *out)
        return by_conf, by_nu, by_tau

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
