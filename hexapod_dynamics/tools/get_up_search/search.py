"""Searches manoeuvres that turn a robot over, for the legs that are left: CMA-ES over falls in MuJoCo.

A manoeuvre is evaluated from STAR on the back, under conditions that differ in friction, mass, strength, servos
and slope, because a manoeuvre that works under only one of them is often dynamic and fails under the next. The
conditions are tried one after the other, and the first that fails ends the evaluation. What works under all of them
is tried under harder ones, too, for its margins (roll_trial.py). Each leg has its own angles: with
equal angles for all legs of a side, no manoeuvre was found for some sets of lost legs.

What a search finds passes its few conditions, which is not what passes a hundred falls: some manoeuvres that cost less
turned fewer robots over. So it is compared with the old one on the same fresh falls: how many robots each turns over,
and for how long their servos are at their torque limit. The falls are drawn from the numbers of each manoeuvre that is
judged, so that no search has seen them, and come out the same when it is judged again.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hexapod_dynamics.cma_es import minimise
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.plan import mirror_partners
from hexapod_dynamics.gait.recovery.get_up import UPRIGHT, GetUp, Phase
from hexapod_dynamics.gait.recovery.manoeuvres import DECIMALS, POSES, GetUpLibrary, Manoeuvre, choose_side, pose_angles
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools.get_up_search.fallen_robot import FallenRobot, draw_joints, draw_rotation, draw_truth
from hexapod_dynamics.tools.get_up_search.roll_trial import CONDITIONS, SATURATION, SERVES, Condition, RollTrial
from hexapod_dynamics.worker_processes import WorkerProcesses

# The start of every search: a roll that was found for the JetHexa on all legs, with the left side pushing. Rows of
# (coxa, femur, tibia) of the legs that push and of the others.
FIRST_POSES = (
    (-1.72, 1.72, 0.90, 1.37, -0.72, -0.39),
    (-1.72, -0.12, 1.17, 0.07, -1.67, -0.23),
    (1.27, -0.31, -0.03, 1.16, 1.38, 0.72),
    (0.59, 0.67, -1.03, 1.19, 1.34, 0.94),
)
FIRST_TIMES = (0.83, 0.55, 0.19, 0.21)
FIRST = 1_000_000  # the least seed of a fall that judges
GENTLE_COST = 0.2  # cost below which the search ends


@dataclass(frozen=True)
class Effort:
    """How a manoeuvre is searched and judged.

    speed [rad/s]: of the joints. most: largest number of manoeuvres until one works, from each start; refine: number of
    further ones after that, until one costs less than GENTLE; seeds: of the searches. conditions: under which it has to
    work; falls: fresh ones on which it is compared with what there is.
    """

    speed: float = 2.0
    most: int = 1500
    refine: int = 60
    seeds: tuple[int, ...] = (1, 2)
    conditions: tuple[Condition, ...] = CONDITIONS
    falls: int = 100


class _Enough(Exception):
    """The wanted number of manoeuvres was tried."""


def search_manoeuvre(
    trial: RollTrial, start: Manoeuvre, effort: Effort, seed: int = 1
) -> tuple[Manoeuvre | None, float, int]:
    """Return the best manoeuvre found from `start` (None if none works), its cost, and the number of tried
    manoeuvres.
    """
    tried, best, least, until = 0, start, np.inf, effort.most

    def evaluate(points: np.ndarray, values: np.ndarray) -> None:
        nonlocal tried, best, least, until
        for k, point in enumerate(points):
            if tried >= until or least < GENTLE_COST:
                raise _Enough
            manoeuvre = with_numbers(start, point)
            values[k] = trial.cost(manoeuvre, least if least < SERVES else np.inf)
            tried += 1
            if values[k] < min(least, SERVES) and least >= SERVES:
                until = tried + effort.refine
            if values[k] < least:
                best, least = manoeuvre, float(values[k])

    try:
        evaluate(np.array([start.numbers]), np.zeros(1))
        step = 0.2 if least >= SERVES else 0.07  # [rad] at first; smaller if it starts from a manoeuvre that works
        minimise(evaluate, np.array(start.numbers), step, effort.most + effort.refine, seed=seed)
    except _Enough:
        pass
    return (best if least < SERVES else None), least, tried


def with_numbers(manoeuvre: Manoeuvre, numbers: np.ndarray) -> Manoeuvre:
    """Return the manoeuvre of the same legs with other `numbers` (POSES (3 legs + 1),).

    They are rounded as in the file, so that the stored manoeuvre is exactly the tried one.
    """
    numbers = np.round(numbers, DECIMALS)
    numbers[-POSES:] = numbers[-POSES:].clip(0.05, 5.0)
    return replace(manoeuvre, numbers=tuple(numbers.tolist()))


def first_manoeuvre(robot: Robot) -> Manoeuvre:
    """Return the manoeuvre from which the search for the intact robot starts."""
    poses = [pose_angles(robot, row[:3], row[3:]).tolist() for row in FIRST_POSES]
    return Manoeuvre(robot.leg_names, (*itertools.chain(*poses), *FIRST_TIMES), "left")


def find_manoeuvre(
    robot: Robot, lost: Iterable[str], starts: Iterable[Manoeuvre], effort: Effort
) -> tuple[Manoeuvre | None, int]:
    """Return a manoeuvre for a set of lost legs, found from one of `starts`, and the number of tried manoeuvres.

    Starts that serve as they are come first, those that cost less before the others: a search takes small steps from
    such a start, and these do not lead from one good manoeuvre to another.
    """
    lost, count = tuple(lost), 0
    trial = RollTrial(robot, lost, effort.speed, effort.conditions)
    order = sorted((start.without(lost) for start in starts), key=lambda one: min(trial.cost(one), SERVES))
    for seed, start in itertools.product(effort.seeds, order):
        found, _, tried = search_manoeuvre(trial, start, effort, seed)
        count += tried
        if found is not None:
            return found, count
    return None, count


def find_opposite_legs(robot: Robot) -> dict[str, str]:
    """Return the leg that is mounted where each leg would be after half a turn about z; empty if there is none."""
    found = {
        leg.name: other.name
        for leg in robot.legs
        for other in robot.legs
        if np.abs(leg.mount_position[:2] + other.mount_position[:2]).max() < 1e-3
    }
    return found if len(found) == len(robot.legs) else {}


def find_starts(robot: Robot, library: GetUpLibrary, lost: Iterable[str]) -> list[Manoeuvre]:
    """Return the manoeuvres from which a search for a set of lost legs starts: those for this set, for the set
    half a turn away, for the intact robot and for its mirror image.
    """
    lost, opposites = tuple(lost), find_opposite_legs(robot)
    own = list(library.find_all(lost))
    if opposites:
        own += [one.move_to_legs(opposites, 1.0) for one in library.find_all(opposites[name] for name in lost)]
    whole = [library.universal or first_manoeuvre(robot)]
    try:
        whole.append(whole[0].mirror(mirror_partners(robot)))
    except HexapodError:
        pass  # the robot is not symmetric
    side = choose_side(robot, lost)
    return own + (sorted(whole, key=lambda one: one.pushers != side) if lost else whole[:1])


def judge(robot: Robot, new: Manoeuvre, old: Manoeuvre, *, speed: float, falls: int) -> tuple[bool, str]:
    """Return whether `new` replaces `old`, which is for the same lost legs, and what both did, in words, after the same
    falls of the robot without them.

    It does if it turns over as many, or more, and its servos are not longer at their limit, or for not longer than
    SATURATION.
    """
    first = FIRST + zlib.crc32(np.array(new.numbers).tobytes()) % 2_000_000_000  # Truth has 2^31
    seeds = range(first, first + falls)
    (turned, limit), (before, limit_before) = (turn_over(robot, one, new.lost, seeds, speed) for one in (new, old))
    better = turned >= before and limit <= max(SATURATION, limit_before)
    what = "taken" if better else "the old one is kept"
    times = f"servos at their limit for {limit:.2f} s, {limit_before:.2f} s before"
    return better, f"{what}: of {falls} fresh falls it turned {turned} over, the old one {before}; {times}"


def turn_over(
    robot: Robot, manoeuvre: Manoeuvre, lost: Iterable[str], seeds: Iterable[int], speed: float
) -> tuple[int, float]:
    """Let a robot without the legs `lost` fall onto the back or an edge, and turn over in one attempt. Return how many
    are upright at the end, and the median [s] of the longest uninterrupted time of a servo at its torque limit.

    seeds: one of each fall; speed [rad/s]: of the joints.
    """
    gone = tuple(lost)
    morphology = Morphology.whole(robot).without(*gone)
    gait = AdaptiveGait().bind(robot)
    stance = gait.position.copy()
    gait.set_morphology(morphology)
    # The first manoeuvre of the library is tried first; there is one attempt.
    library = GetUpLibrary(robot, [manoeuvre])
    count, saturated = 0, []
    for seed in seeds:
        random = np.random.default_rng(seed)
        get_up = GetUp(robot, library, speed, most_attempts=1)
        fallen = FallenRobot(robot, get_up, truth=draw_truth(random, seed), actual=morphology, seed=seed)
        rotation = draw_rotation(random)
        if rotation[2, 2] > 0.0:
            rotation = rotation @ np.diag([1.0, -1.0, -1.0])
        fallen.drop(random.uniform(0.2, 0.4), rotation, draw_joints(stance, random))
        get_up.begin(gait, morphology)
        while get_up.active and get_up.phase is not Phase.STAND and fallen.time < 30.0:
            fallen.tick()
        count += fallen.physics.rotation[2, 2] > UPRIGHT
        saturated.append(fallen.saturated.max())
    return count, float(np.median(saturated))


def find_better(
    robot: Robot, effort: Effort, lost: tuple[str, ...], starts: Iterable[Manoeuvre], old: Manoeuvre | None
) -> tuple[Manoeuvre | None, str]:
    """Return a manoeuvre for a set of lost legs, None where none is good enough, and what was found, in words.

    old: what the robot has for the set, None: nothing; the new one is judged against it on fresh falls.
    """
    found, tried = find_manoeuvre(robot, lost, starts, effort)
    if found is None:
        return None, f"none of {tried} serves"
    if old is None:
        return found, f"found, the best of {tried}"
    if found.numbers == old.numbers:
        return None, f"none of {tried} costs less than the old one"
    better, what = judge(robot, found, old, speed=effort.speed, falls=effort.falls)
    return (found if better else None), f"found, the best of {tried}; {what}"


def make_get_up_library(
    robot: Robot,
    report: Callable[[int, int, tuple[str, ...], str], None],
    library: GetUpLibrary,
    *,
    most_lost: int = 3,
    sets: Iterable[tuple[str, ...]] | None = None,
    improve: bool = False,
    jobs: int | None = None,
    effort: Effort | None = None,
) -> GetUpLibrary:
    """Add the manoeuvres for every set of lost legs, one of each mirror pair, to a library; return the library.

    report: called with (done, all, set, what was found) after each. improve: go on from what there is, too; of the new
    and the old manoeuvre that one is kept which turns the robot over after more of as many fresh falls. jobs:
    processes, one a core by default. HexapodError where the whole robot finds no manoeuvre.
    """
    find = partial(find_better, robot, effort or Effort())
    if library.universal is None or (improve and sets is None):
        found, what = find((), find_starts(robot, library, ()), library.universal)
        if found is None and library.universal is None:
            raise HexapodError(f"robot {robot.name}: no get-up manoeuvre found for all legs: {what}")
        if found is not None:
            library.add(found)
        report(0, 0, (), what)
    classes = [one for one in (sets or PlanLibrary(robot).lost_sets(most_lost)) if improve or not library.find_all(one)]
    with WorkerProcesses(jobs) as pool:
        futures = {}
        for one in classes:
            old = next(iter(library.find_all(one)), None)
            futures[pool.submit(find, one, find_starts(robot, library, one), old)] = one
        for done, future in enumerate(as_completed(futures), start=1):
            found, what = future.result()
            if found is not None:
                library.add(found)
            report(done, len(classes), futures[future], what)
    return library
