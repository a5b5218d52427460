"""What a page of the browser view can do, by raw websockets that do more than a browser would.

Who may open it: test/view/test_access.py, and by a browser test_view_foreign_pages.py, also of a page that sleeps.
"""

import os
import re
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')

from support.ros_session import LATCHED, Process, wait_until
from support.view_client import DRIVE, ViewClient

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Twist
from hexapod_dynamics.robot import Robot
from nav_msgs.msg import Odometry
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

FORWARD, HALT, TAKE_OVER, CONFIRM = "forward [m/s]", "halt (x)", "take over", "yes, it may move"


def heard(probe, kind, topic):
    """Messages of a topic, subscribed to once."""
    return probe.messages[topic] if topic in probe.messages else probe.hear(kind, topic)


class View:
    """The node `view` with its address, what it publishes, and the pages that a test opens."""

    def __init__(self, probe, *arguments, name="view"):
        self.process = Process.node("view", *(arguments or ("-p", "port:=0")))
        try:
            self.url = wait_until(lambda: re.search(r"open (http\S+)", self.output()), 60, self.output).group(1)
        except AssertionError:
            self.process.end()
            raise
        self.address = urlsplit(self.url)
        self.twists, self.statuses = heard(probe, Twist, "cmd_vel"), probe.statuses
        del self.twists[:], self.statuses.heard[:]
        self.pages, self.name = [], name

    def output(self):
        return self.process.output

    def page(self, **options):
        """Open a page that has all its controls."""
        page = ViewClient(self.url, **options)
        self.pages.append(page)
        page.wait(HALT)
        wait_until(lambda: page.shows("this is page"), 20, self.output)
        return page

    def speeds(self):
        """Forward speeds [m/s] published so far."""
        return [twist.linear.x for _, twist in self.twists]

    def status(self):
        """The node's last status."""
        return self.statuses(self.name)

    def count(self, key):
        """A number among the values of the status, 0 before the first."""
        return int(self.statuses.value(self.name, key) or 0)

    def close(self):
        for page in self.pages:
            page.close()
        self.process.end()


@pytest.fixture
def view(probe):
    view = View(probe)
    yield view
    view.close()


@pytest.fixture(scope="module")
def stops(probe):
    """What the service `emergency_stop` was asked for."""
    return probe.accept_stops()


def test_a_page_cannot_change_or_remove_widgets_or_open_a_tunnel(view, stops):
    attacker, other = view.page(), view.page()
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
    wait_until(lambda: view.count("dropped messages") == len(attacks), 20, lambda: str(view.status()))
    del stops[:]
    other.stop()
    wait_until(lambda: stops == [True], 20, "STOP of the other page works")
    attacker.stop()
    wait_until(lambda: stops == [True, True], 20, "the connection that sent them goes on")
    assert view.address.path.strip("/") not in str(view.statuses.heard)  # who reads diagnostics learns no address
    assert "Share" not in view.output()
    assert "Traceback" not in view.output()


def test_a_slow_page_is_drawn_without_shadows_and_no_other(view):
    slow, other = view.page(), view.page()

    def shadows(page):
        return [m["cast_shadow"] for m in list(page.messages) if m["type"] == "EnableLightsMessage"]

    slow.send({"type": "HexapodSlow"})
    wait_until(lambda: shadows(slow) == [False], 20, view.output)
    assert not shadows(other)
    slow.send({"type": "HexapodSlow", "more": 1})
    wait_until(lambda: view.count("dropped messages") == 1, 20, view.output)


def test_one_page_drives_and_the_others_ask(view):
    one, two = view.page(beats=True), view.page(beats=True)
    one.set(FORWARD, 0.1)
    wait_until(lambda: view.speeds()[-1:] == [0.1], 20, view.output)
    wait_until(lambda: two.shows("page 1 drives"), 20, view.output)
    two.set(FORWARD, -0.05)
    wait_until(lambda: two.shows("page 2: not driven: page 1 drives"), 20, view.output)
    wait_until(lambda: two.value(FORWARD) == 0.1, 20, "its slider shows what holds")
    wait_until(lambda: two.value(TAKE_OVER, "visible"), 20, view.output)
    two.set(TAKE_OVER)
    wait_until(lambda: two.shows("page 2 drives"), 20, view.output)
    wait_until(lambda: view.speeds()[-1] == 0.0, 20, "the robot stands when the controls change hands")
    two.set(FORWARD, -0.05)
    wait_until(lambda: view.speeds()[-1] == -0.05, 20, view.output)
    one.set(FORWARD, 0.12)
    wait_until(lambda: one.shows("page 1: not driven: page 2 drives"), 20, view.output)
    one.set(HALT)
    wait_until(lambda: view.speeds()[-1] == 0.0, 20, "every page may make it stand")
    two.hold(forward=1)
    wait_until(lambda: view.speeds()[-1] == 0.077, 20, "the key of the page that has the controls drives")
    one.hold(forward=-1)
    one.hold()
    wait_until(lambda: view.speeds()[-1] == 0.0, 20, view.output)
    assert set(view.speeds()) == {0.1, 0.0, -0.05, 0.077}


def test_an_emergency_stop_is_ended_by_a_confirmation_on_the_page_that_asks(view, stops):
    page, other = view.page(), view.page()
    del stops[:]
    page.stop()
    wait_until(lambda: stops == [True], 20, view.output)
    page.set("allow motion")
    question = page.wait(CONFIRM)
    assert other.control(CONFIRM) is None
    other.send({"type": "GuiUpdateMessage", "uuid": question, "updates": {"value": True}})
    wait_until(lambda: view.count("dropped messages") == 1, 20, view.output)
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
    page.set(FORWARD, 0.05)
    wait_until(lambda: page.shows("not driven: the emergency stop is on"), 20, view.output)
    wait_until(lambda: report(False) and not page.shows("EMERGENCY STOP"), 20, view.output)
    wait_until(lambda: page.value(FORWARD) == 0.0, 20, "the slider does not drive when the stop ends")
    assert 0.05 not in view.speeds() and view.speeds()[-1] == 0.0


def test_the_page_names_robot_namespace_and_domain(probe):
    robot, domain = Robot.jethexa(), os.environ["ROS_DOMAIN_ID"]
    views = [
        View(probe, "-p", "port:=0", "-r", f"__ns:={namespace}", name=f"{namespace.strip('/')}/view")
        for namespace in ("/left", "/right")
    ]
    try:
        assert views[0].address.port != views[1].address.port
        for view, namespace in zip(views, ("/left", "/right"), strict=True):
            publisher = probe.node.create_publisher(String, f"{namespace}/robot_description", LATCHED)
            publisher.publish(String(data=robot.to_urdf()))
            name = f"{robot.name}, namespace {namespace}, domain {domain}"
            page = view.page()
            wait_until(lambda page=page, name=name: page.shows(name), 30, view.output)
            assert f"<title>{name}</title>" in urlopen(view.url, timeout=20).read().decode()
    finally:
        for view in views:
            view.close()


def test_a_message_that_cannot_be_drawn_is_reported_and_the_drawing_goes_on(probe, view):
    page = view.page()
    wait_until(lambda: probe.node.count_subscribers("support") == 1, 20, view.output)
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
    assert view.process.running()
