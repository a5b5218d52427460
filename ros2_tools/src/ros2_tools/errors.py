"""What ros2_tools raises where it ends."""

from collections.abc import Callable, Iterable
from typing import NoReturn


class NotCovered(NotImplementedError):
    """A part of ROS 2 that ros2_tools does not have; the text names it and says where it is to be had."""

    def __init__(self, what: str) -> None:
        super().__init__(f"ros2_tools does not cover {what}; source a ROS 2 from apt to use it")


class NotCoveredImport(ImportError):
    """A module of ROS 2, or a name in one, that ros2_tools does not have."""

    def __init__(self, module: str, what: str) -> None:
        super().__init__(f"ros2_tools does not cover {what} ({module}); source a ROS 2 from apt to use it", name=module)


def not_covered(module: str, known: Iterable[str]) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__`: NotCoveredImport for a class that it does not have, with those that it has."""

    def __getattr__(name: str) -> NoReturn:
        if name[:1].isupper():
            raise NotCoveredImport(module, f"{module}.{name}, only {', '.join(known)}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return __getattr__
