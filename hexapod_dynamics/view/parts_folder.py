"""Check boxes and menus of a robot's legs, links and joints, with undo."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from hexapod_dynamics.damage import KINDS

if TYPE_CHECKING:
    import viser

Values = dict[str, bool | float]  # named values, as for set_morphology
WORKS = "works"  # entry of a joint's menu, beside the names of the kinds of damage of a joint
UNDO_AFTER = 2.0  # [s] after which a person's change is reverted if the robot has not followed it


class PartsFolder:
    """Check boxes for legs and links, menus for joints; shows the morphology, sends the changes of the user.

    The robot's answer to a change comes later than the next `follow`, which must not revert the change meanwhile:
    a control follows the robot when the robot changes, or when it has differed from it for `UNDO_AFTER` seconds.
    """

    def __init__(self, gui: viser.GuiApi, label: str, send: Callable[[Values], None], *, expand: bool) -> None:
        """`send`: gets {name: value} after each change by a person."""
        self._gui, self._deliver = gui, send
        self._values: Values = {}  # of the robot, at the last `follow`
        self._before: deque[Values] = deque(maxlen=20)  # the robot's state before each change by a person
        self.folder = gui.add_folder(label, expand_by_default=expand)
        with self.folder:
            gui.add_button("restore all").on_click(lambda _: self.change(self._intact()))
            self._undo = gui.add_button("undo", hint="take the last change back")
        self._undo.on_click(lambda _: self.undo())
        self._undo.visible = False
        self._built: list[viser.GuiInputHandle | viser.GuiFolderHandle] = []
        self._boxes: dict[str, viser.GuiCheckboxHandle] = {}
        self._menus: dict[str, viser.GuiDropdownHandle] = {}
        self._names: tuple[str, ...] = ()
        self._followed: dict[str, bool | str] = {}  # for each control, the robot's state at the last `follow`
        self._differs: dict[str, float] = {}  # controls that differ from the robot, since when [s]

    def follow(self, values: Mapping[str, bool | float]) -> None:
        """Show the whole set of named values; builds the check boxes at the first one or for another robot."""
        self._values = dict(values)
        names = tuple(name for name in values if name.split(".")[0] in ("legs", "links"))
        if names != self._names:
            self._build(names)
        for name, box in self._boxes.items():
            self._show(name, box, bool(values[name]))
        for part, menu in self._menus.items():
            states = (kind.name for kind in KINDS.joint_kinds if kind.is_declared(values, part))
            self._show(part, menu, next(states, WORKS))

    def change(self, values: Values) -> None:
        """Send a person's change; `undo` reverts it."""
        self._before.append(self._values)
        self._undo.visible = True
        self._deliver(values)

    def undo(self) -> None:
        """Restore the robot's state before the last change by a person."""
        back: Values = {}
        while self._before and not back:  # a request that the robot refused changed nothing
            before = self._before.pop()
            back = {name: value for name, value in before.items() if self._values.get(name) != value}
        self._undo.visible = bool(self._before)
        if back:
            self._deliver(back)

    def _intact(self) -> Values:
        kinds = {name: KINDS.values.get(name.partition(".")[0]) for name in self._values}
        return {name: kind.intact for name, kind in kinds.items() if kind is not None}

    def _show(self, name: str, control: viser.GuiCheckboxHandle | viser.GuiDropdownHandle, value: bool | str) -> None:
        now, changed = time.monotonic(), self._followed.get(name) != value
        self._followed[name] = value
        if control.value == value:
            self._differs.pop(name, None)
        elif changed or now - self._differs.setdefault(name, now) > UNDO_AFTER:
            control.value = value
            self._differs.pop(name, None)

    def _build(self, names: tuple[str, ...]) -> None:
        for handle in self._built:
            handle.remove()
        self._built = []
        self._boxes, self._menus, self._names, self._followed, self._differs = {}, {}, names, {}, {}
        self._before.clear()
        self._undo.visible = False
        with self.folder:
            for name in names:
                if name.startswith("legs."):
                    self._built.append(self._add_box(name, name.partition(".")[2]))
            links = self._gui.add_folder("links and joints", expand_by_default=False)
            self._built.append(links)  # its contents are removed with it
        folders: dict[str, viser.GuiFolderHandle] = {}
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
            self._on_change(menu, partial(_choice, part))
            self._menus[part] = menu

    def _add_box(self, name: str, label: str) -> viser.GuiCheckboxHandle:
        self._boxes[name] = box = self._gui.add_checkbox(label, True)
        self._on_change(box, lambda value: {name: bool(value)})
        return box

    def _on_change(self, control: viser.GuiInputHandle, values: Callable[[bool | str], Values]) -> None:
        """Send the named values of what a person, not `follow`, sets a control to."""
        control.on_update(lambda event: None if event.client is None else self.change(values(event.target.value)))


def _choice(part: str, chosen: str) -> Values:
    """Return the named values of a part's joint for an entry of its menu."""
    return {
        f"{kind.values[0].prefix}.{part}": kind.menu_value if kind.name == chosen else kind.values[0].intact
        for kind in KINDS.joint_kinds
    }
