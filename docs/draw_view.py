"""Takes docs/view.png, a picture of the live browser view after a leg of the simulated robot was broken on the page.

Measures the CPU time of the node `view` meanwhile.

./with_ros2 ros2 launch hexapod_dynamics walk.launch.py view:=true truth:=rough=0.012,seed=7
./with_ros2 python docs/draw_view.py             # in another terminal; needs chromium and PyPI's playwright
"""

import argparse
import shutil
import time

import psutil
from playwright.sync_api import Error, sync_playwright

# Rendering in software, where there is no graphics card.
FLAGS = "--no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --disable-background-networking".split()

VIEW = "/lib/hexapod_dynamics/view"  # in the command line of the node's process

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--url", default="http://127.0.0.1:8080")
parser.add_argument("--output", default="docs/view.png")
parser.add_argument("--break", dest="parts", nargs="*", default=["RM"], help="legs to break, by their check boxes")
parser.add_argument("--wait", type=float, default=12.0, help="time [s] from the break to the picture")
options = parser.parse_args()

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
    page = browser.new_page(viewport={"width": 960, "height": 620})
    frames: list[float] = []  # arrivals of messages from the node, at most one a picture [s]
    page.on("websocket", lambda link: link.on("framereceived", lambda _: frames.append(time.monotonic())))
    for trial in range(60):  # the robot may still be starting
        try:
            page.goto(options.url)
            break
        except Error:
            if trial == 59:
                raise
            time.sleep(1.0)
    page.get_by_text("connected").first.wait_for(timeout=60_000)
    for part in options.parts:
        page.get_by_label(part, exact=True).first.evaluate("element => element.click()", timeout=120_000)
    for notice in page.get_by_role("alert").all():  # of the rendering in software
        notice.get_by_role("button").evaluate("element => element.click()")
    nodes = [
        p for p in psutil.process_iter(["cmdline"]) if any(word.endswith(VIEW) for word in p.info["cmdline"] or ())
    ]
    before, began = [sum(p.cpu_times()[:2]) for p in nodes], time.monotonic()
    page.wait_for_timeout(1e3 * options.wait)
    lasted = time.monotonic() - began
    print(f"{sum(t >= began for t in frames) / lasted:.1f} messages a second to the page")
    for process, start in zip(nodes, before, strict=True):
        share = (sum(process.cpu_times()[:2]) - start) / lasted
        print(f"view, process {process.pid}: {100 * share:.1f} % of a core")
    page.screenshot(path=options.output, timeout=120_000)
    browser.close()
print(f"written: {options.output}")
