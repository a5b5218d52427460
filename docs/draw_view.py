"""Takes docs/view.png, a picture of the live browser view after a leg of the simulated robot was broken on the page.

Measures the CPU time of the node `view` meanwhile, and the pictures a second that it sends to each page.

./with_ros2 ros2 launch hexapod_dynamics walk.launch.py view:=true truth:=rough=0.012,seed=7
export URL=...   # in another terminal: the address that the launch prints
./with_ros2 python docs/draw_view.py --url $URL             # needs chromium and PyPI's playwright
./with_ros2 python docs/draw_view.py --url $URL --size 620 150 --viewers 2 --output /tmp/small.png
./with_ros2 python docs/draw_view.py --url $URL --plain 4   # four viewers that draw nothing; no picture
"""

import argparse
import shutil
import threading
import time
from urllib.parse import urlsplit

import msgspec
import psutil
import viser
from playwright.sync_api import Error, sync_playwright
from websockets.sync.client import connect

# Rendering in software, where there is no graphics card.
FLAGS = "--no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --disable-background-networking".split()

VIEW = "/lib/hexapod_dynamics/view"  # in the command line of the node's process


class Viewer:
    """A page that shows the robot, with the arrival times [s] of the messages from the node: one a picture."""

    def __init__(self, browser, url, size):
        self.frames = []
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        self.page.on("websocket", lambda link: link.on("framereceived", lambda _: self.frames.append(time.monotonic())))
        for trial in range(60):  # the robot may still be starting
            try:
                self.page.goto(url)
                break
            except Error:
                if trial == 59:
                    raise
                time.sleep(1.0)
        self.page.get_by_text("connected", exact=True).first.wait_for(timeout=60_000)

    def close_notices(self):
        """Close what the page says about rendering in software."""
        for notice in self.page.get_by_role("alert").all():
            notice.get_by_role("button").evaluate("element => element.click()")


class PlainViewer:
    """A connection to the node, with the arrival times [s] of its messages; nothing is drawn."""

    # The node sends pictures to whoever has said where its camera is.
    CAMERA = {"type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "fov": 1.0}
    CAMERA |= {"near": 0.1, "far": 100.0, "image_height": 760, "image_width": 1280}
    CAMERA |= {"look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0)}

    def __init__(self, url):
        self.frames = []
        protocol = [f"viser-v{viser.__version__}"]
        parts = urlsplit(url)
        self._link = connect(
            f"ws://{parts.netloc}{parts.path.rstrip('/')}",
            origin=f"http://{parts.netloc}",
            subprotocols=protocol,
            max_size=None,
            compression=None,
        )
        self._link.send(msgspec.msgpack.encode(self.CAMERA))
        threading.Thread(target=self._receive, daemon=True).start()
        threading.Thread(target=self._report, daemon=True).start()

    def _report(self):
        """Report ten times a second that the page is open, as a page does."""
        while True:
            self._link.send(msgspec.msgpack.encode({"type": "HexapodAlive"}))
            time.sleep(0.1)

    def _receive(self):
        for _ in self._link:
            self.frames.append(time.monotonic())


def main():
    """Open the pages, break, measure, take the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="the address that the view printed")
    parser.add_argument("--output", default="docs/view.png")
    parser.add_argument("--size", type=int, nargs=2, default=(1280, 760), help="of the pages [pixels]")
    parser.add_argument("--viewers", type=int, default=1, help="how many pages look at the robot")
    parser.add_argument("--break", dest="parts", nargs="*", default=["RM"], help="legs to break, by their check boxes")
    parser.add_argument("--wait", type=float, default=12.0, help="time [s] from the break to the picture")
    parser.add_argument("--plain", type=int, default=0, help="instead, so many viewers that draw nothing")
    options = parser.parse_args()
    if options.plain:
        viewers = [PlainViewer(options.url) for _ in range(options.plain)]
        time.sleep(5.0)  # the scene as a whole comes first
        measure(viewers, options.wait, time.sleep)
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        viewers = [Viewer(browser, options.url, options.size) for _ in range(options.viewers)]
        page = viewers[0].page
        for part in options.parts:
            page.get_by_label(part, exact=True).first.evaluate("element => element.click()", timeout=120_000)
        viewers[0].close_notices()
        measure(viewers, options.wait, lambda seconds: page.wait_for_timeout(1e3 * seconds))
        page.screenshot(path=options.output, timeout=120_000)
        browser.close()
    print(f"written: {options.output}")


def measure(viewers, seconds, wait):
    """Print the CPU time of the node and the messages to each viewer while `wait(seconds)` lasts."""
    nodes = [
        p for p in psutil.process_iter(["cmdline"]) if any(word.endswith(VIEW) for word in p.info["cmdline"] or ())
    ]
    before, began = [sum(p.cpu_times()[:2]) for p in nodes], time.monotonic()
    wait(seconds)
    lasted = time.monotonic() - began
    for viewer in viewers:
        print(f"{sum(t >= began for t in viewer.frames) / lasted:.1f} messages a second to a viewer")
    for process, start in zip(nodes, before, strict=True):
        share = (sum(process.cpu_times()[:2]) - start) / lasted
        print(f"view, process {process.pid}: {100 * share:.1f} % of a core")


if __name__ == "__main__":
    main()
