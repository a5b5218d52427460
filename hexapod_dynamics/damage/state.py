"""What the kinds of damage need of a morphology (hexapod_dynamics.robot.Morphology); no import of it, so no circle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from hexapod_dynamics.damage.kind import JointDamage, JointKind

M = TypeVar("M", bound="DamageState")


class DamageState(Protocol):
    """An immutable morphology; leg and link are indices, as in `Morphology`, which documents these methods."""

    @property
    def robot(self) -> Any: ...  # noqa: D102

    def part_name(self, leg: int, link: int) -> str: ...  # noqa: D102

    def find_place(self, name: str) -> tuple[int, int | None]: ...  # noqa: D102

    def remaining_at(self, leg: int, link: int) -> float: ...  # noqa: D102

    def damage_at(self, leg: int, link: int) -> JointDamage | None: ...  # noqa: D102

    def with_remaining(self: M, leg: int, link: int, fraction: float) -> M: ...  # noqa: D102

    def with_damage(self: M, leg: int, link: int, kind: JointKind, value: Any) -> M: ...  # noqa: D102

    def with_working_joint(self: M, leg: int, link: int) -> M: ...  # noqa: D102

    def broken(self: M, name: str, remaining: float) -> M: ...  # noqa: D102

    def restored(self: M, name: str) -> M: ...  # noqa: D102

    def updated(self: M, values: Mapping[str, object]) -> M: ...  # noqa: D102
