"""Which messages of a page reach the server."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_dynamics.view.client_messages import DRIVE, MessageFilter, Range, read_axes

CONTROLS = {
    "slider": Range(-0.15, 0.15),
    "box": (True, False),
    "button": (True,),
    "menu": ("works", "locked"),
}
KINDS = {
    "GuiUpdateMessage": lambda uuid, updates: None,
    "SceneNodeClickMessage": lambda name, owner="", screen_pos=(): None,
    "ViewerCameraMessage": lambda position, fov: None,
}


@pytest.fixture(scope="module")
def checks():
    return MessageFilter(
        KINDS,
        control=lambda client, uuid: CONTROLS.get(uuid) if client == 0 else None,
        is_clickable=lambda client, name: name == "/world/robot/leg",
    )


def update(uuid, value, **more):
    return {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value} | more}


@pytest.mark.parametrize(
    "message",
    [
        update("slider", 0.15),
        update("slider", 0),
        update("slider", -0.15 - 1e-12),
        update("box", False),
        update("button", True),
        update("menu", "locked"),
        {"type": "SceneNodeClickMessage", "name": "/world/robot/leg", "owner": "", "screen_pos": [0.5, 0.5]},
        {"type": "ViewerCameraMessage", "position": (1.0, 2.0, 3.0), "fov": 1.0},
    ],
)
def test_what_the_own_page_sends_passes(checks, message):
    assert checks.find_problem(0, message) == ""


@pytest.mark.parametrize(
    "message, problem",
    [
        (update("slider", 5.0), "value"),
        (update("slider", math.nan), "value"),
        (update("slider", 10**400), "value"),
        (update("slider", True), "value"),
        (update("slider", "0.1"), "value"),
        (update("box", 1), "value"),
        (update("button", False), "value"),
        (update("menu", "broken"), "value"),
        (update("menu", ["locked"]), "value"),
        (update("button", True, removed=True), "fields"),
        ({"type": "GuiUpdateMessage", "uuid": "button", "updates": {"removed": True}}, "fields"),
        ({"type": "GuiUpdateMessage", "uuid": "button", "updates": ["value"]}, "fields"),
        ({"type": "GuiUpdateMessage", "uuid": "button"}, "fields"),
        (update("other", True), "control"),
        (update(["button"], True), "control"),
        ({"type": "CommandTriggerMessage", "uuid": "forward"}, "kind"),
        ({"type": "SceneNodeClickMessage", "name": "/world"}, "control"),
        ({"type": "SceneNodeClickMessage", "name": "/world/robot/leg", "owner": {}}, "value"),
        ({"type": "ViewerCameraMessage", "position": (1.0, math.nan, 3.0), "fov": 1.0}, "value"),
        ({"type": "ViewerCameraMessage", "position": [1.0] * 1000, "fov": 1.0}, "value"),
        ({"type": "ViewerCameraMessage", "position": (1.0, 2.0, 3.0)}, "fields"),
        ({"type": "GuiRemoveMessage", "uuid": "button"}, "kind"),
        ({"type": "ShareUrlRequest"}, "kind"),
        ({"type": ["ShareUrlRequest"]}, "kind"),
        ({"type": "GuiUpdateMessage", "uuid": "button", "updates": {}}, "fields"),
        ({"type": None}, "kind"),
        ({}, "kind"),
        ([], "kind"),
    ],
)
def test_everything_else_is_dropped(checks, message, problem):
    assert checks.find_problem(0, message) == problem


def test_the_controls_of_another_page_do_not_exist_for_this_one(checks):
    assert checks.find_problem(1, update("button", True)) == "control"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.sampled_from([*KINDS, "other"]), st.sampled_from([*CONTROLS, "forward"]), anything, anything)
def test_no_message_raises_and_no_slider_leaves_its_range(checks, kind, uuid, value, more):
    problem = checks.find_problem(0, {"type": kind, "uuid": uuid, "updates": {"value": value}, "name": more})
    if kind == "GuiUpdateMessage":
        assert problem == "fields"
    assert checks.find_problem(0, value) in ("kind", "fields")
    if checks.find_problem(0, update("slider", value)) == "":
        assert abs(value) <= 0.15 + 1e-9
    checks.find_problem(0, {"type": kind, "uuid": value})
    checks.find_problem(0, {"type": kind, "uuid": uuid, "updates": more})
    checks.find_problem(0, {"type": kind, "position": value, "fov": more})


@pytest.mark.parametrize("axes", [[0, 0, 0], [1, -1, 0.5], [-1.0, 0.0, 1.0]])
def test_axes_of_held_keys_are_read(axes):
    assert read_axes({"type": DRIVE, "axes": axes}) == tuple(axes)


@pytest.mark.parametrize(
    "message",
    [
        {"type": DRIVE},
        {"type": DRIVE, "axes": [1, 0]},
        {"type": DRIVE, "axes": [1.5, 0, 0]},
        {"type": DRIVE, "axes": [math.nan, 0, 0]},
        {"type": DRIVE, "axes": [True, 0, 0]},
        {"type": DRIVE, "axes": ["1", 0, 0]},
        {"type": DRIVE, "axes": [1, 0, 0], "more": 1},
    ],
)
def test_axes_beyond_their_range_or_of_another_form_are_not_read(message):
    assert read_axes(message) is None
