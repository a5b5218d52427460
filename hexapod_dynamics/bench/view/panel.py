"""The panels beside the 3-D view: stop, driving, damage (simulated, declared); hypotheses of the detector, plots."""

from __future__ import annotations

import html
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hexapod_dynamics.bench.view.drive_seat import SPEED, STAND, TURN, Twist, page_name
from hexapod_dynamics.bench.view.page_script import TITLE_ID
from hexapod_dynamics.damage import KINDS

WIDTH = 290  # [pixels] of the panels at both sides
NO_HYPOTHESES = '<div style="font-size:12px;margin:6px 8px">no hypotheses yet</div>'
HELD: Twist = (0.077, 0.05, 0.3)  # commands of a held key [m/s], [m/s], [rad/s]
CAMERAS = {"reset view": "", "top": "top", "side": "side", "behind": "behind"}  # buttons, and views of scene.aim_page
WORKS = "works"  # of a joint's menu, beside the names of the kinds of damage of a joint
CONFIRM = "yes, it may move"  # the button that ends the emergency stop
NOBODY = "nobody drives"
TITLE_ORDER, PAGE_ORDER = -1.0, 0.0  # of the robot's and the page's name: above all others
UNANSWERED = 2.0  # [s] a person's change that the robot has not followed by then is put back


class Commands(ABC):
    """Requests of the panel to the robot; the node `view` sends them over ROS. Called from viser's threads."""

    @abstractmethod
    def drive(self, client: int, twist: Twist) -> Twist:
        """Walk at this twist [m/s, m/s, rad/s] from now on, asked for by a page; all zero: stand.

        Returns the twist that holds now: another one if this one is refused. Does not block.
        """

    @abstractmethod
    def take_over(self, client: int) -> None:
        """Give a page the controls of driving."""

    @abstractmethod
    def call_gait(self, service: str) -> None:
        """Call a service of the gait, "stand" or "sit"."""

    @abstractmethod
    def aim(self, client: int, view: str) -> None:
        """Place the camera of a page: "" as at the start, "top", "side" or "behind"."""

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
    """Check boxes for legs and links, menus for joints; shows the morphology, sends the changes of the user.

    The robot's answer to a change comes later than the next `follow`, which must not take the change back meanwhile:
    a control follows the robot when the robot changes, or when it has differed from it for `UNANSWERED` seconds.
    """

    def __init__(self, gui: Any, label: str, send: Any, *, expand: bool) -> None:
        """`send`: gets {name: value} after each change by a person."""
        self._gui, self._send = gui, send
        self._folder = gui.add_folder(label, expand_by_default=expand)
        self._built: list[Any] = []
        self._boxes: dict[str, Any] = {}
        self._menus: dict[str, Any] = {}
        self._names: tuple[str, ...] = ()
        self._whole: dict[str, bool | float] = {}  # the named values of the whole robot
        self._followed: dict[str, bool | str] = {}  # of each control, what the robot was at the last `follow`
        self._differs: dict[str, float] = {}  # controls that differ from the robot, since when [s]

    @property
    def visible(self) -> bool:
        """Whether the folder is shown."""
        return bool(self._folder.visible)

    @visible.setter
    def visible(self, value: bool) -> None:
        if self._folder.visible != value:
            self._folder.visible = value

    def follow(self, values: Mapping[str, bool | float]) -> None:
        """Show the whole set of named values; builds the check boxes at the first one or for another robot."""
        names = tuple(name for name in values if name.split(".")[0] in ("legs", "links"))
        kinds = {name: name.split(".")[0] for name in values}
        self._whole = {name: KINDS.values[kind].intact for name, kind in kinds.items() if kind in KINDS.values}
        if names != self._names:
            self._build(names)
        for name, box in self._boxes.items():
            self._show(name, box, bool(values[name]))
        for part, menu in self._menus.items():
            states = (kind.name for kind in KINDS.joint_kinds if kind.is_declared(values, part))
            self._show(part, menu, next(states, WORKS))

    def _show(self, name: str, control: Any, value: bool | str) -> None:
        now, changed = time.monotonic(), self._followed.get(name) != value
        self._followed[name] = value
        if control.value == value:
            self._differs.pop(name, None)
        elif changed or now - self._differs.setdefault(name, now) > UNANSWERED:
            control.value = value
            self._differs.pop(name, None)

    def _build(self, names: tuple[str, ...]) -> None:
        for handle in self._built:
            handle.remove()
        self._built = []
        self._boxes, self._menus, self._names, self._followed, self._differs = {}, {}, names, {}, {}
        with self._folder:
            restore = self._gui.add_button("restore all")
            restore.on_click(lambda _: self._send(dict(self._whole)))
            self._built.append(restore)
            for name in names:
                if name.startswith("legs."):
                    self._built.append(self._add_box(name, name.partition(".")[2]))
            links = self._gui.add_folder("links and joints", expand_by_default=False)
            self._built.append(links)  # takes what is in it along
        folders: dict[str, Any] = {}
        for name in names:
            kind, _, part = name.partition(".")
            leg, _, link = part.partition(".")
            if kind != "links":
                continue
            if leg not in folders:
                with links:
                    folders[leg] = self._gui.add_folder(leg, expand_by_default=False)
            with folders[leg]:
                self._add_box(name, f"{leg} {link}")
                menu = self._gui.add_dropdown(f"{link} joint", (WORKS, *(kind.name for kind in KINDS.joint_kinds)))
            menu.on_update(lambda event, part=part: self._menu_changed(event, part))
            self._menus[part] = menu

    def _add_box(self, name: str, label: str) -> Any:
        box = self._gui.add_checkbox(label, True)
        box.on_update(lambda event: self._box_changed(event, name))
        self._boxes[name] = box
        return box

    def _box_changed(self, event: Any, name: str) -> None:
        if event.client is not None:  # a person, not `follow`
            self._send({name: bool(event.target.value)})

    def _menu_changed(self, event: Any, part: str) -> None:
        if event.client is not None:
            chosen = event.target.value
            self._send({f"{k.values[0].prefix}.{part}": k.choose(k.name == chosen) for k in KINDS.joint_kinds})


class Panel:
    """The whole panel: at the right what a person does, at the left what the robot and its software do."""

    def __init__(self, server: Any, commands: Commands) -> None:
        self._server, self._commands, gui = server, commands, server.gui
        gui.set_panel_label("hexapod_dynamics")
        gui.main_panel.dock_right()
        gui.main_panel.set_width(WIDTH)
        self._title = gui.add_html("", order=TITLE_ORDER)
        self._status = gui.add_markdown("waiting for the robot")
        self._stop = gui.add_button("STOP", color="red", hint="emergency stop: freeze the pose at once (space bar)")
        self._stop.on_click(lambda _: self.emergency_stop())
        self._resume = gui.add_button("allow motion", color="gray", hint="end the emergency stop")
        self._resume.on_click(self._confirm_motion)
        self._questions: dict[int, Any] = {}  # the open window of each page
        with gui.add_folder("drive: hold w a s d q e or arrows"):
            self._twist = STAND  # as the sliders show it
            self._driver = gui.add_markdown(NOBODY)
            self._take_over = gui.add_button("take over", visible=False, hint="drive from this page")
            self._take_over.on_click(lambda event: self._commands.take_over(event.client_id))
            self._sliders = [
                gui.add_slider("forward [m/s]", -SPEED, SPEED, 0.001, 0.0),
                gui.add_slider("left [m/s]", -SPEED, SPEED, 0.001, 0.0),
                gui.add_slider("turn [rad/s]", -TURN, TURN, 0.01, 0.0),
            ]
            gui.add_button("halt (x)", color="gray").on_click(partial(self._drive, STAND))
            gui.add_button("stand up", color="gray").on_click(lambda _: self._commands.call_gait("stand"))
            gui.add_button("sit down", color="gray").on_click(lambda _: self._commands.call_gait("sit"))
        for axis, slider in enumerate(self._sliders):
            slider.on_update(partial(self._move_slider, axis))
        self.simulated = PartsFolder(gui, "break the simulated robot", commands.break_part, expand=True)
        self.simulated.visible = False  # until there is one
        self.told = PartsFolder(gui, "declare to the software", commands.tell, expand=False)
        seen = gui.add_panel()
        with seen.add_tab("what it does"):
            self._shows_support = gui.add_checkbox(
                "show forces", True, hint="foot forces, support polygon, centre of mass, zero-moment point"
            )
            self._follows = gui.add_checkbox("follow robot", True, hint="keep the robot at the centre of the picture")
            cameras = gui.add_button_group("camera", tuple(CAMERAS))
            cameras.on_click(lambda event: self._commands.aim(event.client_id, CAMERAS[event.target.value]))
            with gui.add_folder("damage detector"):
                self._hypotheses = gui.add_html(NO_HYPOTHESES)
            self._plots = Plots(gui)
        seen.dock_left()
        seen.set_width(WIDTH)
        server.on_client_connect(self._name_page)
        server.on_client_disconnect(lambda client: self._questions.pop(client.client_id, None))

    @property
    def follows(self) -> bool:
        """Whether the robot is to be kept at the centre of the picture."""
        return bool(self._follows.value)

    @property
    def shows_support(self) -> bool:
        """Whether foot forces, support polygon, centre of mass and zero-moment point are to be drawn."""
        return bool(self._shows_support.value)

    def _name_page(self, client: Any) -> None:
        client.gui.add_markdown(f"this is {page_name(client.client_id)}", order=PAGE_ORDER)

    # Coroutines run in the thread of the server, in the order of the messages: between a page's message and its call no
    # other page changes a slider.

    async def _drive(self, twist: Twist, event: Any) -> None:
        self._show(self._commands.drive(event.client_id, twist))

    def drive_by_axes(self, client: int, axes: Twist) -> None:
        """Drive as the held keys or the game pad of a page say: (forward, left, turn), each from -1 to 1."""
        forward, left, turn = (axis * speed for axis, speed in zip(axes, HELD, strict=True))
        self._show(self._commands.drive(client, (forward, left, turn)))

    async def _move_slider(self, axis: int, event: Any) -> None:
        if event.client is None:  # moved by `_show`
            return
        twist = list(self._twist)
        twist[axis] = float(event.target.value)
        self._show(self._commands.drive(event.client_id, (twist[0], twist[1], twist[2])))

    def emergency_stop(self) -> None:
        """Freeze the pose at once."""
        self._commands.emergency_stop(True)
        self._show(STAND)

    def _confirm_motion(self, event: Any) -> None:
        """Ask on this page alone whether the emergency stop ends."""
        client, gui = event.client_id, event.client.gui
        self._close_question(client)
        self._questions[client] = question = gui.add_modal("End the emergency stop?")
        with question:
            gui.add_markdown("The robot will follow commands again. Is everybody clear of it?")
            gui.add_button(CONFIRM, color="red").on_click(lambda _: self._answer_question(client, True))
            gui.add_button("no, it stays stopped", color="gray").on_click(
                lambda _: self._answer_question(client, False)
            )

    def _close_question(self, client: int) -> bool:
        """Close the window of this page; False if there is none: a second click on its button does nothing."""
        question = self._questions.pop(client, None)
        if question is not None:
            question.close()
        return question is not None

    def _answer_question(self, client: int, motion: bool) -> None:
        if self._close_question(client) and motion:
            self._commands.emergency_stop(False)

    def _show(self, twist: Twist) -> None:
        self._twist = twist
        for slider, value in zip(self._sliders, twist, strict=True):
            if slider.value != value:
                slider.value = value

    def driving(self, text: str, *, stands: bool, may_take_over: bool) -> None:
        """Show who drives, or why nobody does any more, and the button "take over"; stands: sliders to zero."""
        if self._driver.content != text:
            self._driver.content = text
        if self._take_over.visible != may_take_over:
            self._take_over.visible = may_take_over
        if stands:
            self._show(STAND)

    def title(self, text: str) -> None:
        """Show what robot this is: the first line, and the page's title."""
        content = f'<div id="{TITLE_ID}" style="font-size:13px;margin:6px 12px">{html.escape(text)}</div>'
        if self._title.content != content:
            self._title.content = content

    def status(self, state: str, stopped: str = "", answer: str = "", does: str = "") -> None:
        """Show at the top how the robot is, what it does and why, that it is stopped, the answer to a request."""
        text = "\n\n".join(line for line in (state, does, f"**{stopped}**" if stopped else "", answer) if line)
        if self._status.content != text:
            self._status.content = text

    def hypotheses(self, entries: Sequence[tuple[str, float, str]]) -> None:
        """Show (name, probability, evidence) of the most probable hypotheses as bars."""
        rows = [
            f'<div style="font-size:12px;margin:6px 8px" title="{html.escape(evidence)}">'
            f'<div style="display:flex;justify-content:space-between"><span>{html.escape(name)}</span>'
            f"<span>{100 * p:.0f} %</span></div>"
            f'<div style="background:#e9ecef;height:6px;border-radius:3px"><div style="background:#d9480f;height:6px;'
            f'border-radius:3px;width:{100 * p:.0f}%"></div></div></div>'
            for name, p, evidence in entries
        ]
        text = "".join(rows) or NO_HYPOTHESES
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
        self._data.append((t, *values))

    def draw(self) -> None:
        """Send the present values; a plot of which nothing is known is hidden."""
        if len(self._data) < 2:
            return
        table = np.array(self._data)
        for k, handle in enumerate(self._handles):
            known = np.isfinite(table[:, k + 1])
            if handle.visible != (known.sum() > 1):
                handle.visible = bool(known.sum() > 1)
            if handle.visible:
                handle.data = (table[known, 0], table[known, k + 1])
