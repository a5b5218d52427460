"""A leg or a link that is missing, with all links beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics.damage.kind import (
    CommandOption,
    LinkKind,
    LinkRequest,
    NamedValue,
    RandomChange,
    Value,
    check_truth,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hexapod_dynamics.robot.morphology import Morphology


class Missing(LinkKind):
    """Legs and links that are missing. Bringing back a leg or a link makes it intact."""

    name = "missing"
    values = (
        NamedValue(
            "legs",
            True,
            "leg <leg> exists; setting true again restores the whole leg",
            check=check_truth,
            read=bool,
            of_leg=True,
        ),
        NamedValue(
            "links",
            True,
            "link <link> exists; the links beyond a lost link are lost with it",
            check=check_truth,
            read=bool,
        ),
    )
    option = CommandOption("--missing", "NAME", "legs or links that are missing")

    def parse_word(self, word: str) -> dict[str, bool | float]:
        """Return the named value that declares a leg (RM) or a link (LM.femur) missing."""
        return {f"links.{word}" if "." in word else f"legs.{word}": False}

    def change(self, morphology: Morphology, request: LinkRequest) -> Morphology:
        """Return the morphology with the link restored or missing; MorphologyError if the link that would carry it
        is missing.
        """
        exists = request.values.get("links")
        if exists is True and morphology.remaining_at(request.leg, request.link) == 0:
            return morphology.restored(request.name)
        return morphology.with_remaining(request.leg, request.link, 0.0) if exists is False else morphology

    def describe(self, remaining: float) -> str:
        """Return "missing" for a missing link."""
        return "" if remaining else "missing"

    def describe_values(self, values: Mapping[str, Value], part: str) -> str:
        """Return the part alone: the status line lists it after "missing: "."""
        return "" if values.get(f"links.{part}", True) else part

    def random_changes(self) -> tuple[RandomChange, ...]:
        """Return the loss of a whole leg, and of a link."""
        return (
            lambda random, morphology, leg, link, position, share: morphology.with_remaining(leg, 0, 0.0),
            lambda random, morphology, leg, link, position, share: morphology.with_remaining(leg, link, 0.0),
        )


MISSING = Missing()
