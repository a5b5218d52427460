"""Named values of a morphology: what they declare in words, and the changes that they ask for.

Changes: all of them or none, independent of their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hexapod_dynamics.damage.kind import KINDS, JointKind, Value
from hexapod_dynamics.errors import MorphologyError

if TYPE_CHECKING:
    from hexapod_dynamics.robot.morphology import Morphology


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
    lost += [part for part in attached if not values[f"links.{part}"]]
    lost += [
        f"{part} {kind.describe(values.get(f'{kind.values[-1].prefix}.{part}'), digits=2)}"
        for kind in KINDS.joint_kinds
        for part in attached
        if kind.is_declared(values, part)
    ]
    return lost + [
        f"{part} {left:.0%} left" for part in attached if 0.0 < (left := values.get(f"remaining.{part}", 1.0)) < 1.0
    ]


def apply_values(morphology: Morphology, values: Mapping[str, object], angles: Mapping[str, float]) -> Morphology:
    """Return the morphology with named values changed; see `Morphology.updated`.

    The order: each leg from the body outward; for each link first how much of it exists, then the damage of its
    joint; for a joint first the damage that ends, then the one that begins.
    """
    if not isinstance(values, Mapping):
        raise MorphologyError(f"named values: {values!r} given, a dict {{name: value}} needed")
    checked: dict[str, Value] = {}
    places = set()  # index of a leg, and of its link, -1 for the whole leg
    for key, given in values.items():
        prefix, _, part = str(key).partition(".")
        value = KINDS.values.get(prefix)
        if value is None:
            *first, last = KINDS.values
            raise MorphologyError(f"{key}: unknown; names begin with {'., '.join(first)}. or {last}.")
        leg, link = morphology.find_place(part)
        if (link is None) != value.of_leg:
            example = morphology.robot.legs[0].name if value.of_leg else morphology.part_name(0, 0)
            raise MorphologyError(f"{key}: unknown; such a name looks like {prefix}.{example}")
        checked[key] = value.check(given, key)
        places.add((leg, -1 if link is None else link))
    new = morphology
    for leg, link in sorted(places):
        name = morphology.robot.legs[leg].name
        if link >= 0:
            if checked.get(f"legs.{name}", True):
                new = _change_link(new, leg, link, checked, angles)
        elif checked[f"legs.{name}"]:
            new = new if new.fractions[leg][0] else new.restored(name)
        else:
            for key, value_of_part in checked.items():
                if value_of_part and key.partition(".")[2].startswith(f"{name}."):
                    asked = f"{key}: {value_of_part!r} asks for a part of leg {name}"
                    raise MorphologyError(f"{asked}, which legs.{name}: False takes away")
            new = new.with_remaining(leg, 0, 0.0)
    return new


def _change_link(
    new: Morphology, leg: int, link: int, values: Mapping[str, Value], angles: Mapping[str, float]
) -> Morphology:
    """Return the morphology with a link and its joint (indices) as checked named values ask for."""
    part = new.part_name(leg, link)
    own = {prefix: values[f"{prefix}.{part}"] for prefix in KINDS.values if f"{prefix}.{part}" in values}
    intact = new.fractions[leg][link] == 1.0 and new.damages[leg][link] is None
    if intact and all(value == KINDS.values[prefix].intact for prefix, value in own.items()):
        return new  # the whole set of named values names many links that are as they were
    declared = [kind.values[0].prefix for kind in KINDS.joint_kinds if kind.is_declared(values, part)]
    if len(declared) > 1:
        one, other = (f"{prefix}.{part}: {str(own[prefix]).lower()}" for prefix in declared[:2])
        raise MorphologyError(f"{other} together with {one}; a joint is one or the other")
    new = _change_length(new, leg, link, own.get("links"), own.get("remaining"))
    damage = new.damages[leg][link]
    if damage is not None and own.get(damage.kind.values[0].prefix) == damage.kind.values[0].intact:
        new = new.with_working_joint(leg, link)
    for kind in KINDS.joint_kinds:
        value = _find_damage_value(new, leg, link, kind, own, angles)
        if value is not None:
            new = new.with_damage(leg, link, kind, value)
    return new


def _change_length(new: Morphology, leg: int, link: int, exists: Value | None, fraction: Value | None) -> Morphology:
    """Return the morphology with a link restored, missing or shortened; None: the values do not name this."""
    part = new.part_name(leg, link)
    if exists is True and fraction == 0:
        raise MorphologyError(f"remaining.{part}: 0 is a missing link, but links.{part}: True asks for it")
    if exists is False and fraction:
        raise MorphologyError(f"remaining.{part}: {fraction!r} given, but links.{part} is false: the link is missing")
    if exists is True and new.fractions[leg][link] == 0:
        new = new.restored(part)
    elif exists is False:
        new = new.with_remaining(leg, link, 0.0)
    if fraction is None:
        return new
    if fraction > 0 and new.fractions[leg][link] == 0:
        raise MorphologyError(f"remaining.{part}: the link is missing; restore {part} first")
    return new.with_remaining(leg, link, fraction)


def _find_damage_value(
    morphology: Morphology, leg: int, link: int, kind: JointKind, own: Mapping[str, Value], angles: Mapping[str, float]
) -> Value | None:
    """Return the value of the damage of this kind that a link's named values declare; None: they change nothing.

    The position of a locked joint is that of `locked_at`, of the present lock, or the measured one, in this order.
    """
    flag, position = kind.values[0], kind.values[-1]
    asked = own.get(flag.prefix, flag.intact)
    if flag is position:
        return asked if asked != flag.intact else None
    part, given, damage = morphology.part_name(leg, link), own.get(position.prefix), morphology.damages[leg][link]
    was = damage is not None and damage.kind is kind
    if not (asked or was):
        if given:
            raise MorphologyError(
                f"{position.prefix}.{part}: {given!r} given, but the joint is not {kind.name}; "
                f"give {flag.prefix}.{part}: true with it"
            )
        return None
    if given is not None or was:
        return given
    joint = morphology.robot.legs[leg].joints[link].name
    unknown = None if morphology.fractions[leg][link] else 0.0  # any value: the damage of a missing link is refused
    measured = angles.get(part, angles.get(joint, unknown))
    if measured is None:
        raise MorphologyError(
            f"{flag.prefix}.{part}: the angle at which {joint} {kind.name} is not known; "
            f"give {position.prefix}.{part} [rad]"
        )
    return position.check(measured, f"{position.prefix}.{part}")
