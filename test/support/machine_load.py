"""Load on the machine: made, for tests of what must hold under it, and measured, where a test needs a free machine."""

import contextlib
import subprocess
import sys
import threading
import time

# [s] A machine on which a sleep of 10 ms ends later than this after its time is busy with other things.
OVERSLEPT = 0.02
ATTEMPTS = 6


@contextlib.contextmanager
def busy(processes):
    """So many processes that each keep a processor busy."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def sleep_and_measure(seconds):
    """Let time pass in steps of 10 ms; return by how much [s] the latest of them ended after its time."""
    end, latest = time.monotonic() + seconds, 0.0
    while (before := time.monotonic()) < end:
        time.sleep(0.01)
        latest = max(latest, time.monotonic() - before - 0.01)
    return latest


@contextlib.contextmanager
def watched():
    """A list to which the latest sleep of each 0.1 s is added, as by sleep_and_measure."""
    ended, late = threading.Event(), []

    def watch():
        while not ended.is_set():
            late.append(sleep_and_measure(0.1))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield late
    finally:
        ended.set()
        thread.join()


def on_a_free_machine(attempt, is_busy=lambda: False):
    """Return attempt(), which asserts how soon or how evenly something happens.

    One that fails is followed by another only while other programs keep the machine busy, as sleeps meanwhile show or
    is_busy() says. If all fail, the last failure is the test's.
    """
    for _ in range(ATTEMPTS):
        with watched() as late:
            try:
                return attempt()
            except (AssertionError, IndexError) as error:
                failure = error
        if max(late, default=0.0) < OVERSLEPT and not is_busy():
            raise failure
    raise failure
