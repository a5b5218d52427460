"""A stranger's first minutes: from `git clone` to the scene of the film in a browser, with times.

python benchmark/first_minutes.py [--commit HEAD]

In an empty folder, with empty caches of pip and of compiled models, it runs the README's first commands literally:
clones, launches with the view, opens the printed address in headless chromium, tears off RM and LM, and waits until the
robot walks on. It prints a table: time of each step, the longest silence of the
terminal, the longest status line, and lines that no newcomer should have to read. The measuring process needs the test
extras (Playwright) and a chromium; the clone does not.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run"]
SOURCED = ("AMENT", "COLCON", "PYTHON", "VIRTUAL", "ROS_")  # what a stranger's environment does not have
LAUNCH = "./with_ros2 ros2 launch hexapod_dynamics walk.launch.py view:=true"
TEAR = "./with_ros2 ros2 run hexapod_dynamics set_morphology --missing RM LM --service simulator/set_damage"
LONGEST = 600.0  # [s] for the whole run
SPEED, LINES = 6.9, 6  # [cm/s] from which it walks, on average over status lines: 90 % of the launch's speed
UNREADABLE = re.compile(r"Traceback|Error:|DeprecationWarning|RuntimeWarning|\[companions-\d+\]|╭|not well")


class Terminal:
    """A command in a folder, and its lines with the times at which they came."""

    def __init__(self, command, folder, environment):
        self.lines, self.begin = [], time.monotonic()
        self.process = subprocess.Popen(
            shlex.split(command), cwd=folder, env=environment, text=True, errors="replace", start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def wait(self, pattern, after=0.0):
        """Return time and match of the first line from a time on that a pattern is found in."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            for at, line in list(self.lines):
                if at >= after and (found := re.search(pattern, line)):
                    return at, found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit("\n".join(line for _, line in self.lines[-30:]) + f"\n{pattern} was not printed")

    def end(self):
        """End it as Ctrl-C does."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            self.process.wait(30.0)


def walks_on(launch, since):
    """Wait until the robot walks on four legs; return the time of the last of the lines that show it."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        lines = [(at, line) for at, line in launch.lines if at > since and " cm/s" in line][-LINES:]
        speeds = [float(found[1]) for _, line in lines if (found := re.search(r"(-?[\d.]+) cm/s", line))]
        if len(speeds) == LINES and sum(speeds) >= LINES * SPEED:
            return lines[-1][0]
        time.sleep(0.1)
    raise SystemExit("it does not walk on")


def main():
    """Run the protocol and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--commit", default="HEAD", help="commit to clone")
    results.add_option(options)
    given = options.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    asked = ["git", "rev-parse", "--short=7", given.commit]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="first_minutes_") as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(SOURCED)}
        paths = [path for path in environment["PATH"].split(":") if ".ros2_env" not in path]
        environment |= {
            "HOME": home,
            "PATH": ":".join(paths),
            "PIP_NO_CACHE_DIR": "1",
            "XDG_CACHE_HOME": f"{home}/cache",
            "HEXAPOD_DYNAMICS_CACHE": f"{home}/models",
            "ROS_DOMAIN_ID": "97",
        }
        begin, rows = time.monotonic(), []

        def step(what, at=None):
            now = time.monotonic() if at is None else at
            rows.append((what, now - begin))
            print(f"{now - begin:6.1f} s  {what}", flush=True)

        folder = Path(home, "hexapod_dynamics")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=folder, check=True)
        step("`git clone` (of a local repository: the network's time is not in it)")
        launch = Terminal(LAUNCH, folder, environment)
        try:
            step("environment and build are ready, the launch begins", launch.wait(r"Ctrl-C ends everything")[0])
            step("first status line", launch.wait(r"^ *\d+ s \|")[0])
            at, found = launch.wait(r"open (http\S+)")
            step("address of the view", at)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
                page = browser.new_page(viewport={"width": 960, "height": 500})
                page.set_default_timeout(120_000)
                page.goto(found[1])
                page.get_by_text("connected").first.wait_for()
                step("the page in the browser is connected")
                torn = time.monotonic()
                subprocess.run(shlex.split(TEAR), cwd=folder, env=environment, check=True, capture_output=True)
                step("RM and LM are torn off")
                at, _ = launch.wait(r"missing: (RM,? LM|LM,? RM)", torn)
                step("the status line names RM and LM", at)
                at = walks_on(launch, at)
                step(f"it walks on: {LINES} status lines in a row have {SPEED:.1f} cm/s on average", at)
                page.get_by_text("walking").first.wait_for()
                step("the page says so, too")
                browser.close()
        finally:
            launch.end()
        times = [launch.begin, *(at for at, _ in launch.lines)]
        silence, after = max((b - a, b) for a, b in zip(times, times[1:], strict=False))
        status = [line for _, line in launch.lines if re.match(r" *\d+ s \|", line)]
        odd = [line for at, line in launch.lines if UNREADABLE.search(line)]
        print(f"\nCommit {commit}, {os.cpu_count()} cores.\n\n| step | after |\n|---|---|")
        for what, after_begin in rows:
            print(f"| {what} | {after_begin:.0f} s |")
        seconds = [after_begin for _, after_begin in rows]
        status_line, page, named, walks = (seconds[k] for k in (2, 4, 6, 7))
        results.record(given.json, "first minutes", status=status_line, page=page, named=named, walks=walks)
        print("\n- longest silence, in a pipe (a terminal shows a ticking line): "
              f"{silence:.0f} s, until {after - begin:.0f} s")  # fmt: skip
        print(f"- longest status line: {max(map(len, status))} characters of 100")
        print(f"- lines with tracebacks, errors, warnings of Python or names of processes: {len(odd)}")
        for line in odd[:5]:
            print(f"  - `{line[:150]}`")


if __name__ == "__main__":
    main()
