"""Errors for parts of `launch` that this package does not have."""

from pocket_ros2.errors import NotCoveredImport


def not_covered(module, *names):
    """Return a module's `__getattr__` that tells the named parts of the real module from misspellings."""

    def __getattr__(name):
        if name in names:
            raise NotCoveredImport(module, f"{module}.{name}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return __getattr__
