"""ros2 run hexapod_dynamics plan: makes the library of gaits of a robot, or shows one plan.

plan                                      the library of the JetHexa, to plans_jethexa.yaml in this folder
plan --again                              the same; plans that this file has are searched anew
plan --robot my.yaml --out plans_my.yaml  of another robot
plan --missing RM LM                      shows the plan for these lost legs
plan --missing RM --plot                  draws gait diagram, footholds, polygons and margin to plan_RM.png
plan --missing RM LM --improve            improves this plan of the library, and writes the library to --out
plan --improve                            improves all plans for four legs, to plans_jethexa.yaml in this folder
plan --get-up                             how the robot turns over after a fall, to get_up_jethexa.yaml in this folder
plan --get-up --missing LF RR             the same for this set of lost legs only
plan --get-up --improve                   improves the existing manoeuvres
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.process_environment import compute_in_one_thread
from hexapod_dynamics.tools.command_line import (
    at_least,
    check_folder,
    describe_plan,
    load_robot,
    make_parser,
    make_plans,
    plan_reporter,
    run_command,
    search_plans,
)

if TYPE_CHECKING:
    from hexapod_dynamics.robot import Robot


def main(args: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    compute_in_one_thread()
    parser = make_parser("plan", __doc__, whole=True)
    parser.add_argument("--robot", default="", help="the robot's YAML file; by default the JetHexa")
    parser.add_argument("--out", default="", help="file of the library (or of the picture, with --plot)")
    parser.add_argument("--plans", default="", help="library to show plans from; by default that of the package")
    parser.add_argument("--missing", nargs="*", default=None, metavar="LEG", help="show the plan for these lost legs")
    parser.add_argument("--plot", action="store_true", help="with --missing: draw it")
    parser.add_argument("--jobs", type=at_least(0), default=0, help="processes; by default one a core")
    parser.add_argument("--again", action="store_true", help="search anew for what the library has, too")
    parser.add_argument(
        "--improve", action="store_true", help="go on from the library's plans for four legs, or from its manoeuvres"
    )
    parser.add_argument("--most-lost", type=at_least(0), help="largest number of lost legs for which plans are made")
    parser.add_argument("--get-up", action="store_true", help="search how it turns over after a fall (needs mujoco)")
    return run_command(parser, _plan, args)


def _plan(given: argparse.Namespace) -> int:
    if given.missing is None and given.plot:
        raise HexapodError("--plot is for one plan: add --missing, for that of all legs without a name")
    if given.missing is not None and given.out and not (given.plot or given.improve or given.get_up):
        raise HexapodError("--out: a plan is only shown; add --improve to write the library, --plot for a picture")
    check_folder("--out", given.out, "picture" if given.plot else "")
    robot = load_robot(given.robot)
    unknown = [name for name in given.missing or () if name not in robot.leg_names]
    if unknown:
        raise HexapodError(f"--missing {unknown[0]}: no such leg; the legs are {', '.join(robot.leg_names)}")
    action = _get_up if given.get_up else _make if given.missing is None else _show
    return action(robot, given)


def _make(robot: Robot, given: argparse.Namespace) -> int:
    path = given.out or f"plans_{robot.name}.yaml"
    if given.improve:
        return _improve(robot, given.plans, path, given.jobs)
    count = make_plans(robot, path, jobs=given.jobs, most_lost=given.most_lost, again=given.again)
    print(f"{count} plans in {path}")
    return 0


def _improve(robot: Robot, plans: str, path: str, jobs: int) -> int:
    """Improve the plans for four legs of a library, and save it after each."""
    from hexapod_dynamics.gait.planning.library import PlanLibrary, find_library_file
    from hexapod_dynamics.gait.planning.search import improve_plan

    source = plans or find_library_file(robot, "plans")[0]
    if source is None:
        raise HexapodError(f"there are no plans of {robot.name}: make them without --improve")
    library = PlanLibrary.load_target(robot, path, source)
    searches = {
        tuple(name for name in robot.leg_names if name not in plan.legs): partial(improve_plan, robot, plan)
        for plan in library
        if len(plan.legs) == 4
    }
    search_plans(searches, library, path, jobs)
    library.save(path)
    print(f"{len(library)} plans in {path}")
    return 0


def _get_up(robot: Robot, given: argparse.Namespace) -> int:
    from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
    from hexapod_dynamics.tools.get_up_search.search import make_get_up_library

    path = given.out or f"get_up_{robot.name}.yaml"
    sets = None if given.missing is None else [tuple(given.missing)]
    library = GetUpLibrary.load(robot, path, target=True)
    if given.again and sets is None:
        library = GetUpLibrary(robot)
    elif not os.path.exists(path):
        library = GetUpLibrary.load_for_robot(robot)
    if given.again and sets is not None:
        library.remove(sets[0])
    most = 3 if given.most_lost is None else given.most_lost
    report = plan_reporter(library, path, str)
    make_get_up_library(
        robot, report, library, most_lost=most, sets=sets, improve=given.improve, jobs=given.jobs or None
    )
    library.save(path)
    print(f"{len(list(library))} manoeuvres in {path}")
    return 0


def _show(robot: Robot, given: argparse.Namespace) -> int:
    from hexapod_dynamics.gait.planning.library import PlanLibrary, find_library_file
    from hexapod_dynamics.gait.planning.plan import plan_tripod
    from hexapod_dynamics.gait.planning.search import improve_plan, make_plan

    if given.plot and given.improve and given.out:
        raise HexapodError("--out: with --plot and --improve it would be the picture and the library; leave one out")
    path = given.plans or find_library_file(robot, "plans")[0]
    library = PlanLibrary(robot)
    if path is not None:
        target = given.improve and (given.out or path)
        library = PlanLibrary.load_target(robot, target, path) if target else PlanLibrary.load(robot, path)
    if not given.missing:
        plan = plan_tripod(robot)
    elif given.again or path is None:
        plan = make_plan(robot, given.missing)
    else:
        plan = library.find(given.missing)
    if plan is None:
        legs = f"without {', '.join(given.missing)}" if given.missing else "with all legs"
        raise HexapodError(f"{path} has no plan for {robot.name} {legs}")
    if given.improve and path is not None:
        plan = improve_plan(robot, plan)
        library.add(plan)
        library.save(given.out or path)
    print(describe_plan(plan))
    for name, phase, (x, y) in zip(plan.legs, plan.phases, plan.footholds, strict=True):
        print(f"  {name}: phase {phase:.3f}, foothold {1e3 * x:6.1f} {1e3 * y:6.1f} mm")
    if given.plot:
        from hexapod_dynamics.view.plot import draw_plan

        out = given.out or f"plan_{'_'.join(given.missing) or 'whole'}.png"
        draw_plan(robot, plan, out)
        print(out)
    return 0
