"""A kind of damage that only tests have: a joint that is bent and stands at this angle.

python -m support.bent_joint MODULE [ARGUMENT...]: runs main() of a module while this kind is registered.
"""

import importlib
import sys

from hexapod_dynamics.damage import KINDS, CommandOption, JointKind, NamedValue
from hexapod_dynamics.damage.kind import FARTHEST_LOCK

BENT = JointKind(
    "bent",
    (
        NamedValue(
            "bent",
            0.0,
            "angle at which the bent joint of link <link> stands [rad]; 0: it is not bent",
            -FARTHEST_LOCK,
            FARTHEST_LOCK,
            "rad",
        ),
    ),
    CommandOption("--bent", "LEG.LINK=ANGLE", "joints that are bent, and where they stand [rad]", "RF.tibia=0.35"),
    consequence="it does not move",
    colour="0.90 0.60 0.10 1",
    stands=True,
    preposition="by",
    menu_value=0.3,
)


if __name__ == "__main__":
    main = getattr(importlib.import_module(sys.argv.pop(1)), sys.argv.pop(1))
    # This file is imported by its name, too: the instance that a pickle finds is the one that is registered.
    with KINDS.including(importlib.import_module("support.bent_joint").BENT):
        main()
