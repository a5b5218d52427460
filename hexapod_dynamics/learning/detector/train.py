"""ros2 run hexapod_dynamics train_detector: trains the learned damage detector for a robot, on simulated walks.

train_detector                                for the JetHexa, to detector_jethexa.npz in this folder
train_detector my.yaml                        for another robot; put the file beside my.yaml
train_detector my.yaml --walks 600 --steps 1000      a first try, in a quarter of the time

Half an hour on two cores. Interrupted, it goes on where it was: the walks are kept in the folder of --work.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.one_thread import compute_in_one_thread

compute_in_one_thread()  # before numpy is imported

from hexapod_dynamics.learning.detector.training import (  # noqa: E402
    HELD_OUT,
    Example,
    choose_thresholds,
    has_mirrored_front,
    make_example,
    train,
)
from hexapod_dynamics.robot import Robot  # noqa: E402

OTHERS = 1_000_000  # seed of the first walk in MuJoCo, of which only the thresholds are chosen
OTHER_SHARE = 0.1  # of the walks


def main(args: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="train_detector", description="Train the learned damage detector for a robot."
    )
    parser.add_argument("robot", nargs="?", default="", help="the robot's YAML file; by default the JetHexa")
    parser.add_argument("--out", default="", help="file of the weights; by default detector_NAME.npz in this folder")
    parser.add_argument("--walks", type=int, default=2400, help="simulated walks of 10 to 20 s")
    parser.add_argument("--steps", type=int, default=6000, help="steps of the training")
    parser.add_argument("--seed", type=int, default=0, help="of the training; walks have the seeds 0, 1, ...")
    parser.add_argument("--jobs", type=int, default=0, help="processes; by default one a core")
    parser.add_argument("--work", default="", help="folder of the walks; by default detector_NAME_walks in this folder")
    given = parser.parse_args(args)

    try:
        robot = Robot.load(given.robot) if given.robot else Robot.jethexa()
        for name, value, least in (("--walks", given.walks, 4), ("--steps", given.steps, 1)):
            if value < least:
                raise HexapodError(f"{name}: given {value}, allowed are whole numbers from {least}")
        files = _walk(robot, Path(given.work or f"detector_{robot.name}_walks"), given.walks, given.jobs or None)
        _train(robot, files, Path(given.out or f"detector_{robot.name}.npz"), given.steps, given.seed)
    except (HexapodError, OSError) as error:
        print(f"train_detector: {error}", file=sys.stderr)
        return 1
    return 0


def _walk(robot: Robot, work: Path, count: int, jobs: int | None) -> list[Path]:
    """Simulate the walks that the folder does not have; return the files of all."""
    work.mkdir(parents=True, exist_ok=True)
    walks = [("built_in", seed) for seed in range(count)]
    walks += [("mujoco", OTHERS + k) for k in range(round(OTHER_SHARE * count))] if _has_mujoco() else []
    files = {walk: work / f"{walk[0]}_{walk[1]}.npz" for walk in walks}
    missing = [walk for walk in walks if not files[walk].is_file()]
    began = time.monotonic()
    with ProcessPoolExecutor(jobs, initializer=compute_in_one_thread) as pool:
        running = [pool.submit(_make, robot, physics, seed, files[physics, seed]) for physics, seed in missing]
        for done, future in enumerate(as_completed(running), 1):
            future.result()
            if done % 20 == 0 or done == len(missing):
                left = (time.monotonic() - began) / done * (len(missing) - done)
                print(f"\rwalk {done} of {len(missing)}, {left / 60.0:.0f} min left ", end="", flush=True)
    print(f"\r{len(walks)} walks in {work}          ")
    return list(files.values())


def _make(robot: Robot, physics: str, seed: int, file: Path) -> None:
    part = file.with_suffix(".part.npz")
    make_example(robot, seed, physics).save(part)
    part.rename(file)


def _has_mujoco() -> bool:
    from importlib.util import find_spec

    found = find_spec("mujoco") is not None
    if not found:
        print("without mujoco, thresholds are chosen on walks of the built-in physics alone: pip install mujoco")
    return found


def _train(robot: Robot, files: Sequence[Path], out: Path, steps: int, seed: int) -> None:
    examples = [Example.load(file) for file in files]
    known = [one for one in examples if one.seed < OTHERS and one.seed % HELD_OUT]
    others = [one for one in examples if one.seed >= OTHERS or not one.seed % HELD_OUT]
    mirrored = has_mirrored_front(robot)
    weights = train(known, steps, seed, lambda text: print(f"\r{text}   ", end="", flush=True), mirrored)
    weights = choose_thresholds(weights, others)
    weights.save(out)
    foot, joint = weights.thresholds
    print(f"\r{out}: {len(known)} walks; log odds to declare a foot {foot:.1f}, a joint {joint:.1f}     ")
