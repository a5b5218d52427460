"""What is damaged, in the words of the status line."""

from __future__ import annotations

from collections.abc import Mapping

from hexapod_dynamics.damage.registry import KINDS


def list_losses(values: Mapping[str, bool | float]) -> list[str]:
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
