"""Runs the bank of hypotheses on an executor and compares its features with the measured ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.estimation.damage.bank import HypothesisBank
from hexapod_dynamics.estimation.damage.baseline import Baseline
from hexapod_dynamics.estimation.damage.hypotheses import Hypothesis
from hexapod_dynamics.estimation.damage.posterior import Posterior, covariance, posterior_of
from hexapod_dynamics.estimation.damage.running_model import RunningModel
from hexapod_dynamics.estimation.damage.settings import DetectorSettings
from hexapod_dynamics.estimation.damage.window import TILTS, MeasurementWindow, SliceFeatures
from hexapod_dynamics.robot import Morphology, Robot

# Chi-square per feature up to which one damage explains the measurements, so that two are not considered.
_EXPLAINED = 0.8
_TWO = -3.0  # log odds of two damages at once, against one


@dataclass(frozen=True)
class BankResult:
    """What a bank has found; suspicion: that at its start."""

    hypotheses: list[Hypothesis]
    posterior: Posterior
    suspicion: float


@dataclass(frozen=True)
class _Job:
    """A bank that is being simulated; results: of the tasks, or their futures where there is an executor."""

    view: SliceFeatures
    hypotheses: list[Hypothesis]
    results: list[Any]
    begun: float
    suspicion: float


class BankRun:
    """One simulation of a HypothesisBank at a time; count: of those that are done, duration: of the last one [s].

    executor: of concurrent.futures; None: the simulations run within `start`.
    """

    def __init__(self, robot: Robot, settings: DetectorSettings, executor: Any, model: RunningModel) -> None:
        s = self._settings = settings
        self.executor, self._model, self._joints = executor, model, robot.joint_count
        self._bank = HypothesisBank(robot, s.command_period, s.bank_timestep, (s.window + 1) * s.slice_ticks, s.members)
        self._job: _Job | None = None
        self._comparison: Any = None  # future of the Posterior, after all simulations
        self.count, self.duration = 0, 0.0

    def warm_up(self, morphology: Morphology) -> None:
        """Compile all kernels of the bank; the model has been started."""
        targets = np.zeros((2, self._joints))
        tasks = self._bank.tasks(self._model.model.snapshot(), morphology, targets, [])
        for task in (tasks[0], tasks[1], tasks[-1]):  # the model, a smooth and a rough ground
            task()

    @property
    def busy(self) -> bool:
        """Whether a bank is being simulated."""
        return self._job is not None

    def cancel(self) -> None:
        """Drop the bank that is being simulated."""
        self._job = self._comparison = None

    def start(
        self,
        begin: int,
        window: MeasurementWindow,
        morphology: Morphology,
        hypotheses: list[Hypothesis],
        time: float,
        suspicion: float,
    ) -> None:
        """Simulate the hypotheses from the start of slice `begin`, under the set-points that were sent since."""
        s = self._settings
        rows = self._model.row(np.arange(begin * s.slice_ticks, (begin + s.window + 1) * s.slice_ticks))
        view = window.view(begin + 1, s.window)
        tasks = self._bank.tasks(self._model.snapshots[begin], morphology, self._model.targets[rows].copy(), hypotheses)
        if self.executor is None:
            results = [task() for task in tasks]
        else:
            results = [self.executor.submit(task) for task in tasks]
        self._job = _Job(view, hypotheses, results, time, suspicion)

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
        return BankResult(*compared, job.suspicion)

    @staticmethod
    def _measured(view: SliceFeatures, baseline: Baseline) -> tuple[np.ndarray, np.ndarray]:
        """Return the features (K, f) less the baseline, and what share of the static uncertainty that leaves (f,)."""
        residual = view.residual - baseline.predict(view.load)
        x = np.nan_to_num(np.concatenate([residual, view.tilt - baseline.tilt], axis=1))
        return x, np.concatenate([np.maximum(baseline.known, 0.3), np.full(TILTS, 0.5)])

    def _compare(
        self, job: _Job, results: list[Any], x: np.ndarray, known: np.ndarray
    ) -> tuple[list[Hypothesis], Posterior]:
        """Return hypotheses and their Posterior, from the simulated and the measured features; two damages at once
        are among them only where neither the declared robot nor a single damage fits.
        """
        view, hypotheses, ticks = job.view, job.hypotheses, self._settings.slice_ticks
        (q0, tilt0), *results = results
        features = np.array([view.features(q[ticks:], tilt[ticks:], q0[ticks:], tilt0[ticks:]) for q, tilt in results])
        count, members = len(hypotheses), self._settings.members
        static, rough = features[count : count + members], features[count + members :]
        cov = covariance(static, rough, view.noise, known, self._joints)
        prior = np.full(count, self._settings.prior) + [_TWO if "+" in h.leg else 0.0 for h in hypotheses]
        single = np.array([k for k, one in enumerate(hypotheses) if "+" not in one.leg], int)
        posterior = posterior_of(x, view.noise, cov, features[single], prior[single])
        if len(single) == count or min(posterior.misfit_declared, posterior.misfit.min()) < _EXPLAINED:
            return [hypotheses[k] for k in single], posterior
        return hypotheses, posterior_of(x, view.noise, cov, features[:count], prior)
