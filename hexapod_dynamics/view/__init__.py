"""The robot in the browser (viser, an optional dependency), and pictures: `show` and `plot_walk` for scripts."""

from hexapod_dynamics.view.playback import show
from hexapod_dynamics.view.plot import plot_walk

__all__ = ["plot_walk", "show"]
