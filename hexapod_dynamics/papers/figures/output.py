"""Output of the papers' reproductions: tables as CSV and Markdown, figures as PNG, a page with all of them."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = ("#0b6e99", "#d1495b", "#5f8f2f", "#8d5a97", "#e08e0b", "#3d405b", "#7f7f7f")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


class Page:
    """A folder with one paper's tables and figures, and the page (Markdown) that shows them."""

    def __init__(self, folder, paper: str, title: str):
        """Make `folder`; paper: the page's file name without ending; title: its heading."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.paper = paper
        self.lines = [f"# {title}", ""]

    def add_text(self, *paragraphs):
        """Add paragraphs."""
        for paragraph in paragraphs:
            self.lines += [paragraph, ""]

    def add_heading(self, text):
        """Add a second-level heading."""
        self.lines += [f"## {text}", ""]

    def add_table(self, name, header, rows, *, show=True):
        """Write <paper>_<name>.csv and, unless told not to, the same table on the page."""
        path = self.folder / f"{self.paper}_{name}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows([[repr(float(v)) if isinstance(v, float) else v for v in row] for row in rows])
        if show:
            self.lines += ["| " + " | ".join(map(str, header)) + " |", "|" + "---|" * len(header)]
            texts = ([f"{v:.5g}" if isinstance(v, float) else str(v) for v in row] for row in rows)
            self.lines += [*(f"| {' | '.join(row)} |" for row in texts), ""]
        self.lines += [f"[{path.name}]({path.name})", ""]

    def save(self, name, header, *columns):
        """Write columns (T,) or (T, n), under one header for each, to <paper>_<name>.csv."""
        self.add_table(name, header, np.column_stack(columns).tolist(), show=False)

    def add_figure(self, name, figure: Figure, caption):
        """Write <paper>_<name>.png and show it."""
        path = self.folder / f"{self.paper}_{name}.png"
        FigureCanvasAgg(figure)
        figure.savefig(path, dpi=130)
        self.lines += [f"![{caption}]({path.name})", "", f"*{caption}*", ""]

    def write(self) -> Path:
        """Write <paper>.md."""
        path = self.folder / f"{self.paper}.md"
        path.write_text("\n".join(self.lines))
        return path


# Titles and legends of all figures; for matplotlib.rc_context.
STYLE = {"axes.titlesize": 10, "axes.titlelocation": "left", "legend.fontsize": 8, "legend.frameon": False}


def make_panels(rows=1, columns=1, *, width=7.0, height=3.2, **options):
    """A figure and its axes (rows, columns), without pyplot's global state."""
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plot_curves(axis, x, columns, names, xlabel, ylabel, title=None):
    """Plot several curves over one x, distinguished by colour and by dashes."""
    for i, (column, name) in enumerate(zip(columns, names, strict=True)):
        dashes = STYLES[(i + i // len(COLOURS)) % len(STYLES)]
        axis.plot(x, column, color=COLOURS[i % len(COLOURS)], linestyle=dashes, label=name, lw=1.6)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    if title:
        axis.set_title(title)
    if len(names) > 4:
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    else:
        axis.legend(ncol=len(names))


def set_log_scale(axis, ticks, ylabel, xlabel="joints"):
    """Give an axis logarithmic scales with these ticks along x, and a legend."""
    axis.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    axis.set_xticks(ticks, list(map(str, ticks)))
    axis.minorticks_off()
    axis.legend()


def measure_time(function, *arguments, least=0.15):
    """Time [s] of the fastest of several calls, three or more, that together take `least` [s] or longer."""
    laps = []
    until = time.perf_counter() + least
    while len(laps) < 3 or time.perf_counter() < until:
        start = time.perf_counter()
        function(*arguments)
        laps.append(time.perf_counter() - start)
    return min(laps)
