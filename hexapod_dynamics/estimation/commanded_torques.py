"""Feed-forward torques of the commanded motion at the observer's state."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.soft_servo import TorqueRates
from hexapod_dynamics.estimation.observer import Observer


class CommandedTorques:
    """Computes the torques; rates: add the set-point correction of soft servos for changing torques."""

    def __init__(self, observer: Observer, rates: bool) -> None:
        robot, n = observer.robot, observer.count
        self._observer, self._use_rates = observer, rates
        self._feedforward = Feedforward(robot, model=observer.model)
        self._torque_rates = TorqueRates(self._feedforward)
        self._lag = robot.servo.damping / robot.servo.stiffness
        self._last_rates, self._accelerations = np.zeros(n), np.zeros(n)

    def warm_up(self) -> None:
        """Load all code before the first command."""
        zero = np.zeros(self._observer.count)
        self._feedforward.solve(np.eye(3), 0.12, np.zeros(6), zero, zero, zero, zero)
        self._torque_rates.solve(np.eye(3), np.zeros(6), zero, zero, zero)

    def note_command(self) -> None:
        """Process the command that the observer has just received."""
        commands = self._observer.commands
        np.subtract(commands.commanded_rate, self._last_rates, out=self._accelerations)
        self._accelerations /= commands.period
        self._last_rates[:] = commands.commanded_rate

    def hold(self) -> None:
        """Set the commanded motion to rest, because no commands arrive any more."""
        self._accelerations[:] = self._observer.commands.commanded_rate[:] = 0.0

    def compute(self) -> np.ndarray | None:
        """Return the torques (n,) [N m] and pass them to the observer; None while a moving joint has no command."""
        observer, commands = self._observer, self._observer.commands
        moving = observer.morphology.moving_mask
        if not np.isfinite(commands.commanded[moving]).all():
            return None
        joints = np.where(moving, commands.commanded, observer.q)
        body, rates = observer.nu[:6], commands.commanded_rate
        torques = self._feedforward.solve(
            observer.rotation, observer.model.height, body, joints, rates, self._accelerations, observer.q
        )
        if self._use_rates:
            torques += (commands.period - self._lag) * self._torque_rates.solve(
                observer.rotation, body, joints, rates, self._accelerations
            )
        observer.feed_forward(torques)
        return torques
