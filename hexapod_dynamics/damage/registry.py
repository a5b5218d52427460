"""The registry of the kinds of damage, and changes of a morphology by their named values.

To add a kind, add a file beside this one and its name in KINDS. Changes: all of them or none, independent of their
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hexapod_dynamics.damage.kind import DamageKind, JointKind, LinkKind, LinkRequest, NamedValue, Value
from hexapod_dynamics.damage.limp import LIMP
from hexapod_dynamics.damage.locked import LOCKED
from hexapod_dynamics.damage.missing import MISSING
from hexapod_dynamics.damage.short import SHORT
from hexapod_dynamics.errors import MorphologyError

if TYPE_CHECKING:
    from hexapod_dynamics.robot.morphology import Morphology


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


def apply_values(morphology: Morphology, values: Mapping[str, object], angles: Mapping[str, float]) -> Morphology:
    """Return the morphology with named values changed; see `Morphology.updated`.

    The order: each leg from the body outward; for each link first how much of it exists, then the damage of its
    joint; for a joint first the damage that ends, then the one that begins.
    """
    new = morphology
    for leg, asked in sorted(_check_values(morphology, values).items()):
        present = next((value for prefix, _, value in asked if prefix == "legs"), None)
        if present is False:
            _refuse_parts(new, leg, asked)
            new = new.with_remaining(leg, 0, 0.0)
            continue
        if present is True and new.remaining_at(leg, 0) == 0:
            new = new.restored(morphology.robot.legs[leg].name)
        of_links: dict[int, dict[str, Value]] = {}
        for prefix, link, value in asked:
            if link is not None:
                of_links.setdefault(link, {})[prefix] = value
        for link in sorted(of_links):
            values_of_link = of_links[link]
            intact = new.remaining_at(leg, link) == 1.0 and new.damage_at(leg, link) is None
            if intact and all(value == KINDS.values[prefix].intact for prefix, value in values_of_link.items()):
                continue  # the whole set of named values names many links that are as they were
            joint = morphology.robot.legs[leg].joints[link].name
            name = morphology.part_name(leg, link)
            new = _change_link(new, LinkRequest(leg, link, name, joint, values_of_link, angles))
    return new


def _change_link(morphology: Morphology, request: LinkRequest) -> Morphology:
    asked = [kind.values[0].prefix for kind in KINDS.joint_kinds if kind.is_asked(request)]
    if len(asked) > 1:
        one, other = (f"{prefix}.{request.name}: {str(request.values[prefix]).lower()}" for prefix in asked[:2])
        raise MorphologyError(f"{other} together with {one}; a joint is one or the other")
    for link_kind in KINDS.link_kinds:
        link_kind.check_request(request)
    for link_kind in KINDS.link_kinds:
        morphology = link_kind.change(morphology, request)
    for joint_kind in KINDS.joint_kinds:
        morphology = joint_kind.end(morphology, request)
    for joint_kind in KINDS.joint_kinds:
        morphology = joint_kind.begin(morphology, request)
    return morphology


def _refuse_parts(morphology: Morphology, leg: int, asked: list[tuple[str, int | None, Value]]) -> None:
    """Raise MorphologyError if a part of a leg is asked for that the same request takes away."""
    for prefix, link, value in asked:
        if value and link is not None:
            name, part = morphology.robot.legs[leg].name, morphology.part_name(leg, link)
            raise MorphologyError(
                f"{prefix}.{part}: {value!r} asks for a part of leg {name}, which legs.{name}: False takes away"
            )


def _check_values(
    morphology: Morphology, values: Mapping[str, object]
) -> dict[int, list[tuple[str, int | None, Value]]]:
    """Return (prefix, link, value) by leg, in the given order, each of a known name and the right type."""
    known = KINDS.values
    found: dict[int, list[tuple[str, int | None, Value]]] = {}
    for key, given in values.items():
        prefix, _, name = key.partition(".")
        value = known.get(prefix)
        if value is None:
            *first, last = known
            raise MorphologyError(f"{key}: unknown; names begin with {'., '.join(first)}. or {last}.")
        leg, link = morphology.find_place(name)
        if (link is None) != value.of_leg:
            example = morphology.robot.legs[0].name if value.of_leg else morphology.part_name(0, 0)
            raise MorphologyError(f"{key}: unknown; such a name looks like {prefix}.{example}")
        found.setdefault(leg, []).append((prefix, link, value.check(given, key)))
    return found
