"""The browser view as a person uses it: a page in headless chromium, a check box, a key, the stop button."""

import contextlib
import functools
import io
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import sync_playwright
from support.programs import python
from support.ros_session import LATCHED, Process
from support.waiting import wait_until

from geometry_msgs.msg import Quaternion, Twist, Wrench
from hexapod_dynamics.nodes.view import TELL_EVERY, is_due
from hexapod_dynamics.view.panel import PUSH
from std_msgs.msg import String

# [ms] On a busy machine a page that renders in software takes a minute before it answers.
PATIENCE = 120_000
# Asked 50 times a second, a page that renders in software has no time to draw, or to arrange itself anew.
wait_for_page = functools.partial(wait_until, every=0.3)
# Software rendering, and no background services of the browser's own: there is no network.
FLAGS = (
    "--no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --disable-background-networking --disable-sync "
    "--no-first-run --disable-quic --disable-renderer-backgrounding --disable-background-timer-throttling "
    "--disable-backgrounding-occluded-windows"
).split()


@contextlib.contextmanager
def chromium():
    """Start a browser, after which comes whatever else runs."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:  # on a user's machine the rest of the tests is worth running without one; CI installs it
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("the view's test needs a browser: sudo apt install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        nice = Path(folder, "chromium")
        nice.write_text(f'#!/bin/sh\nexec nice -n 5 {program} "$@"\n')
        nice.chmod(0o755)
        browser = started.chromium.launch(executable_path=nice, args=FLAGS)
        yield browser
        browser.close()


def open_page(context, url, **options):
    """Open a page of a browser, or of one of its contexts."""
    page = context.new_page(**options)
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    return page


PORT = 18000 + os.getpid() % 10000
WAIT = 120.0  # [s] for what has to come through a page that renders in software


@pytest.fixture(scope="module")
def view(probe):
    """The node `view` beside a simulated robot; simulator: the robot's process."""
    processes = [
        Process.node(name, *arguments)
        for name, arguments in (
            ("simulator", ("-p", "truth:=slope=5.0,rough=0.01,seed=3")),
            ("damage_manager", ()),
            ("robot_description", ()),
            ("view", ("-p", f"port:={PORT}")),
        )
    ]
    processes[-1].simulator = processes[0]
    yield processes[-1]
    for process in processes:
        process.end()


def address(view):
    """The address that the view has printed."""
    return wait_for_page(lambda: re.search(r"open (http\S+)", view.output), WAIT, lambda: view.output).group(1)


@pytest.fixture(scope="module")
def twists(probe):
    """What the page drives with."""
    return probe.hear(Twist, "cmd_vel")


@pytest.fixture(scope="module")
def page(view):
    with chromium() as browser:
        size = {"width": 960, "height": 500}  # 290 at the right are the panel
        page = open_page(browser, address(view), viewport=size)
        page.get_by_text("connected").first.wait_for()
        yield page


# How many of the places [[x, y], ...] no panel covers; a notice, as that there is no graphics processor, can be closed.
FREE = """at => at.map(([x, y]) => document.elementFromPoint(x, y))
    .filter(element => element?.closest("canvas, #hexapod-stop, [class*=Notification]")).length"""
LEFT, TOP = 155, 180  # [pixels] corner of what `picture` takes of the page
LEGS = ("LF", "LM", "LR", "RR", "RM", "RF")


def press(locator):
    """Click without waiting for a still picture: software rendering draws few pictures a second."""
    locator.wait_for(state="attached")
    locator.evaluate("element => element.click()")


def picture(page):
    """Pixels (height, width, 3), 0 to 1, of the page beside the panel and below notices."""
    return imread(io.BytesIO(page.screenshot()))[TOP:480, LEFT : LEFT + 360, :3]


def changed(one, other):
    """How many pixels differ."""
    return int((np.abs(one - other).max(axis=2) > 0.1).sum())


def still(page):
    """Return the picture if nothing in it moves, but for noise at edges."""
    one, other = picture(page), picture(page)
    return {"picture": other} if changed(one, other) < 100 else None


def has_leg(descriptions, leg):
    return bool(descriptions) and f"foot_{leg}" in descriptions[-1][1].data


def test_a_leg_is_broken_by_its_check_box_and_the_software_told_by_another(probe, view, page):
    true = probe.hear(String, "simulator/robot_description", LATCHED)
    told = probe.hear(String, "robot_description", LATCHED)
    wait_for_page(lambda: has_leg(true, "RM") and has_leg(told, "RM"), WAIT, lambda: view.output)
    before = wait_for_page(lambda: still(page), WAIT, "the picture stands still")["picture"]
    press(page.get_by_label("RM", exact=True).first)
    wait_for_page(lambda: not has_leg(true, "RM"), WAIT, lambda: view.output)
    wait_for_page(lambda: changed(picture(page), before) > 500, WAIT, "the leg is gone in the picture")
    assert has_leg(told, "RM")  # broken is not told
    press(page.get_by_text("declare to the software"))
    press(page.get_by_label("RM", exact=True).nth(1))
    wait_for_page(lambda: not has_leg(told, "RM"), WAIT, lambda: view.output)


def test_keys_drive_while_they_are_held_and_do_not_move_the_camera(view, page, twists):
    # viser listens at the document; what drives must not get there.
    page.evaluate("() => { window.seen = []; document.addEventListener('keydown', e => window.seen.push(e.code)); }")

    def holds(*keys):
        """Hold keys as a keyboard does, which repeats them."""
        for key in keys:
            page.keyboard.down(key)
        return (twists[-1][1].linear.x > 0.05, twists[-1][1].angular.z > 0.05) if twists else None

    wait_for_page(lambda: holds("w", "ArrowLeft") == (True, True), WAIT, lambda: view.output)
    page.keyboard.up("ArrowLeft")
    wait_for_page(lambda: holds("w") == (True, False), WAIT, lambda: view.output)
    page.keyboard.up("w")
    wait_for_page(lambda: twists[-1][1].linear.x == 0.0, WAIT, lambda: view.output)
    page.keyboard.press("g")
    assert page.evaluate("() => window.seen") == ["KeyG"]


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


def test_the_robot_stands_while_the_page_that_drives_sleeps_and_awake_it_drives_on_request_only(
    probe, view, page, twists
):
    dropped = wait_for_page(lambda: probe.statuses.value("view", "dropped messages"), WAIT, lambda: view.output)

    def speeds():
        return [twist.linear.x for _, twist in list(twists)]

    def drive():
        """Hold the key until the page's reports keep it going; a page that still loads may pause, and it stands."""
        before = len(twists)
        wait_for_page(
            lambda: page.keyboard.down("w") or (len(twists) - before > 15 and set(speeds()[-15:]) == {0.077}),
            WAIT,
            lambda: f"{speeds()[before:]}\n{view.output}",
        )
        assert set(speeds()[before:]) <= {0.0, 0.077}
        page.get_by_text("drives", exact=False).first.wait_for()
        return len(twists)

    driven = drive()
    with asleep(page.context.browser):
        wait_for_page(lambda: speeds()[-1] == 0.0, WAIT, lambda: view.output)
        assert probe.statuses.value("view", "pages") == "1"  # its websocket is open
        time.sleep(1.5)  # the page lets go of its keys when it slept for a second (ASLEEP of page.js)
    page.get_by_text("keys are let go: this browser did nothing for").wait_for()
    page.get_by_text("the robot stands").wait_for()
    assert speeds()[driven:].count(0.0) == 1 and speeds()[-1] == 0.0
    drive()
    page.keyboard.up("w")
    wait_for_page(lambda: speeds()[-1] == 0.0, WAIT, lambda: view.output)
    # The filter lets through all that the own page sends.
    assert probe.statuses.value("view", "dropped messages") == dropped


def test_stop_and_the_space_bar_stand(probe, view, page, twists):
    stops, number = probe.accept_stops(), page.locator("input[inputmode=decimal]").first
    for code in ("KeyX", "Space"):
        wait_for_page(
            lambda: page.keyboard.down("w") or (twists and twists[-1][1].linear.x > 0.05), WAIT, lambda: view.output
        )
        number.dispatch_event("keydown", {"code": code})  # where a speed was just typed
        wait_for_page(lambda: twists[-1][1].linear.x == 0.0, WAIT, lambda: view.output)
    wait_for_page(lambda: stops == [True], WAIT, "the emergency stop is asked for, once")
    stops.clear()
    press(page.get_by_role("button", name="STOP"))
    wait_for_page(lambda: stops == [True], WAIT, "the emergency stop is asked for, once")


def stop_place(page, size):
    """Return the place [pixels] of STOP on a page of a size, which is above everything; two thirds are the robot's."""
    width, height = size["width"], size["height"]
    box = page.locator("#hexapod-stop").bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).id", middle) == "hexapod-stop", size
    grid = [[width * (i + 0.5) / 30, height * (j + 0.5) / 30] for i in range(30) for j in range(30)]
    # The page takes a moment to arrange itself; STOP is above the picture.
    wait_for_page(lambda: page.evaluate(FREE, grid) > 0.65 * len(grid), WAIT, f"of {size}")
    return box["x"], box["y"], box["width"], box["height"]


def test_stop_is_in_one_place_above_everything_and_two_thirds_of_the_page_are_the_robots_at_every_size(page):
    places, before = [], page.viewport_size
    for width, height in ((900, 520), (400, 800), (1600, 900)):
        page.set_viewport_size(size := {"width": width, "height": height})
        places.append(stop_place(page, size))
    page.set_viewport_size(before)
    assert len(set(places)) == 1, places


def test_reset_view_places_the_camera_as_at_the_start(view, page):
    def seen(button, found):
        """Press a button until the picture is right: on a busy computer the press before takes effect late."""

        def look():
            press(page.get_by_role("button", name=button, exact=True))
            return found(picture(page))

        wait_for_page(look, WAIT, f"it is seen as after {button}")

    press(page.get_by_role("button", name="reset view"))
    first = wait_for_page(lambda: still(page), WAIT, "nothing moves")["picture"]
    seen("top", lambda shown: changed(first, shown) > 6000)
    seen("reset view", lambda shown: changed(first, shown) < 3000)  # 16,000 from the top


def test_the_time_slider_shows_the_past_and_says_so(page):
    slider = page.get_by_role("slider").nth(3)  # after those that drive
    slider.focus()
    slider.press("Home")
    page.get_by_text("the picture is 60.0 s old").first.wait_for()
    slider.press("End")
    page.get_by_text("the picture is").first.wait_for(state="detached")


def test_the_simulated_robot_is_pushed_and_put_upright(probe, view, page):
    pushes, turns = probe.hear(Wrench, "simulator/push"), probe.hear(Quaternion, "simulator/set_attitude")
    press(page.get_by_text("push the simulated robot"))
    press(page.get_by_role("button", name="push it to the right"))
    wait_for_page(lambda: pushes and pushes[-1][1].force.y == -PUSH, WAIT, lambda: view.output)
    press(page.get_by_role("button", name="put it on its back"))
    wait_for_page(lambda: turns and abs(turns[-1][1].x) > 0.99, WAIT, lambda: view.output)
    press(page.get_by_role("button", name="put it upright"))
    wait_for_page(lambda: turns[-1][1].w == 1.0, WAIT, lambda: view.output)


def test_a_phone_shows_the_same_robot_and_drives_it_while_a_finger_holds_a_button(probe, view, page, twists):
    true = probe.hear(String, "simulator/robot_description", LATCHED)
    phone = page.context.browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    other = open_page(phone, address(view))
    other.get_by_text("connected").first.wait_for()
    boxes = [where.get_by_label("LF", exact=True).first for where in (page, other)]
    press(boxes[1])
    wait_for_page(lambda: not has_leg(true, "LF"), WAIT, lambda: view.output)
    wait_for_page(lambda: not any(box.is_checked() for box in boxes), WAIT, "both pages show it")
    press(boxes[0])
    wait_for_page(lambda: has_leg(true, "LF"), WAIT, lambda: view.output)
    wait_for_page(lambda: all(box.is_checked() for box in boxes), WAIT, "both pages show it")

    take_over = other.get_by_role("button", name="take over")
    for name in ("forward", "turn right"):  # beside the panel, within the picture
        box = other.get_by_label(name, exact=True).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 134 and box["height"] >= 44
    fingers = phone.new_cdp_session(other)

    def touch(*points):
        kind = "touchStart" if points else "touchEnd"
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    def turns():
        """Hold a finger on the button for as long as a page that renders in software takes to answer."""
        box = other.get_by_label("turn right", exact=True).bounding_box()
        touch({"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2})
        for _ in range(10):
            other.wait_for_timeout(500)
            if twists and twists[-1][1].angular.z < -0.1:
                return True
            if take_over.is_visible():  # the page that drove in another test still has the controls
                break
        touch()
        if take_over.is_visible():
            press(take_over)
        return False

    wait_for_page(turns, WAIT, lambda: view.output)
    touch()
    wait_for_page(lambda: twists[-1][1].angular.z == 0.0, WAIT, lambda: view.output)
    phone.close()
    assert page.get_by_text("connected").first.is_visible()


def test_a_click_on_a_leg_breaks_it_and_undo_repairs_it(probe, view, page):
    true = probe.hear(String, "simulator/robot_description", LATCHED)

    def whole():
        return all(has_leg(true, leg) for leg in LEGS)

    press(page.get_by_role("button", name="restore all").first)
    wait_for_page(whole, WAIT, lambda: view.output)

    def foot():
        """The place [pixels] of the page where there is most of the feet's orange around."""
        red, green, blue = np.moveaxis(picture(page), -1, 0)
        orange = (red > 0.6) & (green > 0.3) & (green < 0.7) & (blue < 0.35)
        near = sum(np.roll(orange, (i, j), (0, 1)) for i in (-2, -1, 0, 1, 2) for j in (-2, -1, 0, 1, 2))
        row, column = np.unravel_index(np.argmax(near * orange), near.shape)
        return {"x": int(column) + LEFT, "y": int(row) + TOP} if near[row, column] > 8 else None

    def broken_by_a_click():
        """Click on a foot; a person clicks again where an arrow or the prediction was above it."""
        place = wait_for_page(foot, WAIT, "a foot is in the picture")
        page.mouse.move(place["x"], place["y"])
        page.wait_for_timeout(1000)  # the page looks for what is below the mouse
        page.mouse.click(place["x"], place["y"])
        page.wait_for_timeout(3000)
        return not whole()

    wait_for_page(broken_by_a_click, WAIT, lambda: view.output)
    assert sum(has_leg(true, leg) for leg in LEGS) == len(LEGS) - 1
    press(page.get_by_role("button", name="undo").first)
    wait_for_page(whole, WAIT, lambda: view.output)


def test_a_lost_robot_is_said(view, page):
    view.simulator.end()
    page.get_by_text("robot lost").first.wait_for()


def test_a_page_whose_launch_has_ended_does_not_say_that_it_is_connected(view, page):
    view.end()
    page.get_by_text("not connected to the robot").wait_for()
    page.get_by_text("connected", exact=True).wait_for(state="hidden")
    assert "gradient" in page.locator("#hexapod-stop").evaluate("stop => getComputedStyle(stop).backgroundImage")


def test_without_viser_the_view_names_what_to_install():
    code = (
        "import sys; sys.modules['viser'] = None\n"
        "from hexapod_dynamics.view.web_page import WebPage\n"
        "from hexapod_dynamics.errors import HexapodError\n"
        "try: WebPage('127.0.0.1', 8080)\n"
        "except HexapodError as error: print(error)\n"
    )
    done = python("-c", code)
    assert "pip install" in done.stdout, done.stderr


@pytest.mark.parametrize("rate", [1.0, 25.0, 60.0])
def test_an_emergency_stop_is_shown_as_soon_whatever_the_rate_of_pictures(rate):
    told = [tick / rate for tick in range(600) if is_due(tick, 1.0 / rate, TELL_EVERY)]
    assert np.allclose(np.diff(told), max(TELL_EVERY, 1.0 / rate), atol=0.5 / rate)
