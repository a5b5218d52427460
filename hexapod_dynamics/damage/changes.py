"""Changes of a morphology by named values: all of them or none, independent of their order."""

from __future__ import annotations

from collections.abc import Mapping

from hexapod_dynamics.damage.kind import LinkRequest, M
from hexapod_dynamics.damage.registry import KINDS
from hexapod_dynamics.damage.values import Value
from hexapod_dynamics.errors import MorphologyError


def apply_values(morphology: M, values: Mapping[str, object], angles: Mapping[str, float]) -> M:
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


def _change_link(morphology: M, request: LinkRequest) -> M:
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


def _refuse_parts(morphology: M, leg: int, asked: list[tuple[str, int | None, Value]]) -> None:
    """Raise MorphologyError if a part of a leg is asked for that the same request takes away."""
    for prefix, link, value in asked:
        if value and link is not None:
            name, part = morphology.robot.legs[leg].name, morphology.part_name(leg, link)
            raise MorphologyError(
                f"{prefix}.{part}: {value!r} asks for a part of leg {name}, which legs.{name}: False takes away"
            )


def _check_values(morphology: M, values: Mapping[str, object]) -> dict[int, list[tuple[str, int | None, Value]]]:
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
