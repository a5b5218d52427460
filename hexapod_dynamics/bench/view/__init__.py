"""A view of the robot in the browser, made with viser (an optional dependency)."""

from hexapod_dynamics.bench.view.playback import show

__all__ = ["show"]
