"""What each library can do when a leg leaves: the edit, the first result after it, lines of code, and agreement.

    ./with_ros2 python benchmark/leg_leaves.py [--json docs/results/libraries.json]

A running loop has a model of the whole JetHexa and its state, and leg RM is torn off. Each row is a function below:
what a caller writes, from the whole model to the accelerations without the leg. The time is the best of many rounds on
one core, what a caller in Python pays. Pinocchio's accelerations, rebuilt, are compared with ours.
"""

import inspect
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import mujoco
import numpy as np
import pinocchio as pin
import results

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

LEG = "RM"
ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
RANDOM = np.random.default_rng(3)
Q, NU, TAU = RANDOM.normal(size=18) * 0.3, RANDOM.normal(size=24), RANDOM.normal(size=18)
R = np.eye(3)
MODEL = WholeBodyModel(ROBOT)
MJCF = ROBOT.to_mjcf(floor=False)
SPEC = mujoco.MjSpec.from_string(MJCF)
PIN = pin.buildModelFromXML(ROBOT.to_urdf(), pin.JointModelFreeFlyer())


def ours():
    """Edit: another Morphology in the same call. Nothing is built."""
    broken = WHOLE.without(LEG)
    moving = broken.moving_mask
    nu = np.concatenate([NU[:6], NU[6:][moving]])
    return MODEL.forward_dynamics(R, Q, nu, TAU[moving], broken)


def pinocchio_rebuilt():
    """Edit: the text of the model; everything is built again."""
    model = pin.buildModelFromXML(ROBOT.to_urdf(WHOLE.without(LEG)), pin.JointModelFreeFlyer())
    data = model.createData()
    q, v, tau = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for joint, name in enumerate(ROBOT.joint_names):
        if model.existJointName(name):
            at = model.joints[model.getJointId(name)]
            q[at.idx_q], v[at.idx_v], tau[at.idx_v] = Q[joint], NU[6 + joint], TAU[joint]
    v[:6] = NU[:6]
    return pin.aba(model, data, q, v, tau)


def pinocchio_reduced():
    """Edit: the leg's joints are fixed where they are; its mass stays on the robot."""
    gone = [PIN.getJointId(ROBOT.joint_names[j]) for j in ROBOT.leg_joints(LEG)]
    q = pin.neutral(PIN)
    for joint, name in enumerate(ROBOT.joint_names):
        q[PIN.joints[PIN.getJointId(name)].idx_q] = Q[joint]
    model = pin.buildReducedModel(PIN, gone, q)
    data = model.createData()
    q, v, tau = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for joint, name in enumerate(ROBOT.joint_names):
        if model.existJointName(name):
            at = model.joints[model.getJointId(name)]
            q[at.idx_q], v[at.idx_v], tau[at.idx_v] = Q[joint], NU[6 + joint], TAU[joint]
    v[:6] = NU[:6]
    return pin.aba(model, data, q, v, tau)


def mujoco_recompiled():
    """Edit: the leg is deleted from a copy of the specification, which is compiled again."""
    spec = SPEC.copy()
    spec.delete(spec.body(f"coxa_link_{LEG}"))
    model = spec.compile()
    data = mujoco.MjData(model)
    for joint, name in enumerate(ROBOT.joint_names):
        if name not in [spec_joint.name for spec_joint in spec.joints]:
            continue
        at = model.joint(name)
        data.qpos[at.qposadr], data.qvel[at.dofadr], data.ctrl[:] = Q[joint], NU[6 + joint], 0.0
    data.qvel[:6] = NU[:6]
    mujoco.mj_forward(model, data)
    return data.qacc


def mujoco_rollout():
    """Edit: as above; the copies of `rollout` share one model, so that all of them lose the leg, or none."""
    from mujoco import rollout

    spec = SPEC.copy()
    spec.delete(spec.body(f"coxa_link_{LEG}"))
    model = spec.compile()
    data = mujoco.MjData(model)
    state = np.zeros((64, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    mujoco.mj_getState(model, data, state[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state[:] = state[0]
    return rollout.rollout(model, data, state, nstep=1)[0]


ROWS = {
    "this package: a Morphology": (ours, "any mixture, also in one batch"),
    "Pinocchio: rebuild from URDF": (pinocchio_rebuilt, "indices of all joints change"),
    "Pinocchio: buildReducedModel": (pinocchio_reduced, "the leg's mass stays: not the robot that is left"),
    "MuJoCo: delete, compile": (mujoco_recompiled, "indices change; MjData is new, contacts start anew"),
    "MuJoCo: delete, compile, rollout of 64": (mujoco_rollout, "one model for all copies"),
}


def lines_of(function):
    """Lines of code of a function without its head, docstring and empty lines."""
    body = inspect.getsource(function).partition('"""\n')[2]
    return sum(bool(line.strip()) for line in body.splitlines())


def main():
    """Measure, print, write."""
    parser = results.parser(__doc__)
    given = parser.parse_args()
    reference = ours()
    off = np.abs(pinocchio_rebuilt()[:6] - reference[:6]).max() / np.abs(reference[:6]).max()
    print(f"Pinocchio {pin.__version__}, MuJoCo {mujoco.__version__}; accelerations: {off:.1e} apart\n")
    results.record(given.json, "accuracy", apart=off)
    print("| edit | until the next accelerations | times ours | lines of code | what it means |\n|---|---|---|---|---|")
    took = dict(zip(ROWS, results.best_times([function for function, _ in ROWS.values()], 60, 5), strict=True))
    base = min(took.values())
    for name, (function, note) in ROWS.items():
        numbers = {"us": 1e6 * took[name], "times": took[name] / base, "lines": lines_of(function)}
        print("| {} | {us:.1f} us | {times:.0f} | {lines} | {} |".format(name, note, **numbers))
        results.record(given.json, name, **numbers)


if __name__ == "__main__":
    main()
