"""Load on the machine: made, for tests of what must hold under it, and measured, where a test needs a free machine."""

import contextlib
import subprocess
import sys
import time

OVERSLEPT = (
    0.02  # [s] A machine on which a sleep of 10 ms ends later than this after its time is busy with other things.
)


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
