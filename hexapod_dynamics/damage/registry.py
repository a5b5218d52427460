"""The kinds of damage that there are. A new kind is one file beside this one and its name in KINDS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hexapod_dynamics.damage.kind import DamageKind, JointKind, LinkKind
from hexapod_dynamics.damage.limp import LIMP
from hexapod_dynamics.damage.locked import LOCKED
from hexapod_dynamics.damage.missing import MISSING
from hexapod_dynamics.damage.short import SHORT
from hexapod_dynamics.damage.values import NamedValue


class Registry:
    """The kinds of damage in the order of their named values, options and texts."""

    def __init__(self, kinds: tuple[DamageKind, ...]) -> None:
        """Create a registry of these kinds; their names and the prefixes of their values differ."""
        self._set(kinds)

    def _set(self, kinds: tuple[DamageKind, ...]) -> None:
        self._kinds = kinds
        self._link_kinds = tuple(kind for kind in kinds if isinstance(kind, LinkKind))
        self._joint_kinds = tuple(kind for kind in kinds if isinstance(kind, JointKind))
        self._by_name = {kind.name: kind for kind in kinds}
        self._values = {value.prefix: value for kind in kinds for value in kind.values}
        of_links = {value.prefix for kind in self._link_kinds for value in kind.values}
        self._link_values = tuple(v for p, v in self._values.items() if p in of_links and not v.of_leg)
        self._leg_values = tuple(v for p, v in self._values.items() if p in of_links and v.of_leg)

    def __iter__(self) -> Iterator[DamageKind]:
        return iter(self._kinds)

    @property
    def kinds(self) -> tuple[DamageKind, ...]:
        """All kinds of damage."""
        return self._kinds

    @property
    def link_kinds(self) -> tuple[LinkKind, ...]:
        """The kinds of damage of a link."""
        return self._link_kinds

    @property
    def joint_kinds(self) -> tuple[JointKind, ...]:
        """The kinds of damage of a joint."""
        return self._joint_kinds

    @property
    def values(self) -> dict[str, NamedValue]:
        """The named values of all kinds by prefix, in order."""
        return self._values

    @property
    def link_values(self) -> tuple[NamedValue, ...]:
        """The named values of what is left of a link."""
        return self._link_values

    @property
    def leg_values(self) -> tuple[NamedValue, ...]:
        """The named values of what is left of a leg."""
        return self._leg_values

    def find(self, name: str) -> DamageKind | None:
        """Return the kind of this name; None if there is none."""
        return self._by_name.get(name)

    @contextmanager
    def including(self, kind: DamageKind) -> Iterator[None]:
        """Have one kind more within a `with` block: for tests and experiments."""
        before = self._kinds
        self._set((*before, kind))
        try:
            yield
        finally:
            self._set(before)


KINDS = Registry((MISSING, LOCKED, LIMP, SHORT))
