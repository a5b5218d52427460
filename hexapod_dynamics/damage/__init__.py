"""The kinds of damage: a missing leg or link, a shortened link, a locked joint, a limp joint.

Each kind is one class in one file: its named values and their validation, its option of `set_morphology`, how it
changes a morphology, its effect on the model, its words, its colour and its random draw. KINDS
lists them.
"""

from hexapod_dynamics.damage.kind import (
    CommandOption,
    DamageKind,
    JointDamage,
    JointKind,
    LinkKind,
    LinkRequest,
    NamedValue,
)
from hexapod_dynamics.damage.limp import LIMP
from hexapod_dynamics.damage.locked import LOCKED
from hexapod_dynamics.damage.missing import MISSING
from hexapod_dynamics.damage.registry import KINDS, Registry, list_losses
from hexapod_dynamics.damage.short import SHORT

__all__ = [
    "KINDS",
    "LIMP",
    "LOCKED",
    "MISSING",
    "SHORT",
    "CommandOption",
    "DamageKind",
    "JointDamage",
    "JointKind",
    "LinkKind",
    "LinkRequest",
    "NamedValue",
    "Registry",
    "list_losses",
]
