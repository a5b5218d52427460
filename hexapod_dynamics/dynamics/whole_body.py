"""The whole-body model of a robot that may lose legs: what scripts and nodes call.

Farghdani & Chhabra 2025; closed_form.py of papers/ has the paper's equations line by line, formulas.py the recursion in
plain Python, and core/ the C code that runs. q always has all joints of the robot (a missing or locked joint's entry is
ignored); nu = (v, w, qdot) with the body twist of base_link in base_link axes, linear first, then the rates of the n
joints that exist and move, in the robot's order; rotation is world <- base_link. Units are SI. Positions q are refused
beyond 1e6 rad or m from zero (FARTHEST_POSITION), where sines lose accuracy; nan and infinity are refused everywhere.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hexapod_dynamics.array_checks import as_floats, as_numbers
from hexapod_dynamics.dynamics.checks import check_input
from hexapod_dynamics.dynamics.held_tips import NOTHING_HELD, HeldTips, hold_tips
from hexapod_dynamics.dynamics.regressors import Regressors
from hexapod_dynamics.errors import DynamicsError, HeldTipsWarning
from hexapod_dynamics.robot import Morphology

if TYPE_CHECKING:
    import casadi

    from hexapod_dynamics.dynamics.leg_expressions import LegExpressions

Morphologies = Morphology | Sequence[Morphology] | None
LEAST_SHARE = 2048  # number of states above which another thread saves time
FEW_STATES = 8  # number of states of a morphology up to which one after the other takes less time


class WholeBodyModel(Regressors):
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
            return self._solve_held((rotation, q, nu, tau), legs, morphology)
        held = self._hold(rotation, q, nu, tau, legs, morphology)
        if held is None:  # input that must be converted or refused, or tips that are held more than once over
            nudot, forces, found = self._solve_held((rotation, q, nu, tau), legs, morphology)
            held = nudot, forces
            if not found.are_held:
                message = (
                    f"stance: the tips of {', '.join(legs)} cannot be held: accelerations of up to "
                    f"{found.residual:.3g} m/s^2 remain ({found.tolerance:.1g} allowed), rank {found.rank} of "
                    f"{found.rows} (a leg is straight, or feet hold one another); take a leg out of the stance or bend "
                    "it; info=True returns these numbers"
                )
                warnings.warn(message, HeldTipsWarning, stacklevel=2)
        return held

    def _solve_held(
        self, state: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike], legs: list[str], morphology: Morphology | None
    ) -> tuple[np.ndarray, dict[str, np.ndarray], HeldTips]:
        """Return accelerations, forces {leg: (3,)} and HeldTips, computed from matrices: for any input (R, q, nu, tau)
        and any stance.
        """
        rotation, q, nu, _ = state
        free = self.forward_dynamics(*state, morphology)
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

    # ---- many states in one call: a state in each lane, on all cores -------------------------------------------------

    def forward_dynamics_batch(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, morphology: Morphologies = None
    ) -> np.ndarray:
        """Accelerations (N, 6+n) of N states: rotation (N, 3, 3), q (N, joints), nu (N, 6+n), tau (N, n).

        morphology: one for all, or a sequence of N. With N of them, n is the number of all joints: in nu and tau the
        entries of joints that do not move are ignored, in the result they are zero. A limp joint's torque is zero.
        The states are distributed over all cores that this process may use. Raises DynamicsError, which names the
        state.
        """
        return self._run_batch(True, {"R": rotation, "q": q, "nu": nu, "tau": tau}, morphology)

    def inverse_dynamics_batch(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, nudot: ArrayLike, morphology: Morphologies = None
    ) -> np.ndarray:
        """Wrench on the base and joint torques (N, 6+n) that accelerations nudot (N, 6+n) need in N states.

        Everything else as in `forward_dynamics_batch`.
        """
        return self._run_batch(False, {"R": rotation, "q": q, "nu": nu, "nudot": nudot}, morphology)

    def _run_batch(self, forward: bool, values: dict[str, ArrayLike], morphology: Morphologies) -> np.ndarray:
        whole = self.robot.joint_count
        values["q"] = q = as_floats("q", values["q"], "no array of numbers, with a state in each row, is given")
        if q.ndim != 2:
            raise DynamicsError(f"q: shape {q.shape} given, (N, {whole}) needed: a state in each row")
        count = len(q)
        one = morphology if isinstance(morphology, Morphology) else None
        many: list[Morphology] = []
        if morphology is not one:
            if not isinstance(morphology, Sequence) or isinstance(morphology, str) or len(morphology) != count:
                size = len(morphology) if isinstance(morphology, list | tuple) else repr(morphology)
                raise DynamicsError(f"morphology: {size} given, one Morphology or a sequence of {count} needed")
            many = list(morphology)
        in_place = morphology is not one
        n = whole if in_place else self._select(one).n
        shapes = {"R": (3, 3), "q": (whole,), "nu": (6 + n,), "nudot": (6 + n,), "tau": (n,)}
        rows = ": a state in each row, as in q"
        given = {name: as_numbers(name, value, (count, *shapes[name]), rows) for name, value in values.items()}
        out = np.zeros((count, 6 + n)) if in_place else np.empty((count, 6 + n))
        arrays = [*given.values(), out]
        if len(set(map(id, many))) * FEW_STATES > count:
            bad = [self._run_each(forward, many, *arrays)]
        else:
            groups = self._group_states(many) if in_place else [(one, np.arange(count))]
            bad = [self._run_group(forward, each, in_place, states, *arrays) for each, states in groups]
        first = min((state for state in bad if state >= 0), default=-1)
        if first >= 0:
            known = self._select(many[first] if in_place else one).morphology
            self._refuse(known, in_place, first, {name: array[first] for name, array in given.items()})
        return out

    def _group_states(self, morphologies: Sequence[Morphology]) -> list[tuple[Morphology | None, np.ndarray]]:
        """Return the states of each morphology; DynamicsError for what is none of this robot."""
        same: dict[int, list[int]] = {}  # by id: identical objects need no comparison of their contents
        for state, morphology in enumerate(morphologies):
            same.setdefault(id(morphology), []).append(state)
        groups: dict[Morphology, list[int]] = {}
        for states in same.values():
            morphology = morphologies[states[0]]
            Morphology.check(self.robot, morphology, f"morphology[{states[0]}]")
            groups.setdefault(morphology, []).extend(states)
        return [(morphology, np.array(states, np.int64)) for morphology, states in groups.items()]

    def _run_group(
        self, forward: bool, morphology: Morphology | None, in_place: bool, states: np.ndarray, *arrays: np.ndarray
    ) -> int:
        """Fill the last array for states of one morphology; return the first state that failed, -1 if none."""
        workers = max(1, min(len(os.sched_getaffinity(0)), len(states) // LEAST_SHARE))
        shares = np.array_split(states, workers)
        bad = [-1] * workers

        def run_share(index: int) -> None:
            bad[index] = self._run_states(forward, morphology, in_place, shares[index], *arrays)

        threads = [threading.Thread(target=run_share, args=(index,)) for index in range(1, workers)]
        for thread in threads:
            thread.start()
        run_share(0)
        for thread in threads:
            thread.join()
        return min((state for state in bad if state >= 0), default=-1)

    def _refuse(self, known: Morphology, in_place: bool, state: int, values: dict[str, np.ndarray]) -> None:
        """Raise the error that the call for one state raises, for a state that could not be computed."""
        moving = np.concatenate([np.ones(6, bool), known.moving_mask])
        try:
            for name, value in values.items():
                if in_place and name in ("nu", "nudot", "tau"):
                    value = value[moving[6:] if name == "tau" else moving]
                check_input(name, value, known)
        except DynamicsError as error:
            raise DynamicsError(f"state {state}: {error}") from None
        raise DynamicsError(f"state {state}: the result is not finite: {', '.join(values)} are too large")
