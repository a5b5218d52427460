"""What the commands share: their description in `--help`, the robot that they take, errors, notes and exit codes."""

from __future__ import annotations

import argparse
import contextlib
import math
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hexapod_dynamics.errors import HexapodError, RecordingWarning, parse_number

if TYPE_CHECKING:
    from hexapod_dynamics.gait.planning.library import PlanLibrary
    from hexapod_dynamics.gait.planning.plan import GaitPlan
    from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
    from hexapod_dynamics.robot import Robot

ROBOT_FILE = "robot.yaml"  # file that `record` writes into a bag
# Endings of files, by which their writers choose the format, or which they would append.
ENDINGS = {"": (), "picture": (".png", ".pdf", ".svg", ".jpg", ".eps"), "table": (".csv",), "weights": (".npz",)}


def make_parser(command: str, doc: str | None, *, whole: bool = False) -> argparse.ArgumentParser:
    """Return a parser without arguments, which is described by the docstring of the command's module: by its first
    paragraph without markup, or by the whole as it stands.
    """
    if whole:
        raw = argparse.RawDescriptionHelpFormatter
        return argparse.ArgumentParser(prog=command, description=doc, formatter_class=raw)
    text = " ".join((doc or "").strip().partition("\n\n")[0].split())
    return argparse.ArgumentParser(prog=command, description=text.replace("`", ""))


def load_robot(file: str | Path | None, recording: Path | None = None) -> Robot:
    """Return the robot of a file; without one that of a recording, if its robot file is in it, else the JetHexa. Raises
    RobotError.
    """
    from hexapod_dynamics.robot import Robot  # numpy, before whose import a command may limit its threads

    own = recording / ROBOT_FILE if recording else None
    file = file or (own if own and own.is_file() else None)
    return Robot.load(file) if file else Robot.jethexa()


def check_folder(option: str, file: str | Path | None, kind: str = "") -> None:
    """Raise HexapodError if a file that is written at the end is a folder, or is in none, or has none of the ENDINGS of
    its kind; option: of the message.
    """
    if file and not Path(file).absolute().parent.is_dir():
        raise HexapodError(f"{option} {file}: its folder does not exist: make it, or name another")
    if file and Path(file).is_dir():
        raise HexapodError(f"{option} {file}: it is a folder: add the name of the file")
    if file and ENDINGS[kind] and Path(file).suffix.lower() not in ENDINGS[kind]:
        raise HexapodError(f"{option} {file}: a {kind} needs a file that ends with {' or '.join(ENDINGS[kind])}")


def check_target(option: str, file: Path, *, force: bool) -> None:
    """Raise HexapodError for a robot file that cannot be written; option: of the message. One that is there may have
    been edited by hand: `force` replaces it.
    """
    from hexapod_dynamics.robot.checked_yaml import Name

    check_folder(option, file)
    Name().check(file.stem, f"{option} {file}")
    if file.exists() and not force:
        raise HexapodError(f"{option} {file}: it is there: --force replaces it, `new_robot {file} --check` checks it")


def at_least(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return the `type` of an option of argparse that is a number from `least` to `most`, a whole one if `least` is."""

    def read(text: str) -> float:
        with contextlib.suppress(ValueError, OverflowError):  # int(nan), int(inf)
            number = parse_number(text)
            value = type(least)(number)
            if value == number and least <= value <= most:
                return value
        bounds = f"{'whole ' * isinstance(least, int)}numbers from {least}{f' to {most}' * math.isfinite(most)}"
        raise argparse.ArgumentTypeError(f"{text!r} given, allowed are {bounds}")

    return read


def split_names(option: str, text: str | None, kind: str, known: Sequence[str]) -> list[str]:
    """Return the names of a list with commas, empty without a text; HexapodError for a name that is not known.

    option, kind: of the message, as --joints and "joint".
    """
    names = [name.strip() for name in text.split(",")] if text else []
    unknown = [name for name in names if name not in known]
    if unknown:
        raise HexapodError(f"{option}: {unknown[0]!r} is no {kind}; the {kind}s are {', '.join(known)}")
    return names


def run_command(
    parser: argparse.ArgumentParser,
    action: Callable[[argparse.Namespace], int],
    args: Sequence[str] | None,
    interrupted: str = "what is finished is in the files",
) -> int:
    """Return the exit code of `action` for the words of the command line, 1 after an error, 130 after Ctrl-C, both of
    which are printed; notes on recordings are printed, too. interrupted: what holds after Ctrl-C.
    """
    given, command = parser.parse_args(args), parser.prog
    with warnings.catch_warnings():
        warnings.simplefilter("always", RecordingWarning)
        warnings.showwarning = lambda message, *_: print(f"{command}: note: {message}", file=sys.stderr)
        try:
            return action(given)
        except (HexapodError, OSError) as error:
            print(f"{command}: {error}", file=sys.stderr)
            return 1
        except (KeyboardInterrupt, EOFError):
            print(f"\n{command}: interrupted; {interrupted}", file=sys.stderr)
            return 130


def describe_time_left(began: float, share: float) -> str:
    """Return in words how long a work lasts on that began at a monotonic time [s] and of which a share (0 to 1) is
    done; empty if none is.
    """
    if not share:
        return ""
    seconds = (time.monotonic() - began) * (1.0 / share - 1.0)
    return f"{seconds:.0f} s left" if seconds < 120.0 else f"{seconds / 60.0:.0f} min left"


class Progress:
    """Shows on stderr how much of a work is done: on a terminal in one line, elsewhere in a line a stage and tenth."""

    def __init__(self, work: str) -> None:
        self._work, self._began, self._last = work, time.monotonic(), ("", -1)

    def __call__(self, share: float, stage: str = "", note: str = "") -> None:
        """Show the completed share of the work (0 to 1), the time left, the name of the present stage, and a note that
        may be another one each time.
        """
        left = f", {describe_time_left(self._began, share)}" if share else ""
        line = f"{self._work}: {100.0 * share:3.0f} %{left}  {stage}{note}"
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="\n" if share >= 1.0 else "", file=sys.stderr, flush=True)
        elif (stage, int(10.0 * share)) != self._last:
            print(line, file=sys.stderr, flush=True)
        self._last = stage, int(10.0 * share)


def plan_reporter(
    library: PlanLibrary | GetUpLibrary, path: str | Path, text: Callable[..., str]
) -> Callable[..., None]:
    """Return a function that saves the library, so that an interrupted run keeps what is finished, and prints the last
    result, how many there are and the time left; text: what to print of the result.
    """
    begin = time.monotonic()

    def report(done: int, count: int, lost: Sequence[str], found: object) -> None:
        library.save(path)
        left = describe_time_left(begin, done / max(1, count))
        print(f"{done}/{count}, {left:>11}   without {' '.join(lost) or 'nothing'}: {text(found)}", flush=True)

    return report


def make_plans(robot: Robot, path: str | Path, *, jobs: int, most_lost: int | None, again: bool = False) -> int:
    """Make the plans of a robot for every set of lost legs, one of each mirror pair; return how many there are.

    jobs, path: as in `search_plans`. Plans that the file has are kept, unless one is found for the same legs: `again`.
    """
    from hexapod_dynamics.gait.planning.library import PlanLibrary
    from hexapod_dynamics.gait.planning.plan import plan_tripod
    from hexapod_dynamics.gait.planning.search import make_plan

    if len(robot.legs) < 3:
        raise HexapodError(f"robot {robot.name}: {len(robot.legs)} legs; at least 3 are needed to walk or row")
    library = PlanLibrary.load(robot, path, target=True)
    # A robot without a tripod needs a plan even if it is intact.
    sets: list[tuple[str, ...]] = [()] if plan_tripod(robot) is None else []
    sets += library.lost_sets(len(robot.legs) - 2 if most_lost is None else most_lost)
    searches = {lost: partial(make_plan, robot, lost) for lost in sets if again or library.find(lost) is None}
    search_plans(searches, library, path, jobs)
    return len(library)


def search_plans(
    searches: Mapping[tuple[str, ...], Callable[[], GaitPlan]], library: PlanLibrary, path: str | Path, jobs: int
) -> None:
    """Search plans by the set of lost legs, and add those that are found to a library, which is saved after each.

    jobs: number of processes, 0: one for each core.
    """
    from hexapod_dynamics.worker_processes import WorkerProcesses

    report = plan_reporter(library, path, describe_plan)
    with WorkerProcesses(jobs or None) as pool:
        futures = {pool.submit(search): lost for lost, search in searches.items()}
        for done, future in enumerate(as_completed(futures), start=1):
            try:
                found: GaitPlan | HexapodError = future.result()
                library.add(future.result())
            except HexapodError as error:
                found = error
            report(done, len(futures), futures[future], found)


def describe_plan(plan: GaitPlan | HexapodError) -> str:
    """Return a plan in one line, or why there is none."""
    if isinstance(plan, HexapodError):
        return f"none: {plan}"
    return f"{plan.kind}, period {plan.period:.2f} s, duty {plan.duty:.3f}, margin {1e3 * plan.margin:.1f} mm"
