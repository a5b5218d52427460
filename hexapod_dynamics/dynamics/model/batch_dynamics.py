"""Calls of the whole-body model on many states at once; batch.py runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hexapod_dynamics.dynamics.model.batch import LEAST_GROUP, BatchModel
from hexapod_dynamics.dynamics.model.checks import FARTHEST_POSITION
from hexapod_dynamics.dynamics.model.model_core import KEPT_SELECTIONS, ModelCore
from hexapod_dynamics.dynamics.model.selection import Selection
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.native.extension import run_each
from hexapod_dynamics.robot import Morphology

Morphologies = Morphology | Sequence[Morphology] | None
Groups = dict[Morphology, np.ndarray]  # states of each morphology
MIXED = 16  # number of morphologies whose memories, 26 kB each, are made at a time once the model keeps no more


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
        if morphology is None or isinstance(morphology, Morphology):
            known, in_place = self._select(morphology), False
            groups, n = {known.morphology: np.arange(count)}, known.n
        else:
            self._check_sequence(morphology, count)
            groups, n, in_place = {}, whole, True
        shapes = {"R": (count, 3, 3), "q": (count, whole), "nu": (count, 6 + n), "nudot": (count, 6 + n)}
        shapes["tau"] = count, n
        given = [_stacked(name, value, shapes[name]) for name, value in values.items()]
        out = np.zeros((count, 6 + n)) if in_place else np.empty((count, 6 + n))
        if in_place:
            groups = self._run_mixed(forward, morphology, given, out)
        # the sum is quicker than the maximum
        near = not groups or bool(np.einsum("ij,ij->", q, q) <= FARTHEST_POSITION**2)
        for each, states in groups.items():
            bad = -1 if near else self._first_far(each, states, q)
            if bad < 0:
                bad = self._batch_model.run(forward, each, in_place, states, given, out)
            if bad >= 0:
                self._refuse(forward, each, in_place, bad, [array[bad] for array in given])
        return out

    def _run_each(
        self, forward: bool, memories: list[np.ndarray], states: Any, given: list[np.ndarray], out: np.ndarray
    ) -> int:
        """Fill `out` for the states (indices), each on its own memory; return the first that cannot be computed,
        -1 if none.
        """
        indices = np.array(states, dtype=np.int64)
        return run_each(self._kernels.run_state, memories, indices, forward, *given, out)

    def _run_mixed(self, forward: bool, morphologies: Any, given: list[np.ndarray], out: np.ndarray) -> Groups:
        """Compute the morphologies that have few states; return the others with their states."""
        each = list(morphologies)
        known = self._known_memories(each)
        if known:
            self._name_bad(forward, each, [self._run_each(forward, known, range(len(each)), given, out)], given)
            return {}
        same = dict[int, list[int]]()
        for state, morphology in enumerate(each):  # identical objects need no comparison of their contents
            states = same.get(id(morphology))
            if states is None:
                same[id(morphology)] = [state]
            else:
                states.append(state)
        kept = self._selections
        chosen: dict[int, tuple[Selection, list[int]]] = {}  # by id of the selection
        loose: dict[Morphology, list[int]] = {}  # morphologies for which the model keeps no memory
        for states in same.values():
            morphology = each[states[0]]
            selection = kept.get(morphology) if isinstance(morphology, Morphology) else None
            if selection is None:
                self._check_member(morphology, states[0])
                if len(kept) >= KEPT_SELECTIONS:
                    loose.setdefault(morphology, []).extend(states)
                    continue
                selection = kept[morphology] = Selection(self._kernels.memory, morphology, morphology)
            if id(selection) in chosen:
                chosen[id(selection)][1].extend(states)
            else:
                chosen[id(selection)] = selection, states
        is_worth = self._batch_model.is_worth
        many: Groups = {}
        memories, few = list[np.ndarray](), list[int]()
        for selection, states in chosen.values():
            if len(states) >= LEAST_GROUP and is_worth(forward, selection.morphology, len(states)):
                many[selection.morphology] = np.sort(states)
            else:
                memories += [selection.memory] * len(states)
                few += states
        bad = [self._run_each(forward, memories, few, given, out)]
        rest = []
        for morphology, states in loose.items():
            if len(states) >= LEAST_GROUP and is_worth(forward, morphology, len(states)):
                many[morphology] = np.sort(states)
            else:
                rest.append((morphology, states))
        bad += self._run_loose(forward, rest, given, out)
        self._name_bad(forward, each, bad, given)
        return many

    def _known_memories(self, each: list[Any]) -> list[np.ndarray]:
        """Return the memory for each state if the model keeps the memories of all, and no morphology has many
        states; else [].
        """
        if len(set(map(id, each))) * LEAST_GROUP < len(each):
            return []
        kept = self._selections
        try:
            selections = [kept[morphology] for morphology in each]
        except (KeyError, TypeError):
            return []
        if len(each) >= LEAST_GROUP and max(Counter(map(id, selections)).values()) >= LEAST_GROUP:
            return []
        return [selection.memory for selection in selections]

    def _name_bad(self, forward: bool, each: list[Morphology], bad: list[int], given: list[np.ndarray]) -> None:
        """Raise DynamicsError about the first of the states (-1: none) that could not be computed."""
        first = min((state for state in bad if state >= 0), default=-1)
        if first >= 0:
            self._refuse(forward, each[first], True, first, [array[first] for array in given])

    def _run_loose(self, forward: bool, groups: Any, given: list[np.ndarray], out: np.ndarray) -> list[int]:
        """Compute morphologies on a few memories in turn; return the first state of each turn that cannot be
        computed, or -1.
        """
        if not groups:
            return []
        pool = self._kernels.memory.new_memories(min(MIXED, len(groups)))
        bad = []
        for start in range(0, len(groups), MIXED):
            memories, few = list[np.ndarray](), list[int]()
            for memory, (morphology, states) in zip(pool, groups[start : start + MIXED], strict=False):
                self._kernels.memory.place(memory, morphology.table)
                memories += [memory] * len(states)
                few += states
            bad.append(self._run_each(forward, memories, few, given, out))
        return bad

    def _check_member(self, morphology: Any, state: int) -> None:
        """Raise DynamicsError unless the morphology of that state is one of this model's robot."""
        if not isinstance(morphology, Morphology):
            raise DynamicsError(
                f"morphology[{state}]: {morphology!r} given, a Morphology needed (of the whole robot: "
                "Morphology.whole(robot))"
            )
        self._kernels.check(morphology)

    def _first_far(self, morphology: Morphology, states: np.ndarray, q: np.ndarray) -> int:
        """Return the first of the states with a moving joint beyond FARTHEST_POSITION, -1 if none."""
        moving = np.flatnonzero(morphology.moving_mask)
        far = np.abs(q[np.ix_(states, moving)]).max(axis=1, initial=0.0) > FARTHEST_POSITION
        return int(states[far].min(initial=len(q))) if far.any() else -1

    def _check_sequence(self, morphologies: Any, count: int) -> None:
        """Raise DynamicsError unless `morphology` is a sequence with one morphology for each state."""
        sequence = isinstance(morphologies, Sequence) and not isinstance(morphologies, str)
        if not sequence or len(morphologies) != count:
            size = len(morphologies) if sequence else repr(morphologies)
            raise DynamicsError(f"morphology: {size} given, one Morphology or a sequence of {count} needed")

    def _refuse(
        self, forward: bool, morphology: Morphology, in_place: bool, state: int, values: list[np.ndarray]
    ) -> None:
        """Raise the error that the call for one state raises, for a state that could not be computed."""
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
