"""What is ready to run compiles nothing later: the first damage of a new installation found the gait and the detector
compiling, and the robot stood for three seconds on the legs that were left."""

import subprocess
import sys

import pytest

# Each part is made and warmed up as its node does it, then `late` collects what is compiled or loaded from the cache.
BEGIN = """
import numpy as np
from hexapod_dynamics.dynamics import leg_code
from hexapod_dynamics.robot import Morphology, Robot

late, armed, load = [], [], leg_code.library
def watched(source):
    if armed:
        late.append(f"{armed[-1]}: {source.name}")
    return load(source)
leg_code.library = watched
robot = Robot.jethexa()
whole, n = Morphology.whole(robot), robot.joint_count
DAMAGE = {
    "two legs": whole.without("RM", "LM"), "restored": whole, "a leg": whole.without("RM"),
    "three legs": whole.without("RM", "LF", "RR"), "locked": whole.locked("RF.tibia", angle=0.4),
    "limp": whole.limp("LR.femur"), "broken": whole.broken("LF.tibia", remaining=0.5),
}
"""
PARTS = {
    "gait": """
from hexapod_dynamics.gait import AdaptiveGait
gait = AdaptiveGait().bind(robot)
def go(name, act):
    armed.append(name)
    act()
    for _ in range(60):
        gait.sense(0.01, 0.0, 0.0)
        gait.step(0.02)
go("reset", lambda: gait.reset(joints=gait.position + 0.01))
go("walk", lambda: gait.command(0.077, 0.0, 0.0))
for name, morphology in DAMAGE.items():
    go(name, lambda: gait.set_morphology(morphology))
go("adjust", lambda: gait.adjust(body_height=0.11))
go("press", lambda: gait.press("LF"))
go("lean", lambda: gait.lean(np.array([0.01, 0.0, 0.0, 0.05, 0.0, 0.0])))
go("sit", gait.sit)
go("stand", gait.stand)
go("wave", lambda: gait.set_pattern("wave"))
go("tilted", lambda: [(gait.sense(0.3, 0.0, 0.0), gait.step(0.02)) for _ in range(60)])
""",
    "observer": """
from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait import AdaptiveGait
gait = AdaptiveGait().bind(robot)
gait.reset(walking=True)
observer, zero = Observer(robot), np.zeros(n)
observer.warm_up()
forward = Feedforward(robot, model=observer.model)
forward.solve(np.eye(3), 0.12, np.zeros(6), zero, zero, zero, zero)
time = 0.0
armed.append("walk")
for name, morphology in {"walk": whole, **DAMAGE}.items():
    armed.append(name)
    observer.set_morphology(morphology.parameters())
    gait.set_morphology(morphology)
    for k in range(40):
        time += 0.02
        position, velocity = gait.step(0.02)
        observer.command(time, position, velocity)
        observer.measure_joints(time, np.where(morphology.existing_mask, position, np.nan))
        observer.measure_attitude(time, np.eye(3))
        observer.advance(time)
        observer.look_ahead(time)
""",
    "detector": """
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.gait import AdaptiveGait
gait = AdaptiveGait().bind(robot)
gait.reset(walking=True)
gait.step(0.02)
detector = DamageDetector(robot)
detector.warm_up()
gone = np.array([name[-2:] in ("RM", "LM") for name in robot.joint_names])
found = []
armed.append("walk")
for k in range(1, 700):
    time = 0.02 * k
    position, _ = gait.step(0.02)
    detector.command(time, position.copy())
    angles = np.full(n, np.nan)
    angles[k % 6 :: 6] = position[k % 6 :: 6]
    if k > 500:
        angles[gone] = np.nan
        armed.append("two legs")
    detector.measure_joints(time, angles)
    detector.measure_attitude(time, np.eye(3))
    for decision in detector.update(time):
        found.append(decision.name)
        leg = decision.name.split()[0]
        detector.set_morphology(detector.morphology.without(leg))
        gait.set_morphology(detector.morphology)
assert sorted(found) == ["LM missing", "RM missing"], found
""",
    "simulated robot": """
import tempfile
from hexapod_dynamics.devices.simulated_robot import SimulatedRobot
with tempfile.TemporaryDirectory() as directory:
    simulated = SimulatedRobot(robot, whole, directory)
    for name, morphology in DAMAGE.items():
        armed.append(name)
        simulated.set_morphology(morphology)
        simulated.physics.step(20)
    simulated.stop()
""",
}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_compiled_or_loaded_when_the_robot_breaks(part):
    script = BEGIN + PARTS[part] + "print('late:', late)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "late: []" in done.stdout, done.stdout + done.stderr
