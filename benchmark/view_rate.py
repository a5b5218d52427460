"""How many frames a second a browser without a graphics processor draws of the view, and what a frame costs.

    ./with_ros2 python3 benchmark/view_rate.py [--seconds 20] [--size 900x520] [LAUNCH_ARGUMENT ...]

Launches the robot with its view, opens the page in headless chromium with software rendering (SwiftShader) on the same
computer, has the robot walk, and counts WebGL's draw calls and triangles between two calls of the browser for a frame.
The truth is WebGL itself: a frame counts when something was drawn in it. Then RM and LM are lost and it counts again,
with the bars of the detector moving. Prints a table. Needs the test extras (Playwright) and a chromium.
"""

import argparse
import shutil
import statistics
import subprocess
import sys

import results
from first_minutes import FLAGS, TEAR, Terminal

COUNT = """
window.counted = {frames: [], calls: 0, triangles: 0};
for (const kind of [WebGLRenderingContext, WebGL2RenderingContext]) {
  const count = (n, instances) => { counted.calls += 1; counted.triangles += n / 3 * instances; };
  const {drawElements, drawArrays} = kind.prototype;
  kind.prototype.drawElements = function (mode, n, ...rest) { count(n, 1); drawElements.call(this, mode, n, ...rest); };
  kind.prototype.drawArrays = function (mode, first, n) { count(n, 1); drawArrays.call(this, mode, first, n); };
}
const {drawElementsInstanced, drawArraysInstanced} = WebGL2RenderingContext.prototype;
WebGL2RenderingContext.prototype.drawElementsInstanced = function (mode, n, kind, offset, instances) {
  counted.calls += 1; counted.triangles += n / 3 * instances;
  drawElementsInstanced.call(this, mode, n, kind, offset, instances);
};
WebGL2RenderingContext.prototype.drawArraysInstanced = function (mode, first, n, instances) {
  counted.calls += 1; counted.triangles += n / 3 * instances;
  drawArraysInstanced.call(this, mode, first, n, instances);
};
const asked = window.requestAnimationFrame.bind(window);
const note = (now) => {
  if (counted.calls) counted.frames.push([now, counted.calls, counted.triangles]);
  counted.calls = counted.triangles = 0;
  asked(note);
};
asked(note);
"""


def measure(page, seconds):
    """Return frames a second, the longest time between two frames [s], and medians of draw calls and triangles."""
    page.evaluate("counted.frames = []")
    page.wait_for_timeout(1000.0 * seconds)
    frames = page.evaluate("counted.frames")
    if len(frames) < 2:
        sys.exit("nothing was drawn")
    times = [at / 1000.0 for at, _, _ in frames]
    longest = max(b - a for a, b in zip(times, times[1:], strict=False))
    calls, triangles = (statistics.median(column) for column in list(zip(*frames, strict=True))[1:])
    return (len(frames) - 1) / (times[-1] - times[0]), longest, calls, triangles


def main():
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--size", default="900x520", help="of the page [pixels]")
    parser.add_argument("arguments", nargs="*", help="of the launch")
    results.add_option(parser)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    width, height = map(int, options.size.split("x"))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    launch = Terminal(
        " ".join(["ros2 launch hexapod_dynamics walk.launch.py view:=true", *options.arguments]), None, None
    )
    try:
        address = launch.wait(r"open (http\S+)")[1][1]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(120_000)
            page.add_init_script(COUNT)
            page.goto(address)
            page.get_by_text("connected").first.wait_for()
            launch.wait(r" cm/s")
            page.wait_for_timeout(5000)
            rows = [("walks, whole", measure(page, options.seconds))]
            subprocess.run(TEAR.split()[1:], check=True, capture_output=True)
            launch.wait(r"missing: (RM,? LM|LM,? RM)")
            rows.append(("walks without RM and LM", measure(page, options.seconds)))
            rates = [rate for _, (rate, *_) in rows]
            results.record(options.json, "view", rates=[min(rates), max(rates)])
            print("| the robot | frames a second | longest time between two | draw calls | triangles |")
            print("|---|---|---|---|---|")
            for name, (rate, longest, calls, triangles) in rows:
                print(f"| {name} | {rate:.1f} | {longest:.2f} s | {calls:.0f} | {triangles:.0f} |")
            browser.close()
    finally:
        launch.end()


if __name__ == "__main__":
    main()
