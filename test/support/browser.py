"""A headless chromium for the tests of the browser view."""

import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from support.waiting import wait_until

# [ms] On a busy machine a page that renders in software takes a minute before it answers.
PATIENCE = 120_000
# Asked 50 times a second, a page that renders in software has no time to draw, or to arrange itself anew.
wait_for_page = functools.partial(wait_until, every=0.3)
# Software rendering, and no background services of the browser's own: there is no network.
FLAGS = (
    "--no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --disable-background-networking --disable-sync "
    "--no-first-run --disable-quic"
).split()


@contextlib.contextmanager
def chromium(*flags):
    """Start a browser, after which comes whatever else runs."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:  # on a user's machine the rest of the tests is worth running without one; CI installs it
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("the view's test needs a browser: sudo apt install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        nice = Path(folder, "chromium")
        nice.write_text(f'#!/bin/sh\nexec nice -n 5 {program} "$@"\n')
        nice.chmod(0o755)
        browser = started.chromium.launch(executable_path=nice, args=[*FLAGS, *flags])
        yield browser
        browser.close()


def open_page(context, url, **options):
    """Open a page of a browser, or of one of its contexts."""
    page = context.new_page(**options)
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    return page
