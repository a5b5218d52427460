"""A leg: its mount on the body, its joints and its links; immutable, checked at its creation.

Frame: a leg's mount frame at its first joint, x outward, z up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.parts import Choice, Joint, Link, Part, Rotation, Vector, check_name

if TYPE_CHECKING:
    from hexapod_dynamics.robot.geometry import LinkGeometry


@dataclass(frozen=True, eq=False)
class Leg(Part):
    """A leg: its mount (base_link <- mount frame), its joints and links, and its tripod group."""

    name: str
    mount_rotation: Rotation
    mount_position: Vector
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    tripod_group: Annotated[int, Choice((1, 2), "1 or 2")]
    module: str

    def __post_init__(self) -> None:
        check_name(self.name, "leg")
        super().__post_init__()
        if not self.joints or len(self.joints) != len(self.links):
            count = f"{len(self.joints)} joints and {len(self.links)} links"
            raise RobotError(f"{self.where}: {count}, as many of each needed")
        if len(set(self.link_names)) != len(self.links):
            raise RobotError(f"{self.where}: link names {list(self.link_names)} are not all different")

    @classmethod
    def from_geometry(
        cls,
        name: str,
        links: Iterable[LinkGeometry],
        *,
        mount_rotation: npt.ArrayLike,
        mount_position: npt.ArrayLike,
        tripod_group: int = 1,
        module: str = "geometry",
    ) -> Leg:
        """Return a leg described by positions only, from the body outward; see robot/geometry.py.

        Raises RobotError, which names the link, if the positions are not those of a chain of joints.
        """
        from hexapod_dynamics.robot.geometry import chain_of_geometry  # few robots need it, and CasADi

        joints, bodies = chain_of_geometry(name, tuple(links))
        mount = np.asarray(mount_rotation, float), np.asarray(mount_position, float)
        return cls(name, *mount, joints, bodies, tripod_group, module)

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, from the body outward."""
        return tuple(link.name for link in self.links)
