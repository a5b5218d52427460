"""Runs many simulations in parallel, on the cores of one machine or on an executor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hexapod_dynamics.errors import require_instance
from hexapod_dynamics.gait import Gait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation.simulator import Simulator
from hexapod_dynamics.simulation.trajectory import Log


def simulate_many(
    robot: Robot,
    morphologies: Iterable[Morphology],
    seconds: float,
    executor: Executor | None = None,
    *,
    gait: Gait | None = None,
    timestep: float = 1e-3,
    log_every: int = 10,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> list[Log]:
    """Simulate the robot walking for `seconds` with each of the morphologies; return their Logs, in order.

    executor: any concurrent.futures executor (threads, processes, or a cluster's, such as mpi4py's
    MPIPoolExecutor); by default one thread for each core: the compiled loops release
    the interpreter lock. gait: a Gait, by default the nominal tripod; each simulation uses a copy of it.
    log_every: number of steps for each row of the Logs. options: further arguments of Simulator. progress: called
    with (done, all) when a simulation has ended; by default a line on the terminal, if there is one.

    The first simulation that fails raises its error here; simulations that have not started are cancelled.
    """
    report = _report if progress is None else progress
    gait = TripodGait() if gait is None else gait
    require_instance("gait", gait, Gait)
    gait = gait.copy()
    if not gait.is_bound or gait.robot != robot:
        gait.bind(robot)
    options |= {"gait": gait, "timestep": timestep}
    own: AbstractContextManager[Executor] = (
        ThreadPoolExecutor(os.cpu_count()) if executor is None else nullcontext(executor)
    )
    with own as pool:
        futures = [pool.submit(_simulate, robot, each, seconds, log_every, options) for each in morphologies]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                report(done, len(futures))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]


def _simulate(robot: Robot, morphology: Morphology, seconds: float, log_every: int, options: Mapping[str, Any]) -> Log:
    """Return the Log of one morphology: a task for an executor, on any machine."""
    return Simulator(robot, morphology, **options).run(seconds, log_every=log_every)


def _report(done: int, count: int) -> None:
    """Show the progress on the terminal, if there is one."""
    if sys.stderr.isatty():
        end = "\n" if done == count else ""
        print(f"\rsimulated {done} of {count}", end=end, file=sys.stderr, flush=True)
