"""A joint that does not move any more and stands at one position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics.damage.kind import (
    FARTHEST_LOCK,
    CommandOption,
    JointDamage,
    JointKind,
    LinkRequest,
    NamedValue,
    RandomChange,
    Value,
    check_position,
    check_truth,
)
from hexapod_dynamics.errors import MorphologyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hexapod_dynamics.robot.morphology import Morphology


class Locked(JointKind):
    """Joints that are locked; the value is the position [rad or m] at which they stand."""

    name = "locked"
    state, consequence = "locked", "it does not move"
    values = (
        NamedValue(
            "locked", False, "the joint that moves link <link> is locked", check=check_truth, read=lambda position: True
        ),
        NamedValue(
            "locked_at",
            0.0,
            "angle of the locked joint of link <link> [rad]; if not given, the angle in joint_states at that moment",
            check=check_position,
            read=float,
            unit="rad",
            low=-FARTHEST_LOCK,
            high=FARTHEST_LOCK,
        ),
    )
    option = CommandOption(
        "--locked",
        "LEG.LINK[=ANGLE]",
        "joints that do not turn any more, and where they stand [rad]; without an angle: where they are now",
    )
    colour = "0.85 0.10 0.10 1"

    def parse_word(self, word: str) -> dict[str, bool | float]:
        """Return the values of RF.tibia or RF.tibia=0.4."""
        name, given, angle = word.partition("=")
        values: dict[str, bool | float] = {f"locked.{name}": True}
        if given:
            try:
                values[f"locked_at.{name}"] = float(angle)
            except ValueError:
                raise MorphologyError(f"--locked {word}: an angle [rad] is needed, as RF.tibia=0.4") from None
        return values

    def damage(self, value: Value) -> JointDamage:
        """Return the JointDamage of a joint that is fixed at the position."""
        return JointDamage(self, value, lock=value)

    def begin(self, morphology: Morphology, request: LinkRequest) -> Morphology:
        """Return the morphology with the joint locked, or its lock moved.

        The position is that of `locked_at`, of the present lock, or the measured one, in this order.
        """
        lock, angle = request.values.get("locked"), request.values.get("locked_at")
        damage = morphology.damage_at(request.leg, request.link)
        was = damage is not None and damage.kind is self
        if not (lock or was):
            if angle:
                raise MorphologyError(
                    f"locked_at.{request.name}: {angle!r} given, but the joint is not locked; "
                    f"give locked.{request.name}: true with it"
                )
            return morphology
        if angle is None and was:
            return morphology
        if angle is None:
            angle = request.angles.get(request.name, request.angles.get(request.joint))
            if angle is not None:
                angle = check_position(angle, f"locked_at.{request.name}")
            elif morphology.remaining_at(request.leg, request.link) > 0:
                raise MorphologyError(
                    f"locked.{request.name}: the angle at which {request.joint} locked is not known; "
                    f"give locked_at.{request.name} [rad]"
                )
            else:
                angle = 0.0  # any value: a missing link is refused below
        return morphology.with_damage(request.leg, request.link, self, angle)

    def describe(self, value: Value) -> str:
        """Return "locked at 0.400"."""
        return f"locked at {value:.3f}"

    def describe_values(self, values: Mapping[str, Value], part: str) -> str:
        """Return "RF.tibia locked at 0.40"; without the position if the values do not name it."""
        if not self.is_declared(values, part):
            return ""
        angle = values.get(f"locked_at.{part}")
        return f"{part} locked" if angle is None else f"{part} locked at {angle:.2f}"

    def random_changes(self) -> tuple[RandomChange, ...]:
        """Return the lock of a joint at its present position."""
        return (
            lambda random, morphology, leg, link, position, share: morphology.with_damage(leg, link, self, position),
        )


LOCKED = Locked()
