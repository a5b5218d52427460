"""The whole-body model of a robot that may lose legs: what scripts and nodes call.

Farghdani & Chhabra 2025; closed_form.py of papers/ has the paper's equations line by line, formulas.py the recursion in
plain Python, and core/ the C code that runs. q always has all joints of the robot (a missing or locked joint's entry is
ignored); nu = (v, w, qdot) with the body twist of base_link in base_link axes, linear first, then the rates of the n
joints that exist and move, in the robot's order; rotation is world <- base_link. Units are SI. Positions q are refused
beyond 1e6 rad or m from zero (FARTHEST_POSITION), where sines lose accuracy; nan and infinity are refused everywhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hexapod_dynamics.dynamics.batch import BatchDynamics
from hexapod_dynamics.dynamics.casadi_extra import import_casadi
from hexapod_dynamics.dynamics.held_tips import NOTHING_HELD, HeldTips, hold_tips
from hexapod_dynamics.dynamics.regressors import Regressors
from hexapod_dynamics.errors import DynamicsError, HeldTipsWarning
from hexapod_dynamics.robot import Morphology

if TYPE_CHECKING:
    import casadi

    from hexapod_dynamics.dynamics.leg_expressions import LegExpressions


class WholeBodyModel(BatchDynamics, Regressors):
    """Mass matrix, Coriolis matrix, gravity, tip Jacobians, forward and inverse dynamics of any morphology of a robot.

    The calls for one state are those of the compiled core (core/model.pxi, core/model_calls.pxi). Nothing is compiled
    for a robot, and changing the morphology from one call to the next costs a look-up: each morphology has memory of
    its own. Threads may share a model, each with its own morphology: every call is one step under the interpreter's
    lock. Copies and pickles are independent models.
    """

    # ---- formulas ----------------------------------------------------------------------------------------------------

    def casadi_function(self, name: str, morphology: Morphology | None = None) -> casadi.Function:
        """Return a casadi.Function for one morphology, equal to the compiled model: to be used in an Opti problem.

        name: "forward_dynamics" (R, q, nu, tau) -> nudot, "inverse_dynamics" (R, q, nu, nudot) -> tau (6+n,), or
        "tip_positions" (R, p, q) -> (3, k), the ends of the k existing legs, in the world. Needs CasADi.
        """
        import_casadi("casadi_function")
        from hexapod_dynamics.dynamics.formulas import casadi_function

        return casadi_function(name, self._select(morphology).morphology)

    def symbolic(self, leg: str, morphology: Morphology | None = None) -> LegExpressions:
        """Formulas of a leg for reading: mass matrix, screws and gravity in its mount frame; print it.

        Each entry is a sum of products of the links' parameters and of the joints' sines and cosines, and can be
        evaluated for numbers or for symbols of CasADi or sympy (leg_expressions.py). A leg of three joints takes
        milliseconds; formulas of legs with five and more joints and oblique axes are very long. Raises
        DynamicsError.
        """
        from hexapod_dynamics.dynamics.leg_expressions import leg_expressions

        self.tip_jacobian(leg, np.zeros(self.robot.joint_count), morphology)  # raises if there is no such leg
        return leg_expressions(self._select(morphology).morphology, self.robot.leg(leg))

    # ---- feet that are held ----------------------------------------------------------------------------------------

    def constrained_forward_dynamics(
        self,
        rotation: ArrayLike,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        stance: Iterable[str],
        morphology: Morphology | None = None,
        *,
        info: bool = False,
    ) -> Any:
        """Accelerations nudot (6+n,) with the tips of the legs in `stance` held, and {leg: force (3,) [N], world axes}.

        Held means that the tips' accelerations in the world are zero (Gauss' principle): M nudot + h = tau + J^T f.
        If several sets of forces hold the tips, the smallest forces are returned. If no forces hold the tips
        (straight legs that move), the motion is the nearest possible one, and a HeldTipsWarning names the residual
        (the remaining acceleration of a tip) and the rank; there is no warning for a residual up to 1e-6 m/s^2, or
        up to 1e-6 of the acceleration that the forces must cancel. Raises DynamicsError for wrong input.

        info: return a HeldTips too, (nudot, forces, info), with the residual [m/s^2], the rank and the damping of the
        solution (held_tips.py), instead of a warning. This takes some twenty times as long.
        """
        try:
            legs = [stance] if isinstance(stance, str) else list(stance)
        except TypeError:
            raise DynamicsError(f"stance: {stance!r} given, names of legs needed") from None
        if info:
            return self._solve_held(rotation, q, nu, tau, legs, morphology)
        held = self._hold(rotation, q, nu, tau, legs, morphology)
        if held is None:  # input that must be converted or refused, or tips that are held more than once over
            nudot, forces, found = self._solve_held(rotation, q, nu, tau, legs, morphology)
            held = nudot, forces
            if not found.holds:
                message = (
                    f"stance: the tips of {', '.join(legs)} cannot be held: accelerations of up to "
                    f"{found.residual:.3g} m/s^2 remain ({found.tolerance:.1g} allowed), rank {found.rank} of "
                    f"{found.rows} (a leg is straight, or feet hold one another); take a leg out of the stance or bend "
                    "it; info=True returns these numbers"
                )
                warnings.warn(message, HeldTipsWarning, stacklevel=2)
        return held

    def _solve_held(
        self,
        rotation: ArrayLike,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        legs: list[str],
        morphology: Morphology | None,
    ) -> tuple[np.ndarray, dict[str, np.ndarray], HeldTips]:
        """Return accelerations, forces {leg: (3,)} and HeldTips, computed from matrices: for any input and any
        stance.
        """
        free = self.forward_dynamics(rotation, q, nu, tau, morphology)
        known = self._select(morphology).morphology
        for leg in legs:
            self.tip_jacobian(leg, q, morphology)  # raises if there is no such leg
        if len(set(legs)) != len(legs):
            raise DynamicsError(f"stance: {legs} names a leg twice")
        if not legs:
            return free, {}, NOTHING_HELD
        R, nu = np.asarray(rotation, float), np.asarray(nu, float)
        jacobians, biases = [], []
        for leg in legs:
            link = known.links(leg)[-1]
            point = f"{leg}.{link.name}", (link.length, 0.0, 0.0)
            jacobians.append(self.point_jacobian(*point, q, morphology))
            slide = np.cross(nu[3:6], jacobians[-1] @ nu)
            biases.append(self.point_acceleration_bias(*point, q, nu, morphology) + slide)
        mass = self.mass_matrix(q, morphology)
        nudot, forces, info = hold_tips(mass, np.concatenate(jacobians), free, -np.concatenate(biases))
        return nudot, {leg: R @ force for leg, force in zip(legs, forces.reshape(-1, 3), strict=True)}, info
