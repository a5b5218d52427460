"""What pages can do with the browser view, by raw websockets, which do more than a browser would: its own page drives
while it is open, a page of anybody else gets nothing.

Who may open it: test/view/test_access.py. A real browser: test_view.py.
"""

import http.client
import os
import re
import socket
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')

from support.ros_session import LATCHED, Process, wait_until
from support.view_client import DRIVE, ViewClient
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Twist
from hexapod_dynamics.robot import Robot
from nav_msgs.msg import Odometry
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

FORWARD, HALT, TAKE_OVER, CONFIRM = "forward [m/s]", "halt (x)", "take over", "yes, it may move"


class View:
    """The node `view` with its address, what it publishes, the stops it asks for, and the pages that a test opens."""

    def __init__(self, probe):
        self.process = Process.node("view", "-p", "port:=0")
        try:
            self.url = wait_until(lambda: re.search(r"open (http\S+)", self.output()), 60, self.output).group(1)
        except AssertionError:
            self.process.end()
            raise
        self.address, self._statuses = urlsplit(self.url), probe.statuses
        self.twists, self.stops, self.pages = [], [], []

    def output(self):
        return self.process.output

    def page(self, **options):
        """Open a page that has all its controls; `number`: its own, as all pages name it."""
        page = ViewClient(self.url, **options)
        self.pages.append(page)
        page.wait(HALT)
        wait_until(lambda: page.shows("this is page"), 20, self.output)
        found = [re.search(r"this is page (\d+)", str(text)) for text in page.texts().values()]
        page.number = next(each[1] for each in found if each)
        return page

    def speeds(self):
        """Forward speeds [m/s] published so far."""
        return [twist.linear.x for _, twist in list(self.twists)]

    def status(self):
        """The node's last status."""
        return self._statuses("view")

    def value(self, key):
        """A number among the values of the status, 0 before the first."""
        return int(self._statuses.value("view", key) or 0)

    def counter(self, key):
        """Return a function that gives by how much a number among the values of the status has grown since now."""
        self._statuses.heard.clear()
        wait_until(lambda: self.status().values, 10, self.output)
        before = self.value(key)
        return lambda: self.value(key) - before

    def forget(self):
        """Close the pages of a test, and forget what was heard."""
        for page in self.pages:
            page.close()
        for heard in (self.pages, self.twists, self.stops):
            heard.clear()

    def close(self):
        self.forget()
        self.process.end()


@pytest.fixture(scope="module")
def node(probe):
    """The node `view`, which has found who is asked to stop."""
    node = View(probe)
    node.twists, node.stops = probe.hear(Twist, "cmd_vel"), probe.accept_stops()
    page = node.page()
    wait_until(lambda: node.stops or page.stop(), 20, node.output)
    yield node
    node.close()


@pytest.fixture
def view(node):
    node.forget()
    yield node
    assert node.process.running(), node.output()
    node.forget()


def test_a_page_cannot_change_or_remove_widgets_or_open_a_tunnel(probe, view):
    dropped, attacker, other = view.counter("dropped messages"), view.page(), view.page()
    stop = attacker.control("allow motion")
    attacks = [
        {"type": "ShareUrlRequest"},
        {"type": "GuiRemoveMessage", "uuid": stop},
        {"type": "RunJavascriptMessage", "source": "alert(1)"},
        {"type": "GuiUpdateMessage", "uuid": stop, "updates": {"value": True, "removed": True}},
        {"type": "GuiUpdateMessage", "uuid": "unknown", "updates": {"value": True}},
        {"type": DRIVE, "axes": [2.0, 0.0, 0.0]},
        {"type": "SceneNodeClickMessage", "name": "/world"},
        [],
        "text",
        b"\xc1",
        b"\x91" * 5000,
    ]
    for attack in attacks:
        attacker.send(attack)
    wait_until(lambda: dropped() == len(attacks), 20, lambda: str(view.status()))
    other.stop()
    wait_until(lambda: view.stops == [True], 20, "STOP of the other page works")
    attacker.stop()
    wait_until(lambda: view.stops == [True, True], 20, "the connection that sent them goes on")
    assert view.address.path.strip("/") not in str(probe.statuses.heard)  # who reads diagnostics learns no address
    assert "Share" not in view.output() and "Traceback" not in view.output()


def test_a_slow_page_is_drawn_without_shadows_and_no_other(view):
    dropped, slow, other = view.counter("dropped messages"), view.page(), view.page()

    def shadows(page):
        return [m["cast_shadow"] for m in list(page.messages) if m["type"] == "EnableLightsMessage"]

    slow.send({"type": "HexapodSlow"})
    wait_until(lambda: shadows(slow) == [False], 20, view.output)
    assert not shadows(other)
    slow.send({"type": "HexapodSlow", "more": 1})
    wait_until(lambda: dropped() == 1, 20, view.output)


def test_one_page_drives_and_the_others_ask(view):
    one, two = view.page(beats=True), view.page(beats=True)
    one.set(FORWARD, 0.1)
    wait_until(lambda: view.speeds()[-1:] == [0.1], 20, view.output)
    wait_until(lambda: two.shows(f"page {one.number} drives"), 20, view.output)
    two.set(FORWARD, -0.05)
    wait_until(lambda: two.shows(f"page {two.number}: not driven: page {one.number} drives"), 20, view.output)
    wait_until(lambda: two.value(FORWARD) == 0.1, 20, "its slider shows what holds")
    wait_until(lambda: two.value(TAKE_OVER, "visible"), 20, view.output)
    two.set(TAKE_OVER)
    wait_until(lambda: two.shows(f"page {two.number} drives"), 20, view.output)
    wait_until(lambda: view.speeds()[-1] == 0.0, 20, "the robot stands when the controls change hands")
    two.set(FORWARD, -0.05)
    wait_until(lambda: view.speeds()[-1] == -0.05, 20, view.output)
    one.set(FORWARD, 0.12)
    wait_until(lambda: one.shows(f"page {one.number}: not driven: page {two.number} drives"), 20, view.output)
    one.set(HALT)
    wait_until(lambda: view.speeds()[-1] == 0.0, 20, "every page may make it stand")
    two.hold(forward=1)
    wait_until(lambda: view.speeds()[-1] == 0.077, 20, "the key of the page that has the controls drives")
    one.hold(forward=-1)
    one.hold()
    wait_until(lambda: view.speeds()[-1] == 0.0, 20, view.output)
    two.hold(forward=1)
    wait_until(lambda: view.speeds()[-1] == 0.077, 20, view.output)
    two.close()
    wait_until(lambda: view.speeds()[-1] == 0.0, 20, "it stands when the page that drives is closed")
    assert set(view.speeds()) == {0.1, 0.0, -0.05, 0.077}


def test_an_emergency_stop_is_ended_by_a_confirmation_on_the_page_that_asks(view):
    dropped, page, other, stops = view.counter("dropped messages"), view.page(), view.page(), view.stops
    page.stop()
    wait_until(lambda: stops == [True], 20, view.output)
    page.set("allow motion")
    question = page.wait(CONFIRM)
    assert other.control(CONFIRM) is None
    other.send({"type": "GuiUpdateMessage", "uuid": question, "updates": {"value": True}})
    wait_until(lambda: dropped() == 1, 20, view.output)
    assert stops == [True]
    page.set("no, it stays stopped")
    wait_until(lambda: page.control(CONFIRM) is None, 20, "the question is closed")
    page.set("allow motion")
    page.wait(CONFIRM)
    page.set(CONFIRM)
    page.set(CONFIRM)
    wait_until(lambda: stops == [True, False], 20, view.output)
    page.stop()
    wait_until(lambda: stops == [True, False, True], 20, "confirmed once means ended once")


def test_an_emergency_stop_ends_driving_and_refuses_it(probe, view):
    publisher = probe.node.create_publisher(DiagnosticArray, "/diagnostics", 10)
    page = view.page(beats=True)

    def report(on):
        values = [KeyValue(key="emergency stop", value=str(on))]
        publisher.publish(DiagnosticArray(status=[DiagnosticStatus(name="servos", values=values)]))
        return view.speeds()

    page.set(FORWARD, 0.1)
    wait_until(lambda: view.speeds()[-1:] == [0.1], 20, view.output)
    wait_until(lambda: report(True)[-1] == 0.0, 20, "driving ends")
    wait_until(lambda: page.shows("EMERGENCY STOP"), 20, view.output)
    page.set(FORWARD, 0.05)
    wait_until(lambda: page.shows("not driven: the emergency stop is on"), 20, view.output)
    wait_until(lambda: report(False) and not page.shows("EMERGENCY STOP"), 20, view.output)
    wait_until(lambda: page.value(FORWARD) == 0.0, 20, "the slider does not drive when the stop ends")
    assert 0.05 not in view.speeds() and view.speeds()[-1] == 0.0


def test_the_page_names_robot_namespace_and_domain(probe, view):
    robot = Robot.jethexa()
    publisher = probe.node.create_publisher(String, "robot_description", LATCHED)
    publisher.publish(String(data=robot.to_urdf()))
    name, page = f"{robot.name}, namespace /, domain {os.environ['ROS_DOMAIN_ID']}", view.page()
    wait_until(lambda: page.shows(name), 30, view.output)
    answer = urlopen(view.url, timeout=20)
    assert f"<title>{name}</title>" in answer.read().decode()
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"  # not even with the token
    probe.node.destroy_publisher(publisher)


def test_a_message_that_cannot_be_drawn_is_reported_and_the_drawing_goes_on(probe, view):
    page = view.page()
    page.wait("show forces")
    for shown in (True, False, True):  # the forces, which are subscribed to as long as their box is ticked
        page.set("show forces", shown)
        wait_until(lambda shown=shown: probe.node.count_subscribers("support") == shown, 20, view.output)
    publisher = probe.node.create_publisher(MarkerArray, "support", 10)
    body = probe.node.create_publisher(Odometry, "predicted_state", 10)
    arrow = Marker(type=Marker.ARROW, ns="foot_forces", points=[Point()])  # an arrow has two

    def send():
        body.publish(Odometry())
        publisher.publish(MarkerArray(markers=[arrow]))
        return page.shows("the view cannot draw all")

    wait_until(send, 20, view.output)
    wait_until(lambda: view.status().level == DiagnosticStatus.ERROR, 20, lambda: str(view.status()))
    assert "IndexError" in view.status().message
    wait_until(lambda: not page.shows("the view cannot draw all"), 20, "the page goes on when such messages end")
    wait_until(lambda: view.status().level == DiagnosticStatus.OK, 20, lambda: str(view.status()))


@pytest.mark.parametrize(
    "host, origin",
    [
        ("127.0.0.1", "http://127.0.0.1:8"),  # a page of another port of this computer
        ("localhost", "http://localhost:8"),
        ("127.0.0.1", "null"),
        ("rebound.example", "http://rebound.example"),  # a name that an attacker's server resolves to this computer
    ],
)
def test_a_page_of_anybody_else_gets_nothing(view, host, origin):
    """A browser says to which address it connects (Host) and which page asks (Origin); no page can change either."""
    refused, port = view.counter("refused requests"), view.address.port
    for path in ("/", "/index.html", view.address.path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", path, headers={"Host": f"{host}:{port}", "Origin": origin})
        answer = connection.getresponse()
        assert answer.status == 403 and "Access-Control-Allow-Origin" not in answer.headers
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://{host}:{port}{path}", origin=origin, sock=socket.create_connection(("127.0.0.1", port)))
    wait_until(lambda: refused() == 6, 20, lambda: str(view.status()))
    assert view.value("pages") == 0
    assert not view.twists and not view.stops
