"""The browser view as a person uses it: a page in headless chromium, a check box, a key, the stop button."""

import os
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import sync_playwright
from ros_session import LATCHED, Probe, Process, separate, wait_until

from geometry_msgs.msg import Twist
from std_msgs.msg import String

PORT = 18000 + os.getpid() % 10000
# Software rendering, and no background services of the browser's own: there is no network.
FLAGS = (
    "--no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --disable-background-networking --disable-sync "
    "--no-first-run --disable-quic"
).split()


@pytest.fixture(scope="module")
def session():
    separate()
    probe = Probe()
    processes = [
        Process.node(name, *arguments)
        for name, arguments in (
            ("simulator", ()),
            ("damage_manager", ()),
            ("robot_description", ()),
            ("view", ("-p", f"port:={PORT}")),
        )
    ]
    yield probe, processes[-1]
    for process in processes:
        process.end()
    probe.close()


@pytest.fixture(scope="module")
def page(session):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "the view's test needs a browser: sudo apt install chromium"
    probe, view = session
    wait_until(lambda: "open http" in view.output, 60, lambda: view.output)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 700, "height": 500})
        page.goto(f"http://127.0.0.1:{PORT}")
        page.get_by_text("connected").first.wait_for(timeout=90_000)
        yield page
        browser.close()


def press(locator):
    """Click without waiting for a still picture: software rendering draws few pictures a second."""
    locator.wait_for(state="attached", timeout=60_000)
    locator.evaluate("element => element.click()")


def has_leg(descriptions, leg):
    return bool(descriptions) and f"foot_{leg}" in descriptions[-1][1].data


def test_a_leg_is_broken_by_its_check_box_and_the_software_told_by_another(session, page):
    probe, view = session
    true = probe.hear(String, "simulator/robot_description", LATCHED)
    told = probe.hear(String, "robot_description", LATCHED)
    wait_until(lambda: has_leg(true, "RM") and has_leg(told, "RM"), 30, lambda: view.output)
    press(page.get_by_label("RM", exact=True).first)
    wait_until(lambda: not has_leg(true, "RM"), 30, lambda: view.output)
    assert has_leg(told, "RM")  # broken is not told
    press(page.get_by_text("declare to the software"))
    press(page.get_by_label("RM", exact=True).nth(1))
    wait_until(lambda: not has_leg(told, "RM"), 30, lambda: view.output)


def test_a_key_drives_and_stop_stands(session, page):
    probe, view = session
    twists = probe.hear(Twist, "cmd_vel")
    page.keyboard.press("w")
    wait_until(lambda: twists and twists[-1][1].linear.x > 0.05, 20, lambda: view.output)
    press(page.get_by_role("button", name="STOP"))
    wait_until(lambda: twists[-1][1].linear.x == 0.0, 20, lambda: view.output)


def test_a_port_that_is_taken_is_refused_with_its_number(session):
    probe, view = session
    second = Process.node("view", "-p", f"port:={PORT}")
    try:
        wait_until(lambda: not second.running(), 60, lambda: second.output)
        assert f"{PORT}" in second.output
        assert "choose another port" in second.output
    finally:
        second.end()


def test_without_viser_the_view_names_what_to_install():
    code = (
        "import sys; sys.modules['viser'] = None\n"
        "from hexapod_dynamics.view.scene import serve\n"
        "from hexapod_dynamics.errors import HexapodError\n"
        "try: serve(8080)\n"
        "except HexapodError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install" in done.stdout, done.stderr
