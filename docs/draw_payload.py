"""Draws docs/payload.png: a load that is put on a walking robot and taken off, its estimate and the body's shift.

    ./with_ros2 python docs/draw_payload.py [--seed 7]

MuJoCo, servos=real of the seed; the software has the catalogue's robot file. Half a minute.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from support.walks import payload_walk

from hexapod_dynamics.simulation import Truth

LOAD, ON, OFF, END, STEP = (0.4, 0.04, 0.02), 15.0, 45.0, 70.0, 0.5


def main() -> None:
    """Draw the picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "payload.png")
    given = parser.parse_args()
    walk, rows = payload_walk(Truth.parse(f"servos=real,seed={given.seed},payload=0")), []
    for time in np.arange(0.0, END, STEP):
        walk.load = LOAD if ON <= time < OFF else (0.0, 0.0, 0.0)
        walk.run(STEP)
        found = walk.payload
        known = not found.reason
        rows.append(
            (
                time + STEP,
                found.mass if known else np.nan,
                found.mass_deviation if known else np.nan,
                found.expected[0],
                1e3 * walk.gait.terrain.load.shift.real,
                1e3 * walk.gait.terrain.load.shift.imag,
            )
        )
    time, mass, deviation, expected, x, y = np.array(rows).T
    figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 5.0), sharex=True, constrained_layout=True)
    above.plot([0, ON, ON, OFF, OFF, END], [0, 0, LOAD[0], LOAD[0], 0, 0], "k--", label="put on the robot")
    above.plot(time, mass, label="estimate")
    above.fill_between(time, mass - deviation, mass + deviation, alpha=0.25, label="its standard deviation")
    above.plot(time, expected, label="reckoned with")
    above.set_ylabel("load [kg]")
    above.legend(loc="upper left")
    below.plot(time, x, label="forward")
    below.plot(time, y, label="left")
    below.set_ylabel("body moved over its feet [mm]")
    below.set_xlabel("time of walking [s]")
    below.legend(loc="lower left")
    figure.savefig(given.out, dpi=110)
    print(given.out)


if __name__ == "__main__":
    main()
