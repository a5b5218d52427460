"""Compares the robot with its model slice by slice: joints that do not follow, suspicion, residuals of the healthy
robot.
"""

from __future__ import annotations

import math
from enum import Enum, auto

import numpy as np

from hexapod_dynamics.detection.baseline import Baseline
from hexapod_dynamics.detection.commanded_model import CommandedModel
from hexapod_dynamics.detection.joint_watch import JointWatch
from hexapod_dynamics.detection.learnt_servos import LearntServos
from hexapod_dynamics.detection.scatter import kinds_of
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.settling import Settling
from hexapod_dynamics.detection.suspicion import Suspicion
from hexapod_dynamics.detection.window import TILTS, MeasurementWindow
from hexapod_dynamics.robot import Morphology, Robot


class Outcome(Enum):
    """Outcome of the evaluation of a slice."""

    NOTHING = auto()  # the model falls onto its feet after a start, or the robot settles after a change
    COMPARED = auto()
    SERVOS_IDENTIFIED = auto()  # the model now has the lag and the dead zone of this robot's servos


class SliceEvaluation:
    """Evaluates slices of a robot against a CommandedModel; next: number of the first one that is not evaluated yet.

    window, baseline, servos, suspicion, watch, settling: the state between slices, each an object of a class in
    its own module.
    """

    def __init__(self, robot: Robot, settings: DetectorSettings, commanded: CommandedModel) -> None:
        n, limits = robot.joint_count, settings.limits
        self._settings, self._commanded, self._model = settings, commanded, commanded.model
        self.window = MeasurementWindow(self._model, n, limits)
        self.baseline = Baseline(kinds_of(robot), limits)
        self.servos = LearntServos(limits, n, settings.slice)
        self.suspicion = Suspicion(n, limits)
        self.watch = JointWatch(n, settings.slice_ticks, limits)
        self.settling = Settling(settings.slice, limits)
        self.next = 0
        self.first = 0  # the first slice measured with the present morphology
        self.moved: dict[int, np.ndarray] = {}  # {slice: change of the model's features by a decided loss}
        self.follows_from = np.full(n, -math.inf)  # time from which restored joints are evaluated
        self._measured = False  # a joint was read in the last slice
        self._pushed: set[int] = set()  # slices in which a push moves the body

    # ---- changes of the model ----------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Discard all measurements: the model starts again."""
        self.window.clear()
        self.next = self.first = 0
        self.moved.clear()
        self.suspicion.restart()
        self.baseline.forget_waiting()
        self.watch.clear()
        self._pushed.clear()

    def start_again(self, time: float, morphology: Morphology) -> None:
        """Discard the measurements, and let the model continue from its present state with another morphology."""
        self.settling.change(time)
        self.suspicion.forget()
        self.window.clear()
        self.moved.clear()
        if self._model.started:
            self._model.set_morphology(morphology)
            self.first = self.next = self._model.tick // self._settings.slice_ticks + 1
            self._model.restart_at(self.next)

    def go_on_from(self, onset: int, time: float, morphology: Morphology) -> bool:
        """Repeat the model with this morphology since slice `onset`: it then has fallen like the robot, and the
        measurements since then are used. Returns False if the onset is too long ago.
        """
        slices = range(onset, self.next)
        before = self.window.view(onset, len(slices)).residual
        if not self._model.started or not self._model.repeat(onset, morphology):
            return False
        self.window.compare_again(onset)
        moved = np.nan_to_num(self.window.view(onset, len(slices)).residual - before)
        self.moved = dict(zip(slices, moved, strict=True))
        self.first = onset
        self.settling.go_on(time)
        return True

    def _change_servos(self, piece: int, morphology: Morphology) -> None:
        """Let the model have had the identified servos in all slices since the first that a bank may compare."""
        first = max(self.first, piece - self._settings.window)
        self._commanded.set_servos(self._settings.command_delay + self.servos.lag, self.servos.zone)
        self.baseline.change_servos()
        if self._model.repeat(first, morphology):
            self.window.compare_again(first, retimed=True)
            self.first = max(self.first, first)
        else:
            self.window.clear()
            self.first = piece + 1

    # ---- every slice -------------------------------------------------------------------------------------------------

    def complete(self) -> bool:
        """Whether the next slice has been measured completely: a reading arrives later than the state it measures."""
        return self._model.tick >= (self.next + 1) * self._settings.slice_ticks + 3

    def lag(self) -> float:
        """Return by how much [s] all joints are behind the model in the last two slices; NaN: not known."""
        return self.window.lag(2 * self._settings.slice_ticks)

    def disregard(self, before: float) -> None:
        """Leave out the present slice and those of the last `before` seconds that are not evaluated yet."""
        tick, ticks = self._model.tick, self._settings.slice_ticks
        first = int(tick - before / self._settings.command_period) // ticks
        self._pushed.update(range(max(first, self.next), tick // ticks + 1))

    def evaluate(self, time: float, lean: float, morphology: Morphology, suspect: bool) -> Outcome:
        """Evaluate the next slice, which ends at about `time` [s].

        lean [rad]: larger of the robot's |roll| and |pitch|; suspect: whether the last bank suspects something.
        """
        piece, limits, ticks = self.next, self._settings.limits, self._settings.slice_ticks
        self.next += 1
        if piece in self._pushed:
            self._pushed.discard(piece)
            self.window.disregard(piece)
        view = self.window.view(piece, 1)
        residual, load, yaw, motion = view.residual[0], view.load[0], view.yaw[0], view.motion[0]
        self._measured = bool(np.isfinite(load).any())
        on_feet = self._model.on_feet[self._model.row(np.arange(piece * ticks, (piece + 1) * ticks))].mean()
        skipped = self.settling.skips(time, on_feet, lean, residual[-TILTS:][:2])
        if skipped:
            self.first = piece + 1
            self.watch.forget()
        expected = self.baseline.predict(load, yaw, motion)[: len(load)]
        watched = np.flatnonzero(morphology.driven_mask & (self.follows_from <= time))
        valid = max(self._commanded.in_step_from, self.first * ticks)
        self.watch.look(self.window, self._model.tick, watched, np.nan_to_num(expected), valid)
        if piece < limits.falling_windows:
            return Outcome.NOTHING
        if skipped:  # a part that comes back is far from the model until the robot stands on it
            self.suspicion.forget()
            return Outcome.NOTHING
        self.suspicion.look(residual, load, yaw, view.noise[0], self.baseline, motion)
        starting = self.servos.learns_start(self.suspicion.deviation)
        if starting or (self.suspicion.learnable and not self.watch.news and not suspect):
            self.baseline.offer(residual, load, yaw, view.noise[0], motion)
            self.suspicion.is_usual()
        elif self.suspicion.wrong:
            self.baseline.forget_waiting()
        if self.servos.measure(self.window.readings(piece)):
            self._change_servos(piece, morphology)
            return Outcome.SERVOS_IDENTIFIED
        return Outcome.COMPARED

    def for_bank(self) -> tuple[range, np.ndarray] | None:
        """Return the slices that a bank may compare now, and the change of the model's features by the decided
        loss in each, (slices, n + TILTS); None if there are too few.
        """
        piece = self.next - 1
        begin = piece - self._settings.window
        if self.moved:  # after a loss, the measurements since then are evaluated as soon as they contain information
            begin = max(begin, self.first)
        enough = begin >= self.first and piece - begin >= self._settings.limits.bank_windows
        if not enough or not self._measured or begin not in self._model.snapshots:
            return None
        slices = range(begin, piece)
        nothing = np.zeros(self.window.joints + TILTS)
        return slices, np.array([self.moved.get(k + 1, nothing) for k in slices])
