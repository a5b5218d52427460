"""Waiting for what other threads and processes do."""

import contextlib
import time

from hexapod_dynamics.drivers.stop_request import StopRequest

PATIENCE = 3.0  # a computer that does something else as well takes as many times longer than one of its own


def wait_until(condition, timeout=10.0, what="it happens", patience=PATIENCE, every=0.02):
    """Wait until condition() is true and return its value; an AssertionError says what did not happen in time.

    timeout: [s] on a computer that does nothing else.
    patience: how many times longer it may take; 1 where the test is of how soon it happens.
    every: [s] between two calls of condition().
    """
    end = time.monotonic() + patience * timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {patience * timeout} s: {what() if callable(what) else what}"
        time.sleep(every)


def request_stop(namespace, timeout):
    """Ask for the emergency stop and wait up to `timeout` [s]; see `StopRequest.wait_for_answer`."""
    with contextlib.closing(StopRequest(namespace)) as request:
        return request.wait_for_answer(timeout)
