"""Runs many simulations in parallel, on the cores of one machine or on an executor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from typing import Any

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

    executor: any concurrent.futures executor (threads, processes, or a cluster's, such as dask.distributed's
    Client.get_executor() or mpi4py's MPIPoolExecutor); by default one thread for each core: the compiled loops release
    the interpreter lock. gait: a Gait, by default the nominal tripod; each simulation uses a copy of it.
    log_every: number of steps for each row of the Logs. options: further arguments of Simulator. progress: called
    with (done, all) when a simulation has ended; by default a line on the terminal, if there is one.

    The first simulation that fails raises its error here; simulations that have not started are cancelled.
    """
    morphologies = list(morphologies)
    report = _report if progress is None else progress
    gait = TripodGait() if gait is None else gait.copy()
    if gait.robot != robot:
        gait.bind(robot)
    own = ThreadPoolExecutor(max_workers=os.cpu_count()) if executor is None else None
    pool = executor if own is None else own
    try:
        futures = [
            pool.submit(simulate_one, robot, morphology, seconds, gait, timestep, log_every, options)
            for morphology in morphologies
        ]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                report(done, len(futures))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]
    finally:
        if own is not None:
            own.shutdown()


def simulate_one(
    robot: Robot,
    morphology: Morphology,
    seconds: float,
    gait: Gait | None,
    timestep: float,
    log_every: int,
    options: Mapping[str, Any],
) -> Log:
    """Simulate one morphology and return its Log: a task for an executor, on any machine."""
    simulator = Simulator(robot, morphology, gait=gait, timestep=timestep, **options)
    return simulator.run(seconds, log_every=log_every)


def _report(done: int, count: int) -> None:
    """Show the progress on the terminal, if there is one."""
    if sys.stderr.isatty():
        end = "\n" if done == count else ""
        print(f"\rsimulated {done} of {count}", end=end, file=sys.stderr, flush=True)
