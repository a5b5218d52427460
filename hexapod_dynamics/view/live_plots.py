"""Curves of tilt, speed and error of the prediction over the last half minute, beside the picture."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

GAP = 3.0  # [s] without samples after which the curves begin anew


class LivePlots:
    """Tilt, speed and error of the prediction over the last half minute."""

    NAMES = ("tilt [deg]", "speed [cm/s]", "error of the prediction [cm]")
    COLOURS = ("#d9480f", "#1971c2", "#2f9e44")

    def __init__(self, gui: Any, samples: int = 150) -> None:
        from viser import uplot

        self._data: deque[tuple[float, ...]] = deque(maxlen=samples)
        start = (np.array([0.0, 1.0]), np.array([0.0, 0.0]))
        self._handles = [
            gui.add_uplot(
                start,
                (uplot.Series(label="t [s]"), uplot.Series(label=name, stroke=colour, width=2)),
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True, range=(0.0, None))},
                axes=(uplot.Axis(size=24, space=50), uplot.Axis(size=40, space=24)),
                title=name,
                legend=uplot.Legend(show=False),
                height=100,
                padding=(8, 14, 0, 0),
                visible=False,
            )
            for name, colour in zip(self.NAMES, self.COLOURS, strict=True)
        ]

    def add(self, t: float, *values: float) -> None:
        """Add one sample of all three; NaN: not known."""
        if self._data and not 0.0 <= t - self._data[-1][0] <= GAP:
            self._data.clear()  # a line through what is not known would be a lie
        self._data.append((t, *values))

    def draw(self) -> None:
        """Send the present values; a plot without values is hidden."""
        if len(self._data) < 2:
            return
        table = np.array(self._data)
        table[:, 0] -= table[-1, 0]  # [s] before now
        for k, handle in enumerate(self._handles):
            known = np.isfinite(table[:, k + 1])
            if handle.visible != (known.sum() > 1):
                handle.visible = bool(known.sum() > 1)
            if handle.visible:
                handle.data = (table[known, 0], table[known, k + 1])
