"""Find damage in a recorded walk: the damage detector reads the messages of a bag, offline and faster than real time.

python examples/detect_in_bag.py [BAG]        by default docs/damage_bag, in which RM and LM are torn off after 4 s
"""

import sys
from pathlib import Path

import numpy as np
from rosbags.highlevel import AnyReader

from hexapod_dynamics.detection.detector import DamageDetector
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import rotation_from_quaternion

BAG = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "damage_bag")
TOPICS = {"/joint_commands", "/joint_states", "/imu/data", "/morphology"}

robot = Robot.jethexa()
with AnyReader([BAG]) as reader:
    chosen = [c for c in reader.connections if c.topic in TOPICS]
    messages = [(1e-9 * at, c.topic, reader.deserialize(raw, c.msgtype)) for c, at, raw in reader.messages(chosen)]
commanded = [at for at, topic, _ in messages if topic == "/joint_commands"]
period = float(np.clip(np.median(np.diff(commanded)), 0.02, 0.1))  # a thinned bag has fewer commands than were sent
detector = DamageDetector(robot, DetectorSettings(command_period=period))
thinned = not detector.settings.comparable
if thinned:
    print(f"a thinned bag: commands every {1e3 * period:.0f} ms. Only servos that fall silent are looked for")
begin, found = messages[0][0], {}
for at, topic, message in messages:
    time = at - begin
    if topic == "/imu/data":
        o = message.orientation
        detector.measure_attitude(time, rotation_from_quaternion((o.x, o.y, o.z, o.w)) @ robot.imu.rotation.T)
    elif topic == "/morphology":
        values = {
            p.name: p.value.bool_value if p.value.type == 1 else p.value.double_value for p in message.new_parameters
        }
        if not thinned:  # what was declared to the software then changed the walk, but not which servos answer
            detector.set_morphology(Morphology.from_parameters(robot, values))
    else:
        of_joint = dict(zip(message.name, message.position, strict=True))
        angles = np.array([of_joint.get(name, np.nan) for name in robot.joint_names])
        if topic == "/joint_commands":
            detector.command(time, angles)
        else:
            for joint in np.flatnonzero(np.isfinite(angles)).tolist():
                detector.measure_joint(time, joint, float(angles[joint]))
    for decision in detector.update(time):
        if decision.key not in found:
            found[decision.key] = decision.name
            print(f"{time:5.1f} s  {decision.text}")
print(f"{len(messages)} messages of {time:.0f} s read")
print(f"found: {', '.join(found.values()) or 'nothing'}")
