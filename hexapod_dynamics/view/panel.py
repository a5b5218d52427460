"""The panel beside the 3-D view: driving, damage (simulated, declared), hypotheses of the detector, picture, plots.

viser sends a value only if it differs from the one before.

The button STOP is the page's own (page.js), at a fixed place. The node `view` sends what a person asks for over ROS.
"""

from __future__ import annotations

import datetime
import html
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hexapod_dynamics.view.drive_seat import LIMITS, STAND, Twist, page_name
from hexapod_dynamics.view.last_minute import LENGTH
from hexapod_dynamics.view.parts_folder import PartsFolder
from hexapod_dynamics.view.scene import LEGEND
from hexapod_dynamics.view.web_page import TITLE_ID, set_theme

if TYPE_CHECKING:
    import viser

    from hexapod_dynamics.nodes.view_requests import RosCommands

KEY_TWIST: Twist = (0.077, 0.05, 0.3)  # commands while a key is held [m/s], [m/s], [rad/s]
CAMERAS = {"reset view": "", "top": "top", "side": "side", "behind": "behind"}  # buttons, and views of scene.aim_camera
PICTURE_BOXES = {  # of the picture; all but the last are on at first
    "show forces": "foot forces, support polygon, centre of mass, zero-moment point",
    "follow robot": "keep the robot at the centre of the picture",
    "names, trail": "of the legs; where the body was in the last minute",
    "dark": "of all pages",
}
SERVICES = (  # of the gait: button, name, hint
    ("stand up", "stand", None),
    ("sit down", "sit", None),
    ("get up", "get_up", "after a fall; it warns 2 s before it moves"),
)
CONFIRM_LABEL = "yes, it may move"  # the button that ends the emergency stop
NOBODY_LABEL = "no page drives"
PUSH = 40.0  # [N] force of the push buttons; 8 N s with the simulator's duration
NO_HYPOTHESES = '<div style="font-size:12px;margin:6px 8px">it suspects nothing</div>'
HYPOTHESES_SHOWN = 5  # the most probable ones
NO_EVENTS = '<div style="font-size:12px;margin:6px 8px">nothing yet</div>'
EVENTS_SHOWN = 8
RULED_OUT_FOR = 6.0  # [s] for which a dropped suspicion is shown as ruled out
# Word and colour of each state: red, orange and grey differ in lightness too, for people who do not see red.
STATES = {
    "declared": "#a61e1e",
    "suspected": "#e8700c",
    "possible": "#f0b429",
    "ruled out": "#868e96",
}


def _legend() -> str:
    rows = (f'<span><b style="color:{colour}">&#9632;</b> {text}</span>' for text, colour in LEGEND.items())
    return f'<div style="font-size:11px;margin:4px 8px;display:flex;flex-wrap:wrap;gap:2px 10px">{"".join(rows)}</div>'


class LivePlots:
    """Tilt, speed and error of the prediction over the last half minute."""

    COLOURS: ClassVar = {"tilt [deg]": "#d9480f", "speed [cm/s]": "#1971c2", "error of the prediction [cm]": "#2f9e44"}

    def __init__(self, gui: viser.GuiApi) -> None:
        from viser import uplot

        self._data: deque[tuple[float, ...]] = deque(maxlen=150)  # five a second, or as many as pictures
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
            for name, colour in self.COLOURS.items()
        ]

    def add(self, t: float, *values: float) -> None:
        """Add one sample of all three; NaN: not known."""
        if self._data and not 0.0 <= t - self._data[-1][0] <= 3.0:  # [s]
            self._data.clear()  # no line through times without values
        self._data.append((t, *values))

    def draw(self) -> None:
        """Send the present values; a plot without values is hidden."""
        if len(self._data) < 2:
            return
        table = np.array(self._data)
        table[:, 0] -= table[-1, 0]  # [s] before now
        for k, handle in enumerate(self._handles):
            known = np.isfinite(table[:, k + 1])
            handle.visible = bool(known.sum() > 1)
            if handle.visible:
                handle.data = (table[known, 0], table[known, k + 1])


@dataclass(frozen=True)
class Entry:
    """One hypothesis: name, probability, evidence in words, and its state, a key of STATES."""

    name: str
    probability: float
    evidence: str
    state: str

    @property
    def damage(self) -> str:
        """Part and kind of damage: the name without the angle of a lock, which changes from reading to reading."""
        return self.name.partition(" at ")[0]


class HypothesisBars:
    """Makes the HTML of the bars; remembers the suspicions that were dropped."""

    def __init__(self) -> None:
        self._suspected: dict[str, Entry] = {}
        self._dropped: dict[str, tuple[float, Entry]] = {}  # when [s]

    def draw(self, entries: Sequence[Entry], now: float) -> str:
        """Return the HTML for the present entries at a monotonic time [s]."""
        names = {entry.damage for entry in entries}
        for name, entry in self._suspected.items():
            if name not in names:
                self._dropped[name] = now, Entry(entry.name, 0.0, entry.evidence, "ruled out")
        self._suspected = {entry.damage: entry for entry in entries if entry.state == "suspected"}
        self._dropped = {
            name: (at, entry)
            for name, (at, entry) in self._dropped.items()
            if name not in names and now - at < RULED_OUT_FOR
        }
        shown = sorted(entries, key=lambda entry: -entry.probability)[:HYPOTHESES_SHOWN]
        return "".join(map(_bar, [*shown, *(entry for _, entry in self._dropped.values())])) or NO_HYPOTHESES


def _bar(entry: Entry) -> str:
    colour, percent = STATES[entry.state], f"{100 * entry.probability:.0f}"
    return (
        f'<div style="font-size:12px;margin:6px 8px" title="{html.escape(entry.evidence)}">'
        '<div style="display:flex;justify-content:space-between;gap:6px">'
        f'<span>{html.escape(entry.name)}</span><span style="white-space:nowrap">'
        f'<b style="color:{colour}">{entry.state}</b> {percent} %</span></div>'
        '<div style="background:#8883;height:6px;border-radius:3px">'
        f'<div style="background:{colour};height:6px;border-radius:3px;width:{percent}%"></div></div></div>'
    )


def _clock(time: float) -> str:
    return datetime.datetime.fromtimestamp(time).strftime("%H:%M:%S")


class EventList:
    """Notes changes of named states, with times [s] of the computer's clock, as the terminal has it.

    The first value of a state is what the robot was before, not an event.
    """

    def __init__(self) -> None:
        self._events: deque[tuple[float, str]] = deque(maxlen=EVENTS_SHOWN)
        self._states: dict[str, str] = {}

    def note(self, time: float, what: str, state: str) -> None:
        """Note a state at a time [s]; add the event "what: state" if the state has changed."""
        before = self._states.get(what)
        self._states[what] = state
        if before is not None and before != state:
            self._events.appendleft((time, f"{what}: {state}"))

    def note_parts(self, time: float, what: str, parts: Sequence[str]) -> None:
        """Note a list of parts, such as those declared missing; an empty list is noted as "nothing"."""
        self.note(time, what, ", ".join(parts) or "nothing")

    def draw(self) -> str:
        """Return the HTML of the list, the newest event first."""
        rows = (
            f'<div style="font-size:12px;margin:3px 8px;display:flex;gap:8px"><span style="min-width:4.6em;'
            f'text-align:right;opacity:0.7">{_clock(time)}</span><span>{html.escape(text)}</span></div>'
            for time, text in self._events
        )
        return "".join(rows) or NO_EVENTS


class Panel:
    """The whole panel at the right: controls for a person, the state of the robot and its software.

    Handles that the node reads or sets: follows, shows_support, shows_names (check boxes), hypotheses, events, followed
    (texts), simulated, declared (PartsFolder), plots (LivePlots).
    """

    def __init__(self, server: viser.ViserServer, commands: RosCommands) -> None:
        """commands: carries out what a person asks for; called from viser's threads, it never blocks."""
        self._commands, gui = commands, server.gui
        gui.set_panel_label("hexapod_dynamics")
        gui.main_panel.dock_right()
        gui.main_panel.set_width(290)
        self._title = gui.add_html("", order=-1.0)  # above all others, and above the page's name
        self._status = gui.add_markdown("waiting for the robot")
        gui.add_button("allow motion", hint="end the emergency stop").on_click(self._confirm_motion)
        self._questions: dict[int, Callable[[], None]] = {}  # closes the open window of each page
        with gui.add_folder("drive: hold w a s d q e or arrows"):
            self._twist = STAND  # as the sliders show it
            self._driver = gui.add_markdown(NOBODY_LABEL)
            self._controls = gui.add_button("take over", visible=False, hint="drive from this page")
            self._controls.on_click(lambda event: commands.give_controls(event.client_id))
            self._sliders = [gui.add_slider(name, -top, top, top / 150, 0.0) for name, top in LIMITS.items()]
            gui.add_button("halt (x)", color="orange").on_click(partial(self._drive, STAND))
            for label, service, hint in SERVICES:
                gui.add_button(label, hint=hint).on_click(lambda _, service=service: commands.call_gait(service))
            self.followed = gui.add_markdown("")
        for axis, slider in enumerate(self._sliders):
            slider.on_update(partial(self._move_slider, axis))
        with gui.add_folder("damage detector"):
            self.hypotheses = gui.add_html(NO_HYPOTHESES)
        with gui.add_folder("what happened"):
            self.events = gui.add_html(NO_EVENTS)
        self._world = gui.add_folder("push the simulated robot", expand_by_default=False)
        with self._world:
            for label, act, how in (
                ("push it to the left", commands.push, PUSH),
                ("push it to the right", commands.push, -PUSH),
                ("put it upright", commands.put, 0.0),
                ("put it on its back", commands.put, np.pi),
            ):
                gui.add_button(label).on_click(lambda _, act=act, how=how: act(how))
        self._world.visible = False
        broken, declared = (partial(commands.change, name) for name in ("simulator/set_damage", "set_morphology"))
        self.simulated = PartsFolder(gui, "break the simulated robot", broken, expand=True)
        self.simulated.folder.visible = False  # until there is one
        self.declared = PartsFolder(gui, "declare to the software", declared, expand=False)
        with gui.add_folder("picture"):
            self.shows_support, self.follows, self.shows_names, self._dark = (
                gui.add_checkbox(label, label != "dark", hint=hint) for label, hint in PICTURE_BOXES.items()
            )
            self._dark.on_update(lambda _: set_theme(server, dark=self._dark.value))
            hint = "0: now; look back over the last minute"
            self._ago = gui.add_slider("time [s]", -LENGTH, 0.0, 0.1, 0.0, hint=hint)
            cameras = gui.add_button_group("camera", tuple(CAMERAS))
            cameras.on_click(lambda event: commands.aim(event.client_id, CAMERAS[event.target.value]))
            self._set_back = gui.add_button(
                "set the prediction back", visible=False, hint="to the simulated robot; its error counts from now on"
            )
            self._set_back.on_click(lambda _: commands.set_prediction_back())
            gui.add_html(_legend())
        with gui.add_folder("plots"):
            self.plots = LivePlots(gui)
        server.on_client_connect(lambda it: it.gui.add_markdown(f"this is {page_name(it.client_id)}", order=0.0))
        server.on_client_disconnect(lambda client: self._questions.pop(client.client_id, None))

    @property
    def picture_age(self) -> float:
        """Age [s] of the state that the picture is to show; 0: now."""
        return -float(self._ago.value)

    # Coroutines run in the thread of the server, in the order of the messages: between a page's message and its call no
    # other page changes a slider.

    async def _drive(self, twist: Twist, event: viser.GuiEvent) -> None:
        self._show(self._commands.drive(event.client_id, twist))

    def drive_by_axes(self, client: int, axes: Twist) -> None:
        """Drive as the held keys or the game pad of a page command: (forward, left, turn), each from -1 to 1."""
        forward, left, turn = (axis * speed for axis, speed in zip(axes, KEY_TWIST, strict=True))
        self._show(self._commands.drive(client, (forward, left, turn)))

    async def _move_slider(self, axis: int, event: viser.GuiEvent) -> None:
        if event.client is None:  # moved by `_show`
            return
        twist = list(self._twist)
        twist[axis] = float(event.target.value)
        self._show(self._commands.drive(event.client_id, (twist[0], twist[1], twist[2])))

    def emergency_stop(self) -> None:
        """Freeze the pose at once."""
        self._commands.emergency_stop(True)
        self._show(STAND)

    def _confirm_motion(self, event: viser.GuiEvent) -> None:
        """Ask on this page alone whether the emergency stop ends."""
        client, gui = event.client_id, event.client.gui
        self._close_question(client)
        question = gui.add_modal("End the emergency stop?")
        self._questions[client] = question.close
        with question:
            gui.add_markdown("The robot will follow commands again. Is everybody clear of it?")
            gui.add_button(CONFIRM_LABEL, color="red").on_click(lambda _: self._close_question(client, motion=True))
            gui.add_button("no, it stays stopped").on_click(lambda _: self._close_question(client))

    def _close_question(self, client: int, motion: bool = False) -> None:
        """Close the window of this page, whose answer is `motion`; a second click on its button does nothing."""
        close = self._questions.pop(client, None)
        if close is not None:
            close()
            if motion:
                self._commands.emergency_stop(False)

    def _show(self, twist: Twist) -> None:
        self._twist = twist
        for slider, value in zip(self._sliders, twist, strict=True):
            if slider.value != value:
                slider.value = value

    def driving(self, text: str, *, stands: bool, may_ask: bool) -> None:
        """Show which page drives, or why driving ended, and the button "take over"; stands: sliders go to zero."""
        self._driver.content = text
        self._controls.visible = may_ask
        if stands:
            self._show(STAND)

    def title(self, text: str) -> None:
        """Show what robot this is: the first line, and the page's title."""
        content = f'<div id="{TITLE_ID}" style="font-size:13px;margin:6px 12px">{html.escape(text)}</div>'
        self._title.content = content

    def status(self, state: str, stopped: str = "", answer: str = "", does: str = "") -> None:
        """Show at the top the robot's state, what it does and why, whether it is stopped, the answer to a request."""
        text = "\n\n".join(line for line in (state, does, f"**{stopped}**" if stopped else "", answer) if line)
        self._status.content = text

    def show_simulation_controls(self, yes: bool) -> None:
        """Show or hide the controls that exist for a simulated robot only."""
        self._world.visible = self.simulated.folder.visible = self._set_back.visible = yes
