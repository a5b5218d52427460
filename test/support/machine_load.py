"""Load on the machine, for tests of what must hold under it."""

import contextlib
import subprocess
import sys


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
