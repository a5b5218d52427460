"""The adaptive gait's commands and settings, limited to what its present plan allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hexapod_dynamics.gait.adaptive_ground import AdaptiveOnGround
from hexapod_dynamics.gait.adaptive_settings import AdaptiveSettings
from hexapod_dynamics.gait.array_gait import finite_twist
from hexapod_dynamics.gait.command_limits import HIGH_PERIODS
from hexapod_dynamics.gait.modes import write_settings
from hexapod_dynamics.gait.planning.patterns import LIFT
from hexapod_dynamics.gait.planning.plan import GaitPlan

# Settings that are replaced by those of the plan, in this order, if the remaining legs cannot step on the spot with
# them.
GIVE_UP = ((), ("body_height",), ("period",), ("body_height", "period"), ("body_height", "period", "step_height"))
NOMINAL_VELOCITY = 0.1 / 1.3  # [m/s]


class AdaptiveCommands(AdaptiveOnGround):
    """Part of AdaptiveGait: limits commands to what the plan allows, and settings to what the legs reach."""

    def __init__(self, settings: AdaptiveSettings, ground: bool) -> None:
        super().__init__(ground)
        self.settings = settings
        self.plan: GaitPlan | None = None
        self._wanted: tuple[float, float, float] | None = None
        self._followed = np.zeros(3)
        self._used = self.settings  # the settings in use
        self._given_up = ""  # names of the settings that are replaced by those of the plan

    def scaled(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Return the command (3,) [m/s, m/s, rad/s] that will be followed: the given one, scaled down as a whole
        to what is possible.

        Raises HexapodError for values that are not finite.
        """
        return self._possible(vx, vy, wz)[0]

    def _possible(self, vx: float, vy: float, wz: float) -> tuple[np.ndarray, float]:
        """Return the largest share of a twist that the plan allows, as a twist, and the period for it [s]."""
        command = finite_twist(vx, vy, wz)
        return (np.zeros(3), 1.0) if self.plan is None else self._possible_here(self.plan, command)

    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Command a planar body twist [m/s, m/s, rad/s] in base_link; return the twist that will be followed (see
        `scaled`).
        """
        wanted = (float(vx), float(vy), float(wz))
        if wanted != self._wanted:
            if self.obstacle.commanded(*wanted[:2]):
                self._turned = 0.0
            followed, period = self._possible(*wanted)
            self._wanted, self._followed = wanted, followed
            self.data.settings.asked_period = period
        self.data.command.twist = self._followed
        return self._followed.copy()

    def _follow_again(self) -> None:
        """Scale the last command again, for the present plan."""
        wanted, self._wanted = self._wanted, None
        self.command(*(wanted or (0.0, 0.0, 0.0)))

    def walk(self) -> np.ndarray:
        """Command the nominal walk, forward at 7.7 cm/s."""
        return self.command(NOMINAL_VELOCITY, 0.0, 0.0)

    # ---- settings ----------------------------------------------------------------------------------------------------

    def _out_of_reach(self, new: AdaptiveSettings) -> str:
        given = f"step_height {new.step_height}, body_height {new.body_height}, period {new.period}"
        return f"{given}: out of reach for {self.plan.kind}ing on {', '.join(self.plan.legs)}" if self.plan else given

    def _use_what_fits(self) -> None:
        """Apply the settings; replace settings by those of the plan if the remaining legs cannot step on the spot
        with them.
        """
        plans_own: dict[str, Any] = {
            "body_height": None,
            "period": None,
            "step_height": self.plan.lift if self.plan else LIFT,
        }
        for names in GIVE_UP:
            self._used = replace(self.settings, **{name: plans_own[name] for name in names})
            self._given_up = ", ".join(names)
            write_settings(self.data, self._used, self.plan)
            if self.plan is None or self._fits_at_rest(self.plan):
                return

    def _fits_at_rest(self, plan: GaitPlan) -> bool:
        still, with_margin = np.zeros(3), self.settings.pattern == "auto"
        if self._used.period is None and plan.kind == "walk" and self._used.step_height > plan.lift:
            return self._limits.follows(still, [plan.period * share for share in HIGH_PERIODS], with_margin)
        return self._limits.fits(still, self._used.period or plan.period, with_margin)
