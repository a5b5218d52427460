"""What pages can do with the browser view: its own page drives while it is open and shown, a page of anybody else gets
nothing, and raw websockets do more than a browser would.

Who may open it: test/view/test_access.py.
"""

import contextlib
import http.server
import os
import re
import signal
import threading
import time
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')
pytest.importorskip("playwright", reason="the view's test needs PyPI's playwright")

from support.browser import chromium, open_page
from support.ros_session import LATCHED, Process, wait_until
from support.view_client import DRIVE, ViewClient

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Twist
from hexapod_dynamics.robot import Robot
from nav_msgs.msg import Odometry
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

FORWARD, HALT, TAKE_OVER, CONFIRM = "forward [m/s]", "halt (x)", "take over", "yes, it may move"
REBOUND = "rebound.example"  # a name that an attacker's name server resolves to this computer
# What a page of anybody tries with the addresses of the view; the best that came of it.
ATTACK = """async ([sockets, pages]) => {
  const limit = (promise) => Promise.race([promise, new Promise((done) => setTimeout(() => done("nothing"), 5000))]);
  const socket = (url) => limit(new Promise((done) => {
    const link = new WebSocket(url, ["viser-v1.1.1"]);
    link.onopen = () => done("opened");
    link.onmessage = () => done("message");
    link.onerror = () => done("refused");
  }));
  const read = (url, mode) => limit(fetch(url, {mode, credentials: "include"}).then(
    (answer) => answer.type === "opaque" ? "opaque" : answer.text().then((text) => `${answer.status} ${text.length}`),
    () => "refused"));
  const results = {};
  for (const url of sockets) results[url] = await socket(url);
  for (const url of pages) for (const mode of ["cors", "no-cors"]) results[`${mode} ${url}`] = await read(url, mode);
  return results;
}"""


class View:
    """The node `view` with its address, what it publishes, the stops it asks for, and the pages that a test opens."""

    def __init__(self, probe, *arguments, namespace=""):
        self.process = Process.node("view", "-p", "port:=0", *arguments)
        try:
            self.url = wait_until(lambda: re.search(r"open (http\S+)", self.output()), 60, self.output).group(1)
        except AssertionError:
            self.process.end()
            raise
        self.address, self._statuses, self._name = urlsplit(self.url), probe.statuses, f"{namespace}view"
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
        return self._statuses(self._name)

    def value(self, key):
        """A number among the values of the status, 0 before the first."""
        return int(self._statuses.value(self._name, key) or 0)

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


# Raw websockets ------------------------------------------------------------------------------------------------------


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
    page.set(FORWARD, 0.05)
    wait_until(lambda: page.shows("not driven: the emergency stop is on"), 20, view.output)
    wait_until(lambda: report(False) and not page.shows("EMERGENCY STOP"), 20, view.output)
    wait_until(lambda: page.value(FORWARD) == 0.0, 20, "the slider does not drive when the stop ends")
    assert 0.05 not in view.speeds() and view.speeds()[-1] == 0.0


def test_the_page_names_robot_namespace_and_domain(probe, view):
    robot, domain = Robot.jethexa(), os.environ["ROS_DOMAIN_ID"]
    left = View(probe, "-r", "__ns:=/left", namespace="left/")
    try:
        assert view.address.port != left.address.port
        for each, namespace in ((view, ""), (left, "/left")):
            publisher = probe.node.create_publisher(String, f"{namespace}/robot_description", LATCHED)
            publisher.publish(String(data=robot.to_urdf()))
            name = f"{robot.name}, namespace {namespace or '/'}, domain {domain}"
            page = each.page()
            wait_until(lambda page=page, name=name: page.shows(name), 30, each.output)
            assert f"<title>{name}</title>" in urlopen(each.url, timeout=20).read().decode()
            probe.node.destroy_publisher(publisher)
    finally:
        left.close()


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


# A real browser -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    with chromium(f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1") as browser:
        yield browser


@pytest.fixture(scope="module")
def elsewhere():
    """A web server of somebody else, on another port of this computer; its page is empty."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>elsewhere</title><body></body>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def open_view(browser, url):
    page = open_page(browser, url, viewport={"width": 900, "height": 400})
    page.get_by_text("this is page").wait_for()
    return page


def attack(page, url, host):
    """Try all addresses of the view by this host name, with and without the token; return what came of each."""
    port, path = urlsplit(url).port, urlsplit(url).path
    paths = ["", "/index.html", path, path.rstrip("/")]
    return page.evaluate(
        ATTACK, [[f"ws://{host}:{port}{each}" for each in paths], [f"http://{host}:{port}{each}" for each in paths]]
    )


def test_the_own_page_opens_a_websocket_and_reads_itself(browser, view):
    page = open_view(browser, view.url)
    found = attack(page, view.url, "127.0.0.1")
    own = {address: result for address, result in found.items() if view.address.path[:-1] in address}
    assert {result.split()[0] for address, result in own.items() if "http" in address} == {"200"}, own
    assert {result for address, result in own.items() if address.startswith("ws")} == {"opened"}, own
    wait_until(lambda: page.title().endswith(f"namespace /, domain {os.environ['ROS_DOMAIN_ID']}"), 20, page.title)
    page.close()


@pytest.mark.parametrize("origin", ["127.0.0.1", "localhost"])
def test_a_page_of_another_port_of_this_computer_gets_nothing(browser, view, elsewhere, origin):
    page = browser.new_page()
    page.goto(f"http://{origin}:{elsewhere}/")
    for host in ("127.0.0.1", "localhost"):
        found = attack(page, view.url, host)
        assert set(found.values()) <= {"refused", "nothing"}, found
    page.evaluate(
        """(url) => new Promise((done) => {
             const frame = document.createElement("iframe");
             frame.onload = done;
             frame.src = url;
             document.body.append(frame);
           })""",
        view.url,
    )
    wait_until(lambda: page.wait_for_timeout(50) or page.frames[1].url, 20, "the frame has an address")
    assert page.frames[1].url.startswith("chrome-error://")  # not shown in a frame, even to whoever has the token
    assert page.frames[1].locator("canvas").count() == 0
    page.close()
    wait_until(lambda: view.value("pages") == 0, 20, lambda: str(view.status()))
    assert not view.twists and not view.stops


def test_a_name_that_is_rebound_to_this_computer_gets_nothing(browser, view):
    refused, port, path = view.counter("refused requests"), view.address.port, view.address.path
    page = browser.new_page()
    answer = page.goto(f"http://{REBOUND}:{port}{path}")
    assert answer.status == 403
    assert page.locator("canvas").count() == 0
    # The attacker's own server answered under this name and port before the name was rebound.
    page.route("**/attack", lambda route: route.fulfill(body="<title>attack</title>", content_type="text/html"))
    page.goto(f"http://{REBOUND}:{port}/attack")
    assert page.title() == "attack"
    found = attack(page, view.url, REBOUND)
    assert {result.split()[0] for result in found.values()} <= {"refused", "nothing", "403"}, found
    sockets = [result for address, result in found.items() if address.startswith("ws")]
    assert sockets == ["refused"] * 4, found
    page.close()
    wait_until(refused, 20, lambda: str(view.status()))
    assert view.value("pages") == 0
    assert not view.twists and not view.stops


@contextlib.contextmanager
def asleep(browser):
    """Stop the processes that run the browser's pages; its connections stay, as those of a computer that sleeps."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    pages = [process["id"] for process in processes if process["type"] == "renderer"]
    assert pages
    for pid in pages:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pages:
            os.kill(pid, signal.SIGCONT)


def test_the_robot_is_driven_while_the_page_is_open_and_works(browser, view):
    dropped, twists, speeds = view.counter("dropped messages"), view.twists, view.speeds

    def drive(page):
        """Hold the key until the page's reports keep it going; a page that still loads may pause, and it stands."""
        before = len(twists)
        wait_until(
            lambda: page.keyboard.down("w") or (len(twists) - before > 15 and set(speeds()[-15:]) == {0.077}),
            60,
            lambda: f"{speeds()[before:]}\n{view.output()}",
        )
        assert set(speeds()[before:]) <= {0.0, 0.077}
        page.get_by_text("drives", exact=False).first.wait_for()
        return len(twists)

    page = open_view(browser, view.url)
    driven = drive(page)
    with asleep(browser):
        wait_until(lambda: speeds()[-1] == 0.0, 20, view.output)
        assert view.value("pages") == 1  # its websocket is open
        time.sleep(1.5)  # the page lets go of its keys when it slept for a second (ASLEEP of page.js)
    page.get_by_text("keys are let go: this browser did nothing for").wait_for()
    page.get_by_text("the robot stands").wait_for()
    assert speeds()[driven:].count(0.0) == 1 and speeds()[-1] == 0.0  # awake again, it drives on request only
    driven = drive(page)
    page.close()
    wait_until(lambda: speeds()[-1] == 0.0, 20, view.output)
    wait_until(lambda: view.value("pages") == 0, 20, lambda: str(view.status()))
    assert speeds()[driven:].count(0.0) == 1
    assert dropped() == 0  # the filter lets through all that the own page sends
    assert not view.stops
