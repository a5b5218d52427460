"""The hypothesis bank on its threads: a cancelled one ends, a diverged simulation is left out and counted."""

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from hexapod_dynamics.detection import bank as banks
from hexapod_dynamics.detection.bank_run import BankRun
from hexapod_dynamics.detection.baseline import Baseline
from hexapod_dynamics.detection.hypotheses import of_answering_servos
from hexapod_dynamics.detection.limits import LIMITS
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.scatter import kinds_of
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.window import MeasurementWindow
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
SETTINGS = DetectorSettings()
WITH_PAIRS = DetectorSettings(limits=replace(LIMITS, pairs_from=2.0))  # pairs are simulated whatever singles say


class Walked:
    """A model that has walked for 3 s, with the measurements that it predicts, and a bank on an executor."""

    def __init__(self, executor, settings=SETTINGS):
        self.model = RunningModel(ROBOT, 0.02, SETTINGS.timestep, SETTINGS.slice_ticks)
        self.window = MeasurementWindow(self.model, ROBOT.joint_count)
        self.run = BankRun(ROBOT, settings, executor, self.model)
        gait = AdaptiveGait().bind(ROBOT)
        gait.command(0.07, 0.0, 0.0)
        self.model.start(0.0, gait.position.copy(), WHOLE)
        for tick in range(1, 150):
            self.model.step(0.02 * tick, gait.step(0.02)[0])
            joint = tick % 18
            self.window.add_joint(0.02 * tick - 0.01, joint, float(self.model.q[tick - 1, joint]))
            self.window.add_attitude(0.02 * tick - 0.01, 0.0, 0.0, 0.0)
        self.baseline = Baseline(kinds_of(ROBOT))
        self.tests = of_answering_servos(ROBOT, WHOLE)

    def start(self):
        slices = range(3, 3 + SETTINGS.window)
        moved = np.zeros((len(slices), ROBOT.joint_count + 3))
        self.run.start(slices, self.window, moved, WHOLE, self.tests, 0.0, 2.0)

    def result(self, seconds=60.0):
        until = time.monotonic() + seconds
        while self.run.busy:
            assert time.monotonic() < until
            found = self.run.collect(1.0, self.baseline)
            if found is not None:
                return found
            time.sleep(1e-3)
        return None


@pytest.fixture
def walked(request):
    strict = {"invalid": "raise", "divide": "raise", "over": "raise"}
    with ThreadPoolExecutor(2, initializer=lambda: np.seterr(**strict)) as executor:
        yield Walked(executor, getattr(request, "param", SETTINGS))


def test_a_cancelled_bank_simulates_no_more(walked, monkeypatch):
    """Its simulations were in front of the next bank's: that took three times as long."""
    simulated, held = [], threading.Event()
    run = banks.HypothesisBank._run

    def counted(self, predictor, targets):
        simulated.append(threading.get_ident())
        held.wait(10.0)
        return run(self, predictor, targets)

    monkeypatch.setattr(banks.HypothesisBank, "_run", counted)
    walked.start()
    while len(simulated) < 2:  # both threads are in a simulation
        time.sleep(1e-3)
    walked.run.cancel()
    assert not walked.run.busy and walked.run.collect(0.5, walked.baseline) is None
    held.set()
    walked.start()
    assert walked.result() is not None and walked.run.count == 1
    one_bank = 1 + len([one for one in walked.tests if "+" not in one.leg]) + 2 * SETTINGS.members
    assert len(simulated) <= 2 + one_bank


@pytest.mark.parametrize("walked", [WITH_PAIRS], indirect=True, ids=["pairs"])
def test_a_bank_that_is_cancelled_while_it_is_compared_ends(walked, monkeypatch):
    """Where a single damage is probable, pairs are simulated at the end: those are left out, too."""
    compared, held, pairs = threading.Event(), threading.Event(), []
    finite = banks.HypothesisBank.damaged

    def damaged(self, snapshot, morphology, targets, hypotheses):
        tasks = finite(self, snapshot, morphology, targets, hypotheses)
        if not hypotheses or "+" not in hypotheses[0].leg:
            return tasks

        def waits():
            pairs.append(1)
            compared.set()
            held.wait(10.0)
            return tasks[0]()

        return [waits] * len(tasks)

    monkeypatch.setattr(banks.HypothesisBank, "damaged", damaged)
    walked.start()
    until = time.monotonic() + 30.0
    while not compared.is_set() and time.monotonic() < until:
        walked.run.collect(0.5, walked.baseline)
        time.sleep(1e-3)
    walked.run.cancel()
    held.set()
    walked.run.executor.shutdown(wait=True)
    assert len(pairs) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_simulation_that_diverges_is_left_out_and_counted(walked, monkeypatch, value):
    roll_out, spoilt = banks.Predictor.roll_out, []

    def diverged(self, targets):
        places, rotations, joints = roll_out(self, targets)
        if self.morphology == WHOLE.limp("RM.femur") or self.morphology == WHOLE.broken("LF.tibia", 0.5):
            spoilt.append(self.morphology)
            joints, rotations = joints.copy(), rotations.copy()
            joints[20:], rotations[20:] = value, np.nan
        return places, rotations, joints

    monkeypatch.setattr(banks.Predictor, "roll_out", diverged)
    walked.start()
    found = walked.result()
    assert len(spoilt) == 2
    names = {one.name for one in found.hypotheses}
    assert not names & {"RM.femur limp", "LF.tibia broken off, 50% left"} and "RM.tibia limp" in names
    assert np.isfinite(found.posterior.probability).all() and np.isfinite(found.posterior.log_odds).all()
    assert set(walked.run.diverged) == {"RM.femur limp", "LF.tibia broken off, 50% left"}


def test_a_pair_whose_physics_diverges_has_likelihood_zero_and_warns_of_nothing(monkeypatch):
    """numpy 1.21 warned of an "invalid value encountered in remainder" in both launches with damage."""
    damaged, pairs, thrown = banks.HypothesisBank.damaged, [], []

    def throw(snapshot):
        """The same state, with joints and body at speeds whose squares are no numbers."""
        return tuple(
            np.full_like(one, 1e200) if isinstance(one, np.ndarray) and one.shape == (6 + ROBOT.joint_count,) else one
            for one in snapshot
        )

    def spoilt(self, snapshot, morphology, targets, hypotheses):
        tasks = damaged(self, snapshot, morphology, targets, hypotheses)
        if hypotheses and "+" in hypotheses[0].leg:
            pairs.append(hypotheses[0].name)
            assert any(np.any(one != other) for one, other in zip(throw(snapshot), snapshot, strict=True))
            tasks[0] = damaged(self, throw(snapshot), morphology, targets, hypotheses[:1])[0]
            thrown.append(tasks[0]())
        return tasks

    monkeypatch.setattr(banks.HypothesisBank, "damaged", spoilt)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        walked = Walked(None, WITH_PAIRS)
        walked.start()
        found = walked.result()
    assert thrown == [None] and dict(walked.run.diverged) == {pairs[0]: 1}
    assert pairs[0] not in {one.name for one in found.hypotheses} and len(found.hypotheses) > 30
    assert np.isfinite(found.posterior.probability).all()


@pytest.mark.parametrize("spoilt", range(3))
@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e300])
def test_whatever_is_not_finite_counts_as_diverged(spoilt, value):
    good = [np.zeros((4, 3)), np.tile(np.eye(3), (4, 1, 1)), np.zeros((4, ROBOT.joint_count))]
    assert not banks.has_diverged(*good)
    if spoilt != 1 or not np.isfinite(value):
        good[spoilt][2, 1] = value
        assert banks.has_diverged(*good)
