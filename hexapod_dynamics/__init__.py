"""Whole-body dynamics of legged robots that can lose legs.

What a user needs first can be imported from here, and is loaded on its first use.
"""

from __future__ import annotations

import sys

# Not from `typing`, and nothing else is loaded here: the command `stop` comes through this file and must be fast.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hexapod_dynamics.dynamics import WholeBodyModel
    from hexapod_dynamics.onboard import Onboard
    from hexapod_dynamics.robot import Morphology, Robot

__all__ = ["Morphology", "Onboard", "Robot", "WholeBodyModel"]


def load_on_first_use(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose names, {name: module}, are imported on their first use; ".module" is
    one of the package.

    Whoever imports the package for one of its parts, as the nodes do, does not load the others.
    """

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        value = getattr(importlib.import_module(modules[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


__getattr__ = load_on_first_use(
    __name__, {"Morphology": ".robot", "Onboard": ".onboard", "Robot": ".robot", "WholeBodyModel": ".dynamics"}
)
