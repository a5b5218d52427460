"""The registry of the kinds of damage. To add a kind, add a file beside this one and its name in KINDS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hexapod_dynamics.damage.kind import DamageKind, JointKind, LinkKind
from hexapod_dynamics.damage.limp import LIMP
from hexapod_dynamics.damage.locked import LOCKED
from hexapod_dynamics.damage.missing import MISSING
from hexapod_dynamics.damage.short import SHORT
from hexapod_dynamics.damage.values import NamedValue, Value


class Registry:
    """The kinds of damage in the order of their named values, options and texts.

    kinds; link_kinds, joint_kinds: those of a link and those of a joint, with link_names and joint_names. values: the
    named values of all kinds by prefix; link_values, leg_values: those of what is left of a link, and of a leg.
    """

    def __init__(self, kinds: tuple[DamageKind, ...]) -> None:
        """Create a registry; ValueError if two kinds have the same name or the same prefix of a named value."""
        self._set(kinds)

    def _set(self, kinds: tuple[DamageKind, ...]) -> None:
        for what, names in (
            ("name", [kind.name for kind in kinds]),
            ("prefix", [value.prefix for kind in kinds for value in kind.values]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"kinds of damage: {what} {', '.join(twice)} given twice; give each kind its own")
        self.kinds = kinds
        self.link_kinds = tuple(kind for kind in kinds if isinstance(kind, LinkKind))
        self.joint_kinds = tuple(kind for kind in kinds if isinstance(kind, JointKind))
        self.link_names = frozenset(kind.name for kind in self.link_kinds)
        self.joint_names = frozenset(kind.name for kind in self.joint_kinds)
        self.values: dict[str, NamedValue] = {value.prefix: value for kind in kinds for value in kind.values}
        of_links = [value for kind in self.link_kinds for value in kind.values]
        self.link_values = tuple(value for value in of_links if not value.of_leg)
        self.leg_values = tuple(value for value in of_links if value.of_leg)
        self._by_name = {kind.name: kind for kind in kinds}

    def __iter__(self) -> Iterator[DamageKind]:
        return iter(self.kinds)

    def find(self, name: str) -> DamageKind | None:
        """Return the kind of this name; None if there is none."""
        return self._by_name.get(name)

    @contextmanager
    def including(self, kind: DamageKind) -> Iterator[None]:
        """Add a kind within a `with` block, for tests and experiments."""
        before = self.kinds
        self._set((*before, kind))
        try:
            yield
        finally:
            self._set(before)


KINDS = Registry((MISSING, LOCKED, LIMP, SHORT))


def list_losses(values: Mapping[str, Value]) -> list[str]:
    """List the damage in a whole set of named values, kind by kind, without parts beyond a lost part of the same
    leg.

    "RM", "LM.femur" (missing), "RF.tibia locked at 0.40", "LR.femur limp", "LF.tibia 50% left".
    """
    names = [name.split(".", 1) for name in values]
    lost = [part for prefix, part in names if prefix == "legs" and not values[f"legs.{part}"]]
    ended = set(lost)  # legs whose following links are lost with a link before them
    attached = []  # existing links, and the first missing link of each leg, from the body outward
    for part in (part for prefix, part in names if prefix == "links"):
        leg = part.partition(".")[0]
        if leg not in ended:
            attached.append(part)
            if not values[f"links.{part}"] or values.get(f"remaining.{part}", 1.0) < 1.0:
                ended.add(leg)
    texts = (kind.describe_values(values, part) for kind in KINDS for part in attached)
    return lost + [text for text in texts if text]
