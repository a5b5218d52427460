"""Runs the bank of hypotheses on an executor and compares its features with the measured ones."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hexapod_dynamics.detection.bank import HypothesisBank
from hexapod_dynamics.detection.baseline import Baseline
from hexapod_dynamics.detection.covariance import covariance
from hexapod_dynamics.detection.hypotheses import Hypothesis
from hexapod_dynamics.detection.posterior import Posterior, posterior_of
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.scatter import Scatter
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.window import MeasurementWindow, SliceFeatures
from hexapod_dynamics.robot import Morphology, Robot


@dataclass(frozen=True)
class BankResult:
    """The result of a hypothesis bank.

    first: number of the first slice that was compared; suspicion: the detector's suspicion when the bank was started.
    """

    hypotheses: list[Hypothesis]
    posterior: Posterior
    first: int
    suspicion: float


@dataclass(frozen=True)
class _Job:
    """A bank that is being simulated; results: of the tasks, or their futures if there is an executor.

    moved: see `BankRun.start`. singles, pairs: hypotheses of one damage and of two; pair_tasks: simulations of the
    pairs, made if a single damage is more probable than none.
    """

    view: SliceFeatures
    moved: np.ndarray
    singles: list[Hypothesis]
    pairs: list[Hypothesis]
    pair_tasks: list[Any]
    results: list[Any]
    begun: float
    suspicion: float
    cancelled: threading.Event = field(default_factory=threading.Event)


class BankRun:
    """Runs one simulation of a HypothesisBank at a time; count: number of completed ones, duration: of the last
    one [s].

    executor: of concurrent.futures; None: the simulations run within `start`. diverged: number of times that the
    simulation of each hypothesis (by name) has diverged and was left out.
    """

    def __init__(self, robot: Robot, settings: DetectorSettings, executor: Any, model: RunningModel) -> None:
        s = self._settings = settings
        self.executor, self._model, self._joints = executor, model, robot.joint_count
        horizon = (s.window + 1) * s.slice_ticks
        self._bank = HypothesisBank(robot, s.command_period, s.bank_timestep, horizon, s.members, limits=s.limits)
        self._job: _Job | None = None
        self._comparison: Any = None  # future of the Posterior, after all simulations
        self.count, self.duration = 0, 0.0
        self.diverged: Counter[str] = Counter()

    def warm_up(self, morphology: Morphology) -> None:
        """Compile all kernels of the bank; the model must have been started."""
        targets = np.zeros((2, self._joints))
        tasks = self._bank.tasks(self._model.model.snapshot(), morphology, targets, [])
        for task in (tasks[0], tasks[1], tasks[-1]):  # the model, a smooth and a rough ground
            task()

    @property
    def busy(self) -> bool:
        """Whether a bank is being simulated."""
        return self._job is not None

    def cancel(self) -> None:
        """Cancel the bank that is being simulated; only simulations that already run are completed."""
        job, comparison = self._job, self._comparison
        self._job = self._comparison = None
        if job is None or self.executor is None:
            return
        job.cancelled.set()
        for future in (*job.results, *([comparison] if comparison is not None else [])):
            future.cancel()

    def start(
        self,
        slices: range,
        window: MeasurementWindow,
        moved: np.ndarray,
        morphology: Morphology,
        hypotheses: list[Hypothesis],
        time: float,
        suspicion: float,
    ) -> None:
        """Simulate the hypotheses from the start of the first of `slices` to the end of the slice after them, under the
        set-points that were sent, and compare all but the first.

        moved (K, f): change of the model, by a damage that was found, in the K slices that are compared.
        """
        s, begin = self._settings, slices.start
        rows = self._model.row(np.arange(begin * s.slice_ticks, (slices.stop + 1) * s.slice_ticks))
        view = window.view(begin + 1, len(slices))
        singles = [one for one in hypotheses if "+" not in one.leg]
        pairs = [one for one in hypotheses if "+" in one.leg]
        self._bank.zone = self._model.zone
        case = self._model.snapshots[begin], morphology, self._model.targets[rows].copy()
        tasks, pair_tasks = self._bank.tasks(*case, singles), self._bank.damaged(*case, pairs)
        if self.executor is None:
            results = [task() for task in tasks]
        else:
            results = [self.executor.submit(task) for task in tasks]
        self._job = _Job(view, moved, singles, pairs, pair_tasks, results, time, suspicion)

    def collect(self, time: float, baseline: Baseline) -> BankResult | None:
        """Return the result of the bank if one has been simulated completely, else None."""
        job = self._job
        if job is None:
            return None
        results = job.results
        if self.executor is None:
            compared = self._compare(job, results, *self._measured(job.view, baseline))
        elif self._comparison is None:
            if all(future.done() for future in results):
                done = [future.result() for future in results]
                measured = self._measured(job.view, baseline)
                self._comparison = self.executor.submit(self._compare, job, done, *measured)
            return None
        elif not self._comparison.done():
            return None
        else:
            compared = self._comparison.result()
        self._job = self._comparison = None
        self.count, self.duration = self.count + 1, time - job.begun
        if compared is None:
            return None
        return BankResult(*compared, job.view.first, job.suspicion)

    @staticmethod
    def _measured(view: SliceFeatures, baseline: Baseline) -> tuple[np.ndarray, np.ndarray, Scatter]:
        """Return the features (K, f) less the baseline, the uncertainty (K, f) of the baseline, and their scatter."""
        x = np.nan_to_num(view.residual - baseline.predict(view.load, view.yaw, view.motion))
        return x, baseline.unknown(view.load, view.yaw, view.motion), baseline.scatter

    def _compare(
        self, job: _Job, results: list[Any], x: np.ndarray, unknown: np.ndarray, scatter: Scatter
    ) -> tuple[list[Hypothesis], Posterior] | None:
        """Return hypotheses and their Posterior, from the simulated and the measured features; two damages at once
        are included if one is more probable than none. A simulation that diverged is left out and counted. Returns
        None if too many diverged, or if the job was cancelled.
        """
        view, ticks = job.view, self._settings.slice_ticks
        declared, *results = results
        if declared is None:
            self.diverged["declared robot"] += 1
            return None

        def features(simulated: list[Any]) -> np.ndarray:
            apart = [
                view.features(q[ticks:], tilt[ticks:], *(one[ticks:] for one in declared)) for q, tilt in simulated
            ]
            return np.array(apart).reshape(-1, *view.noise.shape)

        count, members = len(job.singles), self._settings.members
        singles, simulated = self._kept(job.singles, results[:count])
        ensemble = [f"plausible healthy robot {k}" for k in range(2 * members)]
        static, rough = (
            features(self._kept(ensemble[half], results[count:][half])[1])
            for half in (slice(members), slice(members, None))
        )
        if not singles or 2 * min(len(static), len(rough)) < members:
            return None
        limits = self._settings.limits
        cov = covariance(static, rough, view.noise, unknown, scatter, job.moved, limits)
        deviations, prior = features(simulated), self._settings.prior
        posterior = posterior_of(x, view.noise, cov, deviations, np.full(len(singles), prior), limits)
        if not job.pairs or posterior.declared > limits.pairs_from:
            return singles, posterior
        done = []
        for task in job.pair_tasks:
            if job.cancelled.is_set():
                return None
            done.append(task())
        pairs, simulated = self._kept(job.pairs, done)
        deviations = np.concatenate([deviations, features(simulated)])
        return singles + pairs, posterior_of(x, view.noise, cov, deviations, np.full(len(deviations), prior), limits)

    def _kept(self, named: list[Any], simulated: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the hypotheses of `named` whose simulations have not diverged, and their results; count the
        others.
        """
        kept = []
        for one, result in zip(named, simulated, strict=True):
            if result is None:
                self.diverged[getattr(one, "name", one)] += 1
            else:
                kept.append((one, result))
        return [one for one, _ in kept], [result for _, result in kept]
