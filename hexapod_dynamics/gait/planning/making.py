"""Makes plans: one for a set of lost legs, or the library of a robot on several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.leg_table import leg_table
from hexapod_dynamics.gait.planning.patterns import tripod_plan
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait.planning.plan_library import PlanLibrary
from hexapod_dynamics.gait.planning.search import Demands, Search
from hexapod_dynamics.one_thread import compute_in_one_thread
from hexapod_dynamics.robot import Morphology, Robot

# Speeds for which plans of the JetHexa are made, by the number of legs that walk: forward, back, sideways [m/s],
# turning [rad/s], least margin [m], fastest walk [m/s]. For other robots they are scaled with legs and servos.
SPEEDS = {
    2: (0.079, 0.05, 0.0, 0.0, 0.002, 0.0),
    3: (0.09, 0.08, 0.08, 0.35, 0.004, 0.0),
    4: (0.079, 0.07, 0.07, 0.3, 0.004, 0.102),
    5: (0.12, 0.09, 0.09, 0.45, 0.006, 0.0),
}
JETHEXA_LEG, JETHEXA_SERVO = 0.2, 5.82
# If there is no plan at these speeds, the search is repeated at these shares of them.
SHARES = (1.0, 0.75, 0.5, 0.3)


def demands(robot: Robot, count: int, share: float = 1.0) -> Demands:
    """Return the Demands on a plan for `count` legs of a robot at a share of its speeds."""
    length = float(leg_table(robot)["lengths"][:, 1:].sum(axis=1).mean())
    scale = share * length / JETHEXA_LEG * min(1.0, robot.servo.speed_limit / JETHEXA_SERVO)
    forward, back, side, turn, margin, fast = SPEEDS[min(5, count)]
    turning = share * min(1.0, robot.servo.speed_limit / JETHEXA_SERVO)
    least = margin * length / JETHEXA_LEG
    return Demands(scale * forward, scale * back, scale * side, turning * turn, least, scale * fast)


def make_plan(
    robot: Robot,
    lost: Iterable[str],
    *,
    morphology: Morphology | None = None,
    height: float | None = None,
    seed: int = 1,
) -> GaitPlan:
    """Return the GaitPlan of a robot without some legs (names); HexapodError if there is none."""
    names = [name for name in robot.leg_names if name not in lost]
    shape = leg_table(robot)
    if height is None:
        height = min(0.12, float(shape["lengths"][:, 2].min()))
    if morphology is None:
        morphology = Morphology.whole(robot).without(*lost)
    last = None
    for share in SHARES:
        try:
            search = Search(
                robot, names, demands(robot, len(names), share), morphology=morphology, height=height, seed=seed
            )
            return search.plan()
        except HexapodError as error:
            last = error
            if len(names) < 2:
                break
    raise last


def improve_plan(robot: Robot, plan: GaitPlan) -> GaitPlan:
    """Return a plan for four legs, improved under the present demands; this takes a fourth of the time of a new
    plan.
    """
    lost = [name for name in robot.leg_names if name not in plan.legs]
    morphology = Morphology.whole(robot).without(*lost)
    search = Search(robot, plan.legs, demands(robot, len(plan.legs)), morphology=morphology, height=plan.height)
    return search.improved(plan)


def plan_or_reason(robot: Robot, lost: Iterable[str], morphology: Morphology) -> GaitPlan | str:
    """Return the GaitPlan, or a text that says why there is none."""
    try:
        return make_plan(robot, lost, morphology=morphology)
    except HexapodError as error:
        return str(error)


def make_library(
    robot: Robot,
    report: Callable[..., None],
    *,
    jobs: int | None = None,
    most_lost: int | None = None,
    classes: list[tuple[str, ...]] | None = None,
    library: PlanLibrary | None = None,
) -> PlanLibrary:
    """Make the plans of every set of lost legs, one of each mirror pair; return the PlanLibrary.

    report(done, all, set, GaitPlan or HexapodError): called when a plan is finished. jobs: number of processes, by
    default one for each core.
    """
    library = PlanLibrary(robot) if library is None else library
    most = len(robot.legs) - 2 if most_lost is None else most_lost
    if len(robot.legs) < 3:
        raise HexapodError(f"robot {robot.name}: {len(robot.legs)} legs; at least 3 are needed to walk or row")
    if classes is None:
        # A robot without a tripod needs a plan even if it is intact.
        classes = ([()] if tripod_plan(robot) is None else []) + library.classes(most)
    with ProcessPoolExecutor(
        jobs or os.cpu_count(), mp_context=get_context("spawn"), initializer=compute_in_one_thread
    ) as pool:
        futures = {pool.submit(make_plan, robot, lost): lost for lost in classes}
        for done, future in enumerate(as_completed(futures), start=1):
            try:
                plan = future.result()
                library.add(plan)
                result: GaitPlan | HexapodError = plan
            except HexapodError as error:
                result = error
            report(done, len(classes), futures[future], result)
    return library
