"""What the node `damage_detector` does: from commands and measurements to decisions, and to requests to the gait.

The DamageDetector decides (detection.decisions); here its decisions are executed or only reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.damage.kind import Value
from hexapod_dynamics.detection import DamageDetector, DetectorSettings
from hexapod_dynamics.detection.decisions import Decision, Finding
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.interface import BRACES, OFF_ITS_FEET
from hexapod_dynamics.onboard.inputs import Faults, ImuReading
from hexapod_dynamics.robot import Morphology, Robot

DECLARE, REPORT = "declare", "report"
# Diagnostics tell a new declaration for this long [s]; a decision that is only reported is told again after it.
NEW = 10.0


class Outcome(NamedTuple):
    """What an update asks for.

    declare: decisions to be executed. report: decisions that are told only, each once. probe: leg whose foot the gait
    is to press down. trial: joint (`RF.femur`) that it is to command beside its lock.
    """

    declare: list[Decision]
    report: list[Decision]
    probe: str | None
    trial: str | None


class DamageDetection:
    """Feeds a DamageDetector; times are seconds on one clock.

    Args:
        robot: the Robot.
        mode: declare, or report: decisions are not executed.
        settings: of the detector.
        detector: instead of a DamageDetector with these settings.
        faults: where faults of the inputs are counted.

    """

    def __init__(
        self,
        robot: Robot,
        mode: str = DECLARE,
        settings: DetectorSettings | None = None,
        *,
        detector: DamageDetector | None = None,
        faults: Faults | None = None,
    ) -> None:
        self.robot, self.mode, self.faults = robot, mode, faults or Faults()
        self.detector = detector if detector is not None else DamageDetector(robot, settings)
        self._torques = np.zeros(robot.joint_count)
        self._reported: dict[tuple[object, ...], float] = {}  # decisions that were reported, and the times

    # ---- in ----------------------------------------------------------------------------------------------------------

    def set_torques(self, torques: np.ndarray) -> None:
        """Note the feed-forward torques (n,) [N m] that the servos have; NaN: none."""
        self._torques = np.nan_to_num(torques)

    def command(self, t: float, positions: np.ndarray) -> None:
        """Process a command (n,) [rad] of the time t [s], NaN: no command."""
        self.detector.command(t, positions, self._torques)

    def joint(self, t: float, joint: int, angle: float) -> None:
        """Process the angle [rad] of a joint that was read at the time t [s]."""
        self.detector.measure_joint(t, joint, angle)

    def imu(self, t: float, reading: ImuReading) -> None:
        """Process a sample of the IMU."""
        if reading.rotation is not None:
            self.detector.measure_attitude(t, reading.rotation)

    def bus(self, t: float, silent: np.ndarray, torque_off: np.ndarray, back: np.ndarray) -> None:
        """Process a report of the servo bus, (n,) bool each; back: servos that answer although declared missing."""
        self.detector.bus(t, silent, torque_off, back)

    def gait(self, values: Mapping[str, object]) -> None:
        """Process the values of `gait_state`, by the keys of gait.interface."""
        self.detector.note_gait(bool(values.get(OFF_ITS_FEET)), bool(values.get(BRACES)))

    def set_following(self, following: bool) -> None:
        """Note whether the servos execute commands."""
        self.detector.follow(following)

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared damage."""
        self.detector.set_morphology(morphology)

    def restore_own(self, values: Mapping[str, Value]) -> None:
        """Restore `own` from before a restart, once the morphology is known."""
        if self.mode == DECLARE:
            self.detector.restore_own(values)

    @property
    def own(self) -> dict[str, Value]:
        """Named values that this detector has declared and that still hold; with `report` a person has declared all."""
        return dict(self.detector.decisions.own) if self.mode == DECLARE else {}

    # ---- out ---------------------------------------------------------------------------------------------------------

    def update(self, t: float) -> Outcome:
        """Process all data up to the time t [s]."""
        detector = self.detector
        try:
            decisions = detector.update(t)
        except HexapodError as error:
            self.faults.add("model", str(error), t)
            detector.restart()
            return Outcome([], [], None, None)
        if self.mode == DECLARE:
            return Outcome(decisions, [], detector.probe(t), detector.retest(t))
        new = [one for one in decisions if one.key not in self._reported]  # it is repeated while its evidence lasts
        self._reported = {key: at for key, at in self._reported.items() if t - at < NEW}
        self._reported |= {one.key: t for one in decisions}
        return Outcome([], new, None, None)

    def state(self, t: float) -> tuple[str, str, dict[str, object]]:
        """Return level (ok, warn), message and values for diagnostics."""
        detector, findings = self.detector, self.detector.findings()
        values = {
            "detect": self.mode,
            "declared by this node": ", ".join(self.own) or "nothing",
            "suspicion": detector.suspicion,
            "below the threshold of a warning": ", ".join(
                f"{one.name} (p = {one.probability:.2f})"
                for one in findings
                if not (one.declared or one.lasting or one.decided)
            )
            or "nothing",
            "probes asked for": detector.probes,
            "cannot tell whether it has lost its foot": ": ".join(detector.find_ambiguous(t) or ("none",)),
        } | self.faults.counts()
        return *self._assess(t, findings), values

    def _assess(self, t: float, findings: list[Finding]) -> tuple[str, str]:
        missing, faults = self.detector.missing_inputs(t), self.faults.list_recent(t)
        found = [one.name for one in findings if one.decided and not one.declared]
        reported = (
            [f"found, not declared (detect:=report): {', '.join(found)}"] if found and self.mode == REPORT else []
        )
        warnings = [*reported, *missing, *faults]
        if not self.detector.following and warnings == missing:
            return "ok", "; ".join(missing)  # the robot was stopped: this node does what it can
        if warnings:
            return "warn", "; ".join(warnings)
        lasting = [one.name for one in findings if one.lasting]
        if lasting:
            return "warn", f"suspects: {', '.join(lasting)}"
        new = [one.name for one in findings if one.declared and t - one.since < NEW]
        if new:
            return "ok", f"declared: {', '.join(new)}"
        return "ok", ", ".join(one.name for one in findings if one.declared) or "nothing found"
