"""A joint whose servo gives no torque: it moves freely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hexapod_dynamics.damage.hypothesis import Hypothesis
from hexapod_dynamics.damage.kind import CommandOption, JointEffect, JointKind
from hexapod_dynamics.damage.state import M
from hexapod_dynamics.damage.values import NamedValue, check_truth

if TYPE_CHECKING:
    import numpy as np

    from hexapod_dynamics.damage.kind import RandomChange


_FREE = JointEffect(driven=False)


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
    reason = "its joint gives way under load and moves"
    colour = "0.55 0.55 0.55 0.6"

    def effect(self, value: bool) -> JointEffect:
        """Return that the joint moves without torque."""
        return _FREE

    def random_changes(self) -> tuple[RandomChange, ...]:
        """Return the failure of a servo."""
        return (_fail,)

    def hypotheses(self, morphology: M, leg: int, link: int) -> list[Hypothesis]:
        """Return that the servo of an intact joint gives no torque."""
        if morphology.damage_at(leg, link) is not None:
            return []
        return [self.make_hypothesis(morphology.robot, leg, link)]

    def make_hypothesis(self, robot: Any, leg: int, link: int) -> Hypothesis:
        """Return the hypothesis that the servo of a joint (indices of leg and link) gives no torque."""
        name = robot.legs[leg].name
        part, joint = f"{name}.{robot.legs[leg].link_names[link]}", robot.leg_joints(name)[link]
        return Hypothesis(f"{part} limp", name, self.name, {f"limp.{part}": True}, (joint,))


def _fail(random: np.random.Generator, morphology: M, leg: int, link: int, position: float, share: tuple) -> M:
    return morphology.with_damage(leg, link, LIMP, True)


LIMP = Limp()
