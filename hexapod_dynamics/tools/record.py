"""Records a robot's walk for later evaluation: `ros2 run hexapod_dynamics record --out my_walk` until Ctrl+C.

The format is a rosbag2 folder of TOPICS, made by `ros2 bag record`, with two more files: robot.yaml, the robot
file of the nodes (of one in Python the robot that it makes), and recording.yaml: version of this package, the user's
notes on firmware and robot, names of photos. `score`, `identify` and `examples` read such a folder; docs/identify.md
describes it.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.robot_file import jethexa_path, robot_yaml
from hexapod_dynamics.tools.command_line import ROBOT_FILE, at_least, make_parser, run_command

# Commands, readings with their times, raw IMU; then events: declarations, detections, stops, and the log of the nodes.
TOPICS = (
    "joint_commands",
    "servos/measurements",
    "joint_states",
    "feedforward_torques",
    "imu/data_raw",
    "imu/data",
    "cmd_vel",
    "morphology",
    "servos/following",
    "damage_hypotheses",
    "gait_state",
    "payload",
    "payload_wrench",
    "battery_state",
    "predicted_state",
    "/diagnostics",
)
FOLDER_WITHIN = 20.0  # [s]; a recorder that has made no folder by then makes none (2 s here, a Nano is 6x slower)


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool; return its exit code."""
    options = make_parser("record", __doc__)
    options.add_argument("--out", type=Path, required=True, help="folder to make")
    options.add_argument("--robot", type=Path, help="robot file that the nodes run with; default: the JetHexa's")
    options.add_argument("--namespace", default="", help="of the nodes")
    options.add_argument("--seconds", type=at_least(0.1), help="how long; default: until Ctrl+C")
    options.add_argument("--firmware", default="", help="of the servos and the board, as you know it")
    options.add_argument("--notes", default="", help="what the robot did, on which ground, what it carried")
    options.add_argument("--photos", nargs="*", type=Path, default=[], help="pictures of the robot, which are copied")
    return run_command(options, _record, args)


def describe(given: argparse.Namespace, robot: Robot) -> str:
    """Return the text of recording.yaml."""
    try:
        version = importlib.metadata.version("hexapod_dynamics")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown: run from a source tree"
    values = {
        "robot": robot.name,
        "recorded": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "hexapod_dynamics": version,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "firmware": given.firmware,
        "notes": given.notes,
        "photos": [photo.name for photo in given.photos],
    }
    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def _record(given: argparse.Namespace) -> int:
    file = jethexa_path() if given.robot is None else given.robot
    robot = Robot.load(file)
    own = file.read_text("utf-8") if file.suffix != ".py" else robot_yaml(robot, f"Made by record from {file.name}.")
    beside = {ROBOT_FILE: own, "recording.yaml": describe(given, robot)}
    names = [*beside, *(photo.name for photo in given.photos)]
    wrong = [photo for photo in given.photos if not photo.is_file() or names.count(photo.name) > 1]
    if wrong:
        raise HexapodError(f"--photos: no file {wrong[0]}, or another file of the recording has its name")
    if given.out.exists():
        raise HexapodError(f"--out: {given.out} exists already; name another folder")
    if shutil.which("ros2") is None:
        raise HexapodError("no command ros2: source your ROS 2, or use ./with_ros2")
    space = given.namespace.strip("/")
    topics = [topic if topic.startswith("/") else "/" + "/".join(filter(None, (space, topic))) for topic in TOPICS]
    # What ends this program, or closes its terminal, ends the recorder. SIGINT, too: a script starts what runs in its
    # background, and what that starts, with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # `nohup` has its purpose
            signal.signal(number, signal.default_int_handler)
    # In its own session: a Ctrl+C reaches it through this program.
    bag = subprocess.Popen(["ros2", "bag", "record", "-o", str(given.out), *topics], start_new_session=True)
    print(f"records to {given.out}" + ("; Ctrl+C ends it" if given.seconds is None else f" for {given.seconds:g} s"))
    slowest = time.monotonic() + FOLDER_WITHIN
    try:
        while bag.poll() is None and not given.out.is_dir() and time.monotonic() < slowest:
            time.sleep(0.02)
        if given.out.is_dir():
            _add(given, beside)  # at once, so that even a killed recording has them
            bag.wait(given.seconds)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        pass
    finally:
        code = _end(bag, given.out)
    if not given.out.is_dir():
        raise HexapodError(f"{given.out}: ros2 bag record has made no folder")
    if not (given.out / "recording.yaml").exists():  # the recorder made its folder while it was ended
        _add(given, beside)
    print(given.out)
    return code


def _add(given: argparse.Namespace, beside: Mapping[str, str]) -> None:
    """Put texts {name of the file: text} and the photos beside the bag."""
    for name, text in beside.items():
        (given.out / name).write_text(text, encoding="utf-8")
    for photo in given.photos:
        shutil.copyfile(photo, given.out / photo.name)


def _end(bag: subprocess.Popen[bytes], out: Path) -> int:
    """End the recorder, if it has not ended by itself; return its exit code, 0 if it is ended here."""
    if bag.poll() is not None:
        print(f"record: ros2 bag record ended with code {bag.returncode}", file=sys.stderr)
        return bag.returncode
    bag.send_signal(signal.SIGINT)
    try:
        bag.wait(20.0)
    except subprocess.TimeoutExpired:
        bag.kill()
        raise HexapodError(f"ros2 bag record did not end in 20 s: {out} may lack its end") from None
    return 0
