"""A kind of damage that only tests have: a joint that is bent and stands at this angle."""

from hexapod_dynamics.damage import CommandOption, JointKind, NamedValue
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
