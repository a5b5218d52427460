"""The panel beside the 3-D view: driving, stop, damage of the simulated and of the declared robot, hypotheses,
plots.
"""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

SPEED, TURN = 0.15, 0.6  # largest commands of the sliders [m/s], [rad/s]
KEYS = {
    "W": ("forward", (0.077, 0.0, 0.0)),
    "S": ("backward", (-0.077, 0.0, 0.0)),
    "A": ("left", (0.0, 0.05, 0.0)),
    "D": ("right", (0.0, -0.05, 0.0)),
    "Q": ("turn left", (0.0, 0.0, 0.3)),
    "E": ("turn right", (0.0, 0.0, -0.3)),
}
STATES = ("works", "locked", "limp")


class Commands(ABC):
    """Requests of the panel to the robot; the node `view` sends them over ROS. Called from viser's threads."""

    @abstractmethod
    def drive(self, vx: float, vy: float, wz: float) -> None:
        """Walk at this twist [m/s, m/s, rad/s] from now on; all zero: stand."""

    @abstractmethod
    def emergency_stop(self, engaged: bool) -> None:
        """Freeze the pose, or allow motion again."""

    @abstractmethod
    def break_part(self, values: Mapping[str, bool | float]) -> None:
        """Damage the simulated robot: named values as for set_morphology."""

    @abstractmethod
    def tell(self, values: Mapping[str, bool | float]) -> None:
        """Declare the morphology to the software: named values as for set_morphology."""


class PartsFolder:
    """Check boxes for legs and links, menus for joints; shows the morphology, sends the changes of the user."""

    def __init__(self, gui: Any, label: str, send: Any, *, expand: bool) -> None:
        """`send`: gets {name: value} after each change by a person."""
        self._gui, self._send = gui, send
        self._folder = gui.add_folder(label, expand_by_default=expand)
        self._built: list[Any] = []
        self._boxes: dict[str, object] = {}
        self._menus: dict[str, object] = {}
        self._names: tuple[str, ...] = ()
        self._values: dict[str, bool | float] = {}

    def follow(self, values: Mapping[str, bool | float]) -> None:
        """Show the whole set of named values; builds the check boxes at the first one or for another robot."""
        names = tuple(name for name in values if name.split(".")[0] in ("legs", "links"))
        self._values = dict(values)
        if names != self._names:
            self._build(names)
        for name, box in self._boxes.items():
            self._set(box, bool(values[name]))
        for part, menu in self._menus.items():
            self._set(
                menu, "locked" if values.get(f"locked.{part}") else "limp" if values.get(f"limp.{part}") else "works"
            )

    @staticmethod
    def _set(handle: Any, value: Any) -> None:
        if handle.value != value:
            handle.value = value

    def _build(self, names: tuple[str, ...]) -> None:
        for handle in self._built:
            handle.remove()
        self._built = []
        self._boxes, self._menus, self._names = {}, {}, names
        with self._folder:
            restore = self._gui.add_button("restore all")
            restore.on_click(lambda _: self._send({name: True for name in self._names if name.startswith("legs.")}))
            self._built.append(restore)
            for name in names:
                if name.startswith("legs."):
                    self._built.append(self._add_box(name, name.partition(".")[2]))
            links = self._gui.add_folder("links and joints", expand_by_default=False)
            self._built.append(links)  # takes what is in it along
        with links:
            for name in names:
                part = name.partition(".")[2]
                if name.startswith("links."):
                    self._add_box(name, part.replace(".", " "))
                    menu = self._gui.add_dropdown(f"{part.partition('.')[2]} joint", STATES)
                    menu.on_update(lambda event, part=part: self._menu_changed(event, part))
                    self._menus[part] = menu

    def _add_box(self, name: str, label: str) -> Any:
        box = self._gui.add_checkbox(label, True)
        box.on_update(lambda event: self._box_changed(event, name))
        self._boxes[name] = box
        return box

    def _box_changed(self, event: Any, name: str) -> None:
        if event.client is not None and event.target.value != self._values.get(name):  # a person, not `follow`
            self._send({name: bool(event.target.value)})

    def _menu_changed(self, event: Any, part: str) -> None:
        if event.client is None:
            return
        chosen = event.target.value
        wanted = {f"locked.{part}": chosen == "locked", f"limp.{part}": chosen == "limp"}
        changes = {name: value for name, value in wanted.items() if self._values.get(name, value) != value}
        if changes:
            self._send(changes)


class Panel:
    """The whole panel."""

    def __init__(self, server: Any, commands: Commands, *, simulated: bool) -> None:
        """`simulated`: whether there is a simulated robot that can be broken."""
        self._server, self._commands, gui = server, commands, server.gui
        gui.set_panel_label("hexapod_dynamics")
        self._status = gui.add_markdown("waiting for the robot")
        self._stop = gui.add_button("STOP", color="red", hint="freeze the pose at once (emergency stop)")
        self._stop.on_click(lambda _: commands.emergency_stop(True))
        self._resume = gui.add_button("allow motion", hint="end the emergency stop")
        self._resume.on_click(lambda _: commands.emergency_stop(False))
        self._shows_support = gui.add_checkbox(
            "forces and polygon", True, hint="foot forces, support polygon, centre of mass, zero-moment point"
        )
        self._follows = gui.add_checkbox("follow the robot", True, hint="keep the robot at the centre of the picture")
        with gui.add_folder("drive (keys w a s d q e, x stands)"):
            self._sliders = [
                gui.add_slider("forward [m/s]", -SPEED, SPEED, 0.001, 0.0),
                gui.add_slider("left [m/s]", -SPEED, SPEED, 0.001, 0.0),
                gui.add_slider("turn [rad/s]", -TURN, TURN, 0.01, 0.0),
            ]
            gui.add_button("stand").on_click(lambda _: self._drive((0.0, 0.0, 0.0)))
        for slider in self._sliders:
            slider.on_update(self._slider_moved)
        for key, (label, twist) in KEYS.items():
            gui.add_command(label, hotkey=key).on_trigger(lambda _, twist=twist: self._drive(twist))
        gui.add_command("stand", hotkey="X").on_trigger(lambda _: self._drive((0.0, 0.0, 0.0)))
        self.simulated = (
            PartsFolder(gui, "break the simulated robot", commands.break_part, expand=True) if simulated else None
        )
        self.told = PartsFolder(gui, "declare to the software", commands.tell, expand=False)
        with gui.add_folder("damage detector"):
            self._hypotheses = gui.add_html("no hypotheses yet")
        self._plots = Plots(gui)

    @property
    def follows(self) -> bool:
        """Whether the robot is to be kept at the centre of the picture."""
        return bool(self._follows.value)

    @property
    def shows_support(self) -> bool:
        """Whether foot forces, support polygon, centre of mass and zero-moment point are to be drawn."""
        return bool(self._shows_support.value)

    def _drive(self, twist: tuple[float, float, float]) -> None:
        for slider, value in zip(self._sliders, twist, strict=True):
            slider.value = value
        self._commands.drive(*twist)

    def _slider_moved(self, event: Any) -> None:
        if event.client is not None:
            self._commands.drive(*(float(slider.value) for slider in self._sliders))

    def status(self, lines: Sequence[str]) -> None:
        """Show lines of text at the top."""
        text = "\n\n".join(lines)
        if self._status.content != text:
            self._status.content = text

    def hypotheses(self, entries: Sequence[tuple[str, float, str]]) -> None:
        """Show (name, probability, evidence) of the most probable hypotheses as bars."""
        rows = [
            f'<div style="font-size:12px;margin:2px 8px" title="{html.escape(evidence)}">{html.escape(name)} {p:.2f}'
            f'<div style="background:#ddd;height:6px"><div style="background:#d9480f;height:6px;width:{100 * p:.0f}%">'
            "</div></div></div>"
            for name, p, evidence in entries
        ]
        text = "".join(rows) or "no hypotheses yet"
        if self._hypotheses.content != text:
            self._hypotheses.content = text

    def sample(self, t: float, tilt: float, speed: float, error: float) -> None:
        """Add a sample to the plots: time [s], tilt [deg], speed [cm/s], error of the prediction [cm] (or NaN)."""
        self._plots.add(t, tilt, speed, error)

    def draw_plots(self) -> None:
        """Send the plots to the browsers."""
        self._plots.draw()


class Plots:
    """Tilt, speed and error of the prediction over the last half minute."""

    NAMES = ("tilt [deg]", "speed [cm/s]", "error of the prediction [cm]")

    def __init__(self, gui: Any, samples: int = 150) -> None:
        from viser import uplot

        self._data: deque[tuple[float, ...]] = deque(maxlen=samples)
        start = (np.array([0.0, 1.0]), np.array([0.0, 0.0]))
        colours = ("#d9480f", "#1971c2", "#2f9e44")
        with gui.add_folder("plots"):
            self._handles = [
                gui.add_uplot(
                    start,
                    (uplot.Series(label="t [s]"), uplot.Series(label=name, stroke=colour, width=2)),
                    scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                    aspect=2.6,
                )
                for name, colour in zip(self.NAMES, colours, strict=True)
            ]

    def add(self, t: float, *values: float) -> None:
        """Add one sample of all three."""
        self._data.append((t, *(value if math.isfinite(value) else 0.0 for value in values)))

    def draw(self) -> None:
        """Send the present values."""
        if len(self._data) < 2:
            return
        table = np.array(self._data)
        for k, handle in enumerate(self._handles):
            handle.data = (table[:, 0], table[:, k + 1])
