"""Which requests of a browser reach the view, by host, origin and token, and which messages of a page; which page
drives, within which limits, and when the robot is made to stand: times are given, nothing waits. The module that knows
viser's internals refuses a viser that it does not know.
"""

import math
import socket
from urllib.request import urlopen

import pytest
import viser
from hypothesis import given
from hypothesis import strategies as st

from hexapod_dynamics.errors import HexapodError, MissingPackageError, ParameterError
from hexapod_dynamics.view import web_page
from hexapod_dynamics.view.access import Access
from hexapod_dynamics.view.client_messages import DRIVE, MessageFilter, Range, read_axes
from hexapod_dynamics.view.drive_seat import LIMITS, PATIENCE, STAND, DriveSeat
from hexapod_dynamics.view.web_page import WebPage

CONTROLS = {"slider": Range(-0.15, 0.15), "box": (True, False), "button": (True,), "menu": ("works", "locked")}
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


def test_axes_of_held_keys_are_read_and_those_beyond_their_range_or_of_another_form_are_not():
    for axes in ([0, 0, 0], [1, -1, 0.5], [-1.0, 0.0, 1.0]):
        assert read_axes({"type": DRIVE, "axes": axes}) == tuple(axes)
        assert read_axes({"type": DRIVE, "axes": axes, "more": 1}) is None
    for wrong in ([1, 0], [1.5, 0, 0], [math.nan, 0, 0], [True, 0, 0], ["1", 0, 0]):
        assert read_axes({"type": DRIVE, "axes": wrong}) is None, wrong
    assert read_axes({"type": DRIVE}) is None


AHEAD, BACK = (0.1, 0.0, 0.0), (-0.05, 0.0, 0.2)
COMMAND, TAKE, ALIVE = "command", "give_controls", "receive_sign_of_life"
# What happens (method and arguments), and what is published: (time, twist).
STORIES = {
    "a page without a sign of life drives for half a second, then the robot stands once, then nothing": [
        (COMMAND, 0, AHEAD, 10.0), (10.1, AHEAD), (10.4, AHEAD), (10.0 + PATIENCE, AHEAD),
        (10.0 + PATIENCE + 1e-6, STAND), (10.6, None), (99.0, None),
    ],
    "a late sign of life does not drive again": [
        (COMMAND, 0, AHEAD, 10.0), (ALIVE, 0, 10.4), (10.85, AHEAD), (ALIVE, 0, 11.0), (11.0, STAND), (11.1, None),
    ],
    "only signs of life of the page that drives count": [
        (COMMAND, 0, AHEAD, 10.0), (ALIVE, 1, 10.4), (10.45, AHEAD), (10.6, STAND),
    ],
    "a closed page ends driving, and another page that is closed does not": [
        (COMMAND, 0, AHEAD, 10.0), ("leave", 1), (10.1, AHEAD), ("leave", 0), (10.2, STAND), (10.3, None),
    ],
    "the second page takes over, and the robot stands before it drives": [
        (COMMAND, 0, AHEAD, 10.0), (COMMAND, 1, BACK, 10.1), (10.1, AHEAD), (TAKE, 1, 10.2), (10.2, STAND),
        (COMMAND, 0, AHEAD, 10.3), (COMMAND, 1, BACK, 10.3), (10.4, BACK),
    ],
    "taking over from oneself does not stop": [(COMMAND, 0, AHEAD, 10.0), (TAKE, 0, 10.1), (10.2, AHEAD)],
    "every page may make the robot stand": [
        (COMMAND, 0, AHEAD, 10.0), (10.0, AHEAD), (COMMAND, 1, STAND, 10.1), (10.2, STAND), (10.3, None),
    ],
    "nobody drives, nothing is published": [(ALIVE, 0, 1.0), (TAKE, 0, 1.0), ("leave", 0), (1.1, None), (2.0, None)],
    "a robot that walks by itself is made to stand": [
        (COMMAND, 0, STAND, 1.0), (1.1, STAND), (1.2, None), ("stand",), (1.3, STAND), (1.4, None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_what_is_published(story):
    seat = DriveSeat()
    for what, *arguments in story:
        if isinstance(what, str):
            getattr(seat, what)(*arguments)
        else:
            assert seat.next_command(what) == arguments[0], what


def test_who_drives_and_why_driving_ended_are_named():
    seat = DriveSeat()
    assert seat.command(0, AHEAD, 10.0) == ""
    assert "page 1 drives" in seat.command(1, BACK, 10.1)
    seat.give_controls(1, 10.2)
    assert "page 2 drives" in seat.command(0, AHEAD, 10.3)
    assert seat.command(1, BACK, 10.3) == ""
    seat.leave(1)
    assert seat.ended == "page 2 was closed: the robot stands" and seat.driver is None
    seat.command(0, AHEAD, 11.0)
    seat.next_command(12.0)
    assert "page 1" in seat.ended and seat.driver is None


@pytest.mark.parametrize("value", [5.0, -0.1501, 1e308, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_twist_beyond_the_limits_is_refused_with_them(value, axis):
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    twist = [0.0, 0.0, 0.0]
    twist[axis] = value
    assert "allowed are -0.15 to 0.15" in seat.command(0, twist, 10.1)
    assert seat.next_command(10.2) == AHEAD


events = st.one_of(
    st.tuples(st.just("command"), st.integers(0, 2), st.tuples(*[st.floats(-2, 2) | st.just(math.nan)] * 3)),
    st.tuples(st.sampled_from(["give_controls", "receive_sign_of_life", "leave"]), st.integers(0, 2), st.none()),
    st.tuples(st.just("stand"), st.none(), st.none()),
    st.tuples(st.just("next_command"), st.none(), st.none()),
)


@given(st.lists(st.tuples(events, st.floats(0.0, 0.7)), max_size=60))
def test_whatever_happens_motion_is_within_limits_and_follows_input_of_the_driver(steps):
    seat, now, last, may_stand = DriveSeat(), 0.0, {}, False
    for (name, client, twist), pause in steps:
        now += pause
        if name == "next_command":
            command = seat.next_command(now)
            if command is not None and command != STAND:
                assert all(abs(value) <= limit for value, limit in zip(command, LIMITS.values(), strict=True))
                assert now - last[seat.driver] <= PATIENCE
            assert command != STAND or may_stand  # once, after motion or a request
            may_stand = may_stand and command != STAND
        elif name == "stand":
            seat.stand()
            may_stand = True
        elif name == "leave":
            seat.leave(client)
        else:
            arguments = (client, twist, now) if name == "command" else (client, now)
            getattr(seat, name)(*arguments)
            last[client] = now
            may_stand = may_stand or name == "command"


def server(host="127.0.0.1", port=8080, names=()):
    return Access(host, port, names, token="secret")


def ask(access, host, origin=None, path="/secret", local=None, websocket=True):
    origins = [] if origin is None else [origin]
    return access.refusal(path, [host], origins, websocket=websocket, local=local)


LOOPBACK, EVERYWHERE, NAMES = server(), server("0.0.0.0"), ["robot.local", "localhost:9000", "fe80::2"]
OTHERS = ("127.0.0.1", "127.0.0.1:80", "localhost:8081", "localhost.evil.example:8080", "192.168.1.5:8080", "", ":8080")


@pytest.mark.parametrize(
    ("access", "addresses", "local", "refusal"),
    [
        (LOOPBACK, ("127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LocalHost:8080"), None, ""),
        (LOOPBACK, OTHERS, "192.168.1.5", "host"),
        (LOOPBACK, OTHERS, None, "host"),
        (EVERYWHERE, ("192.168.1.5:8080",), "192.168.1.5", ""),  # the address that the connection came to
        (EVERYWHERE, ("[fe80::1]:8080",), "fe80::1%eth0", ""),
        (EVERYWHERE, ("localhost:8080",), "127.0.0.1", ""),
        (EVERYWHERE, ("192.168.1.6:8080", "rebound.example:8080"), "192.168.1.5", "host"),
        (server("::"), ("192.168.1.5:8080",), "::ffff:192.168.1.5", ""),
        (server(names=NAMES), ("robot.local:8080", "localhost:9000", "[fe80::2]:8080", "127.0.0.1:8080"), None, ""),
        (server(names=NAMES), ("robot.local:9000",), None, "host"),
        (server("192.168.1.5"), ("192.168.1.5:8080",), None, ""),
        (server("192.168.1.5"), ("localhost:8080",), None, "host"),
        (server(port=80), ("localhost", "[::1]"), None, ""),  # a browser does not write this port
    ],
)
def test_a_server_is_opened_by_its_own_addresses_alone(access, addresses, local, refusal):
    for address in addresses:
        assert ask(access, address, f"http://{address}", local=local) == refusal, address
        assert ask(access, address, local=local, websocket=False) == refusal, address


def test_a_request_has_one_host_and_at_most_one_origin_and_a_websocket_needs_one():
    own = "127.0.0.1:8080"
    assert LOOPBACK.refusal("/secret", [], [], websocket=False) == "host"
    assert LOOPBACK.refusal("/secret", [own, own], [], websocket=False) == "host"
    assert LOOPBACK.refusal("/secret", [own], [f"http://{own}"] * 2, websocket=True) == "origin"
    assert ask(LOOPBACK, own) == "origin"
    assert ask(LOOPBACK, own, websocket=False) == ""  # a page that is opened


@pytest.mark.parametrize("websocket", [True, False])
def test_a_page_of_another_origin_is_refused(websocket):
    of_http = ("127.0.0.1", "127.0.0.1:8080.evil.example", "localhost:8080")
    for origin in ("null", "", "https://127.0.0.1:8080", *(f"http://{each}" for each in of_http)):
        assert ask(LOOPBACK, "127.0.0.1:8080", origin, websocket=websocket) == "origin", origin


OTHER_PATHS = ("/", "", "/secre", "/secrets", "/SECRET", "/?secret", "/x/secret", "/secret/x", "/\udcff")


@pytest.mark.parametrize(
    ("path", "refusal"),
    [*((path, "token") for path in OTHER_PATHS), *((path, "") for path in ("/secret", "/secret/", "/secret/?dark"))],
)
def test_the_token_is_the_path(path, refusal):
    assert ask(LOOPBACK, "localhost:8080", "http://localhost:8080", path) == refusal


def test_each_server_has_a_token_of_its_own_that_nobody_guesses():
    servers = [Access("127.0.0.1", 8080) for _ in range(50)]
    assert {len(access.token) for access in servers} == {32}
    assert len({access.token for access in servers}) == 50
    assert servers[0].url == f"http://127.0.0.1:8080/{servers[0].token}/"


@pytest.mark.parametrize("name", ["http://robot.local", "robot local", "robot.local:port", ":9000", "a,b"])
def test_a_name_that_is_no_address_is_refused_with_an_example(name):
    with pytest.raises(ParameterError, match="robot.local or localhost:9000"):
        server(names=[name])


pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')


def test_an_unknown_viser_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(viser, "__version__", "1.2.0")
    with pytest.raises(MissingPackageError, match=r'viser 1\.2\.0 is installed.*pip install "viser>=1\.1,<1\.1\.2"'):
        WebPage("127.0.0.1", 0)


def test_a_viser_that_starts_its_server_in_another_way_is_refused(monkeypatch):
    """As if viser had another name for the module whose call is replaced."""
    monkeypatch.setattr(web_page, "_replace", lambda module, name, value: web_page.contextlib.nullcontext())
    with pytest.raises(HexapodError, match="does not start its server as expected"):
        WebPage("127.0.0.1", 0)


def test_a_page_without_the_expected_title_is_refused(monkeypatch, tmp_path):
    (tmp_path / "client" / "build").mkdir(parents=True)
    (tmp_path / "client" / "build" / "index.html").write_text("<html><head></head></html>")
    monkeypatch.setattr(viser, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(HexapodError, match="page of viser"):
        WebPage("127.0.0.1", 0)


def test_a_port_in_use_is_refused_and_port_0_finds_a_free_one():
    first = WebPage("127.0.0.1", 0)
    try:
        with pytest.raises(HexapodError, match=f"cannot use 127.0.0.1:{first.port}: .*0 takes any free one"):
            WebPage("127.0.0.1", first.port)
    finally:
        first.stop()


@pytest.mark.parametrize(
    ("host", "port", "remedy"),
    [
        ("a" * 70, 0, "an address of this computer"),
        ("robot..local", 0, "an address of this computer"),
        ("192.0.2.1", 0, "an address of this computer"),
        ("127.0.0.1", 70_000, "another port"),
    ],
)
def test_an_address_that_this_computer_has_not_is_refused_by_name_and_with_its_remedy(host, port, remedy):
    """The names ended the view with a UnicodeError; of port 70000 it listened to 4464."""
    with pytest.raises(HexapodError, match=f"cannot use {host}:{port}: .*{remedy}"):
        WebPage(host, port)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this computer has no IPv6")
def test_a_server_on_every_address_of_ipv6_is_opened_by_the_address_that_it_prints():
    """It listened to IPv6 alone, and printed http://127.0.0.1."""
    page = WebPage("::", 0)
    try:
        assert urlopen(page.url, timeout=20).status == 200
    finally:
        page.stop()


def test_a_server_of_the_same_process_that_is_not_a_view_is_left_alone():
    page = WebPage("127.0.0.1", 0)
    other = viser.ViserServer(host="127.0.0.1", port=page.port + 1, verbose=False)
    try:
        assert other.get_port() != page.port
        assert page.refused == page.dropped == {}
    finally:
        other.stop()
        page.stop()
