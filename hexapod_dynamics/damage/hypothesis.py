"""Hypotheses of the damage detector: each explains the measurements by a change of named values."""

from __future__ import annotations

from dataclasses import dataclass, field

from hexapod_dynamics.damage.state import M


@dataclass(frozen=True)
class Hypothesis:
    """One explanation: `values` is the request to `set_morphology` that would declare it; `joints` are the
    affected joints.

    kind: name of its kind of damage (missing, short, limp, locked), or several. leg: the leg, or legs joined by +.
    """

    name: str
    leg: str
    kind: str
    values: dict = field(hash=False)
    joints: tuple = ()

    def applied(self, morphology: M) -> M:
        """Return `morphology` with this damage added."""
        return morphology.updated(self.values)
