"""For scripts: `show` plays a Log in the browser (`bench.view`), `plot_walk` draws a walk (`bench.plots`)."""

from hexapod_dynamics.bench.plots.walk_plot import plot_walk
from hexapod_dynamics.bench.view import show

__all__ = ["plot_walk", "show"]
