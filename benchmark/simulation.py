"""Walking in simulation: against real time, MuJoCo's mj_step and the paper; many damages; the predictor; memory.

python benchmark/simulation.py [--quick]
"""

import argparse
import os
from functools import partial

import mujoco
import numpy as np
from mujoco import rollout
from results import best_times

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Predictor, Simulator, TripodGait, simulate_many

SECONDS = 1.3  # of walking in one call


class MujocoWalk:
    """The same robot, servos, gait and step in MuJoCo: its contact model as stiff as ours, its friction Coulomb's."""

    def __init__(self, robot, timestep):
        spec = mujoco.MjSpec.from_string(robot.to_mjcf(timestep=timestep, friction=1.0))
        for geom in spec.geoms:
            if geom.type == mujoco.mjtGeom.mjGEOM_PLANE:
                geom.solref[:2] = -10000.0, -150.0
            elif geom.type != mujoco.mjtGeom.mjGEOM_SPHERE:  # only feet touch the ground, as here
                spec.delete(geom)
        spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_PYRAMIDAL, 1.0  # the fastest that MuJoCo has
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        gait = TripodGait().bind(robot)
        gait.reset(walking=True)
        self.data.qpos[2], self.data.qpos[3] = gait.body_height, 1.0
        self.data.qpos[7:] = gait.position
        mujoco.mj_forward(self.model, self.data)
        self.start = np.zeros(mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(self.model, self.data, self.start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        steps = round(SECONDS / timestep)
        self.controls = np.array([gait.step(timestep)[0].copy() for _ in range(steps)])

    def step_by_step(self):
        """mj_step from Python, set-points computed beforehand."""
        for control in self.controls:
            self.data.ctrl[:] = control
            mujoco.mj_step(self.model, self.data)

    def rolled_out(self):
        """The same steps inside mujoco.rollout's C++ loop; set-points computed beforehand."""
        states, _ = rollout.rollout(self.model, self.data, self.start[None], self.controls[None])
        return states[0]


def walking(robot, options):
    """Time a second of walking in MuJoCo and here, at the same step."""
    peer = MujocoWalk(robot, 1e-3)
    simulator = Simulator(robot, gait=TripodGait())
    log = simulator.run(SECONDS)
    distance = peer.rolled_out()[-1, 1]  # time comes first
    print(f"walked in {SECONDS} s: {log.position[-1, 0]:.3f} m here, {distance:.3f} m in MuJoCo (Coulomb friction)")
    calls = {
        "here (gait, servos, contacts, log of every step)": lambda: simulator.run(SECONDS),
        "MuJoCo, mujoco.rollout (C++ loop, gait not included)": peer.rolled_out,
        "MuJoCo, mj_step from Python (gait not included)": peer.step_by_step,
    }
    took = best_times(list(calls.values()), 4 * options.rounds, 1)
    for name, seconds in zip(calls, took, strict=True):
        print(f"  {name:<58} {seconds / took[0]:7.2f} x ours, {SECONDS / seconds:8.0f} x real time (wanted 300)")


def paper(robot, options):
    """Time the paper's scenario: 5 s of walking in 1.93 s on an i7-6700HQ."""
    print("\nthe paper's 5 s of motion (1.93 s there)")
    for timestep in (0.5e-3, 1e-3, 2e-3, 5e-3):
        simulator = Simulator(robot, gait=TripodGait(), timestep=timestep, ground=Ground.viscous())
        (needed,) = best_times([partial(simulator.run, 5.0, log_every=10)], options.rounds, 1)
        ratios = f"{5 / needed:6.0f} x real time, {1.93 / needed:5.0f} x the paper's speed"
        print(f"  {1e3 * timestep:4.1f} ms steps: {1e3 * needed:7.2f} ms, {ratios}")


def single_damages(robot):
    """Return the morphologies with one leg or link lost or one joint locked."""
    whole = Morphology.whole(robot)
    links = [f"{leg.name}.{link.name}" for leg in robot.legs for link in leg.links]
    damages = [whole.without(name) for name in (*robot.leg_names, *links)]
    return damages + [whole.locked(name, 0.1) for name in links]


def many(robot, options):
    """Time all single damages for a gait period each."""
    damages = single_damages(robot)
    simulate = partial(simulate_many, robot, damages, 1.3, progress=lambda done, count: None)
    (needed,) = best_times([simulate], options.rounds, 1)
    verdict = "met" if needed < 0.3 else "MISSED"
    count = len(damages)
    print(f"\n{count} single damages, 1.3 s each, {os.cpu_count()} cores: {needed:.3f} s (wanted 0.3: {verdict})")


def predicting(robot, options):
    """Time what the dynamics node does a hundred times a second."""
    predictor, gait = Predictor(robot), TripodGait().bind(robot)
    gait.walk()
    targets = np.array([gait.step(0.02)[0].copy() for _ in range(25)])
    predictor.set_state(np.array([0.0, 0.0, 0.12]), np.eye(3), targets[0], np.zeros(6 + robot.joint_count))
    damages = [Morphology.whole(robot), Morphology.whole(robot).without("LM.femur")]
    turn = iter(range(10**9))
    calls = {
        "advance 10 ms in 2 ms steps": lambda: predictor.advance(0.01, targets[0], 0.02),
        "look 0.5 s ahead in 5 ms steps": lambda: predictor.roll_out(targets),
        "change of morphology": lambda: predictor.set_morphology(damages[next(turn) % 2]),
    }
    print("\npredictor")
    for name, seconds in zip(calls, best_times(list(calls.values()), 10 * options.rounds, 20), strict=True):
        print(f"  {name:<58} {1e6 * seconds:10.3f} us")


def memory():
    """Print the peak and present memory of this process, peers' libraries included."""
    with open("/proc/self/status") as file:
        values = dict(line.split(":", 1) for line in file if line.startswith(("VmHWM", "VmRSS")))
    now, peak = values["VmRSS"].strip(), values["VmHWM"].strip()
    print(f"\nmemory of this process, MuJoCo loaded: {now}, peak {peak}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    options.rounds = 5 if options.quick else 15
    robot = Robot.jethexa()
    walking(robot, options)
    paper(robot, options)
    many(robot, options)
    predicting(robot, options)
    memory()


if __name__ == "__main__":
    main()
