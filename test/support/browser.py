"""A browser without a screen for the tests of the view, which leaves processor time to the robot beside it."""

import contextlib
import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

# Software rendering, and no background services of the browser's own: there is no network.
FLAGS = (
    "--no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --disable-background-networking --disable-sync "
    "--no-first-run --disable-quic"
).split()
# A page draws as often as it can, and each picture takes the time of a whole core: few, and without smooth edges.
FEW_PICTURES = """
window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 250);
const context = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, options) {
  return context.call(this, kind, {...options, antialias: false});
};
"""


@contextlib.contextmanager
def browser(directory, *flags):
    """Chromium, started by playwright; the test is skipped where there is none, and fails there in CI.

    Root's chromium gives itself the nice value -8 and takes the time of all else: it may not (setpriv), and comes last.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:  # on a user's machine the rest of the tests is worth running without one; CI installs it
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("the view's test needs a browser: sudo apt install chromium")
    modest = "setpriv --bounding-set -sys_nice --inh-caps -sys_nice"
    program = directory / "chromium"
    program.write_text(
        f'#!/bin/sh\n{modest} true 2>/dev/null && modest="{modest}"\nexec nice -n 5 $modest {chromium} "$@"\n'
    )
    program.chmod(0o755)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=[*FLAGS, *flags])
        yield started
        started.close()
