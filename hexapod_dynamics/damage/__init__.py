"""The kinds of damage (kind.py), and the changes of a morphology that their named values ask for (changes.py)."""

from hexapod_dynamics.damage.changes import list_losses
from hexapod_dynamics.damage.kind import (
    KINDS,
    LIMP,
    LOCKED,
    CommandOption,
    DamageKind,
    JointDamage,
    JointKind,
    NamedValue,
    Registry,
)

__all__ = [
    "KINDS",
    "LIMP",
    "LOCKED",
    "CommandOption",
    "DamageKind",
    "JointDamage",
    "JointKind",
    "NamedValue",
    "Registry",
    "list_losses",
]
