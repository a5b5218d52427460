"""The load on the body: a PayloadEstimator on the data of an Observer, whose model carries the result."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.estimation.payload import HEIGHT, Payload, PayloadEstimator

# A mass is reported if it is larger than this multiple of its standard deviation.
SEEN = 2.0
# Time [s] for which a `gait_state` holds: the gait publishes it once a second.
FRESH = 3.0


class PayloadWeighing:
    """Weighs what the body carries; times are seconds on one clock. payload: the present estimate."""

    def __init__(self, observer: Observer, command_delay: float, command_period: float) -> None:
        self._observer = observer
        self.estimator = PayloadEstimator(
            observer.robot, command_delay=command_delay, command_period=command_period, tare_first=True
        )
        self.payload: Payload = self.estimator.estimate()
        self._sent: np.ndarray | None = None  # set-points that were processed last
        self._swaying: tuple[float, float] | None = None  # time of the last gait_state, period of the steps [s]

    def command(self, t: float) -> None:
        """Process the set-points that the Observer has just computed from a command, at the time t [s]."""
        setpoints = self._observer.commands.setpoints
        if setpoints is not None and setpoints is not self._sent:
            self._sent = setpoints
            self.estimator.command(t, setpoints)

    def set_sway_period(self, t: float, period: float | None) -> None:
        """Note the period of the steps [s] while the body sways (its commands do not repeat then); None: it does not
        sway.
        """
        self._swaying = None if period is None else (t, period)

    def set_following(self, following: bool) -> None:
        """Discard the measurements of a time in which the servos do not execute the commands."""
        if not following:
            self.estimator.restart()

    def restore(self, values: object) -> None:
        """Restore the load from before a crash: values (3,) of `stored`; else the load would be tared."""
        if isinstance(values, list) and len(values) == 3 and all(isinstance(value, float) for value in values):
            self.estimator.resume(values)

    def stored(self) -> list[float] | None:
        """Return the load, to be stored for a restart."""
        return list(self.payload.expected) if self.estimator.tared else None

    def update(self, t: float) -> bool:
        """Process a full time window if the robot walks; return whether there is a new estimate, after a step cycle.

        The load is not estimated while the robot stands: friction holds joints that do not move, even if the load
        changes. The first and the last window of a cycle are checked for whether the robot walks.
        """
        windows = self.estimator.windows
        if not windows.due:
            return False
        if windows.at_edge:
            period = self._period(t)
            if period is None:
                windows.clear()
                return False
            self.estimator.set_period(period)
        if not self.estimator.update():
            return False
        self._adopt()
        return True

    def _period(self, t: float) -> float | None:
        """Return the period of the steps [s], None if the robot does not walk steadily."""
        if self._swaying is not None and t - self._swaying[0] < FRESH:
            return self._swaying[1]
        return self._observer.commands.history.lag

    def tare(self) -> str:
        """Count what the robot weighs now as nothing; return why that is impossible, else an empty text."""
        if not self.estimator.tare():
            return self.estimator.estimate().reason
        self._adopt()
        return ""

    def _adopt(self) -> None:
        self.payload = self.estimator.estimate()
        mass, x, y = self.payload.expected
        self._observer.load.set(mass, (x, y, mass * HEIGHT))

    def wrench(self) -> np.ndarray:
        """Return the weight of the load as a wrench (6,) on base_link [N, N m]."""
        return self.payload.wrench(self._observer.rotation[2], self._observer.robot.gravity)

    def assess(self) -> tuple[str, str]:
        """Return level and message."""
        payload = self.payload
        if payload.reason:
            return "ok", f"cannot tell: {payload.reason}"
        if abs(payload.mass) < SEEN * payload.mass_deviation:
            return "ok", "nothing beyond what it weighed at the tare"
        return "ok", f"carries {payload.mass:.2f} +- {payload.mass_deviation:.2f} kg"

    def values(self) -> dict[str, object]:
        """Return the estimate as diagnostic values."""
        payload = self.payload
        return {
            "mass [kg]": payload.mass,
            "standard deviation of the mass [kg]": payload.mass_deviation,
            "x [mm]": 1e3 * payload.x,
            "y [mm]": 1e3 * payload.y,
            "standard deviation of x [mm]": 1e3 * payload.x_deviation,
            "standard deviation of y [mm]": 1e3 * payload.y_deviation,
            "mass to reckon with [kg]": payload.expected[0],
            "first moment x to reckon with [kg m]": payload.expected[1],
            "first moment y to reckon with [kg m]": payload.expected[2],
            "tared": payload.tared,
            "cannot tell": payload.reason,
        }
