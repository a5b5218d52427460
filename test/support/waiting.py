"""Waiting for what other threads and processes do."""

import time

PATIENCE = 3.0  # a computer that does something else as well takes as many times longer than one of its own


def wait_until(condition, timeout=10.0, what="it happens"):
    """Wait until condition() is true and return its value; an AssertionError says what did not happen in time.

    timeout: [s] on a computer that does nothing else. A test of how soon something happens measures it by itself.
    """
    end = time.monotonic() + PATIENCE * timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {PATIENCE * timeout} s: {what() if callable(what) else what}"
        time.sleep(0.01)
