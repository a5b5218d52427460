"""Whole-body model against Pinocchio and MuJoCo: one run, one machine, turn by turn; prints best times,
spread and ratios.

    ./with_ros2 python3 benchmark/whole_body.py [--quick] [--no-walking]

Needs `pip install pin mujoco` beside the package. One core is used; the peers' loops are those their wheels offer
(Pinocchio's abaInParallel on one thread, MuJoCo's rollout).
"""

import argparse
import os
import platform
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import mujoco
import numpy as np
import pinocchio as pin
import simulation
from c_loops import forward_loop, inverse_loop
from mujoco import rollout
from peers import PinocchioRobot, mujoco_model, mujoco_state, mujoco_xml
from side_by_side import compare, table

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.leg_kernels import trace_forward, trace_inverse, trace_terms
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.workspace import Rows
from hexapod_dynamics.papers.trigonometric import TrigonometricLeg
from hexapod_dynamics.robot import Body, Joint, Leg, Link, Morphology, Robot
from hexapod_dynamics.se3 import rotation_rpy

LOOP = 1000


class State:
    """One random state for everybody, and a batch of them for the loops."""

    def __init__(self, morphology, seed=0):
        rng = np.random.default_rng(seed)
        robot, n = morphology.robot, int(morphology.moving_mask.sum())
        self.rotation = rotation_rpy(0.3, -0.2, 0.7)
        self.q, self.tau = rng.normal(size=robot.joint_count) * 0.5, rng.normal(size=n)
        self.nu, self.nudot = rng.normal(size=(2, 6 + n))
        self.rotations = np.repeat(self.rotation[None], LOOP, axis=0)
        self.qs = self.q + rng.normal(size=(LOOP, robot.joint_count)) * 0.1
        self.nus = rng.normal(size=(LOOP, 6 + robot.joint_count))
        self.taus = rng.normal(size=(LOOP, robot.joint_count))


def dynamics(model: WholeBodyModel, options) -> None:
    whole = Morphology.whole(model.robot)
    s = State(whole)
    peer = PinocchioRobot(whole)
    peer_q = peer.configuration(s.rotation, s.q)
    generalised = np.concatenate([np.zeros(6), s.tau])
    mj = mujoco_model(whole)
    data = mujoco.MjData(mj)
    mujoco_state(data, s.rotation, s.q, s.nu)
    data.qfrc_applied[6:] = s.tau

    ours = model.forward_dynamics(s.rotation, s.q, s.nu, s.tau, whole)
    aba = pin.aba(peer.model, peer.data, peer_q, s.nu, generalised).copy()
    mujoco.mj_forward(mj, data)
    # MuJoCo accelerates the world velocity
    linear = s.rotation.T @ data.qacc[:3] - np.cross(s.nu[3:6], s.nu[:3])
    theirs = np.concatenate([linear, data.qacc[3:]])
    print(f"relative difference to Pinocchio {error(ours, aba):.1e}, to MuJoCo {error(ours, theirs):.1e}")

    table(
        "Forward dynamics, a Python call",
        compare(
            {
                "WholeBodyModel.forward_dynamics": lambda: model.forward_dynamics(s.rotation, s.q, s.nu, s.tau, whole),
                "pinocchio.aba": lambda: pin.aba(peer.model, peer.data, peer_q, s.nu, generalised),
                "mujoco.mj_forward": lambda: mujoco.mj_forward(mj, data),
            },
            **options,
        ),
        "WholeBodyModel.forward_dynamics",
        {"pinocchio.aba": 5.0},
    )
    table(
        "Inverse dynamics, a Python call",
        compare(
            {
                "WholeBodyModel.inverse_dynamics": lambda: model.inverse_dynamics(
                    s.rotation, s.q, s.nu, s.nudot, whole
                ),
                "pinocchio.rnea": lambda: pin.rnea(peer.model, peer.data, peer_q, s.nu, s.nudot),
                "mujoco.mj_inverse": lambda: mujoco.mj_inverse(mj, data),
            },
            **options,
        ),
        "WholeBodyModel.inverse_dynamics",
        {"pinocchio.rnea": 2.9},
    )
    table(
        "Mass matrix, a Python call",
        compare(
            {
                "WholeBodyModel.mass_matrix": lambda: model.mass_matrix(s.q, whole),
                "pinocchio.crba": lambda: pin.crba(peer.model, peer.data, peer_q),
            },
            **options,
        ),
        "WholeBodyModel.mass_matrix",
    )

    ws = model._kernels.workspace(whole)
    out, torques = np.empty_like(s.nus), np.empty_like(s.nus)
    forward_loop(ws, s.rotations, s.qs, s.nus, s.taus, out)
    pool = pin.ModelPool(peer.model)
    batch = (
        np.asfortranarray(np.stack([peer.configuration(s.rotation, q) for q in s.qs], axis=1)),
        np.asfortranarray(s.nus.T),
        np.asfortranarray(np.concatenate([np.zeros((LOOP, 6)), s.taus], axis=1).T),
    )
    result = np.zeros_like(batch[1])
    pin.abaInParallel(1, pool, *batch, result)
    print(f"\nagreement of the loops: {error(out, result.T):.1e}")
    everything = mujoco.mjtState.mjSTATE_FULLPHYSICS
    roll_start = np.zeros((1, mujoco.mj_stateSize(mj, everything)))
    mujoco.mj_getState(mj, data, roll_start[0], everything)
    loops = compare(
        {
            "ours": lambda: forward_loop(ws, s.rotations, s.qs, s.nus, s.taus, out),
            "pinocchio.abaInParallel, one thread": lambda: pin.abaInParallel(1, pool, *batch, result),
            "mujoco.rollout (steps without contacts)": lambda: rollout.rollout(mj, data, roll_start, nstep=LOOP),
        },
        per_call=LOOP,
        **options,
    )
    loops["pinocchio.aba, called from Python"] = compare(
        {"aba": lambda: pin.aba(peer.model, peer.data, peer_q, s.nu, generalised)}, **options
    )["aba"]
    table("Forward dynamics in a compiled loop", loops, "ours", {"pinocchio.aba, called from Python": 13.0})
    loops = compare(
        {
            "ours": lambda: inverse_loop(ws, s.rotations, s.qs, s.nus, out, torques),
            "pinocchio.rneaInParallel, one thread": lambda: pin.rneaInParallel(1, pool, *batch[:2], result, result),
        },
        per_call=LOOP,
        **options,
    )
    table("Inverse dynamics in a compiled loop", loops, "ours")


def error(a, b) -> float:
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def morphology_changes(model: WholeBodyModel, options) -> None:
    """From "leg RM is gone" to a model that answers; each peer its shortest way."""
    whole = Morphology.whole(model.robot)
    peer = PinocchioRobot(whole)
    neutral = pin.neutral(peer.model)
    lost = [i for i, name in enumerate(peer.model.names) if name.endswith("_RM")]
    spec = mujoco.MjSpec.from_string(mujoco_xml(whole))
    legs = list(model.robot.leg_names)
    turn = [0]

    def ours():
        turn[0] = (turn[0] + 1) % len(legs)
        model._selections.clear()  # as if the model had never seen this morphology
        model._select(whole.without(legs[turn[0]]))

    def reduce():
        pin.buildReducedModel(peer.model, lost, neutral).createData()

    def recompile():
        changed = spec.copy()
        changed.delete(changed.body("coxa_RM"))
        mujoco.MjData(changed.compile())

    table(
        "Change of morphology",
        compare(
            {
                "ours: a new Morphology and the model's numbers": ours,
                "pinocchio: buildReducedModel + createData": reduce,
                "mujoco: delete the body, compile, MjData": recompile,
            },
            **options,
        ),
        "ours: a new Morphology and the model's numbers",
        {
            "pinocchio: buildReducedModel + createData": 14.0,
            "mujoco: delete the body, compile, MjData": 10.0,
        },
    )


def many_legged(leg_count: int, joint_count: int) -> Robot:
    """Robot with like legs around a disc; joint axes z, -y, -y, z, ..."""
    jethexa = Robot.jethexa()
    joints, links, end = [], [], np.zeros(3)
    for k in range(joint_count):
        axis = [0, 0, 1] if k % 3 == 0 else [0, -1, 0]
        joints.append(Joint(f"j{k}", "revolute", axis, end, -3, 3))
        links.append(Link(f"l{k}", 0.07, 0.08, [0.04, 0, 0], np.diag([0.4e-5, 4e-5, 4e-5]), np.eye(3)))
        end = end + [0.08, 0, 0]
    legs = []
    for i in range(leg_count):
        yaw = 2 * np.pi * i / leg_count
        named = [Joint(f"{joint.name}_{i}", "revolute", joint.axis, joint.origin, -3, 3) for joint in joints]
        mount = 0.2 * np.array([np.cos(yaw), np.sin(yaw), 0])
        legs.append(Leg(f"L{i}", rotation_rpy(0, 0, yaw), mount, tuple(named), tuple(links), 1 + i % 2, "m"))
    body = Body(5.0, np.diag([0.05, 0.05, 0.08]), [0.3, 0.3, 0.05])
    return Robot("disc", 9.81, body, tuple(legs), jethexa.servo, jethexa.contact, jethexa.imu)


def growth(title: str, robots: dict, options) -> None:
    print(f"\n{title}: forward dynamics in a compiled loop, Pinocchio's loop beside it")
    for label, robot in robots.items():
        whole = Morphology.whole(robot)
        start = time.perf_counter()
        made = RobotKernels(robot)
        ready = time.perf_counter() - start
        ws, s, peer = made.workspace(whole), State(whole), PinocchioRobot(whole)
        out = np.empty_like(s.nus)
        pool = pin.ModelPool(peer.model)
        batch = (
            np.asfortranarray(np.stack([peer.configuration(s.rotation, q) for q in s.qs], axis=1)),
            np.asfortranarray(s.nus.T),
            np.asfortranarray(np.concatenate([np.zeros((LOOP, 6)), s.taus], axis=1).T),
        )
        result = np.zeros_like(batch[1])
        timings = compare(
            {
                "ours": lambda: forward_loop(ws, s.rotations, s.qs, s.nus, s.taus, out),  # noqa: B023
                "pinocchio": lambda: pin.abaInParallel(1, pool, *batch, result),  # noqa: B023
            },
            per_call=LOOP,
            **options,
        )
        ours, theirs = timings["ours"].best, timings["pinocchio"].best
        print(
            f"  {label:>3}: {ours * 1e6:8.3f} us   Pinocchio {theirs * 1e6:8.3f} us ({theirs / ours:5.2f} x)   "
            f"kernels ready in {ready:5.2f} s   agreement {error(out, result.T):.0e}"
        )


ALONE = """
import numpy, pathlib, time
start = time.perf_counter()
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot
robot = Robot.jethexa()
model, whole = WholeBodyModel(robot), Morphology.whole(robot)
ready = time.perf_counter() - start
peak = [0, 0]
for part in range(2):
    for i in range(20000):
        hurt = whole.without(robot.leg_names[i % 6])
        model.forward_dynamics(numpy.eye(3), numpy.zeros(18), numpy.zeros(21), numpy.zeros(15), hurt)
    status = pathlib.Path("/proc/self/status").read_text()
    peak[part] = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(f"a process with the model alone: ready {ready:.2f} s after its start, {peak[0]:.0f} MiB after 20000 changes of "
      f"morphology, {peak[1]:.0f} MiB after 40000")
"""

AN_HOUR = """
import pathlib, time
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, TripodGait

def peak():
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

robot = Robot.jethexa()
whole = Morphology.whole(robot)
simulator = Simulator(robot, gait=TripodGait())
start, early = time.perf_counter(), None
for i in range(360):
    simulator.set_morphology(whole.without(robot.leg_names[i // 2 % 6]) if i % 2 else whole)
    simulator.run(10.0)
    early = early or (i == 5 and peak())
took = time.perf_counter() - start
print(f"a process that simulates an hour of walking, a leg gone and back every 20 s ({took:.0f} s): "
      f"{early:.0f} MiB after the first minute, {peak():.0f} MiB after the hour")
"""


def operations(robot: Robot) -> None:
    leg_type, rows = LegType.of(robot.legs[0]), Rows.of(3)
    for name, trace in (("forward", trace_forward), ("inverse", trace_inverse)):
        counts = trace(leg_type, rows).operation_count()
        print(f"operations a leg, {name}: {sum(counts.values())} ({', '.join(f'{v} {k}' for k, v in counts.items())})")
    decomposed = TrigonometricLeg(robot, robot.legs[0])
    once, products = decomposed.multiplications(), trace_terms(leg_type, rows).operation_count()["mul"]
    print(
        f"paper's form, coefficients times trigonometric functions ({decomposed.independent} independent): {once} "
        f"products for a leg's M and {3 * once} for its derivatives; traced, with bias and gravity: {products}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns: numbers to look at, not to quote")
    parser.add_argument("--no-walking", action="store_true", help="leave the walking simulation out")
    arguments = parser.parse_args()
    options = {"rounds": 30} if arguments.quick else {}

    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, pinocchio {pin.__version__}, mujoco {mujoco.__version__}"
    )
    start = time.perf_counter()
    model = WholeBodyModel(Robot.jethexa())
    print(f"WholeBodyModel(JetHexa) ready after {time.perf_counter() - start:.2f} s, {model._kernels.lane_count} lanes")
    operations(model.robot)
    dynamics(model, options)
    morphology_changes(model, options)
    few = options or {"rounds": 50}
    growth("Legs of 3 joints", {n: many_legged(n, 3) for n in (2, 4, 6, 8, 16, 32, 64)}, few)
    growth("Joints a leg, 6 legs", {n: many_legged(6, n) for n in (1, 2, 3, 4, 6, 8, 12)}, few)
    if not arguments.no_walking:
        rounds = argparse.Namespace(rounds=5 if arguments.quick else 15)
        print("\nWalking simulation")
        for part in (simulation.walking, simulation.paper, simulation.many):
            part(model.robot, rounds)
    print()
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", ALONE], check=True)
    if not arguments.quick:
        subprocess.run([sys.executable, "-c", AN_HOUR], check=True)


if __name__ == "__main__":
    main()
