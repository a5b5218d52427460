"""Draws docs/damage_evidence.png: the evidence over time while half of a tibia breaks off and nobody says so.

PYTHONPATH=$PYTHONPATH:test python docs/draw_evidence.py
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot
from support.blind_walk import BlindWalk

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Truth

LEG, BEFORE, AFTER = "RM", 8.0, 3.0


def main():
    """Walk, break, look, draw."""
    robot = Robot.jethexa()
    truth = Truth(stiffness=0.85, payload=0.15, payload_x=0.03, friction=0.8, deadband=0.5, rough=0.004, seed=3)
    blind = BlindWalk(robot, MujocoSimulator(robot, truth=truth), TripodGait(), obey=False)
    blind.gait.command(0.07, 0.0, 0.0)
    blind.run(BEFORE)
    begin, detector = blind.time, blind.detector
    blind.damage(Morphology.whole(robot).broken(f"{LEG}.tibia", 0.5))
    banks, history, suspicion = detector.banks, [], []
    while blind.time < begin + AFTER:
        blind.tick()
        suspicion.append((blind.time - begin, detector.suspicion))
        if detector.banks != banks and detector.posterior is not None:
            banks = detector.banks
            hypotheses, posterior = detector.posterior
            by_leg = dict.fromkeys(robot.leg_names, -np.inf)
            for hypothesis, odds in zip(hypotheses, posterior.log_odds, strict=True):
                if hypothesis.leg in by_leg:  # not two legs at once
                    by_leg[hypothesis.leg] = max(by_leg[hypothesis.leg], odds)
            history.append((blind.time - begin, *by_leg.values()))
    rows = np.array(history)
    figure, (upper, lower) = pyplot.subplots(2, 1, sharex=True, figsize=(7.5, 5.0), layout="constrained")
    upper.semilogy(*np.array(suspicion).T, color="black")
    upper.axhline(1.0, color="grey", linestyle="--")
    upper.set_ylabel("suspicion")
    for k, name in enumerate(robot.leg_names):
        lower.plot(rows[:, 0], rows[:, 1 + k], "o-", label=name, linewidth=3.0 if name == LEG else 1.0)
    lower.axhline(np.log(0.98 / 0.02), color="grey", linestyle="--", label="98 %")
    lower.set_yscale("symlog", linthresh=10.0)
    lower.set_ylabel("log odds of the best hypothesis")
    lower.set_xlabel(f"time since half of {LEG}'s tibia broke off [s]")
    lower.legend(ncol=4, fontsize="small")
    for at, decision in blind.decisions[:1]:
        for axis in (upper, lower):
            axis.axvline(at - begin, color="red", linewidth=0.8)
        upper.set_title(f"{at - begin:.2f} s after: {decision.text}", fontsize=7)
    figure.savefig(Path(__file__).with_name("damage_evidence.png"), dpi=110)


if __name__ == "__main__":
    main()
