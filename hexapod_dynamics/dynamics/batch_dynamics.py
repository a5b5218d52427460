"""Calls of the whole-body model on many states at once; batch.py runs them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hexapod_dynamics.dynamics.batch import BatchModel
from hexapod_dynamics.dynamics.model_core import ModelCore
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology

Morphologies = Morphology | Sequence[Morphology] | None


class BatchDynamics(ModelCore):
    """Calls that WholeBodyModel inherits."""

    @cached_property
    def _batch_model(self) -> BatchModel:
        return BatchModel(self._kernels)

    def forward_dynamics_batch(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, morphology: Morphologies = None
    ) -> np.ndarray:
        """Accelerations (N, 6+n) of N states: rotation (N, 3, 3), q (N, joints), nu (N, 6+n), tau (N, n).

        morphology: one for all, or a sequence of N. With N of them, n is the number of all joints: in nu and tau the
        entries of joints that do not move are ignored, in the result they are zero. A limp joint's torque is zero. The
        states are shared out to all cores that this process may use. Raises DynamicsError, which names the state.
        """
        return self._run_batch(True, {"R": rotation, "q": q, "nu": nu, "tau": tau}, morphology)

    def inverse_dynamics_batch(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, nudot: ArrayLike, morphology: Morphologies = None
    ) -> np.ndarray:
        """Wrench on the base and joint torques (N, 6+n) that accelerations nudot (N, 6+n) need in N states.

        All else as in `forward_dynamics_batch`.
        """
        return self._run_batch(False, {"R": rotation, "q": q, "nu": nu, "nudot": nudot}, morphology)

    def _run_batch(self, forward: bool, values: dict[str, ArrayLike], morphology: Morphologies) -> np.ndarray:
        whole = self.robot.joint_count
        values["q"] = q = _stacked("q", values["q"])
        if q.ndim != 2:
            raise DynamicsError(f"q: shape {q.shape} given, (N, {whole}) needed: a state in each row")
        count = len(q)
        if morphology is None or isinstance(morphology, Morphology):
            known, in_place = self._select(morphology), False
            groups, n = {known.morphology: np.arange(count)}, known.n
        else:
            groups, n, in_place = self._groups(morphology, count), whole, True
        shapes = {"R": (count, 3, 3), "q": (count, whole), "nu": (count, 6 + n), "nudot": (count, 6 + n)}
        shapes["tau"] = count, n
        given = [_stacked(name, value, shapes[name]) for name, value in values.items()]
        out = np.zeros((count, 6 + n)) if in_place else np.empty((count, 6 + n))
        for each, states in groups.items():
            bad = self._batch_model.run(forward, each, in_place, states, given, out)
            if bad >= 0:
                self._refuse(forward, each, in_place, bad, [array[bad] for array in given])
        return out

    def _groups(self, morphologies: Any, count: int) -> dict[Morphology, np.ndarray]:
        """States of each morphology of a sequence."""
        sequence = isinstance(morphologies, Sequence) and not isinstance(morphologies, str)
        if not sequence or len(morphologies) != count:
            size = len(morphologies) if sequence else repr(morphologies)
            raise DynamicsError(f"morphology: {size} given, one Morphology or a sequence of {count} needed")
        places: dict[Morphology, list[int]] = {}
        for index, morphology in enumerate(morphologies):
            try:
                places[morphology].append(index)
            except (KeyError, TypeError):
                self._select(morphology)  # refuses what is none of this robot
                places[morphology] = [index]
        return {morphology: np.array(states) for morphology, states in places.items()}

    def _refuse(
        self, forward: bool, morphology: Morphology, in_place: bool, state: int, values: list[np.ndarray]
    ) -> None:
        """Raise what the call of one state says about a state that could not be computed."""
        rotation, q, nu, given = values
        if in_place:
            moving = morphology.moving_mask
            body = np.ones(6, bool)
            nu = nu[np.concatenate([body, moving])]
            given = given[moving] if forward else given[np.concatenate([body, moving])]
        try:
            single = self._forward if forward else self._inverse
            names = ("R", "q", "nu", "tau" if forward else "nudot")
            self._checked(single, self._select(morphology), tuple(zip(names, (rotation, q, nu, given), strict=True)))
        except DynamicsError as error:
            raise DynamicsError(f"state {state}: {error}") from None
        raise AssertionError(f"state {state} can be computed alone, but not in a batch")


def _stacked(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return a C-ordered float array of that shape: the given one, if it is. Its numbers are not looked at."""
    try:
        given = np.asarray(value)
        array = np.ascontiguousarray(given, dtype=float)
    except (TypeError, ValueError):
        raise DynamicsError(f"{name}: no array of numbers, with a state in each row, is given") from None
    if np.iscomplexobj(given):
        raise DynamicsError(f"{name}: complex numbers given, real numbers needed")
    if shape is not None and array.shape != shape:
        raise DynamicsError(f"{name}: shape {array.shape} given, {shape} needed: a state in each row, as in q")
    return array
