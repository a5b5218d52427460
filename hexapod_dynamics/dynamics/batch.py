"""Forward and inverse dynamics of many states in one call: a state in each lane, on all cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hexapod_dynamics.core._core import Model
from hexapod_dynamics.dynamics.checks import check_robot, checked_input
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology

Morphologies = Morphology | Sequence[Morphology] | None
LEAST_SHARE = 2048  # number of states above which another thread saves time
FEW = 8  # number of states of a morphology up to which one after the other takes less time


class BatchDynamics(Model):
    """Calls that WholeBodyModel inherits."""

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
        values["q"] = q = _stacked("q", values["q"])
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
        given = {name: _stacked(name, value, (count, *shapes[name])) for name, value in values.items()}
        out = np.zeros((count, 6 + n)) if in_place else np.empty((count, 6 + n))
        arrays = [*given.values(), out]
        if len(set(map(id, many))) * FEW > count:
            bad = [self._run_each(forward, many, *arrays)]
        else:
            groups = self._grouped(many) if in_place else [(one, np.arange(count))]
            bad = [self._run_group(forward, each, in_place, states, arrays) for each, states in groups]
        first = min((state for state in bad if state >= 0), default=-1)
        if first >= 0:
            known = self._select(many[first] if in_place else one).morphology
            self._refuse(known, in_place, first, {name: array[first] for name, array in given.items()})
        return out

    def _grouped(self, morphologies: Sequence[Morphology]) -> list[tuple[Morphology | None, np.ndarray]]:
        """Return the states of each morphology; DynamicsError for what is none of this robot."""
        same: dict[int, list[int]] = {}  # by id: identical objects need no comparison of their contents
        for state, morphology in enumerate(morphologies):
            same.setdefault(id(morphology), []).append(state)
        groups: dict[Morphology, list[int]] = {}
        for states in same.values():
            morphology = morphologies[states[0]]
            check_robot(self.robot, morphology, f"morphology[{states[0]}]")
            groups.setdefault(morphology, []).extend(states)
        return [(morphology, np.array(states, np.int64)) for morphology, states in groups.items()]

    def _run_group(
        self,
        forward: bool,
        morphology: Morphology | None,
        in_place: bool,
        states: np.ndarray,
        arrays: list[np.ndarray],
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
                checked_input(name, value, known)
        except DynamicsError as error:
            raise DynamicsError(f"state {state}: {error}") from None
        raise DynamicsError(f"state {state}: the result is not finite: {', '.join(values)} are too large")


def _stacked(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return a C-ordered float array of that shape: the given array itself if it is one. Its numbers are not
    checked.
    """
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
