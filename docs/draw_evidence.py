"""Draws docs/damage_evidence.png: the evidence over time while half of a tibia breaks off and nobody says so.

PYTHONPATH=$PYTHONPATH:test python docs/draw_evidence.py
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot
from support.walks import ROBOT, WHOLE, walking

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.simulation import Truth

LEG, BEFORE, AFTER = "RM", 8.0, 3.0


def main():
    """Walk, break, look, draw."""
    truth = Truth(stiffness=0.85, payload=0.15, payload_x=0.03, friction=0.8, deadband=0.5, rough=0.004, seed=3)
    forward = (0.07, 0.0, 0.0)
    blind = walking(truth, physics="mujoco", gait=TripodGait(), twist=forward, detect="report", seconds=BEFORE)
    begin, detector = blind.time, blind.detector
    blind.break_parts(WHOLE.broken(f"{LEG}.tibia", 0.5))
    history = []
    while blind.time < begin + AFTER:
        blind.step()
        history.append((blind.time - begin, *detector.posterior.odds.max(axis=1)))
    rows = np.array(history)
    figure, axis = pyplot.subplots(figsize=(7.5, 3.5), layout="constrained")
    for k, name in enumerate(ROBOT.leg_names):
        axis.plot(rows[:, 0], rows[:, 1 + k], label=name, linewidth=3.0 if name == LEG else 1.0)
    axis.axhline(detector.weights.thresholds[0], color="grey", linestyle="--", label="declared")
    axis.set_ylabel("log odds against an intact leg")
    axis.set_xlabel(f"time since half of {LEG}'s tibia broke off [s]")
    axis.legend(ncol=2, loc="upper left", fontsize="small")
    for decision in blind.decisions[:1]:
        axis.axvline(decision.time - begin, color="red", linewidth=0.8)
        axis.set_title(f"{decision.time - begin:.2f} s after: {decision.text.partition(':')[0]}", fontsize=9)
    figure.savefig(Path(__file__).with_name("damage_evidence.png"), dpi=110)


if __name__ == "__main__":
    main()
