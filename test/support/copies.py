"""Going on in copies of the process: walks that differ from some moment on have what comes before it in common."""

from __future__ import annotations

import functools
import os
import pickle
import signal
import traceback
from collections.abc import Callable
from typing import Any

LONGEST = 600  # [s] for which a copy runs


def in_a_copy(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return function(*arguments) of a copy of this process, in which nothing changes; raise what it raises."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(LONGEST)
            try:
                result = pickle.dumps((function(*arguments), ""))
            except BaseException:  # pytest's outcomes, too
                result = pickle.dumps((None, traceback.format_exc()))
            with open(writes, "wb") as pipe:
                pipe.write(result)
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as pipe:
        sent = pipe.read()
    _, status = os.waitpid(child, 0)
    assert sent, f"the copy has ended without a result, with status {status}; {signal.SIGALRM}: after {LONGEST} s"
    returned, error = pickle.loads(sent)
    assert not error, error
    return returned


def on_a_copy(test: Callable[..., None]) -> Callable[..., None]:
    """Decorate a test that changes what a fixture has made for several tests: it does so in a copy of the process."""

    @functools.wraps(test)
    def copied(**fixtures: Any) -> None:
        in_a_copy(functools.partial(test, **fixtures))

    return copied
