"""The whole-body model of a robot that may lose legs: what scripts and nodes call.

Farghdani & Chhabra 2025; closed_form.py has the paper's equations line by line, and
here they run as compiled leg kernels. q always has all joints of the robot (a missing or locked joint's entry is
ignored); nu = (v, w, qdot) with the body twist of base_link in base_link axes, linear first, then the rates of the n
joints that exist and move, in the robot's order; rotation is world <- base_link. Units are SI. Positions q are refused
beyond 1e6 rad or m from zero (FARTHEST_POSITION), where sines lose accuracy; nan and infinity are refused everywhere.
"""

from __future__ import annotations

import warnings

import numpy as np

from hexapod_dynamics.dynamics.model.batch_dynamics import BatchDynamics
from hexapod_dynamics.dynamics.model.held_tips import NOTHING_HELD, hold_tips
from hexapod_dynamics.dynamics.model.leg_expressions import LegExpressions, leg_expressions
from hexapod_dynamics.dynamics.model.link_quantities import LinkQuantities
from hexapod_dynamics.dynamics.model.regressors import Regressors
from hexapod_dynamics.errors import DynamicsError, HeldTipsWarning
from hexapod_dynamics.robot.casadi_extra import import_casadi


class WholeBodyModel(BatchDynamics, LinkQuantities, Regressors):
    """Mass matrix, Coriolis matrix, gravity, tip Jacobians, forward and inverse dynamics of any morphology of a robot.

    Changing the morphology from one call to the next needs no compilation: each morphology has memory of its own,
    some 26 kB. Threads may share a model, each with its own morphology: every call is one step under the
    interpreter's lock. Copies and pickles are independent models; all models of a robot share their compiled code.
    """

    # ---- the model ---------------------------------------------------------------------------------------------

    def forward_dynamics(self, rotation, q, nu, tau, morphology=None, tip_forces=None) -> np.ndarray:
        """Accelerations nudot (6+n,) under joint torques tau (n,) and tip_forces {leg: force (3,) [N], world axes}.

        A limp joint's torque is zero; its entry in tau is ignored. Raises DynamicsError for input of the wrong
        shape or not finite. (6), solved as an arrow: n_i x n_i blocks and one 6x6.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        if tip_forces:
            return self._forward_with(rotation, q, nu, tau, tip_forces, known)
        out = self._forward(known.memory, rotation, q, nu, tau)
        if out is None:
            out = self._checked(self._forward, known, (("R", rotation), ("q", q), ("nu", nu), ("tau", tau)))
        return out

    def _forward_with(self, rotation, q, nu, tau, tip_forces, known):
        out = self._forward_under(known.memory, rotation, q, nu, tau, *self._listed(tip_forces, known))
        if out is None:
            state = ("R", rotation), ("q", q), ("nu", nu), ("tau", tau)
            out = self._checked(self._forward_under, known, state, *self._forces(tip_forces, known))
        return out

    def inverse_dynamics(self, rotation, q, nu, nudot, morphology=None, tip_forces=None) -> np.ndarray:
        """Wrench on the base and joint torques (6+n,) that accelerations nudot (6+n,) need, in addition to
        tip_forces.

        tip_forces {leg: force (3,) [N], world axes}. A limp joint's entry is the torque that it would need: if it
        is not zero, the robot cannot perform this motion. Raises DynamicsError. (6), by recursion along each leg.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = self._inverse(known.memory, rotation, q, nu, nudot)
        if out is None:
            out = self._checked(self._inverse, known, (("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)))
        if tip_forces:
            out -= self.tip_force_rows(rotation, q, tip_forces, morphology)
        return out

    def mass_matrix(self, q, morphology=None) -> np.ndarray:
        """Mass matrix M (6+n, 6+n), (31) and (32)."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = self._mass(known.memory, q)
        return self._checked(self._mass, known, (("q", q),)) if out is None else out

    def coriolis_matrix(self, q, nu, morphology=None) -> np.ndarray:
        """Coriolis matrix C (6+n, 6+n) such that Mdot - 2C is skew-symmetric, (44)-(51); see closed_form.py."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = self._coriolis(known.memory, q, nu)
        return self._checked(self._coriolis, known, (("q", q), ("nu", nu))) if out is None else out

    def gravity_force(self, rotation, q, morphology=None) -> np.ndarray:
        """Gravity g (6+n,) on the left-hand side, M nudot + C nu + g = tau (9)."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = self._gravity(known.memory, rotation, q)
        return self._checked(self._gravity, known, (("R", rotation), ("q", q))) if out is None else out

    def tip_jacobian(self, leg: str, q, morphology=None) -> np.ndarray:
        """Jacobian J (6, 6+n) of a leg's tip, V_tip = J nu (11).

        The tip frame is at the end of the leg's last existing link and has that link's axes, x along the link.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        call = self._tip  # a local name: self._tip(...) takes 20 ns more in Python 3.10 and 3.11
        try:
            out = call(known.memory, q, self._legs[leg])
        except (KeyError, TypeError):
            out = None
        return self._checked(self._tip, known, (("q", q),), self._leg_index(leg, known)) if out is None else out

    def tip_force_rows(self, rotation, q, tip_forces, morphology=None) -> np.ndarray:
        """Sum of J_tip^T F (6+n,) over tip_forces {leg: force (3,) [N], world axes}."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = self._tip_forces(known.memory, rotation, q, *self._listed(tip_forces, known))
        if out is None:
            forces = self._forces(tip_forces, known)
            out = self._checked(self._tip_forces, known, (("R", rotation), ("q", q)), *forces)
        return out

    # ---- derivatives ---------------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(self, rotation, q, nu, nudot, morphology=None):
        """Derivatives of inverse dynamics: (dtau_dconf, dtau_dnu, M), each (6+n, 6+n).

        Columns of dtau_dconf: the tangent of the configuration, body translation and rotation in base_link axes
        (g exp([V])), then the moving joints. The derivative by nudot is the mass matrix M. Exact: the leg's
        program is differentiated by the chain rule. Raises DynamicsError.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        three = self._inverse_derivatives(known.memory, rotation, q, nu, nudot)
        if three is None:
            motion = ("R", rotation), ("q", q), ("nu", nu), ("nudot", nudot)
            three = self._checked(self._inverse_derivatives, known, motion)
        return three

    def forward_dynamics_derivatives(self, rotation, q, nu, tau, morphology=None):
        """Derivatives of forward dynamics: (da_dconf, da_dnu), each (6+n, 6+n), and da_dtau (6+n, n).

        Columns as in `inverse_dynamics_derivatives`: they are -M^-1 times those derivatives. da_dtau: the joints'
        columns of M^-1, zero for limp joints. Raises DynamicsError.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        three = self._forward_derivatives(known.memory, rotation, q, nu, tau)
        if three is None:
            state = ("R", rotation), ("q", q), ("nu", nu), ("tau", tau)
            three = self._checked(self._forward_derivatives, known, state)
        return three

    def casadi_function(self, name: str, morphology=None):
        """Return a casadi.Function for one morphology, equal to the compiled model: to be used in an Opti problem.

        name: "forward_dynamics" (R, q, nu, tau) -> nudot, "inverse_dynamics" (R, q, nu, nudot) -> tau (6+n,), or
        "tip_positions" (R, p, q) -> (3, k), the ends of the k existing legs, in the world. Needs CasADi.
        """
        import_casadi("casadi_function")
        from hexapod_dynamics.dynamics.model.symbolic import casadi_function

        return casadi_function(self._kernels, name, self._select(morphology).morphology)

    def symbolic(self, leg: str, morphology=None) -> LegExpressions:
        """Formulas of a leg for reading: mass matrix, screws and gravity in its mount frame; print it.

        Each entry is a sum of products of the links' parameters and of the joints' sines and cosines, and can be
        evaluated for numbers or for symbols of CasADi or sympy (leg_expressions.py). A leg of three joints takes
        milliseconds; formulas of legs with five and more joints and oblique axes are very long. Raises
        DynamicsError.
        """
        known = self._select(morphology)
        self._leg_index(leg, known)
        return leg_expressions(known.morphology, self.robot.leg(leg))

    # ---- feet that are held ----------------------------------------------------------------------------------------

    def constrained_forward_dynamics(self, rotation, q, nu, tau, stance, morphology=None, *, info=False):
        """Accelerations nudot (6+n,) with the tips of the legs in `stance` held, and {leg: force (3,) [N], world axes}.

        Held means that the tips' accelerations in the world are zero (Gauss' principle): M nudot + h = tau + J^T f.
        If several sets of forces hold the tips, the smallest forces are returned. If no forces hold the tips
        (straight legs that move), the motion is the nearest possible one, and a HeldTipsWarning names the residual
        (the remaining acceleration of a tip) and the rank; there is no warning for a residual up to 1e-6 m/s^2, or
        up to 1e-6 of the acceleration that the forces must cancel. Raises DynamicsError for wrong input.

        info: return a HeldTips too, (nudot, forces, info), with the residual [m/s^2], the rank and the damping of the
        solution (held_tips.py), instead of a warning. This takes some twenty times as long.
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        try:
            legs = [stance] if isinstance(stance, str) else list(stance)
        except TypeError:
            raise DynamicsError(f"stance: {stance!r} given, names of legs needed") from None
        if info:
            return self._solve_held(rotation, q, nu, tau, legs, known)
        try:
            feet = [self._legs[leg] for leg in legs]
            result = self._held(known.memory, rotation, q, nu, tau, *feet) if len(set(legs)) == len(legs) else None
        except (KeyError, TypeError):
            result = None
        if result is None:
            return self._held_without_haste(rotation, q, nu, tau, legs, known)
        return result[0], dict(zip(legs, result[1:], strict=True))

    def _held_without_haste(self, rotation, q, nu, tau, legs, known):
        """Do `constrained_forward_dynamics` for input that must be converted or refused, and for redundantly held
        tips.
        """
        nudot, forces, info = self._solve_held(rotation, q, nu, tau, legs, known)
        if not info.holds:
            message = (
                f"stance: the tips of {', '.join(legs)} cannot be held: accelerations of up to {info.residual:.3g} "
                f"m/s^2 remain ({info.tolerance:.1g} allowed), rank {info.rank} of {info.rows} (a leg is straight, or "
                "feet hold one another); take a leg out of the stance or bend it; info=True returns these numbers"
            )
            warnings.warn(message, HeldTipsWarning, stacklevel=3)
        return nudot, forces

    def _solve_held(self, rotation, q, nu, tau, legs, known):
        """Return accelerations, forces {leg: (3,)} and HeldTips, computed from matrices: for any input and any
        stance.
        """
        free = self.forward_dynamics(rotation, q, nu, tau, known.given)
        for leg in legs:
            self._leg_index(leg, known)
        if len(set(legs)) != len(legs):
            raise DynamicsError(f"stance: {legs} names a leg twice")
        if not legs:
            return free, {}, NOTHING_HELD
        R, nu = np.asarray(rotation, float), np.asarray(nu, float)
        jacobians, biases = [], []
        for leg in legs:
            link = known.morphology.links(leg)[-1]
            point = f"{leg}.{link.name}", (link.length, 0.0, 0.0)
            jacobians.append(self.point_jacobian(*point, q, known.given))
            slide = np.cross(nu[3:6], jacobians[-1] @ nu)
            biases.append(self.point_acceleration_bias(*point, q, nu, known.given) + slide)
        mass = self.mass_matrix(q, known.given)
        nudot, forces, info = hold_tips(mass, np.concatenate(jacobians), free, -np.concatenate(biases))
        return nudot, {leg: R @ force for leg, force in zip(legs, forces.reshape(-1, 3), strict=True)}, info
