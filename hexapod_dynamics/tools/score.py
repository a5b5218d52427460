"""Scores a recording, `ros2 run hexapod_dynamics score BAG --robot R`: prediction, lag, sag and false alarms on
one page.

BAG is a bag of `record`, or of `ros2 bag record` with its topics, or a public log of another robot: `sysid_*.csv`
of lukas/hexapod, `hexapod_data/*.npz` of Mgineer117/jethexa_ws (identification/public_logs.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.tools.command_line import ROBOT_FILE, check_folder, load_robot, make_parser, run_command


def main(args: list[str] | None = None) -> int:
    """Run the tool; return its exit code."""
    options = make_parser("score", __doc__)
    options.add_argument("recording", type=Path, help="rosbag2 folder, sysid_*.csv or *.npz")
    options.add_argument("--robot", type=Path, help=f"robot file; default: {ROBOT_FILE} in the bag, else the JetHexa's")
    options.add_argument("--missing", nargs="*", default=[], metavar="PART", help="parts that it walks without, as RM")
    options.add_argument("--joints", nargs="*", metavar="NAME", help="order of the joints in a csv or npz")
    options.add_argument("--delay", type=float, default=0.017, metavar="S", help="from a command to the servos' start")
    options.add_argument("--out", type=Path, help="file for the page; default: printed")
    return run_command(options, _score, args)


def _score(given: argparse.Namespace) -> int:
    from hexapod_dynamics.identification.bag import read_bag
    from hexapod_dynamics.identification.public_logs import read_jethexa_npz, read_sysid_csv
    from hexapod_dynamics.identification.score import score, write_page

    check_folder("--out", given.out)
    path = given.recording
    robot = load_robot(given.robot, path)
    readers = {".csv": read_sysid_csv, ".npz": read_jethexa_npz}
    reader = readers.get(path.suffix)
    recording = read_bag(path, robot) if reader is None else reader(path, robot, given.joints)
    morphology = Morphology.whole(robot).without(*given.missing)
    text = write_page(robot, score(robot, recording, morphology=morphology, command_delay=given.delay), path.name)
    if given.out is None:
        print(text, end="")
    else:
        given.out.write_text(text, encoding="utf-8")
        print(given.out)
    return 0
