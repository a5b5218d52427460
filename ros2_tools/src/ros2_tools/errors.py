"""What ros2_tools raises where it ends."""

import sys
from collections.abc import Callable
from typing import NoReturn


class NotCovered(ImportError):
    """A part of ROS 2 that ros2_tools does not have; the text names it and says where it is to be had."""

    def __init__(self, what: str, module: str | None = None) -> None:
        super().__init__(f"ros2_tools does not cover {what}; source a ROS 2 from apt to use it", name=module)


def not_covered(module: str) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__`: NotCovered for a class that it does not have, with those that it has."""

    def __getattr__(name: str) -> NoReturn:
        if not name[:1].isupper():
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        own = vars(sys.modules[module])
        known = own.get("__all__") or [each for each in own if getattr(own[each], "__module__", None) == module]
        listed = f", only {', '.join(sorted(each for each in known if each[0].isupper()))}" if known else ""
        raise NotCovered(f"{module}.{name}{listed}", module)

    return __getattr__
