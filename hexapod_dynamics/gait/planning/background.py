"""Makes one plan in a process of its own at low priority; the loop that asks is never held up.

Run as a program this module plans what it reads (pickled) from its standard input and writes the plan to its standard
output.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys

from hexapod_dynamics.errors import HexapodError


class BackgroundPlanner:
    """One plan at a time; what is asked for last counts."""

    _process = None

    def ask(self, robot, lost, morphology):
        """Start planning for a robot without these legs (names)."""
        self.cancel()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hexapod_dynamics.gait.planning.background"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        pickle.dump((robot, tuple(lost), morphology), self._process.stdin)
        self._process.stdin.close()

    @property
    def busy(self):
        """Whether a plan is being made."""
        return self._process is not None

    def poll(self):
        """Return the GaitPlan, or a text that says why there is none, once it is there; else None."""
        process = self._process
        if process is None or process.poll() is None:
            return None
        self._process = None
        with process.stdout:
            answer = process.stdout.read()
        if process.returncode != 0:
            return f"the planning process ended with {process.returncode}"
        return pickle.loads(answer)

    def cancel(self):
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.stdout.close()
            process.wait()


def main():
    """Plan what stands on the standard input."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.nice(10)
    from hexapod_dynamics.gait.planning.making import make_plan

    robot, lost, morphology = pickle.load(sys.stdin.buffer)
    try:
        answer = make_plan(robot, lost, morphology=morphology)
    except HexapodError as error:
        answer = str(error)
    pickle.dump(answer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
