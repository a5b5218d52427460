"""A joint whose servo gives no torque: it moves freely."""

from __future__ import annotations

from hexapod_dynamics.damage.kind import (
    CommandOption,
    JointDamage,
    JointKind,
    NamedValue,
    RandomChange,
    Value,
    check_truth,
)


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

    def damage(self, value: Value) -> JointDamage:
        """Return that the joint moves without torque."""
        return JointDamage(self, value, limp=True)

    def random_changes(self) -> tuple[RandomChange, ...]:
        """Return the failure of a servo."""
        return (lambda random, morphology, leg, link, position, share: morphology.with_damage(leg, link, self, True),)


LIMP = Limp()
