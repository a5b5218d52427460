"""A joint whose servo gives no torque: it moves freely."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics.damage.kind import (
    CommandOption,
    JointEffect,
    JointKind,
    NamedValue,
    Value,
    check_truth,
)

if TYPE_CHECKING:
    from hexapod_dynamics.damage.kind import RandomChange


class Limp(JointKind):
    """Joints that move, and whose servo gives no torque; the value is True."""

    name = "limp"
    state, consequence = "limp", "it moves"
    values = (
        NamedValue(
            "limp",
            False,
            "the joint that moves link <link> turns freely, its servo exerts no torque",
            check=check_truth,
            read=bool,
        ),
    )
    option = CommandOption("--limp", "LEG.LINK", "joints that move freely: their servos give no torque")
    colour = "0.55 0.55 0.55 0.6"

    def effect(self, value: Value) -> JointEffect:
        """Return that the joint moves without torque."""
        return JointEffect(driven=False)

    def random_changes(self) -> tuple[RandomChange, ...]:
        """Return the failure of a servo."""
        return (lambda random, morphology, leg, link, position, share: morphology.with_damage(leg, link, self, True),)


LIMP = Limp()
