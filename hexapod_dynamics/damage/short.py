"""A link that is broken off at a fraction of its length; the links beyond it are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics.damage.kind import (
    CommandOption,
    LinkKind,
    LinkRequest,
    NamedValue,
    RandomChange,
    Value,
    check_fraction,
)
from hexapod_dynamics.errors import MorphologyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from hexapod_dynamics.robot.morphology import Morphology


class Short(LinkKind):
    """Links of which only a part is left."""

    name = "short"
    values = (
        NamedValue(
            "remaining",
            1.0,
            "remaining fraction of the length of link <link>",
            check=check_fraction,
            read=float,
            unit="0..1",
            low=0.0,
            high=1.0,
        ),
    )
    option = CommandOption(
        "--remaining", "LEG.LINK=FRACTION", "links of which only a fraction 0..1 of the length is left"
    )

    def parse_word(self, word: str) -> dict[str, bool | float]:
        """Return the named value that LF.tibia=0.5 declares."""
        name, _, fraction = word.partition("=")
        try:
            return {f"remaining.{name}": float(fraction)}
        except ValueError:
            raise MorphologyError(f"--remaining {word}: a fraction 0..1 is needed, as LF.tibia=0.5") from None

    def check_request(self, request: LinkRequest) -> None:
        """Raise MorphologyError if the fraction contradicts `links`."""
        exists, fraction = request.values.get("links"), request.values.get("remaining")
        if exists is True and fraction == 0:
            raise MorphologyError(
                f"remaining.{request.name}: 0 is a missing link, but links.{request.name}: True asks for it"
            )
        if exists is False and fraction:
            raise MorphologyError(
                f"remaining.{request.name}: {fraction!r} given, but links.{request.name} is false: the link is missing"
            )

    def change(self, morphology: Morphology, request: LinkRequest) -> Morphology:
        """Return the morphology with the link as long as the request declares; it may be longer than before."""
        fraction = request.values.get("remaining")
        if fraction is None:
            return morphology
        if fraction > 0 and morphology.remaining_at(request.leg, request.link) == 0:
            raise MorphologyError(f"remaining.{request.name}: the link is missing; restore {request.name} first")
        return morphology.with_remaining(request.leg, request.link, fraction)

    def describe(self, remaining: float) -> str:
        """Return "broken, 50% left"."""
        return f"broken, {remaining:.0%} left" if 0 < remaining < 1 else ""

    def describe_values(self, values: Mapping[str, Value], part: str) -> str:
        """Return "LF.tibia 50% left"."""
        remaining = values.get(f"remaining.{part}", 1.0)
        return f"{part} {remaining:.0%} left" if 0 < remaining < 1 else ""

    def random_changes(self) -> tuple[RandomChange, ...]:
        """Return the change that breaks a link; a link that is shorter already keeps its length."""
        return (_break,)


def _break(
    random: np.random.Generator,
    morphology: Morphology,
    leg: int,
    link: int,
    position: float,
    share: tuple[float, float],
) -> Morphology:
    return morphology.broken(morphology.part_name(leg, link), float(random.uniform(*share)))


SHORT = Short()
