"""A real browser: the page of the view drives while it is open and shown; a page of anybody else gets nothing."""

import contextlib
import http.server
import os
import re
import signal
import threading
import time
from urllib.parse import urlsplit

import pytest

pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')
pytest.importorskip("playwright", reason="the view's test needs PyPI's playwright")

from support.browser import chromium, open_page
from support.ros_session import Process, wait_until

from geometry_msgs.msg import Twist

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


@pytest.fixture(scope="module")
def robot(probe):
    """The node `view`, what it publishes, and the calls of the emergency stop."""
    stops, twists, statuses = probe.accept_stops(), probe.hear(Twist, "cmd_vel"), probe.statuses
    view = Process.node("view", "-p", "port:=0")

    def values():
        return {pair.key: pair.value for pair in statuses("view").values}

    try:
        url = wait_until(lambda: re.search(r"open (http\S+)", view.output), 60, lambda: view.output).group(1)
        yield view, url, twists, stops, values
    finally:
        view.end()


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


def test_the_own_page_opens_a_websocket_and_reads_itself(browser, robot):
    view, url, *_ = robot
    page = open_view(browser, url)
    found = attack(page, url, "127.0.0.1")
    own = {address: result for address, result in found.items() if urlsplit(url).path[:-1] in address}
    assert {result.split()[0] for address, result in own.items() if "http" in address} == {"200"}, own
    assert {result for address, result in own.items() if address.startswith("ws")} == {"opened"}, own
    wait_until(lambda: page.title() == f"namespace /, domain {os.environ['ROS_DOMAIN_ID']}", 20, page.title)
    page.close()


@pytest.mark.parametrize("origin", ["127.0.0.1", "localhost"])
def test_a_page_of_another_port_of_this_computer_gets_nothing(browser, robot, elsewhere, origin):
    view, url, twists, stops, values = robot
    before = len(twists), list(stops)
    page = browser.new_page()
    page.goto(f"http://{origin}:{elsewhere}/")
    for host in ("127.0.0.1", "localhost"):
        found = attack(page, url, host)
        assert set(found.values()) <= {"refused", "nothing"}, found
    page.evaluate(
        """(url) => new Promise((done) => {
             const frame = document.createElement("iframe");
             frame.onload = done;
             frame.src = url;
             document.body.append(frame);
           })""",
        url,
    )
    wait_until(lambda: page.wait_for_timeout(50) or page.frames[1].url, 20, "the frame has an address")
    assert page.frames[1].url.startswith("chrome-error://")  # not shown in a frame, even to whoever has the token
    assert page.frames[1].locator("canvas").count() == 0
    page.close()
    wait_until(lambda: values().get("pages") == "0", 20, lambda: str(values()))
    assert (len(twists), stops) == before


def test_a_name_that_is_rebound_to_this_computer_gets_nothing(browser, robot):
    view, url, twists, stops, values = robot
    before, refused = (len(twists), list(stops)), int(values().get("refused requests", 0))
    port, path = urlsplit(url).port, urlsplit(url).path
    page = browser.new_page()
    answer = page.goto(f"http://{REBOUND}:{port}{path}")
    assert answer.status == 403
    assert page.locator("canvas").count() == 0
    # The attacker's own server answered under this name and port before the name was rebound.
    page.route("**/attack", lambda route: route.fulfill(body="<title>attack</title>", content_type="text/html"))
    page.goto(f"http://{REBOUND}:{port}/attack")
    assert page.title() == "attack"
    found = attack(page, url, REBOUND)
    assert {result.split()[0] for result in found.values()} <= {"refused", "nothing", "403"}, found
    sockets = [result for address, result in found.items() if address.startswith("ws")]
    assert sockets == ["refused"] * 4, found
    page.close()
    wait_until(lambda: int(values()["refused requests"]) > refused, 20, lambda: str(values()))
    assert values()["pages"] == "0"
    assert (len(twists), stops) == before


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


def test_the_robot_is_driven_while_the_page_is_open_and_works(browser, robot):
    view, url, twists, stops, values = robot

    def speeds():
        return [twist.linear.x for _, twist in twists]

    def drive(page):
        """Hold the key until the page's reports keep it going; a page that still loads may pause, and it stands."""
        before = len(twists)
        wait_until(
            lambda: page.keyboard.down("w") or (len(twists) - before > 15 and set(speeds()[-15:]) == {0.077}),
            60,
            lambda: f"{speeds()[before:]}\n{view.output}",
        )
        assert set(speeds()[before:]) <= {0.0, 0.077}
        page.get_by_text("drives", exact=False).first.wait_for()
        return len(twists)

    page = open_view(browser, url)
    driven = drive(page)
    with asleep(browser):
        wait_until(lambda: speeds()[-1] == 0.0, 20, lambda: view.output)
        assert int(values()["pages"]) == 1  # its websocket is open
        time.sleep(1.5)  # the page lets go of its keys when it slept for a second (ASLEEP of page.js)
    page.get_by_text("keys are let go: this browser did nothing for").wait_for()
    page.get_by_text("the robot stands").wait_for()
    assert speeds()[driven:].count(0.0) == 1 and speeds()[-1] == 0.0  # awake again, it drives on request only
    driven = drive(page)
    page.close()
    wait_until(lambda: speeds()[-1] == 0.0, 20, lambda: view.output)
    wait_until(lambda: values()["pages"] == "0", 20, lambda: str(values()))
    assert speeds()[driven:].count(0.0) == 1
    assert values()["dropped messages"] == "0"  # the filter lets through all that the own page sends
    assert stops == []
