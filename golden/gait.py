"""Set-points of all gaits, of getting up and of the brace: plans, commands, changes while walking, ground, probes."""

from itertools import combinations

import numpy as np

from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.papers.optimal_gait import OptimalGait
from hexapod_dynamics.robot import Morphology, Robot

TOLERANCE = 1e-9
ROBOTS = ("jethexa", "phantomx", "octopod", "quadruped", "hexapod_sts3215")
TICK = 0.02
TWISTS = ((0.077, 0.0, 0.0), (0.03, 0.03, 0.2), (-0.04, 0.01, 0.0), (0.0, 0.0, -0.3), (0.0, 0.05, 0.0), (0.0, 0.0, 0.0))


def module(*names):
    """The first of these modules of the package that exists: where a part lies changes."""
    from importlib import import_module

    for name in names[:-1]:
        try:
            return import_module(f"hexapod_dynamics.gait.{name}")
        except ModuleNotFoundError:
            pass
    return import_module(f"hexapod_dynamics.gait.{names[-1]}")


def call(gait, names, *arguments):
    """Call the first of these methods that the gait has."""
    return next(getattr(gait, name) for name in names if hasattr(gait, name))(*arguments)


def walked(gait, ticks, sense=None):
    """Set-points and rates of so many ticks, every fourth."""
    rows = []
    for tick in range(ticks):
        if sense is not None:
            sense(gait, tick)
        position, velocity = gait.step(TICK)
        if tick % 4 == 0:
            rows.append(np.concatenate([position, velocity]))
    return np.array(rows)


def record():
    """All parts."""
    found = {}
    for part in (commands, optimal, losses, worker, ground, requests, get_up, brace):
        found |= {f"{part.__name__} {name}": value for name, value in part().items()}
    return found


def commands():
    """Twists and changes of command: intact robots, all patterns, the tripod."""
    found = {}
    for name in ROBOTS:
        robot = Robot.load(f"config/{name}.yaml")
        for kind in ("auto", "wave", "ripple", "tripod", "minimum_jerk"):
            if kind in ("tripod", "minimum_jerk"):
                if robot.joint_count != 18:
                    continue
                swing = "half_sine" if kind == "tripod" else kind
                gait = TripodGait(0.03, 0.012, 1.3, swing=swing, body_height=0.11)
            else:
                gait = AdaptiveGait(pattern=kind)
            gait.bind(robot)
            rows, followed = [], []
            for twist in TWISTS:
                followed.append(gait.command(*twist))
                rows.append(walked(gait, 120, lambda gait, tick: gait.sense(0.0, 0.0, 0.004 * tick)))
            found[f"{name} {kind}"] = np.concatenate(rows)
            found[f"{name} {kind} followed"] = np.array(followed)
    return found


def optimal():
    """Planned swings, intact and with a locked joint."""
    robot, found = Robot.jethexa(), {}
    for name, morphology in (("whole", None), ("locked", Morphology.whole(robot).locked("LF.coxa", 0.1))):
        gait = OptimalGait().bind(robot, morphology)
        gait.command(0.06, 0.01, 0.0)
        found[name] = walked(gait, 250)
    return found


def losses():
    """Each packaged plan, taken up while the intact robot walks, and the way back."""
    found = {}
    for name in ROBOTS:
        robot = Robot.load(f"config/{name}.yaml")
        whole, most = Morphology.whole(robot), 3 if name == "jethexa" else 1
        gait = AdaptiveGait().bind(robot)
        for count in range(1, most + 1):
            for number, lost in enumerate(combinations(robot.leg_names, count)):
                gait.set_morphology(whole)
                gait.reset(walking=True, phase=0.37 * number % 1.0)
                gait.command(0.06, 0.0, 0.05 * (number % 3))
                first = walked(gait, 20)
                gait.set_morphology(whole.without(*lost))
                second = walked(gait, 260)
                gait.command(0.02, 0.02, 0.1)
                third = walked(gait, 60)
                gait.set_morphology(whole)
                found[f"{name} {'+'.join(lost)}"] = np.concatenate([first, second, third, walked(gait, 200)])
    robot = Robot.jethexa()
    gait = AdaptiveGait().bind(robot)
    measured = np.full(18, np.nan)
    gait.measure_joints(measured)
    for name in ("LF.coxa", "RM.tibia"):
        gait.command(0.05, 0.0, 0.0)
        gait.set_morphology(Morphology.whole(robot).locked(name, 0.2))
        before = walked(gait, 200)
        gait.set_morphology(None)

        def follow(gait, tick):
            if gait.awaits_joints and tick > 10:
                gait.measure_joints(gait.position)

        found[f"locked {name}"] = np.concatenate([before, walked(gait, 300, follow)])
    return found


def worker():
    """Changes of plan in the background, adopted at known ticks."""
    import time

    worker = getattr(module("planning.background", "planning.library"), "PlanWorker", None)
    if worker is None:
        from hexapod_dynamics.background import LatestCall as worker
    robot = Robot.jethexa()
    gait = AdaptiveGait(worker=worker()).bind(robot)
    rows = []
    for lost in (("LF",), ("LF", "RM"), (), ("LM", "RM", "RR"), ("RR",)):
        gait.command(0.07, 0.0, 0.0)
        gait.set_morphology(Morphology.whole(robot).without(*lost))
        time.sleep(1.0)
        for _ in range(200):
            gait.adopt_plan()
            time.sleep(0.02)
            if not changing(gait):
                break
        rows.append(walked(gait, 150))
    gait.close()
    return {"all": np.concatenate(rows)}


def changing(gait):
    """Whether a change of plan is pending."""
    return getattr(gait, "changing", None) or getattr(gait, "_changing", False)


def ground():
    """Roughness, slopes, steps that throw the body back, tilts."""
    robot, found = Robot.jethexa(), {}
    for lost in ((), ("LM",), ("LF", "RM"), ("LF", "LR", "RM")):
        for kind in ("rough", "slope", "thrown", "tipped"):
            gait = AdaptiveGait().bind(robot, Morphology.whole(robot).without(*lost))
            random = np.random.default_rng(len(lost))
            noise = random.uniform(-0.08, 0.08, (80, 2))

            def sense(gait, tick, kind=kind, noise=noise):
                roll, pitch, yaw, force = 0.0, 0.0, 0.0005 * tick, (0.0, 0.0, 9.81)
                if kind == "rough" and tick > 100:
                    roll, pitch = noise[tick // 15 % 80]
                if kind == "slope":
                    roll, pitch = 0.0, -0.0025 * min(tick, 100)
                if kind == "thrown":
                    force = (-8.0 * max(0.0, np.cos(4.0 * np.pi * tick * TICK / 1.2)), 0.0, 9.81)
                if kind == "tipped" and 200 < tick < 260:
                    roll = 0.25
                gait.sense(roll, pitch, yaw)
                gait.sense_force(*force)

            gait.sense(0.0, 0.0, 0.0)
            gait.command(0.06, 0.0, 0.0)
            name = f"{'+'.join(lost) or 'whole'} {kind}"
            found[name] = walked(gait, 900, sense)
            level = gait.ground_normal if hasattr(gait, "ground_normal") else gait.level
            found[f"{name} level"] = np.array(level, float)
    return found


def requests():
    """Probes, payload, offsets of the body, sitting and standing, settings, transitions from measured joints."""
    robot = Robot.jethexa()
    gait = AdaptiveGait(weighing_sway=0.0).bind(robot)
    gait.sense(0.0, 0.0, 0.0)
    gait.command(0.05, 0.0, 0.0)
    rows = [walked(gait, 100)]
    call(gait, ("contact_probe", "press"), "LM")
    rows.append(walked(gait, 200))
    call(gait, ("set_payload", "carry"), 0.5, 0.02, -0.01)
    rows.append(walked(gait, 200, lambda gait, tick: gait.sense(0.0, 0.0, 0.0)))
    call(gait, ("set_body_offset", "lean"), (0.01, -0.01, 0.01, 0.05, -0.05, 0.1))
    rows.append(walked(gait, 100, lambda gait, tick: gait.sense(0.0, 0.0, 0.0)))
    gait.sit()
    rows.append(walked(gait, 150))
    gait.stand()
    rows.append(walked(gait, 150))
    for settings in ({"step_height": 0.03}, {"body_height": 0.1}, {"period": 1.5}, {"weighing_sway": 0.003}):
        gait.adjust(**settings)
        rows.append(walked(gait, 100, lambda gait, tick: gait.sense(0.0, 0.0, 0.0)))
    gait.set_pattern("wave")
    rows.append(walked(gait, 150))
    gait.reset(joints=np.linspace(-0.5, 0.5, 18))
    rows.append(walked(gait, 150))
    gait.reset(walking=True, phase=0.4)
    twin = gait.copy()
    rows += [walked(gait, 50), walked(twin, 50)]
    return {"all": np.concatenate(rows)}


def get_up():
    """Every set-point of getting up from back, edge and belly, with losses, held joints and a fall."""
    up = module("recovery.get_up", "get_up")
    library = module("recovery.manoeuvres").GetUpLibrary.load_for_robot
    state = up if hasattr(up, "Measured") else module("get_up_state")
    robot = Robot.jethexa()
    whole, stored = Morphology.whole(robot), library(robot)
    cases = {
        "whole": (whole, -1.0, (), None),
        "belly": (whole, 1.0, (), None),
        "edge": (whole, 0.1, (), None),
        "LF": (whole.without("LF"), -1.0, (), None),
        "LM+RM": (whole.without("LM", "RM"), -1.0, (), None),
        "locked": (whole.locked("RM.femur", 0.3), -1.0, (), None),
        "held": (whole, -1.0, (4,), None),
        "held later": (whole, -1.0, (7,), 5.0),
        "held while it rolls": (whole, -1.0, (2, 10), 9.0),
        "never turns": (whole, -1.0, (), "never"),
    }
    found = {}
    for name, (morphology, up_z, held, when) in cases.items():
        random = np.random.default_rng(3)
        gait = AdaptiveGait().bind(robot, morphology)
        act = up.GetUp(robot, stored, dt=TICK)
        joints = gait.position + random.uniform(-0.2, 0.2, 18)
        up_x = (1.0 - up_z * up_z) ** 0.5
        sensed = state.Measured(joints.copy(), (up_x, 0.0, up_z), (0.0, 0.0, 0.0), (9.81 * up_x, 0.0, 9.81 * up_z))
        act.begin(gait, morphology)
        rows, doing = [], []
        for tick in range(2500):
            setpoints = act.step(TICK, sensed)
            rows.append(np.full(18, 9.0) if setpoints is None else np.where(np.isfinite(setpoints), setpoints, 8.0))
            if not doing or doing[-1] != act.doing:
                doing.append(act.doing)
            if setpoints is not None:
                free = np.isfinite(setpoints)
                if when is None or (when != "never" and tick * TICK > when):
                    free[list(held)] = False
                joints[free] = setpoints[free]
                if tick % 3 == 0:
                    sensed.joints[:] = joints
            if "pose 3" in act.doing and when != "never":
                sensed.up, sensed.force = (0.0, 0.0, 1.0), (0.0, 0.0, 9.81)
            if act.phase.value == "toppling off its edge":
                sensed.up, sensed.force = (0.0, 0.0, -1.0), (0.0, 0.0, -9.81)
            if not act.active:
                break
        found[name], found[f"{name} words"] = np.array(rows), np.array(doing)
    return found


def brace():
    """A push while it walks, with and without losses, and none."""
    make = module("recovery.brace", "brace")
    robot, found = Robot.jethexa(), {}
    for lost in ((), ("LF",), ("LM", "RR")):
        morphology = Morphology.whole(robot).without(*lost)
        gait, act = AdaptiveGait().bind(robot, morphology), make.Brace(robot)
        act.set_morphology(morphology)
        gait.command(0.07, 0.0, 0.0)
        rows = []
        for tick in range(500):
            push = 12.0 if 200 <= tick < 212 else 0.5 * np.sin(0.3 * tick)
            turn = 1.5 if 205 <= tick < 215 else 0.0
            for _ in range(2):
                act.sense(0.01, (0.2 * push, push, 9.81), (turn, 0.0, 0.0), gait.walking)
            rows.append(act.step(TICK, gait.position).copy() if act.is_needed else gait.step(TICK)[0].copy())
        found["+".join(lost) or "whole"] = np.array(rows)
    return found
