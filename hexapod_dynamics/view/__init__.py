"""The browser view for scripts: `from hexapod_dynamics.view import show`; it lies in `bench.view`."""

from hexapod_dynamics.bench.view import show

__all__ = ["show"]
