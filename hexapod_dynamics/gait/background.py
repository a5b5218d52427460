"""Calls a function in a separate process at low priority, so that the control loop is never blocked.

Run as a program, this module reads (function, arguments) pickled from its standard input, calls the function and writes
what it returns, pickled, to its standard output.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
from typing import Any

# Keep the matrix libraries of the process to one core.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class BackgroundCall:
    """One call at a time of a function, named "package.module:function"; a new call replaces the one before."""

    def __init__(self, function: str) -> None:
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, *arguments: Any) -> None:
        """Start the call; arguments and result must be picklable."""
        self.cancel()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hexapod_dynamics.gait.background"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | dict.fromkeys(ONE_THREAD, "1"),
        )
        assert self._process.stdin is not None
        pickle.dump((self._function, arguments), self._process.stdin)
        self._process.stdin.close()

    @property
    def busy(self) -> bool:
        """Whether a call is under way, or its result has not been fetched yet."""
        return self._process is not None

    def poll(self) -> tuple[Any, str] | None:
        """Return (result, "") once when the call has ended, (None, reason) when its process failed, else None."""
        process = self._process
        if process is None or process.poll() is None:
            return None
        self._process = None
        assert process.stdout is not None
        with process.stdout:
            answer = process.stdout.read()
        if process.returncode != 0:
            return None, f"the planning process ended with {process.returncode}"
        return pickle.loads(answer), ""

    def cancel(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            assert process.stdout is not None
            process.stdout.close()
            process.wait()


def main() -> None:
    """Execute the call read from standard input."""
    os.nice(10)
    function, arguments = pickle.load(sys.stdin.buffer)
    module, _, name = function.partition(":")
    result = getattr(importlib.import_module(module), name)(*arguments)
    pickle.dump(result, sys.stdout.buffer)


if __name__ == "__main__":
    main()
