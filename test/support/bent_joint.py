"""A kind of damage that only tests have: a joint that is bent and stands at this angle.

python -m support.bent_joint MODULE [ARGUMENT...]: runs main() of a module while this kind is registered.
"""

import importlib
import sys

from hexapod_dynamics.damage import KINDS, CommandOption, JointDamage, JointKind, NamedValue
from hexapod_dynamics.damage.kind import FARTHEST_LOCK, check_position
from hexapod_dynamics.errors import MorphologyError


class Bent(JointKind):
    """Joints that are bent: they stand at an angle [rad] other than 0, their servos cannot move them."""

    name = state = "bent"
    consequence = "it does not move"
    values = (
        NamedValue(
            "bent",
            0.0,
            "angle at which the bent joint of link <link> stands [rad]; 0: it is not bent",
            check=check_position,
            read=float,
            unit="rad",
            low=-FARTHEST_LOCK,
            high=FARTHEST_LOCK,
        ),
    )
    option = CommandOption("--bent", "LEG.LINK=ANGLE", "joints that are bent, and where they stand [rad]")
    colour = "0.90 0.60 0.10 1"
    menu_value = 0.3

    def parse_word(self, word):
        """Return the value of RF.tibia=0.35."""
        name, _, angle = word.partition("=")
        try:
            return {f"bent.{name}": float(angle)}
        except ValueError:
            raise MorphologyError(f"--bent {word}: an angle [rad] is needed, as RF.tibia=0.35") from None

    def damage(self, value):
        """Return that the joint stands at its angle."""
        return JointDamage(self, value, lock=value)

    def describe(self, value):
        """Return "bent by 0.350"."""
        return f"bent by {value:.3f}"

    def describe_values(self, values, part):
        """Return "RF.tibia bent by 0.35"."""
        return f"{part} bent by {values[f'bent.{part}']:.2f}" if self.is_declared(values, part) else ""

    def random_changes(self):
        """Return the bending of a joint by 0.3 rad."""
        return (lambda random, morphology, leg, link, position, share: morphology.with_damage(leg, link, self, 0.3),)


BENT = Bent()


if __name__ == "__main__":
    main = getattr(importlib.import_module(sys.argv.pop(1)), sys.argv.pop(1))
    # This file is imported by its name, too: the instance that a pickle finds is the one that is registered.
    with KINDS.including(importlib.import_module("support.bent_joint").BENT):
        main()
