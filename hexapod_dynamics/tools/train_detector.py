"""ros2 run hexapod_dynamics train_detector: trains the learned damage detector for a robot, on simulated walks.

train_detector                                for the JetHexa, to detector_jethexa.npz in this folder
train_detector my.yaml                        for another robot; put the file beside my.yaml
train_detector my.yaml --walks 600 --steps 1000      a first try, in a quarter of the time

Half an hour on two cores. Interrupted, it goes on where it was: the walks are kept in the folder of --work.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import as_completed
from importlib.util import find_spec
from pathlib import Path

from hexapod_dynamics.errors import DivergedError
from hexapod_dynamics.process_environment import compute_in_one_thread
from hexapod_dynamics.worker_processes import WorkerProcesses

compute_in_one_thread()  # before numpy is imported

from hexapod_dynamics.detection.network import Weights  # noqa: E402
from hexapod_dynamics.detector_training.training import (  # noqa: E402
    HELD_OUT,
    Example,
    choose_thresholds,
    has_mirrored_front,
    make_example,
    train,
)
from hexapod_dynamics.robot import Robot  # noqa: E402
from hexapod_dynamics.tools.command_line import Progress, at_least, check_folder, load_robot, make_parser, run_command  # noqa: E402

MUJOCO_SEED = 1_000_000  # seed of the first walk in MuJoCo, of which only the thresholds are chosen
NETWORKS = 2  # trained side by side; their probabilities are averaged


def main(args: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = make_parser("train_detector", __doc__, whole=True)
    parser.add_argument("robot", nargs="?", default="", help="the robot's YAML file; by default the JetHexa")
    parser.add_argument("--out", default="", help="file of the weights; by default detector_NAME.npz in this folder")
    parser.add_argument("--walks", type=at_least(4), default=2400, help="simulated walks of 10 to 20 s")
    parser.add_argument("--steps", type=at_least(1), default=6000, help="steps of the training")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the training; walks have the seeds 0, 1, ...")
    parser.add_argument("--jobs", type=at_least(0), default=0, help="processes; by default one a core")
    parser.add_argument("--work", default="", help="folder of the walks; by default detector_NAME_walks in this folder")
    return run_command(parser, _make_weights, args)


def _make_weights(given: argparse.Namespace) -> int:
    robot = load_robot(given.robot)
    check_folder("--out", given.out, "weights")
    jobs, work = given.jobs or None, Path(given.work or f"detector_{robot.name}_walks")
    files = _walk(robot, work, given.walks, jobs)
    _train(robot, files, Path(given.out or f"detector_{robot.name}.npz"), given.steps, given.seed, jobs)
    return 0


def _walk(robot: Robot, work: Path, count: int, jobs: int | None) -> list[Path]:
    """Simulate the walks that the folder does not have; return the files of all whose simulation did not diverge."""
    work.mkdir(parents=True, exist_ok=True)
    walks = [("built_in", seed) for seed in range(count)]
    if find_spec("mujoco") is not None:
        walks += [("mujoco", MUJOCO_SEED + k) for k in range(round(0.1 * count))]
    else:
        print("without mujoco, thresholds are chosen on walks of the built-in physics alone: pip install mujoco")
    files = {walk: work / f"{walk[0]}_{walk[1]}.npz" for walk in walks}
    missing = [walk for walk in walks if not files[walk].is_file()]
    progress, diverged = Progress("walks"), 0
    with WorkerProcesses(jobs) as pool:
        running = [pool.submit(_simulate, robot, physics, seed, files[physics, seed]) for physics, seed in missing]
        for done, future in enumerate(as_completed(running), 1):
            diverged += not future.result()
            progress(done / len(missing))
    left_out = f", {diverged} left out: their simulation diverged" if diverged else ""
    print(f"{len(walks) - diverged} walks in {work}{left_out}")
    return [file for file in files.values() if file.is_file()]


def _simulate(robot: Robot, physics: str, seed: int, file: Path) -> bool:
    """Write the file of a walk; return False if its simulation diverges, as very few do."""
    part = file.with_suffix(".part.npz")
    try:
        make_example(robot, seed, physics).save(part)
    except DivergedError:
        return False
    part.rename(file)
    return True


def _train(robot: Robot, files: Sequence[Path], out: Path, steps: int, seed: int, jobs: int | None) -> None:
    """Train NETWORKS networks side by side, choose the thresholds, write the file."""
    mirrored = has_mirrored_front(robot)
    with WorkerProcesses(jobs) as pool:
        seeds = range(NETWORKS * seed, NETWORKS * (seed + 1))
        running = [pool.submit(_train_one, files, steps, one, mirrored, one == seeds[0]) for one in seeds]
        weights = Weights.join([one.result() for one in running])
    weights = choose_thresholds(weights, _load(files, held_out=True))
    weights.save(out)
    foot, joint = weights.thresholds
    print(f"{out}: {weights.made['walks']} walks; log odds to declare a foot {foot:.1f}, a joint {joint:.1f}")


def _train_one(files: Sequence[Path], steps: int, seed: int, mirrored: bool, shown: bool) -> Weights:
    progress = Progress("training")

    def report(share: float, note: str) -> None:
        if shown:
            progress(share, note=note)

    return train(_load(files, held_out=False), steps, seed, report, mirrored)


def _load(files: Sequence[Path], *, held_out: bool) -> list[Example]:
    """Return the walks to choose thresholds on, or those to train on."""
    examples = [Example.load(file) for file in files]
    return [one for one in examples if (one.seed >= MUJOCO_SEED or not one.seed % HELD_OUT) == held_out]
