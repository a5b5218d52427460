"""Servos with their own law on the compiled model: their loops set torques, which the steps hold.

The steps treat damping, torque limit and friction of the servos implicitly (servo_torques.py).
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.dynamics.kernels import inverse
from hexapod_dynamics.simulation import servo_kernel
from hexapod_dynamics.simulation.damage import NO_GRAVITY
from hexapod_dynamics.simulation.servo_law import LOOP_PERIOD, ServoLaw
from hexapod_dynamics.simulation.stepped_model import SteppedModel


class HeldServos:
    """A ServoLaw on the servos of a SteppedModel; `loop_steps`: number of steps of `timestep` [s] between two loops."""

    def __init__(self, law: ServoLaw, model: SteppedModel, timestep: float) -> None:
        self.law, self._model, self._timestep = law, model, timestep
        self.loop_steps = max(1, round(LOOP_PERIOD / timestep))
        self._still, self._inertial = np.zeros_like(model.state.nu), np.zeros_like(model.state.nu)
        servos = model.world.servos
        servos[:, servo_kernel.HOLDS] = 1.0
        servos[:, servo_kernel.SERVO_DAMPING], servos[:, servo_kernel.VISCOUS] = law.damping, law.viscous

    def reset(self) -> None:
        """Start with the joints in the middle of their play, without friction from before."""
        self.law.reset(self._model.state.q)
        self._model.world.servos[:, [servo_kernel.SLIDING, servo_kernel.FRICTION]] = 0.0

    def run_loops(self) -> None:
        """Compute the position loops, and the limits of dry friction, at the present state."""
        world, state, law = self._model.world, self._model.state, self.law
        servos = world.servos
        law.follow(state.q)
        # The next step moves the set-points first.
        setpoints, furthest = servos[:, servo_kernel.SETPOINT], servos[:, servo_kernel.SPEED] * self._timestep
        motion = np.clip(servos[:, servo_kernel.TARGET] - setpoints, -furthest, furthest)
        servos[:, servo_kernel.HELD] = law.drive(setpoints + motion, motion / self._timestep)
        if not law.scale:
            return
        # Torque of everything but the servo: what accelerates the joint, less what the servo and its gear give.
        inverse(self._model.workspace, NO_GRAVITY, state.q, self._still, world.acceleration, self._inertial)
        others = self._inertial[6:] - servos[:, servo_kernel.TORQUE] + servos[:, servo_kernel.FRICTION]
        servos[:, servo_kernel.DRY] = law.dry_friction(servos[:, servo_kernel.TORQUE], others, state.nu[6:])
