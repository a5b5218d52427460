"""A plan walked as a table: the joint angles of one cycle, as the planner's own kernel computes them.

The adaptive gait refuses what its own geometry calls unsafe and sits down instead. Where a simulator is the judge, the
plan itself is walked: a cycle of joint angles at a twist, interpolated over the phase, led in from where the joints
are.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait.planning.plan import GaitPlan, PlanEvaluator
from hexapod_dynamics.robot import Morphology, Robot

SAMPLES = 96
TURNS = 0.25  # [rad/s] twist at which the table of turning is taken
YAW_GAIN, MOST_TURN = 1.5, 0.3  # [1/s], [rad/s]
LEAD_IN = 0.3  # [s] from the joints as they are to the plan


class TableWalk:
    """Walks a GaitPlan at a forward speed and holds the heading."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._n = robot.joint_count

    def begin(self, plan: GaitPlan, speed: float, phase: float, joints: np.ndarray, morphology: Morphology) -> None:
        """Go over to a plan at a speed [m/s], from its phase (0 to 1) on; joints (n,) [rad]: set-points until now."""
        self._plan, self._from, self._since, self.phase = plan, joints.copy(), 0.0, phase
        evaluator = PlanEvaluator(self.robot, morphology, SAMPLES)
        evaluator.accept(plan)
        tables = []
        for wz in (0.0, TURNS):
            evaluator.findings(np.array([speed, 0.0, wz]))
            angles = evaluator.angles.reshape(SAMPLES, self._n)
            tables.append(np.concatenate([angles, angles[:1]]))
        self._table, self._turn = tables[0], (tables[1] - tables[0]) / TURNS
        self.speed = speed

    def step(self, dt: float, heading_error: float) -> tuple[np.ndarray, np.ndarray]:
        """Return set-points and rates (n,) [rad, rad/s] dt [s] later; heading_error [rad]: wanted less measured yaw."""
        turn = min(MOST_TURN, max(-MOST_TURN, YAW_GAIN * heading_error))
        period = self._plan.period
        self.phase = (self.phase + dt / period) % 1.0
        at = self.phase * SAMPLES
        k = min(int(at), SAMPLES - 1)
        share = at - k
        low, high = (self._table[i] + turn * self._turn[i] for i in (k, k + 1))
        q, qd = low + share * (high - low), (high - low) * (SAMPLES / period)
        self._since += dt
        if self._since < LEAD_IN:
            s = self._since / LEAD_IN
            w, rate = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / LEAD_IN
            qd = w * qd + rate * (q - self._from)
            q = self._from + w * (q - self._from)
        return q, qd
