"""Makes a plan that the library does not have, in a separate process."""

from __future__ import annotations

from collections.abc import Iterable

from hexapod_dynamics.gait.background import BackgroundCall
from hexapod_dynamics.gait.background_jobs import decode_plan, encode_plan_request
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Morphology, Robot


class BackgroundPlanner:
    """One plan at a time; a new request replaces the previous one."""

    def __init__(self) -> None:
        self._call = BackgroundCall("plan", encode_plan_request, decode_plan)

    def ask(self, robot: Robot, lost: Iterable[str], morphology: Morphology) -> None:
        """Start planning for a robot without these legs (names)."""
        self._call.ask(robot, tuple(lost), morphology)

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""
        return self._call.busy

    def poll(self) -> GaitPlan | str | None:
        """Return the GaitPlan, or the reason why there is none, once planning has ended; else None."""
        done = self._call.poll()
        if done is None:
            return None
        answer, failure = done
        return failure or answer

    def cancel(self) -> None:
        """End the planning, if there is any."""
        self._call.cancel()
